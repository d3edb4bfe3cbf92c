//! The policy that the tests of its parts start from, and what validation and defaults owe each other.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::validate::validate;

/// A good policy.
pub(crate) fn good() -> Value {
    json!({
        "apiVersion": "noderotation.io/v1alpha1",
        "kind": "RotationPolicy",
        "metadata": {"name": "api", "generation": 7},
        "spec": {
            "nodePoolSelector": {"matchLabels": {"workload": "api"}},
            "ageThreshold": "auto",
            "minRotationChances": 2,
            "maintenanceWindows": [{"timezone": "Asia/Tokyo", "days": ["Wed", "Sat"], "start": "02:00", "end": "06:00"}],
            "surge": {"maxUnavailable": 1, "readyTimeout": "15m", "cooldownAfter": "10m", "retryBackoff": "30m"}
        }
    })
}

/// The good policy with the value at a JSON pointer replaced; `null` removes it.
pub(super) fn with(pointer: &str, value: Value) -> Value {
    let mut policy = good();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    match (policy.pointer_mut(parent).unwrap(), value) {
        (Value::Object(object), Value::Null) => drop(object.remove(key)),
        (Value::Object(object), value) => drop(object.insert(key.to_owned(), value)),
        (Value::Array(array), value) => array[key.parse::<usize>().unwrap()] = value,
        (other, _) => panic!("{other} has no fields"),
    }
    policy
}

/// Every field of a policy, by JSON pointer.
const FIELDS: [&str; 25] = [
    "/metadata/name",
    "/metadata/annotations",
    "/spec",
    "/spec/nodePoolSelector",
    "/spec/nodePoolSelector/matchLabels",
    "/spec/nodePoolSelector/matchExpressions",
    "/spec/ageThreshold",
    "/spec/minRotationChances",
    "/spec/maintenanceWindows",
    "/spec/maintenanceWindows/0",
    "/spec/maintenanceWindows/0/timezone",
    "/spec/maintenanceWindows/0/days",
    "/spec/maintenanceWindows/0/start",
    "/spec/maintenanceWindows/0/end",
    "/spec/surge",
    "/spec/surge/maxUnavailable",
    "/spec/surge/readyTimeout",
    "/spec/surge/cooldownAfter",
    "/spec/surge/failurePause",
    "/spec/surge/retryBackoff",
    "/spec/surge/provisioningEstimate",
    "/spec/surge/drainEstimate",
    "/spec/surge/matchNodeRequirements",
    "/spec/surge/forcefulFallback",
    "/spec/prePull",
];

/// Any JSON, and now and then something that fits.
fn any_value() -> impl Strategy<Value = Value> {
    let zone = "topology.kubernetes.io/zone";
    let fitting = vec![
        json!("30m"),
        json!("12h"),
        json!("0s"),
        json!("000000000000000000000000000000001m"),
        json!("auto"),
        json!("UTC"),
        json!("23:00"),
        json!("24:00"),
        json!(["Mon"]),
        json!(1),
        json!({"enabled": true}),
        json!({"required": [], "preferred": [zone]}),
        json!({"preferred": ["example.com/rack"]}),
        json!({"required": ["example.com/rack"], "preferred": [zone]}),
        json!([null]),
        json!({"noderotation.io/derived-defaults": "spec.surge.failurePause"}),
    ];
    let scalar = prop_oneof![
        prop::sample::select(fitting),
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
    ];
    scalar.prop_recursive(2, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-zA-Z./]{1,12}", inner, 0..4).prop_map(|map| map.into_iter().collect::<Value>()),
        ]
    })
}

prop_compose! {
    /// The good policy with some of its fields replaced by anything at all.
    pub(crate) fn any_policy()(changes in prop::collection::vec((prop::sample::select(FIELDS.to_vec()), any_value()), 0..4)) -> Value {
        let mut policy = good();
        for (pointer, value) in changes {
            let (parent, key) = pointer.rsplit_once('/').unwrap();
            match policy.pointer_mut(parent) {
                Some(Value::Object(object)) => drop(object.insert(key.to_owned(), value)),
                Some(Value::Array(array)) if !array.is_empty() => array[0] = value,
                Some(_) | None => {}
            }
        }
        policy
    }
}

proptest! {
    /// The mutating endpoint judges what a person wrote and the validating one what is stored: they must agree.
    #[test]
    fn defaults_change_no_judgement(policy in any_policy()) {
        let written = validate(&policy);
        let stored = validate(&super::default::apply(None, &policy));
        prop_assert_eq!(written.as_ref().err(), stored.as_ref().err());
        if let (Ok(written), Ok(stored)) = (written, stored) {
            // The derived defaults are spelled out in what is stored, and nothing else is new.
            let spelled = super::governing::Governing { provisioning_estimate: stored.provisioning_estimate, ..written };
            prop_assert_eq!(spelled, stored);
        }
    }

    #[test]
    fn every_fault_has_a_place_a_sentence_and_a_remedy(policy in any_policy()) {
        for fault in validate(&policy).err().unwrap_or_default() {
            prop_assert!(fault.field.starts_with("spec"), "{}", fault);
            prop_assert!(!fault.sentence.is_empty() && !fault.remedy.is_empty(), "{}", fault);
        }
    }
}
