//! Defaults as they are filled in, recorded and derived again.

use proptest::prelude::*;

use super::*;
use crate::policy::tests::any_policy;

fn policy(surge: &Value) -> Value {
    json!({"metadata": {"name": "p"}, "spec": {"nodePoolSelector": {}, "maintenanceWindows": [], "surge": surge}})
}

fn surge<'a>(policy: &'a Value, field: &str) -> Option<&'a str> {
    policy.pointer(&format!("/spec/surge/{field}"))?.as_str()
}

#[test]
fn what_is_missing_is_filled_and_recorded() {
    let filled = apply(None, &json!({"spec": {}}));
    assert_eq!(filled["spec"]["ageThreshold"], "auto");
    assert_eq!(surge(&filled, "failurePause"), Some("10m"));
    assert_eq!(surge(&filled, "provisioningEstimate"), Some("5m"));
    assert_eq!(filled["metadata"]["annotations"][RECORD], "spec.surge.failurePause,spec.surge.provisioningEstimate");
    assert_eq!(apply(None, &filled), filled);
}

#[test]
fn nothing_that_is_written_changes() {
    let written = policy(&json!({"readyTimeout": "900s", "cooldownAfter": "0h10m", "failurePause": "1.5h"}));
    let filled = apply(None, &written);
    assert_eq!((surge(&filled, "readyTimeout"), surge(&filled, "failurePause")), (Some("900s"), Some("1.5h")));
    assert_eq!(filled["metadata"]["annotations"][RECORD], "spec.surge.provisioningEstimate");
}

#[test]
fn a_derived_value_follows_the_field_it_comes_from() {
    let old = apply(None, &policy(&json!({})));
    let mut new = old.clone();
    new["spec"]["surge"]["cooldownAfter"] = json!("30m");
    let filled = apply(Some(&old), &new);
    assert_eq!(surge(&filled, "failurePause"), Some("30m"));
    // Asked again within the same change, it is derived still.
    assert_eq!(apply(Some(&old), &filled), filled);
}

#[test]
fn a_value_that_a_person_sets_is_theirs() {
    let old = apply(None, &policy(&json!({})));
    let mut new = old.clone();
    new["spec"]["surge"]["cooldownAfter"] = json!("30m");
    new["spec"]["surge"]["failurePause"] = json!("20m");
    let filled = apply(Some(&old), &new);
    assert_eq!(surge(&filled, "failurePause"), Some("20m"));
    assert_eq!(filled["metadata"]["annotations"][RECORD], "spec.surge.provisioningEstimate");
}

#[test]
fn a_field_that_a_manager_owns_is_a_persons_even_with_our_value() {
    let old = apply(None, &policy(&json!({})));
    let mut new = old.clone();
    new["spec"]["surge"]["cooldownAfter"] = json!("30m");
    new["metadata"]["managedFields"] = json!([{"manager": "gitops", "fieldsV1": {"f:spec": {"f:surge": {"f:failurePause": {}}}}}]);
    assert_eq!(surge(&apply(Some(&old), &new), "failurePause"), Some("10m"));
}

#[test]
fn a_field_that_a_manager_owns_is_a_persons_even_if_it_is_missing() {
    let mut owned = policy(&json!({}));
    owned["metadata"]["managedFields"] = json!([{"manager": "gitops", "fieldsV1": {"f:spec": {"f:surge": {"f:failurePause": {}}}}}]);
    let filled = apply(None, &owned);
    assert_eq!(surge(&filled, "failurePause"), Some("10m"));
    assert_eq!(filled["metadata"]["annotations"][RECORD], "spec.surge.provisioningEstimate");
    assert_eq!(apply(None, &filled), filled);
}

#[test]
fn what_is_malformed_is_left_alone() {
    for object in
        [json!(null), json!({"spec": 3}), json!({"spec": {"surge": "fast"}}), policy(&json!({"cooldownAfter": "soon", "readyTimeout": 5}))]
    {
        let filled = apply(Some(&json!([])), &object);
        assert_eq!(apply(None, &filled), filled);
        assert_eq!((filled.pointer("/spec/surge/failurePause"), filled.pointer("/spec/surge/provisioningEstimate")), (None, None));
    }
}

#[test]
fn a_record_that_a_person_has_broken_is_mended() {
    let mut old = apply(None, &policy(&json!({})));
    old["metadata"]["annotations"][RECORD] = json!("spec.surge.failurePause,spec.nothing,,");
    let filled = apply(None, &old);
    assert_eq!(filled["metadata"]["annotations"][RECORD], "spec.surge.failurePause");
    assert_eq!(surge(&filled, "provisioningEstimate"), Some("5m"));
}

/// Every value that `before` has, `after` has too.
fn keeps(before: &Value, after: &Value) -> bool {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            before.iter().all(|(key, value)| key == RECORD || value.is_null() || after.get(key).is_some_and(|after| keeps(value, after)))
        }
        (before, after) => before == after,
    }
}

proptest! {
    #[test]
    fn applied_twice_it_changes_nothing_more(policy in any_policy(), old in prop::option::of(any_policy())) {
        let filled = apply(old.as_ref(), &policy);
        prop_assert_eq!(&apply(Some(&filled), &filled), &filled);
        prop_assert_eq!(&apply(None, &filled), &filled);
        prop_assert_eq!(&apply(old.as_ref(), &filled), &filled);
    }

    /// What some manager owns is the user's, whatever the record says and whatever the old policy derived (review 19).
    #[test]
    fn what_a_manager_owns_is_never_changed(
        policy in any_policy(),
        old in prop::option::of(any_policy()),
        owned in prop::sample::subsequence(vec!["failurePause", "provisioningEstimate"], 0..3),
        given in prop::sample::select(vec!["10m", "5m", "7m", "0s", "soon"]),
    ) {
        let mut policy = apply(old.as_ref(), &policy);
        let fields: Value = owned.iter().map(|field| (format!("f:{field}"), json!({}))).collect::<Map<String, Value>>().into();
        let managers = json!([{"manager": "gitops", "fieldsV1": {"f:spec": {"f:surge": fields}}}]);
        let (Some(_), Some(_)) = (policy.get("metadata").and_then(Value::as_object), policy.pointer("/spec/surge").and_then(Value::as_object))
        else {
            return Ok(());
        };
        policy["metadata"]["managedFields"] = managers;
        for field in &owned {
            policy["spec"]["surge"][field] = json!(given);
        }
        let filled = apply(old.as_ref(), &policy);
        for field in &owned {
            prop_assert_eq!(surge(&filled, field), Some(given));
            let record = filled.pointer("/metadata/annotations").and_then(|annotations| annotations.get(RECORD)?.as_str());
            prop_assert!(!record.unwrap_or_default().contains(field), "{:?}", record);
        }
        prop_assert_eq!(&apply(old.as_ref(), &filled), &filled);
    }

    #[test]
    fn a_creation_keeps_all_that_is_written(mut policy in any_policy()) {
        // Without a record nothing is ours to derive again.
        if let Some(metadata) = policy.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("annotations");
        }
        prop_assert!(keeps(&policy, &apply(None, &policy)));
    }
}
