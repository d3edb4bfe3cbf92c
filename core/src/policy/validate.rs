//! Every fault of a policy at once, each with its path, and the parsed policy if there is none (D3).
//!
//! The admission endpoint, the reconcile and the offline check call this same function, so that they cannot disagree
//! about what a good policy is.

#[cfg(test)]
mod tests;

use std::time::Duration;

use serde_json::Value;

use super::fault::{Fault, FaultCode};
use super::governing::{AgeThreshold, Governing};
use super::reader::{Field, Reader, Zero};
use super::selector::{self, Selector};
use super::windows;
use crate::annotation::{HOSTNAME_LABEL, NODEPOOL_LABEL};
use crate::name::is_label_key;

/// Node labels that the surge shares with the candidate unless the policy says otherwise.
pub const DEFAULT_REQUIRED_KEYS: [&str; 3] = ["topology.kubernetes.io/zone", "kubernetes.io/arch", "karpenter.sh/capacity-type"];
/// Default of `surge.readyTimeout`.
pub const DEFAULT_READY_TIMEOUT: Duration = Duration::from_secs(15 * 60);
/// Default of `surge.cooldownAfter`, and the least default of `surge.failurePause`.
pub const DEFAULT_COOLDOWN_AFTER: Duration = Duration::from_secs(10 * 60);
/// Default of `surge.retryBackoff`.
pub const DEFAULT_RETRY_BACKOFF: Duration = Duration::from_secs(30 * 60);
/// Default of `minRotationChances`.
pub const DEFAULT_MIN_ROTATION_CHANCES: u32 = 2;
/// Upper bound of `minRotationChances`, which the schema types as `int32`.
pub(super) const MOST_ROTATION_CHANCES: i64 = 2_147_483_647;
/// Upper bound of each list of label keys.
pub(super) const MOST_KEYS: usize = 16;

/// Judges a whole object as the API server holds or receives it. Absent fields count with their defaults.
///
/// # Errors
/// Every fault, in the order of the fields.
pub fn validate(policy: &Value) -> Result<Governing, Vec<Fault>> {
    let mut reader = Reader::default();
    let root = Field::new("", policy);
    let spec = root.child("spec");
    if reader.object(&spec).is_none() {
        if spec.is_absent() {
            reader.faults.push(Fault::missing("spec", "write nodePoolSelector and maintenanceWindows"));
        }
        return Err(reader.faults);
    }
    let selector = selector::read(&mut reader, &spec.child("nodePoolSelector"));
    let age_threshold = age_threshold(&mut reader, &spec.child("ageThreshold"));
    let min_rotation_chances = min_rotation_chances(&mut reader, &spec.child("minRotationChances"));
    let windows = windows::read(&mut reader, &spec.child("maintenanceWindows"));
    let surge = surge(&mut reader, &spec.child("surge"));
    pre_pull(&mut reader, &spec.child("prePull"));
    match (selector, windows) {
        (Some(selector), Some(windows)) if reader.faults.is_empty() => Ok(Governing {
            name: text_of(policy, "/metadata/name"),
            generation: policy.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or(0),
            selector,
            age_threshold,
            min_rotation_chances,
            windows,
            ready_timeout: surge.ready_timeout,
            cooldown_after: surge.cooldown_after,
            retry_backoff: surge.retry_backoff,
            failure_pause: surge.failure_pause.unwrap_or_else(|| surge.cooldown_after.max(DEFAULT_COOLDOWN_AFTER)),
            provisioning_estimate: surge.provisioning_estimate,
            drain_estimate: surge.drain_estimate,
            required_keys: surge.required_keys,
            preferred_keys: surge.preferred_keys,
            forceful_fallback: surge.forceful_fallback,
            whole_node_reservation: surge.whole_node_reservation,
        }),
        (Some(_) | None, Some(_) | None) => Err(reader.faults),
    }
}

/// The selector of an object whose other fields may be at fault; `None` if it cannot be read itself.
#[must_use]
pub fn selector_of(policy: &Value) -> Option<Selector> {
    selector::read(&mut Reader::default(), &Field::new("", policy).child("spec").child("nodePoolSelector"))
}

fn text_of(object: &Value, pointer: &str) -> String {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn age_threshold(reader: &mut Reader, field: &Field<'_>) -> AgeThreshold {
    let text = field.value.as_str().unwrap_or_default();
    if field.is_absent() || text == "auto" {
        return AgeThreshold::Auto;
    }
    if text.split_whitespace().count() == 5 {
        let words = "is a time to rotate at, not an age; write auto or for example 720h, and the times as maintenanceWindows";
        reader.fault(FaultCode::Invalid, field, words);
        return AgeThreshold::Auto;
    }
    if field.value.is_string() && !text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+')) {
        reader.fault(FaultCode::Invalid, field, "is neither auto nor a duration; write auto, or for example 720h");
        return AgeThreshold::Auto;
    }
    // Without a fault the value is there; with one the policy is refused, whatever is returned here.
    reader.duration(field, "auto or 720h", Zero::Refused).map_or(AgeThreshold::Auto, AgeThreshold::Override)
}

fn min_rotation_chances(reader: &mut Reader, field: &Field<'_>) -> u32 {
    let Some(number) = reader.integer(field) else {
        return DEFAULT_MIN_ROTATION_CHANCES;
    };
    if number < 1 {
        reader.fault(FaultCode::Invalid, field, "is less than one; write 1 or more, 2 is the default");
    } else if number > MOST_ROTATION_CHANCES {
        reader.fault(FaultCode::Invalid, field, "is more than any schedule has windows; write for example 2");
    }
    u32::try_from(number).unwrap_or(DEFAULT_MIN_ROTATION_CHANCES)
}

/// `spec.surge` with its defaults.
struct Surge {
    ready_timeout: Duration,
    cooldown_after: Duration,
    retry_backoff: Duration,
    failure_pause: Option<Duration>,
    provisioning_estimate: Option<Duration>,
    drain_estimate: Option<Duration>,
    required_keys: Vec<String>,
    preferred_keys: Vec<String>,
    forceful_fallback: bool,
    whole_node_reservation: bool,
}

fn surge(reader: &mut Reader, field: &Field<'_>) -> Surge {
    reader.object(field);
    max_unavailable(reader, &field.child("maxUnavailable"));
    // In the order in which a policy is written: the faults come out in the order of the reads.
    let ready_timeout = reader.duration(&field.child("readyTimeout"), "15m", Zero::Refused);
    let cooldown_after = reader.duration(&field.child("cooldownAfter"), "10m", Zero::Allowed);
    let failure_pause = reader.duration(&field.child("failurePause"), "10m", Zero::Refused);
    let retry_backoff = reader.duration(&field.child("retryBackoff"), "30m", Zero::Refused);
    let provisioning_estimate = reader.duration(&field.child("provisioningEstimate"), "5m", Zero::Refused);
    let drain_estimate = reader.duration(&field.child("drainEstimate"), "10m", Zero::Refused);
    let (required_keys, preferred_keys) = requirement_keys(reader, &field.child("matchNodeRequirements"));
    let forceful_fallback = enabled(reader, &field.child("forcefulFallback"));
    let whole_node_reservation = enabled(reader, &field.child("wholeNodeReservation"));
    Surge {
        ready_timeout: ready_timeout.unwrap_or(DEFAULT_READY_TIMEOUT),
        cooldown_after: cooldown_after.unwrap_or(DEFAULT_COOLDOWN_AFTER),
        retry_backoff: retry_backoff.unwrap_or(DEFAULT_RETRY_BACKOFF),
        failure_pause,
        provisioning_estimate,
        drain_estimate,
        required_keys,
        preferred_keys,
        forceful_fallback,
        whole_node_reservation,
    }
}

/// The `enabled` of an object that is a switch; off if it is absent.
fn enabled(reader: &mut Reader, field: &Field<'_>) -> bool {
    reader.object(field);
    reader.boolean(&field.child("enabled"), false)
}

fn max_unavailable(reader: &mut Reader, field: &Field<'_>) {
    if reader.integer(field).is_some_and(|number| number != 1) {
        reader.fault(FaultCode::NotSupported, field, "is not supported; write 1, or leave the field out");
    }
}

fn requirement_keys(reader: &mut Reader, field: &Field<'_>) -> (Vec<String>, Vec<String>) {
    reader.object(field);
    let required_field = field.child("required");
    let mut required = keys(reader, &required_field, &[]);
    if required_field.value.as_array().is_none_or(Vec::is_empty) {
        // As the Go controller has it: an empty list does not switch the defaults off.
        required = DEFAULT_REQUIRED_KEYS.iter().map(|key| (*key).to_owned()).collect();
    }
    let preferred = keys(reader, &field.child("preferred"), &required);
    (required, preferred)
}

/// A list of label keys, none of which is among `taken`.
fn keys(reader: &mut Reader, field: &Field<'_>, taken: &[String]) -> Vec<String> {
    let items = reader.list(field).unwrap_or_default();
    if items.len() > MOST_KEYS {
        reader.fault_without_value(FaultCode::Invalid, field, &format!("has {} keys; write at most {MOST_KEYS}", items.len()));
        return Vec::new();
    }
    let mut keys: Vec<String> = Vec::new();
    for item in items {
        let Some(key) = reader.item_text(&item, "topology.kubernetes.io/zone") else {
            continue;
        };
        if !is_label_key(key) {
            reader.fault(FaultCode::Invalid, &item, "is not a label key; write for example topology.kubernetes.io/zone");
        } else if key == NODEPOOL_LABEL {
            reader.fault(FaultCode::Forbidden, &item, "is always required; leave it out");
        } else if key == HOSTNAME_LABEL {
            reader.fault(FaultCode::Forbidden, &item, "names one host, which no new node could have; leave it out");
        } else if taken.iter().any(|other| other == key) {
            let words = "is required already; leave it out here, or write the list required without it";
            reader.fault(FaultCode::Duplicate, &item, words);
        } else if keys.iter().any(|other| other == key) {
            reader.fault(FaultCode::Duplicate, &item, "is there twice; write each key once");
        } else {
            keys.push(key.to_owned());
        }
    }
    keys
}

fn pre_pull(reader: &mut Reader, field: &Field<'_>) {
    if enabled(reader, field) {
        reader.fault(FaultCode::NotSupported, &field.child("enabled"), "is not supported yet; write false, or leave the field out");
    }
}
