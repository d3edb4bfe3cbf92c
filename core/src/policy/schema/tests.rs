//! What the schema promises: bounds everywhere, a message for every rule, the sentences of validation, and that what it
//! admits can be judged.

mod admitted;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use jiff::tz::TimeZoneDatabase;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::definition;
use crate::policy::default;
use crate::policy::tests::{good, with};
use crate::policy::validate::validate;

/// The schema of the whole object.
fn schema() -> Value {
    serde_json::to_value(definition()).unwrap()["spec"]["versions"][0]["schema"]["openAPIV3Schema"].take()
}

/// Calls `visit` with each schema and its path, `[]` for an item of a list, `{}` for a value of a map.
fn walk(schema: &Value, path: &str, visit: &mut impl FnMut(&str, &Value)) {
    visit(path, schema);
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        walk(property, &format!("{path}.{name}"), visit);
    }
    for (part, mark) in [("items", "[]"), ("additionalProperties", "{}")] {
        if schema[part].is_object() {
            walk(&schema[part], &format!("{path}{mark}"), visit);
        }
    }
}

/// Each rule with the path of the field that it speaks of.
fn rules() -> Vec<(String, Value)> {
    let mut rules = Vec::new();
    walk(&schema(), "", &mut |path, schema| {
        for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
            let field = format!("{path}{}", rule["fieldPath"].as_str().unwrap_or_default());
            rules.push((field.trim_start_matches('.').to_owned(), rule.clone()));
        }
    });
    rules
}

#[test]
fn it_is_structural_and_every_rule_has_a_message() {
    walk(&schema(), "", &mut |path, schema| {
        // A null is dropped, but for a label, where that would change what is selected.
        assert_eq!(schema.get("nullable").is_some(), path == ".spec.nodePoolSelector.matchLabels{}", "{path}");
        for keyword in ["$ref", "anyOf", "oneOf", "allOf", "not"] {
            assert!(schema.get(keyword).is_none(), "{path} has {keyword}");
        }
        assert!(schema["type"].is_string(), "{path} has no type");
    });
    for (field, rule) in rules() {
        assert!(rule["message"].as_str().is_some_and(|message| !message.is_empty()), "{field}: a rule without a message");
    }
    assert!(rules().len() >= 20, "{} rules", rules().len());
    assert_eq!(serde_json::to_value(definition()).unwrap()["spec"]["scope"], "Cluster");
}

#[test]
fn everything_is_bounded_and_described() {
    walk(&schema(), "", &mut |path, schema| {
        let has = |keyword: &str| schema.get(keyword).is_some();
        let bounded = match schema["type"].as_str().unwrap() {
            "string" => has("maxLength") || has("enum") || schema["format"] == "date-time",
            "integer" => has("minimum") && (has("maximum") || path.starts_with(".status")),
            "array" => has("maxItems"),
            "object" => has("properties") != has("additionalProperties") && has("properties") != has("maxProperties"),
            other => other == "boolean",
        };
        assert!(bounded, "{path} has no bounds: {schema}");
        let is_field = !path.ends_with("[]") && !path.ends_with("{}");
        let description = schema["description"].as_str().unwrap_or_default();
        assert!(!is_field || (!description.is_empty() && !description.contains('\n')), "{path} is described as {description:?}");
        // A word for word bound on what is free to write: a name or a number of its own grammar.
        if path.starts_with(".spec") && schema["type"] == "string" {
            assert!(has("enum") || has("x-kubernetes-validations"), "{path} is free text");
        }
    });
}

#[test]
fn c057_a_duration_has_a_pattern_and_no_format() {
    let mut patterns = BTreeSet::new();
    walk(&schema(), "", &mut |path, schema| {
        let known = [Value::Null, json!("int32"), json!("int64"), json!("date-time")];
        assert!(known.contains(&schema["format"]), "{path} has the format {}", schema["format"]);
        if schema.get("pattern").is_some() {
            patterns.insert(path.to_owned());
        }
    });
    let surge = ["readyTimeout", "cooldownAfter", "failurePause", "retryBackoff", "provisioningEstimate", "drainEstimate"];
    let mut expected: BTreeSet<String> = surge.iter().map(|field| format!(".spec.surge.{field}")).collect();
    expected.extend(["ageThreshold"].map(|field| format!(".spec.{field}")));
    expected.extend(["timezone", "start", "end"].map(|field| format!(".spec.maintenanceWindows[].{field}")));
    assert_eq!(patterns, expected);
}

#[test]
fn a_number_has_no_more_digits_than_ten_years_have() {
    let digits: Vec<(&str, usize)> = super::duration::digits().collect();
    let micro = ["\u{3bc}s", "\u{b5}s", "us"].map(|unit| (unit, 15));
    assert_eq!(digits, [("h", 5), ("m", 7), ("s", 9), ("ms", 12), micro[0], micro[1], micro[2], ("ns", 18)]);
    let pattern = schema()["properties"]["spec"]["properties"]["surge"]["properties"]["readyTimeout"]["pattern"].take();
    let pattern = pattern.as_str().unwrap();
    assert!(pattern.starts_with("^(0|((0*[0-9]{1,5}([.][0-9]*)?|[.][0-9]+)h|(0*[0-9]{1,7}([.][0-9]*)?|[.][0-9]+)m|"), "{pattern}");
    assert!(pattern.ends_with("|(0*[0-9]{1,18}([.][0-9]*)?|[.][0-9]+)ns)+)$"), "{pattern}");
}

#[test]
fn every_zone_that_there_is_fits() {
    let window = &schema()["properties"]["spec"]["properties"]["maintenanceWindows"]["items"]["properties"]["timezone"];
    assert_eq!(window["pattern"], "^[A-Za-z0-9_+/-]+$");
    let longest = usize::try_from(window["maxLength"].as_u64().unwrap()).unwrap();
    for zone in TimeZoneDatabase::bundled().available() {
        let zone = zone.as_str();
        assert!(zone.len() <= longest && zone.chars().all(|c| c.is_ascii_alphanumeric() || "_+/-".contains(c)), "{zone}");
    }
}

#[test]
fn the_defaults_are_those_of_the_endpoint() {
    fn fill(schema: &Value, value: &mut Value) {
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let Some(object) = value.as_object_mut() else { return };
            if let Some(default) = property.get("default") {
                object.entry(name).or_insert_with(|| default.clone());
            }
            if let Some(value) = object.get_mut(name) {
                fill(property, value);
            }
        }
    }
    let mut bare = good();
    bare["spec"] = json!({"nodePoolSelector": {}, "maintenanceWindows": good()["spec"]["maintenanceWindows"]});
    let mut stored = bare.clone();
    fill(&schema(), &mut stored);
    let mut endpoint = default::apply(None, &bare);
    // Derived from other fields, which no schema can do.
    let surge = endpoint["spec"]["surge"].as_object_mut().unwrap();
    assert!(surge.remove("failurePause").is_some() && surge.remove("provisioningEstimate").is_some());
    assert_eq!(stored["spec"], endpoint["spec"]);
}

#[test]
fn a_rule_has_the_sentence_of_the_endpoint() {
    let keys = |list: &str, key: &str| json!({list: [key]});
    let expression = |operator: &str, values: Value| json!({"matchExpressions": [{"key": "a", "operator": operator, "values": values}]});
    // A value that breaks each rule, and no other: for each rule the endpoint has the same words.
    let rows = [
        ("/spec/maintenanceWindows/0/start", json!("2:00")),
        ("/spec/maintenanceWindows/0/end", json!("24:01")),
        ("/spec/maintenanceWindows/0/end", json!("02:00")),
        ("/spec/maintenanceWindows/0/timezone", json!("(unknown)")),
        ("/spec/surge/maxUnavailable", json!(2)),
        ("/spec/prePull", json!({"enabled": true})),
        ("/spec/nodePoolSelector", json!({"matchLabels": {"a b": "x"}})),
        ("/spec/nodePoolSelector", json!({"matchLabels": {"a": "x y"}})),
        ("/spec/nodePoolSelector", json!({"matchLabels": {"a": null}})),
        ("/spec/nodePoolSelector", json!({"matchExpressions": [{"key": "a b", "operator": "Exists"}]})),
        ("/spec/nodePoolSelector", expression("In", json!(["x y"]))),
        ("/spec/nodePoolSelector", expression("NotIn", json!([]))),
        ("/spec/nodePoolSelector", expression("Exists", json!(["x"]))),
        ("/spec/surge/matchNodeRequirements", keys("required", "a b")),
        ("/spec/surge/matchNodeRequirements", keys("required", "karpenter.sh/nodepool")),
        ("/spec/surge/matchNodeRequirements", keys("required", "kubernetes.io/hostname")),
        ("/spec/surge/matchNodeRequirements", keys("preferred", "kubernetes.io/arch")),
    ];
    let mut said: BTreeSet<String> = BTreeSet::new();
    for (pointer, value) in rows {
        let faults = validate(&with(pointer, value)).unwrap_err();
        assert_eq!(faults.len(), 1, "{faults:?}");
        said.extend(faults.iter().map(|fault| format!("{}; {}", fault.sentence, fault.remedy)));
    }
    for (field, rule) in rules() {
        let message = rule["message"].as_str().unwrap();
        // The endpoint says of a duration what exactly is wrong with it.
        let known = message.contains("duration") || said.contains(message.trim_start_matches("has a key that "));
        assert!(known, "{field}: the endpoint never says {message:?}, but {said:#?}");
        let expression = rule["messageExpression"].as_str().unwrap_or(message);
        assert!(expression.contains(message.trim_start_matches("has a key that ")), "{field}: {expression}");
    }
}

/// Fields that a rule speaks of.
static RULED: LazyLock<BTreeSet<String>> = LazyLock::new(|| rules().into_iter().map(|(field, _)| field).collect());
/// Fields where the schema admits what the endpoint refuses.
const ENDPOINT_ONLY: [&str; 1] = ["spec.maintenanceWindows[].timezone"];

proptest! {
    // The endpoint looks for the nearest name of each zone that is none, which takes its time.
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// What has the right types and bounds is never a fault of type, and a fault only where a rule of the schema refuses
    /// it as well; `e2e` holds the rules themselves against a real API server.
    #[test]
    fn what_is_admitted_can_be_judged(spec in admitted::by(&schema()["properties"]["spec"])) {
        for fault in validate(&json!({"spec": spec})).err().unwrap_or_default() {
            let field = admitted::generalized(&fault.field);
            let expected = RULED.contains(&field) || ENDPOINT_ONLY.contains(&field.as_str());
            prop_assert!(expected && fault.code.reason() != "FieldValueTypeInvalid", "{}", fault);
        }
    }
}
