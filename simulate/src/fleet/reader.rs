//! Values that the file of a fleet has and a policy has not: instants, counts, chances, distributions. Nothing unknown is
//! passed over.

use std::time::Duration;

use jiff::Timestamp;
use noderotation_core::policy::fault::{Fault, FaultCode};
use noderotation_core::policy::reader::{Field, Reader, Zero};
use noderotation_core::policy::unknown::sibling;
use serde_json::Value;

use super::fields::FIELDS;
use super::{Chance, Spread};

/// Quantiles by name, in millionths.
const QUANTILES: [(&str, u64); 7] =
    [("min", 0), ("p10", 100_000), ("p50", 500_000), ("p90", 900_000), ("p95", 950_000), ("p99", 990_000), ("max", 1_000_000)];

/// An instant that must be there.
pub(super) fn instant(reader: &mut Reader, field: &Field<'_>) -> Option<Timestamp> {
    if field.is_absent() {
        reader.faults.push(Fault::missing(&field.path, "write an instant, for example 2026-01-01T00:00:00Z"));
    }
    let text = reader.text(field, "2026-01-01T00:00:00Z")?;
    let instant = text.parse().ok();
    if instant.is_none() {
        reader.fault(FaultCode::Invalid, field, "is not an instant; write for example 2026-01-01T00:00:00Z");
    }
    instant
}

/// A whole number from `least` to `most`; absent is `None` without a fault.
pub(super) fn count(reader: &mut Reader, field: &Field<'_>, least: u64, most: u64) -> Option<u64> {
    let number = reader.integer(field)?;
    let count = u64::try_from(number).ok().filter(|count| (least..=most).contains(count));
    if count.is_none() {
        let bounds = if u64::try_from(number).is_ok_and(|number| number > most) { "is too many" } else { "is too few" };
        reader.fault(FaultCode::Invalid, field, &format!("{bounds}; write {least} to {most}"));
    }
    count
}

/// A count that must be there.
pub(super) fn required_count(reader: &mut Reader, field: &Field<'_>, least: u64, most: u64) -> Option<u64> {
    if field.is_absent() {
        reader.faults.push(Fault::missing(&field.path, &format!("write a whole number, {least} to {most}")));
    }
    count(reader, field, least, most)
}

/// `5%` or `0.25%`; absent is never.
pub(super) fn chance(reader: &mut Reader, field: &Field<'_>) -> Chance {
    let Some(text) = reader.text(field, "5%") else { return Chance::default() };
    match percent(text) {
        Some(millionths) if millionths <= 1_000_000 => return Chance { millionths },
        Some(_) => reader.fault(FaultCode::Invalid, field, "is more than always; write at most 100%"),
        None => {
            reader.fault(
                FaultCode::Invalid,
                field,
                "is not a chance; write a percentage with up to four decimals, for example 5% or 0.25%",
            );
        }
    }
    Chance::default()
}

fn percent(text: &str) -> Option<u32> {
    let number = text.strip_suffix('%')?;
    let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    if !digits(whole) || !digits(decimals) || decimals.len() > 4 {
        return None;
    }
    let decimals: u32 = format!("{decimals:0<4}").parse().ok()?;
    whole.parse::<u32>().ok()?.checked_mul(10_000)?.checked_add(decimals)
}

/// A duration, or a distribution of durations; absent is `default`.
pub(super) fn spread(reader: &mut Reader, field: &Field<'_>, default: Duration) -> Spread {
    if !field.value.is_object() {
        return Spread::fixed(reader.duration(field, "5m", Zero::Allowed).unwrap_or(default));
    }
    only(reader, field, &QUANTILES.map(|(name, _)| name));
    let mut quantiles: Vec<(u64, Duration)> = Vec::new();
    let mut none = true;
    for (name, millionths) in QUANTILES {
        let at = field.child(name);
        none &= at.is_absent();
        let Some(duration) = reader.duration(&at, "5m", Zero::Allowed) else { continue };
        if quantiles.last().is_some_and(|(_, before)| *before > duration) {
            reader.fault(FaultCode::Invalid, &at, "is shorter than the quantile before it; write durations that grow from min to max");
        }
        quantiles.push((millionths, duration));
    }
    if none {
        reader.fault_without_value(FaultCode::Required, field, "has no quantile; write for example {min: 2m, p50: 4m, max: 10m}");
    }
    Spread { quantiles }
}

/// Every field that an object of this path has not is a fault.
pub(super) fn known(reader: &mut Reader, object: &Field<'_>, path: &str) {
    only(reader, object, FIELDS.iter().find(|(of, _)| *of == path).map_or(&[], |(_, fields)| *fields));
}

/// Every field that is none of `fields` is a fault.
fn only(reader: &mut Reader, object: &Field<'_>, fields: &[&str]) {
    let Value::Object(map) = object.value else { return };
    for key in map.keys().filter(|key| !fields.contains(&key.as_str())) {
        let near = sibling(key, fields).map(|name| format!("did you mean {name}?"));
        let remedy = near.unwrap_or_else(|| format!("the fields here are {}", fields.join(", ")));
        let child = object.child(key);
        reader.fault_without_value(FaultCode::Forbidden, &child, &format!("is not a field of a fleet; {remedy}"));
    }
}
