//! Fields that a policy has and RotationPolicy has not, each with the field that was probably meant (D3).
//!
//! Neither webhook ever sees them: the API server removes them first, without a word where it is not asked to be strict.
//! Only who reads the file can tell. What is known is read from the schema that the API server has.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::fault::{Fault, FaultCode};
use super::schema::definition;
use crate::nearest::{edits, is_near};

/// The schema of the whole object, with what every object has.
static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let schema = definition().spec.versions.into_iter().next().and_then(|version| version.schema?.open_api_v3_schema);
    let mut schema = serde_json::to_value(schema).unwrap_or_default();
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        let metadata: Map<String, Value> = METADATA.iter().map(|field| ((*field).to_owned(), Value::Null)).collect();
        properties.insert("metadata".to_owned(), json!({ "properties": metadata }));
        properties.extend(["apiVersion", "kind"].map(|field| (field.to_owned(), Value::Null)));
    }
    schema
});

/// Fields of `spec` with their paths, without indices.
static PATHS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut paths = Vec::new();
    collect("spec", SCHEMA.pointer("/properties/spec").unwrap_or(&Value::Null), &mut paths);
    paths
});

/// Fields of an object's `metadata`, which the schema leaves to the API server.
const METADATA: [&str; 15] = [
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// Every unknown field, in alphabetical order at each level.
#[must_use]
pub fn unknown_fields(policy: &Value) -> Vec<Fault> {
    let mut faults = Vec::new();
    if let Some(root) = policy.as_object() {
        compare("", root, SCHEMA.get("properties").unwrap_or(&Value::Null), &mut faults);
    }
    faults
}

/// Compares the fields of `object` at `path` with `properties`, and what is in those that are known.
fn compare(path: &str, object: &Map<String, Value>, properties: &Value, faults: &mut Vec<Fault>) {
    let Some(properties) = properties.as_object().filter(|properties| !properties.is_empty()) else {
        return;
    };
    let known: Vec<&str> = properties.keys().map(String::as_str).collect();
    for (key, value) in object {
        match properties.get(key) {
            Some(schema) => descend(&join(path, key), value, schema, faults),
            None => faults.push(fault(path, key, &known, &PATHS)),
        }
    }
}

fn descend(path: &str, value: &Value, schema: &Value, faults: &mut Vec<Fault>) {
    match value {
        Value::Object(object) => compare(path, object, schema.get("properties").unwrap_or(&Value::Null), faults),
        Value::Array(items) => {
            let schema = schema.get("items").unwrap_or(&Value::Null);
            for (index, item) in items.iter().enumerate() {
                descend(&format!("{path}[{index}]"), item, schema, faults);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn fault(path: &str, key: &str, known: &[&str], elsewhere: &[String]) -> Fault {
    let remedy = sibling(key, known)
        .map(|name| format!("did you mean {name}?"))
        .or_else(|| stranger(key, elsewhere).map(|path| format!("did you mean {path}?")))
        .unwrap_or_else(|| format!("the fields here are {}", known.join(", ")));
    let words = format!("is not a field of RotationPolicy, and would be dropped; {remedy}");
    Fault::of(FaultCode::Forbidden, &join(path, key), &Value::Null, &words)
}

/// The nearest field of the same level.
#[must_use]
pub fn sibling<'a>(key: &str, known: &[&'a str]) -> Option<&'a str> {
    let nearest = known.iter().map(|name| (distance(key, name), *name)).min()?;
    is_near(nearest.0, key).then_some(nearest.1)
}

/// The nearest field of another level.
fn stranger<'a>(key: &str, paths: &'a [String]) -> Option<&'a str> {
    let name = |path: &'a str| path.rsplit('.').next().unwrap_or(path);
    let nearest = paths.iter().map(|path| (distance(key, name(path)), path.as_str())).min()?;
    is_near(nearest.0, key).then_some(nearest.1)
}

/// Letters that differ, upper and lower case apart. A name that continues another, such as `startTime`, or ends in it,
/// such as `weekdays`, is near it.
fn distance(key: &str, name: &str) -> usize {
    let (key, name) = (key.to_lowercase(), name.to_lowercase());
    let (short, long) = if key.len() < name.len() { (&key, &name) } else { (&name, &key) };
    let part_of = (short.len() >= 2 && long.starts_with(short.as_str())) || (short.len() >= 4 && long.ends_with(short.as_str()));
    if part_of && key != name { 1 } else { edits(&key, &name) }
}

fn collect(path: &str, schema: &Value, paths: &mut Vec<String>) {
    let properties = schema.get("properties").or_else(|| schema.pointer("/items/properties")).and_then(Value::as_object);
    for (key, schema) in properties.into_iter().flatten() {
        let path = join(path, key);
        collect(&path, schema, paths);
        paths.push(path);
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::tests::good;

    #[test]
    fn a_policy_without_unknown_fields_has_no_fault() {
        let mut stored = good();
        stored["metadata"] = json!({"name": "api", "uid": "1", "managedFields": [{"novel": 1}], "labels": {"any": "thing"}});
        stored["status"] = json!({"matchedNodePools": 1});
        assert_eq!(unknown_fields(&stored), []);
        for absurd in [json!(null), json!([1]), json!({"metadata": 3, "spec": [{"x": 1}]})] {
            assert_eq!(unknown_fields(&absurd), []);
        }
    }

    #[test]
    fn c027_c155_c177_each_unknown_field_is_named_with_the_nearest_known_one() {
        let policy = json!({
            "apiVersion": "noderotation.io/v1alpha1",
            "kind": "RotationPolicy",
            "metadata": {"name": "api", "lables": {}},
            "specs": {},
            "spec": {
                "maintenanceWindow": {},
                "readyTimeout": "15m",
                "paused": true,
                "nodePoolSelector": {"matchLabels": {"any": "key"}, "matchExpression": [], "matchExpressions": [{"key": "a", "op": "In"}]},
                "maintenanceWindows": [{"timeZone": "UTC", "startTime": "8:00", "weekdays": []}],
                "surge": {"readyTimout": "15m", "ReadyTimeout": "15m", "forcefulFallback": {"enable": true}},
            }
        });
        let sentences: Vec<String> = unknown_fields(&policy).iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(sentences.join("\n"), @r"
        metadata.lables: is not a field of RotationPolicy, and would be dropped; did you mean labels?
        spec.maintenanceWindow: is not a field of RotationPolicy, and would be dropped; did you mean maintenanceWindows?
        spec.maintenanceWindows[0].startTime: is not a field of RotationPolicy, and would be dropped; did you mean start?
        spec.maintenanceWindows[0].timeZone: is not a field of RotationPolicy, and would be dropped; did you mean timezone?
        spec.maintenanceWindows[0].weekdays: is not a field of RotationPolicy, and would be dropped; did you mean days?
        spec.nodePoolSelector.matchExpression: is not a field of RotationPolicy, and would be dropped; did you mean matchExpressions?
        spec.nodePoolSelector.matchExpressions[0].op: is not a field of RotationPolicy, and would be dropped; the fields here are key, operator, values
        spec.paused: is not a field of RotationPolicy, and would be dropped; the fields here are ageThreshold, maintenanceWindows, minRotationChances, nodePoolSelector, prePull, surge
        spec.readyTimeout: is not a field of RotationPolicy, and would be dropped; did you mean spec.surge.readyTimeout?
        spec.surge.ReadyTimeout: is not a field of RotationPolicy, and would be dropped; did you mean readyTimeout?
        spec.surge.forcefulFallback.enable: is not a field of RotationPolicy, and would be dropped; did you mean enabled?
        spec.surge.readyTimout: is not a field of RotationPolicy, and would be dropped; did you mean readyTimeout?
        specs: is not a field of RotationPolicy, and would be dropped; did you mean spec?
        ");
    }
}
