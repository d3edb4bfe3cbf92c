//! Every rule of a policy: one row a rule with its whole sentence, beside the good twin that it differs from in one field.

use serde_json::{Value, json};

use super::governing::AgeThreshold;
use super::validate::validate;
use super::warning::warnings;

/// A good policy.
fn good() -> Value {
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
fn with(pointer: &str, value: Value) -> Value {
    let mut policy = good();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let parent = policy.pointer_mut(parent).unwrap();
    match (parent, value) {
        (Value::Object(object), Value::Null) => drop(object.remove(key)),
        (Value::Object(object), value) => drop(object.insert(key.to_owned(), value)),
        (Value::Array(array), value) => array[key.parse::<usize>().unwrap()] = value,
        (other, _) => panic!("{other} has no fields"),
    }
    policy
}

fn faults(policy: &Value) -> Vec<String> {
    validate(policy).err().unwrap_or_default().iter().map(ToString::to_string).collect()
}

#[test]
fn a_good_policy_has_no_fault_and_is_parsed_whole() {
    let governing = validate(&good()).unwrap();
    assert_eq!((governing.name.as_str(), governing.generation, governing.min_rotation_chances), ("api", 7, 2));
    assert_eq!(governing.age_threshold, AgeThreshold::Auto);
    assert_eq!(governing.failure_pause.as_secs(), 600);
    assert_eq!(governing.required_keys.len(), 3);
    let longer = validate(&with("/spec/surge/cooldownAfter", json!("40m"))).unwrap();
    assert_eq!(longer.failure_pause.as_secs(), 2400, "the failure pause is never shorter than the cooldown");
}

#[test]
fn what_may_be_left_out_may() {
    for pointer in [
        "/spec/ageThreshold",
        "/spec/minRotationChances",
        "/spec/surge",
        "/spec/surge/maxUnavailable",
        "/spec/surge/readyTimeout",
        "/metadata/name",
    ] {
        assert_eq!(faults(&with(pointer, Value::Null)), Vec::<String>::new(), "{pointer}");
    }
}

#[test]
fn what_is_unusual_but_right_is_accepted() {
    let window = "/spec/maintenanceWindows/0";
    let rows: Vec<(String, Value)> = vec![
        (format!("{window}/end"), json!("24:00")),
        (format!("{window}/end"), json!("00:00")),
        (format!("{window}/start"), json!("23:59")),
        (format!("{window}/timezone"), json!("Europe/Kyiv")),
        ("/spec/ageThreshold".to_owned(), json!("1.5h")),
        ("/spec/surge/cooldownAfter".to_owned(), json!("0s")),
        ("/spec/surge/cooldownAfter".to_owned(), json!("0")),
        ("/spec/surge/readyTimeout".to_owned(), json!("900000ms")),
        ("/spec/surge/matchNodeRequirements".to_owned(), json!({"required": [], "preferred": ["example.com/rack"]})),
        ("/spec/prePull".to_owned(), json!({"enabled": false})),
        ("/spec/nodePoolSelector".to_owned(), json!({})),
        ("/spec/minRotationChances".to_owned(), json!(1)),
    ];
    for (pointer, value) in rows {
        assert_eq!(faults(&with(&pointer, value.clone())), Vec::<String>::new(), "{pointer} = {value}");
    }
}

#[test]
fn each_rule_has_its_sentence() {
    let window = |field: &str| format!("/spec/maintenanceWindows/0/{field}");
    let surge = |field: &str| format!("/spec/surge/{field}");
    let rows: Vec<(String, Value)> = vec![
        ("/spec".to_owned(), Value::Null),
        ("/spec".to_owned(), json!("fast")),
        ("/spec/nodePoolSelector".to_owned(), Value::Null),
        ("/spec/nodePoolSelector".to_owned(), json!("api")),
        ("/spec/ageThreshold".to_owned(), json!("30d")),
        ("/spec/ageThreshold".to_owned(), json!("0s")),
        ("/spec/ageThreshold".to_owned(), json!("")),
        ("/spec/ageThreshold".to_owned(), json!("Auto")),
        ("/spec/minRotationChances".to_owned(), json!(0)),
        ("/spec/minRotationChances".to_owned(), json!(1.5)),
        ("/spec/minRotationChances".to_owned(), json!(9_999_999_999_i64)),
        ("/spec/maintenanceWindows".to_owned(), Value::Null),
        ("/spec/maintenanceWindows".to_owned(), json!([])),
        ("/spec/maintenanceWindows".to_owned(), json!({})),
        ("/spec/maintenanceWindows".to_owned(), json!(vec![json!({}); 65])),
        ("/spec/maintenanceWindows/0".to_owned(), json!("Wed 02:00")),
        (window("timezone"), Value::Null),
        (window("timezone"), json!("Local")),
        (window("timezone"), json!("europe/berlin")),
        (window("timezone"), json!(2)),
        (window("days"), Value::Null),
        (window("days"), json!([])),
        (window("days"), json!("Wed")),
        (window("days"), json!(["saturday", "mo", "Funday", "Wed", "Wed", 3])),
        (window("start"), json!("2:00")),
        (window("start"), json!("24:00")),
        (window("start"), json!("06:00")),
        (window("end"), Value::Null),
        (window("end"), json!("25:00")),
        (window("end"), json!("06:60")),
        (window("end"), json!("0６:00")),
        (surge("maxUnavailable"), json!(2)),
        (surge("maxUnavailable"), json!(0)),
        (surge("maxUnavailable"), json!("1")),
        (surge("readyTimeout"), json!("0s")),
        (surge("readyTimeout"), json!("-5m")),
        (surge("readyTimeout"), json!(900)),
        (surge("retryBackoff"), json!("30")),
        (surge("cooldownAfter"), json!("99999999999999999999h")),
        (surge("failurePause"), json!("0s")),
        (surge("provisioningEstimate"), json!("5 min")),
        (surge("drainEstimate"), json!("1w")),
        (surge("matchNodeRequirements"), json!({"required": ["bad key!", "kubernetes.io/hostname", "a", "a"], "preferred": ["a"]})),
        (surge("forcefulFallback"), json!({"enabled": "yes"})),
        (surge("wholeNodeReservation"), json!(true)),
        ("/spec/prePull".to_owned(), json!({"enabled": true})),
    ];
    let table: Vec<String> = rows.iter().flat_map(|(pointer, value)| faults(&with(pointer, value.clone()))).collect();
    insta::assert_snapshot!(table.join("\n"));
}

#[test]
fn all_faults_are_told_at_once_in_the_order_of_the_fields() {
    let mut policy = with("/spec/maintenanceWindows/0/end", json!("25:00"));
    policy["spec"]["surge"]["maxUnavailable"] = json!(2);
    policy["spec"]["ageThreshold"] = json!("30d");
    let fields: Vec<String> = validate(&policy).unwrap_err().into_iter().map(|fault| fault.field).collect();
    assert_eq!(fields, ["spec.ageThreshold", "spec.maintenanceWindows[0].end", "spec.surge.maxUnavailable"]);
}

#[test]
fn no_object_is_too_malformed_to_be_judged() {
    for object in [
        Value::Null,
        json!([]),
        json!(3),
        json!({}),
        json!({"spec": null}),
        json!({"spec": []}),
        json!({"spec": {"maintenanceWindows": [null, 1]}}),
    ] {
        assert!(!faults(&object).is_empty(), "{object}");
    }
}

#[test]
fn doubts_are_told_in_a_few_words() {
    let mut policy = with("/spec/maintenanceWindows/0/end", json!("01:00"));
    policy["spec"]["minRotationChances"] = json!(1);
    policy["spec"]["surge"]["retryBackoff"] = json!("5m");
    let second = json!({"timezone": "Etc/GMT+5", "days": ["Sun"], "start": "00:00", "end": "23:59"});
    policy["spec"]["maintenanceWindows"].as_array_mut().unwrap().push(second);
    let warnings = warnings(&policy);
    assert!(warnings.iter().all(|warning| warning.len() <= 256));
    insta::assert_snapshot!(warnings.join("\n"), @r"
    spec.maintenanceWindows[0]: the window crosses midnight: from 02:00 on each named day to 01:00 on the next day, Asia/Tokyo time
    spec.maintenanceWindows[1].end: 23:59 leaves the last minute of the day closed; write 24:00 for the end of the day
    spec.maintenanceWindows[1].timezone: Etc/GMT+5 never follows daylight saving time
    spec.minRotationChances: 1 leaves no second window when a rotation fails; 2 is the default
    spec.surge.retryBackoff: 5m is shorter than readyTimeout (15m), so a failed claim is tried again almost at once
    ");
    assert_eq!(super::warning::warnings(&good()), Vec::<String>::new());
}

#[test]
fn the_schema_is_structural_and_its_rules_have_messages() {
    fn walk(value: &Value, path: &str, rules: &mut usize) {
        if let Value::Object(object) = value {
            assert!(!object.contains_key("nullable") && !object.contains_key("$ref") && !object.contains_key("anyOf"), "{path}");
            for rule in object.get("x-kubernetes-validations").and_then(Value::as_array).into_iter().flatten() {
                *rules += 1;
                assert!(rule["message"].as_str().is_some_and(|message| !message.is_empty()), "{path}: a rule without a message");
            }
            for (key, value) in object {
                walk(value, &format!("{path}.{key}"), rules);
            }
        }
    }
    let definition = serde_json::to_value(super::schema::definition()).unwrap();
    let mut rules = 0;
    walk(&definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"], "", &mut rules);
    assert!(rules >= 12, "{rules} rules");
    assert_eq!(definition["spec"]["scope"], "Cluster");
}
