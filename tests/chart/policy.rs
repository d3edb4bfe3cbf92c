//! The schema of a policy in the values: names, types and lists of words, from the CustomResourceDefinition.
//!
//! Bounds and patterns stay with the API server, which says in a sentence what is wrong with a value.

use serde_yaml_ng::{Mapping, Value};

/// The schema of `spec` as values have it.
pub(crate) fn spec(definition: &Value) -> Value {
    let spec = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"].clone();
    let required = spec["required"].clone();
    let mut kept = kept(&spec);
    kept.as_mapping_mut().unwrap().insert("required".into(), required);
    kept
}

/// Where it stands in the schema of the values.
pub(crate) fn place(schema: &mut Value) -> &mut Value {
    &mut schema["properties"]["rotationPolicies"]["items"]["properties"]["spec"]
}

fn kept(node: &Value) -> Value {
    let mut result = Mapping::new();
    if let Some(said) = node.get("description").and_then(Value::as_str) {
        let first = said.split("\n\n").next().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
        result.insert("description".into(), first.into());
    }
    for key in ["type", "enum"] {
        if let Some(value) = node.get(key) {
            result.insert(key.into(), value.clone());
        }
    }
    if let Some(properties) = node.get("properties").and_then(Value::as_mapping) {
        let properties: Mapping = properties.iter().map(|(name, property)| (name.clone(), kept(property))).collect();
        result.insert("additionalProperties".into(), false.into());
        result.insert("properties".into(), properties.into());
    }
    for key in ["items", "additionalProperties"] {
        if let Some(inner) = node.get(key).filter(|inner| inner.is_mapping()) {
            result.insert(key.into(), kept(inner));
        }
    }
    result.into()
}
