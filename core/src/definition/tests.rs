//! Who is replaced and who is not, and what is taken from whom.

use jiff::Timestamp;
use serde_json::json;

use super::*;
use crate::policy::schema::definition;

fn there(version: Option<&str>, stored: &[&str]) -> CustomResourceDefinition {
    let mut definition = definition();
    definition.metadata.annotations = version.map(|version| [(DEFINITION_VERSION.to_owned(), version.to_owned())].into());
    definition.status = serde_json::from_value(json!({"storedVersions": stored})).unwrap();
    definition
}

fn of(version: &str) -> CustomResourceDefinition {
    there(Some(version), &["v1alpha1"])
}

#[test]
fn only_a_newer_one_stays() {
    let rows = [
        (None, "0.2.0", true),
        (Some("0.1.9"), "0.2.0", true),
        (Some("0.2.0"), "0.2.0", true),
        (Some("0.2.1"), "0.2.0", false),
        (Some("0.10.0"), "0.9.0", false),
        (Some("1.0.0"), "0.9.9", false),
        (Some("v1.0.0-rc.1"), "0.9.9", false),
        (Some("0.2.0-rc.1"), "0.2.0", true),
        (Some("0.2"), "0.1.0", true),
        (Some("a newer one"), "0.1.0", true),
        (Some("99999999999999999999.0.0"), "0.1.0", true),
    ];
    for (found, ours, replaced) in rows {
        let expected = if replaced { Verdict::Replace } else { Verdict::Newer(found.unwrap().to_owned()) };
        assert_eq!(judge(&there(found, &["v1alpha1"]), &of(ours)), expected, "{found:?} beside {ours}");
    }
    assert!(numbers(env!("CARGO_PKG_VERSION")).is_some());
    assert!(definition().annotations().contains_key(DEFINITION_VERSION));
}

#[test]
fn policies_in_a_version_that_is_not_ours_are_not_left_behind() {
    let stored = |versions: &[&str]| judge(&there(None, versions), &definition());
    assert_eq!(stored(&["v1alpha1"]), Verdict::Replace);
    assert_eq!(stored(&[]), Verdict::Replace);
    assert_eq!(stored(&["v1alpha1", "v1beta1"]), Verdict::Stored(vec!["v1beta1".to_owned()]));
    let mut deleting = of("9.0.0");
    deleting.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
    assert_eq!(judge(&deleting, &definition()), Verdict::Deleting);
}

#[test]
fn it_is_served_when_both_conditions_say_so() {
    let with = |conditions: &[(&str, &str)]| {
        let conditions: Vec<_> = conditions.iter().map(|(kind, status)| json!({"type": kind, "status": status})).collect();
        let mut definition = definition();
        definition.status = serde_json::from_value(json!({"conditions": conditions})).unwrap();
        established(&definition)
    };
    assert!(with(&[("NamesAccepted", "True"), ("Established", "True")]));
    assert!(!with(&[("NamesAccepted", "True"), ("Established", "False")]));
    assert!(!with(&[("NamesAccepted", "False"), ("Established", "True")]));
    assert!(!established(&definition()));
}

fn entry(manager: &str, operation: &str, subresource: Option<&str>, fields: Value) -> ManagedFieldsEntry {
    ManagedFieldsEntry {
        manager: Some(manager.to_owned()),
        operation: Some(operation.to_owned()),
        subresource: subresource.map(str::to_owned),
        fields_v1: Some(FieldsV1(fields)),
        ..ManagedFieldsEntry::default()
    }
}

#[test]
fn the_spec_is_taken_from_everybody_and_nothing_else_is() {
    let owners = [
        entry(
            "helm",
            "Update",
            None,
            json!({"f:metadata": {"f:labels": {"f:a": {}}}, "f:spec": {"f:group": {}, "f:versions": {"k:{}": {"f:old": {}}}}}),
        ),
        entry("kubectl", "Apply", None, json!({"f:spec": {"f:versions": {"k:{}": {"f:older": {}}}}})),
        entry("us", "Apply", None, json!({"f:metadata": {"f:annotations": {}}, "f:spec": {"f:scope": {}}})),
        entry("kube-apiserver", "Update", Some("status"), json!({"f:status": {}})),
    ];
    let now = Time(Timestamp::UNIX_EPOCH);
    let after = taken_over(&owners, "us", now.clone()).unwrap();
    let seen: Vec<(&str, &Value)> =
        after.iter().map(|entry| (entry.manager.as_deref().unwrap(), &entry.fields_v1.as_ref().unwrap().0)).collect();
    let ours = json!({"f:metadata": {"f:annotations": {}}, "f:spec": {
        "f:scope": {}, "f:group": {}, "f:versions": {"k:{}": {"f:old": {}, "f:older": {}}}
    }});
    let expected =
        [("helm", &json!({"f:metadata": {"f:labels": {"f:a": {}}}})), ("kube-apiserver", &json!({"f:status": {}})), ("us", &ours)];
    assert_eq!(seen, expected);
    // Once is enough.
    assert_eq!(taken_over(&after, "us", now.clone()), None);
    assert_eq!(taken_over(&[], "us", now), None);
}

#[test]
fn what_was_applied_is_owned_by_nobody_in_the_end() {
    let version = format!("f:{DEFINITION_VERSION}");
    let owners = [
        entry("us", "Apply", None, json!({"f:metadata": {"f:annotations": {&version: {}}}, "f:spec": {"f:scope": {}}})),
        entry("helm", "Update", None, json!({"f:metadata": {"f:annotations": {".": {}, &version: {}}, "f:labels": {"f:a": {}}}})),
        entry("argo", "Apply", None, json!({"f:metadata": {"f:annotations": {"f:b": {}, &version: {}}}})),
        entry("kube-apiserver", "Update", Some("status"), json!({"f:status": {"f:conditions": {}}})),
    ];
    let after = let_go(&owners).unwrap();
    let seen: Vec<(&str, &Value)> =
        after.iter().map(|entry| (entry.manager.as_deref().unwrap(), &entry.fields_v1.as_ref().unwrap().0)).collect();
    let expected = [
        ("helm", &json!({"f:metadata": {"f:labels": {"f:a": {}}}})),
        ("argo", &json!({"f:metadata": {"f:annotations": {"f:b": {}}}})),
        ("kube-apiserver", &json!({"f:status": {"f:conditions": {}}})),
    ];
    assert_eq!(seen, expected);
    assert_eq!(let_go(&after), None);
}
