//! The parts of the CRD's schema that a derive cannot say: patterns, bounds, defaults, and rules with a message.
//!
//! The message of a rule is what people read; the rules repeat [`super::validate`] for the time when the admission
//! endpoint is away.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use super::reader::LONGEST_DURATION;
use super::validate::{DEFAULT_REQUIRED_KEYS, MOST_KEYS};
use super::windows::MOST_ENTRIES;
use super::{MaintenanceWindow, MatchNodeRequirements, RotationPolicy, Surge, Switch};

/// Go's grammar without a sign, as [`crate::duration`] reads it.
const DURATION: &str = "^(0|(([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|\u{b5}s|\u{3bc}s|ms|s|m|h))+)$";

/// The whole definition, with the schema made structural.
#[must_use]
pub fn definition() -> CustomResourceDefinition {
    let mut definition = RotationPolicy::crd();
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
/// fills in the default.
fn tidy(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.remove("nullable");
            object.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn duration_with(rule: &str, message: &str, default: Option<&str>) -> Schema {
    let mut schema = json_schema!({
        "type": "string",
        "maxLength": LONGEST_DURATION,
        "x-kubernetes-validations": [{
            "rule": format!("self.matches('{DURATION}') && {rule}"),
            "message": message,
        }],
    });
    if let Some(default) = default {
        schema.insert("default".to_owned(), json!(default));
    }
    schema
}

const POSITIVE: &str = "duration(self) > duration('0s') && duration(self) <= duration('87600h')";
const POSITIVE_MESSAGE: &str =
    "must be a duration longer than zero and at most 87600h; write for example 15m or 1h30m (units h, m, s, ms, us, ns)";

fn positive(default: Option<&str>) -> Schema {
    duration_with(POSITIVE, POSITIVE_MESSAGE, default)
}

/// A positive duration without a default.
pub(super) fn duration(_: &mut SchemaGenerator) -> Schema {
    positive(None)
}

/// `surge.readyTimeout`.
pub(super) fn ready_timeout(_: &mut SchemaGenerator) -> Schema {
    positive(Some("15m"))
}

/// `surge.retryBackoff`.
pub(super) fn retry_backoff(_: &mut SchemaGenerator) -> Schema {
    positive(Some("30m"))
}

/// `surge.cooldownAfter`, which may be zero.
pub(super) fn cooldown(_: &mut SchemaGenerator) -> Schema {
    duration_with(
        "duration(self) <= duration('87600h')",
        "must be a duration of at most 87600h; write for example 10m or 0s (units h, m, s, ms, us, ns)",
        Some("10m"),
    )
}

/// `ageThreshold`.
pub(super) fn age_threshold(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string",
        "maxLength": LONGEST_DURATION,
        "default": "auto",
        "x-kubernetes-validations": [{
            "rule": format!("self == 'auto' || (self.matches('{DURATION}') && {POSITIVE})"),
            "message": "must be auto, or a duration longer than zero and at most 87600h; write for example 720h (units h, m, s, ms, us, ns)",
        }],
    })
}

/// `minRotationChances`.
pub(super) fn min_rotation_chances(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "integer", "format": "int32", "minimum": 1, "default": 2 })
}

/// `surge.maxUnavailable`.
pub(super) fn max_unavailable(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "integer",
        "format": "int32",
        "default": 1,
        "x-kubernetes-validations": [{ "rule": "self == 1", "message": "is not supported; write 1, or leave the field out" }],
    })
}

/// `maintenanceWindows`.
pub(super) fn windows(generator: &mut SchemaGenerator) -> Schema {
    let mut window = inline::<MaintenanceWindow>(generator);
    window.insert(
        "x-kubernetes-validations".to_owned(),
        json!([{
            "rule": "self.start != self.end",
            "message": "start and end are equal, so the window has no length; for a whole day write 00:00 to 24:00",
            "fieldPath": ".end",
        }]),
    );
    json_schema!({ "type": "array", "minItems": 1, "maxItems": MOST_ENTRIES, "items": window })
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

/// A list of label keys.
pub(super) fn keys(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": MOST_KEYS,
        "x-kubernetes-list-type": "set",
        "items": { "type": "string", "minLength": 1, "maxLength": 317 },
    })
}

/// `matchNodeRequirements.required`.
pub(super) fn required_keys(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = keys(generator);
    schema.insert("default".to_owned(), json!(DEFAULT_REQUIRED_KEYS));
    schema
}

/// `surge`; the empty default lets the defaults of its fields apply.
pub(super) fn surge(generator: &mut SchemaGenerator) -> Schema {
    with_empty_default(inline::<Surge>(generator))
}

/// `surge.matchNodeRequirements`, likewise.
pub(super) fn match_node_requirements(generator: &mut SchemaGenerator) -> Schema {
    with_empty_default(inline::<MatchNodeRequirements>(generator))
}

/// An object with `enabled`.
pub(super) fn switch(generator: &mut SchemaGenerator) -> Schema {
    inline::<Switch>(generator)
}

/// `prePull`.
pub(super) fn pre_pull(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = inline::<Switch>(generator);
    schema.insert(
        "x-kubernetes-validations".to_owned(),
        json!([{ "rule": "!self.enabled", "message": "is not supported yet; write false, or leave the field out", "fieldPath": ".enabled" }]),
    );
    schema
}

fn inline<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    T::json_schema(generator)
}

fn with_empty_default(mut schema: Schema) -> Schema {
    schema.insert("default".to_owned(), json!({}));
    schema
}

/// `status.conditions`, one entry a type.
pub(super) fn conditions(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "description": "One aspect of the policy's state.",
            "required": ["type", "status", "lastTransitionTime", "reason", "message"],
            "properties": {
                "type": { "type": "string", "maxLength": 316, "description": "Which aspect." },
                "status": { "type": "string", "enum": ["True", "False", "Unknown"], "description": "True, False or Unknown." },
                "observedGeneration": { "type": "integer", "format": "int64", "minimum": 0, "description": "The generation that this describes." },
                "lastTransitionTime": { "type": "string", "format": "date-time", "description": "When the status changed last." },
                "reason": { "type": "string", "minLength": 1, "maxLength": 1024, "description": "One word, for programs." },
                "message": { "type": "string", "maxLength": 32768, "description": "A sentence, for people." },
            },
        },
    })
}
