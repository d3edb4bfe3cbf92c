//! Fills in what a policy leaves out (D3).
//!
//! Only what is missing is added; no value and no spelling is ever rewritten. Defaults that follow from other fields
//! are recorded, so that a later change of those fields changes them too and they do not go stale.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::reader::LONGEST_DURATION;
use super::validate::{DEFAULT_COOLDOWN_AFTER, DEFAULT_REQUIRED_KEYS};
use crate::duration;

/// Annotation with the paths of the fields that were derived, comma-separated.
pub const RECORD: &str = "noderotation.io/derived-defaults";

const PROVISIONING_ESTIMATE: Duration = Duration::from_secs(5 * 60);

/// A default that follows from another field of `spec.surge`.
struct DerivedDefault {
    field: &'static str,
    derive: fn(&Map<String, Value>) -> Option<String>,
}

const DERIVED: [DerivedDefault; 2] = [
    DerivedDefault { field: "failurePause", derive: failure_pause },
    DerivedDefault { field: "provisioningEstimate", derive: provisioning_estimate },
];

/// The policy `new` with its defaults; `old` is what it replaces. Applied twice it changes nothing more.
///
/// What is malformed is left as it is, for validation to name.
#[must_use]
pub fn apply(old: Option<&Value>, new: &Value) -> Value {
    let mut policy = new.clone();
    let Some(spec) = policy.get_mut("spec").and_then(Value::as_object_mut) else {
        return policy;
    };
    fill(spec, "ageThreshold", || json!("auto"));
    fill(spec, "minRotationChances", || json!(2));
    fill(spec, "surge", || json!({}));
    if let Some(surge) = spec.get_mut("surge").and_then(Value::as_object_mut) {
        fill(surge, "maxUnavailable", || json!(1));
        fill(surge, "readyTimeout", || json!("15m"));
        fill(surge, "cooldownAfter", || json!("10m"));
        fill(surge, "retryBackoff", || json!("30m"));
        fill(surge, "matchNodeRequirements", || json!({}));
        if let Some(keys) = surge.get_mut("matchNodeRequirements").and_then(Value::as_object_mut) {
            fill(keys, "required", || json!(DEFAULT_REQUIRED_KEYS));
        }
        let recorded = recorded(new);
        let kept = derive(surge, old.and_then(|old| old.pointer("/spec/surge")?.as_object()), &recorded, new);
        if kept != recorded {
            write_record(&mut policy, &kept);
        }
    }
    policy
}

fn fill(object: &mut Map<String, Value>, key: &str, value: impl FnOnce() -> Value) {
    if object.get(key).is_none_or(Value::is_null) {
        object.insert(key.to_owned(), value());
    }
}

/// Derives what is missing or was derived before; returns the fields that are derived now.
fn derive(surge: &mut Map<String, Value>, old: Option<&Map<String, Value>>, recorded: &BTreeSet<String>, new: &Value) -> BTreeSet<String> {
    let mut kept = BTreeSet::new();
    for rule in DERIVED {
        let path = format!("spec.surge.{}", rule.field);
        let current = surge.get(rule.field).filter(|value| !value.is_null());
        let owned = owned_by_a_person(new, rule.field);
        let derived = (rule.derive)(surge);
        // What is derived from the old object has to follow; what is from this one was filled in a moment ago, and somebody
        // else's change made the API server ask again.
        let still_derived = current.is_none_or(|current| {
            let is = |value: &Option<String>| value.as_ref().is_some_and(|value| *current == json!(value));
            recorded.contains(&path) && !owned && (is(&derived) || is(&old.and_then(rule.derive)))
        });
        if let Some(value) = derived.filter(|_| still_derived) {
            surge.insert(rule.field.to_owned(), json!(value));
            // Whoever owns a field that is missing owns what it is filled with too.
            if !owned {
                kept.insert(path);
            }
        }
    }
    kept
}

/// Some manager has written the field: it is the user's from then on, even with the value that we would derive.
fn owned_by_a_person(policy: &Value, field: &str) -> bool {
    let managers = policy.pointer("/metadata/managedFields").and_then(Value::as_array);
    let path = format!("/fieldsV1/f:spec/f:surge/f:{field}");
    managers.is_some_and(|managers| managers.iter().any(|manager| manager.pointer(&path).is_some()))
}

fn recorded(policy: &Value) -> BTreeSet<String> {
    let annotations = policy.pointer("/metadata/annotations").and_then(Value::as_object);
    let record = annotations.and_then(|annotations| annotations.get(RECORD)).and_then(Value::as_str).unwrap_or_default();
    record.split(',').filter(|path| !path.is_empty()).map(str::to_owned).collect()
}

fn write_record(policy: &mut Value, kept: &BTreeSet<String>) {
    let Some(root) = policy.as_object_mut() else {
        return;
    };
    fill(root, "metadata", || json!({}));
    let Some(metadata) = root.get_mut("metadata").and_then(Value::as_object_mut) else {
        return;
    };
    fill(metadata, "annotations", || json!({}));
    let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) else {
        return;
    };
    if kept.is_empty() {
        annotations.remove(RECORD);
    } else {
        annotations.insert(RECORD.to_owned(), json!(kept.iter().cloned().collect::<Vec<_>>().join(",")));
    }
}

/// The later of ten minutes and `cooldownAfter`, in the spelling of the latter.
fn failure_pause(surge: &Map<String, Value>) -> Option<String> {
    let (text, cooldown) = sound(surge, "cooldownAfter")?;
    Some(if cooldown > DEFAULT_COOLDOWN_AFTER { text.to_owned() } else { "10m".to_owned() })
}

/// The earlier of five minutes and `readyTimeout`, in the spelling of the latter.
fn provisioning_estimate(surge: &Map<String, Value>) -> Option<String> {
    let (text, timeout) = sound(surge, "readyTimeout").filter(|(_, timeout)| !timeout.is_zero())?;
    Some(if timeout < PROVISIONING_ESTIMATE { text.to_owned() } else { "5m".to_owned() })
}

/// A duration and its spelling; `None` if validation would find fault with it, so that a fault is told once, where it
/// was made.
fn sound<'a>(surge: &'a Map<String, Value>, field: &str) -> Option<(&'a str, Duration)> {
    let text = surge.get(field)?.as_str().filter(|text| text.chars().count() <= LONGEST_DURATION)?;
    Some((text, duration::parse(text).ok()?))
}
