//! Durations in the schema: Go's grammar without a sign, as [`crate::duration`] reads it.
//!
//! A rule asks the pattern before it computes, and the pattern takes no more digits of a unit than ten years have: so the
//! API server's own arithmetic cannot overflow, and a person reads the rule's message, never an error of its evaluation.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::json;

use crate::duration::{LONGEST, UNITS};
use crate::policy::reader::LONGEST_DURATION;

const POSITIVE: &str = "duration(self) > duration('0s') && duration(self) <= duration('87600h')";

/// Digits before the point of `LONGEST` in each unit, the longest unit first.
pub(super) fn digits() -> impl Iterator<Item = (&'static str, usize)> {
    UNITS.iter().rev().map(|(unit, scale)| (*unit, (LONGEST.as_nanos() / scale).to_string().len()))
}

/// Numbers with units, or a zero without; the one place where this is spelled.
fn numbers() -> String {
    let terms: Vec<String> = digits().map(|(unit, digits)| format!("(0*[0-9]{{1,{digits}}}([.][0-9]*)?|[.][0-9]+){unit}")).collect();
    format!("0|({})+", terms.join("|"))
}

/// What is a duration.
fn pattern() -> String {
    format!("^({})$", numbers())
}

fn with_rule(rule: &str, message: &str, default: Option<&str>) -> Schema {
    let pattern = pattern();
    let mut schema = json_schema!({
        "type": "string",
        "maxLength": LONGEST_DURATION,
        "pattern": pattern,
        "x-kubernetes-validations": [{ "rule": format!("self.matches('{pattern}') && {rule}"), "message": message }],
    });
    if let Some(default) = default {
        schema.insert("default".to_owned(), json!(default));
    }
    schema
}

fn positive(default: Option<&str>) -> Schema {
    let message = "must be a duration longer than zero and at most 87600h; write for example 15m or 1h30m (units h, m, s, ms, us, ns)";
    with_rule(POSITIVE, message, default)
}

/// `surge.failurePause` and the estimates: longer than zero, without a default here.
pub(in crate::policy) fn positive_duration(_: &mut SchemaGenerator) -> Schema {
    positive(None)
}

/// `surge.readyTimeout`.
pub(in crate::policy) fn ready_timeout(_: &mut SchemaGenerator) -> Schema {
    positive(Some("15m"))
}

/// `surge.retryBackoff`.
pub(in crate::policy) fn retry_backoff(_: &mut SchemaGenerator) -> Schema {
    positive(Some("30m"))
}

/// `surge.cooldownAfter`, which may be zero.
pub(in crate::policy) fn cooldown(_: &mut SchemaGenerator) -> Schema {
    with_rule(
        "duration(self) <= duration('87600h')",
        "must be a duration of at most 87600h; write for example 10m or 0s (units h, m, s, ms, us, ns)",
        Some("10m"),
    )
}

/// `ageThreshold`.
pub(in crate::policy) fn age_threshold(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string",
        "maxLength": LONGEST_DURATION,
        "pattern": format!("^(auto|{})$", numbers()),
        "default": "auto",
        "x-kubernetes-validations": [{
            "rule": format!("self == 'auto' || (self.matches('{}') && {POSITIVE})", pattern()),
            "message": "must be auto, or a duration longer than zero and at most 87600h; write for example 720h (units h, m, s, ms, us, ns)",
        }],
    })
}
