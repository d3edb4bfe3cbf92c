//! The parts of the CRD's schema that a derive cannot say: patterns, bounds, defaults, and rules with a message (D3).
//!
//! What the schema admits can be read, and is judged at fault by [`super::validate`] only where the schema cannot look,
//! as at the names of time zones: the rules repeat it for the time when the admission endpoint is away. The message of a
//! rule is what people read; a pattern says the same once more to editors and validators that know no rules.

mod condition;
mod duration;
mod label;
#[cfg(test)]
mod tests;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use crate::annotation::DEFINITION_VERSION;

use super::validate::MOST_ROTATION_CHANCES;
use super::windows::MOST_ENTRIES;
use super::{MaintenanceWindow, RotationPolicy, Surge, Switch};

pub(super) use condition::{conditions, instant};
pub(super) use duration::{age_threshold, cooldown, positive_duration, ready_timeout, retry_backoff};
pub(super) use label::{keys, match_node_requirements, required_keys, selector};

/// The whole definition, with the schema made structural.
#[must_use]
pub fn definition() -> CustomResourceDefinition {
    let mut definition = RotationPolicy::crd();
    let version = (DEFINITION_VERSION.to_owned(), env!("CARGO_PKG_VERSION").to_owned());
    definition.metadata.annotations = Some([version].into());
    for version in &mut definition.spec.versions {
        let schema = version.schema.as_mut().and_then(|schema| schema.open_api_v3_schema.take());
        let mut value = serde_json::to_value(schema).unwrap_or_default();
        tidy(&mut value);
        // What was serialized a moment ago is read back.
        let schema = serde_json::from_value(value).ok();
        if let Some(validation) = version.schema.as_mut() {
            validation.open_api_v3_schema = schema;
        }
    }
    definition
}

/// Removes what only says that a field may be `null`: the API server drops a null where a field is not nullable, and
/// fills in the default. Line breaks of the source are not the reader's.
fn tidy(value: &mut Value) {
    match value {
        Value::Object(object) => {
            for field in object.get_mut("properties").and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut) {
                field.as_object_mut().map(|field| field.remove("nullable"));
            }
            if let Some(Value::String(description)) = object.get_mut("description") {
                *description = description.replace('\n', " ");
            }
            object.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// `minRotationChances`.
pub(super) fn min_rotation_chances(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "integer", "format": "int32", "minimum": 1, "maximum": MOST_ROTATION_CHANCES, "default": 2 })
}

/// `surge.maxUnavailable`.
pub(super) fn max_unavailable(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "integer",
        "format": "int32",
        "minimum": 1,
        "maximum": 1,
        "default": 1,
        "x-kubernetes-validations": [{ "rule": "self == 1", "message": "is not supported; write 1, or leave the field out" }],
    })
}

/// `maintenanceWindows`.
pub(super) fn windows(generator: &mut SchemaGenerator) -> Schema {
    let mut window = object::<MaintenanceWindow>(generator);
    window.insert(
        "x-kubernetes-validations".to_owned(),
        json!([{
            "rule": "self.start != self.end",
            "message": "equals start, so the window has no length; for a whole day write 00:00 to 24:00",
            "fieldPath": ".end",
        }]),
    );
    json_schema!({ "type": "array", "minItems": 1, "maxItems": MOST_ENTRIES, "items": window })
}

/// `maintenanceWindows[].timezone`: the letters of a name; whether there is such a zone is for the endpoint to say.
pub(super) fn timezone(_: &mut SchemaGenerator) -> Schema {
    let pattern = "^[A-Za-z0-9_+/-]+$";
    json_schema!({
        "type": "string",
        "minLength": 1,
        "maxLength": 64,
        "pattern": pattern,
        "x-kubernetes-validations": [{
            "rule": format!("self.matches('{pattern}')"),
            "message": "is not an IANA time zone; write an IANA name such as Europe/Berlin or UTC",
        }],
    })
}

/// `maintenanceWindows[].days`.
pub(super) fn days(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "minItems": 1,
        "maxItems": 7,
        "x-kubernetes-list-type": "set",
        "items": { "type": "string", "enum": ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"] },
    })
}

fn time_of_day(pattern: &str, latest: &str) -> Schema {
    json_schema!({
        "type": "string",
        "maxLength": 8,
        "pattern": pattern,
        "x-kubernetes-validations": [{
            "rule": format!("self.matches('{pattern}')"),
            "message": format!("is not a time of day; write HH:MM, 00:00 to {latest}"),
        }],
    })
}

/// `maintenanceWindows[].start`.
pub(super) fn start(_: &mut SchemaGenerator) -> Schema {
    time_of_day("^([01][0-9]|2[0-3]):[0-5][0-9]$", "23:59")
}

/// `maintenanceWindows[].end`.
pub(super) fn end(_: &mut SchemaGenerator) -> Schema {
    time_of_day("^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$", "24:00")
}

/// `surge`; the empty default lets the defaults of its fields apply.
pub(super) fn surge(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = object::<Surge>(generator);
    schema.insert("default".to_owned(), json!({}));
    schema
}

/// An object with `enabled`.
pub(super) fn switch(generator: &mut SchemaGenerator) -> Schema {
    object::<Switch>(generator)
}

/// `prePull`.
pub(super) fn pre_pull(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = object::<Switch>(generator);
    schema.insert(
        "x-kubernetes-validations".to_owned(),
        json!([{ "rule": "!self.enabled", "message": "is not supported yet; write false, or leave the field out", "fieldPath": ".enabled" }]),
    );
    schema
}

/// The fields of a type, in place instead of by reference.
fn object<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    T::json_schema(generator)
}
