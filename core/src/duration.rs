//! Go durations: the spelling of every duration in a policy and in Karpenter's objects (D3).
//!
//! The grammar is Go's `ParseDuration` without a sign. The arithmetic is checked and in whole nanoseconds, so that no
//! text can overflow, round or panic. Nothing here rewrites what a person has spelled.

#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::time::Duration;

/// The longest duration that means anything here: ten years of 365 days.
pub const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

const SECOND: u128 = 1_000_000_000;
const MINUTE: u128 = 60 * SECOND;
const HOUR: u128 = 60 * MINUTE;

/// Units in nanoseconds, the shortest first; the micro sign and the Greek letter both stand for micro, as in Go.
pub(crate) const UNITS: [(&str, u128); 8] =
    [("ns", 1), ("us", 1_000), ("\u{b5}s", 1_000), ("\u{3bc}s", 1_000), ("ms", 1_000_000), ("s", SECOND), ("m", MINUTE), ("h", HOUR)];

/// Why a text is not a duration. Its words say what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DurationFault {
    /// Nothing is written.
    #[error("is empty; write for example 15m or 1h30m")]
    Empty,
    /// Negative or with a plus.
    #[error("has a sign; write it without one, for example 15m")]
    Signed,
    /// A number without a unit.
    #[error("has a number without a unit; write for example {0}m or {0}h")]
    NoUnit(String),
    /// A unit that Go does not have.
    #[error("has the unknown unit {unit:?}; the units are h, m, s, ms, us and ns{hint}")]
    UnknownUnit {
        /// As written.
        unit: String,
        /// What to write instead, where that is clear.
        hint: String,
    },
    /// Not a number and a unit.
    #[error("is not a duration; write numbers with units, for example 15m or 1h30m")]
    Malformed,
    /// Longer than [`LONGEST`].
    #[error("is longer than 10 years; write at most 87600h")]
    TooLong,
}

/// Reads a Go duration such as `15m`, `1h30m` or `1.5h`.
///
/// # Errors
/// When the text is none, is negative, or is longer than [`LONGEST`].
pub fn parse(text: &str) -> Result<Duration, DurationFault> {
    if text.is_empty() {
        return Err(DurationFault::Empty);
    }
    if text.starts_with(['-', '+']) {
        return Err(DurationFault::Signed);
    }
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let mut rest = text;
    let mut sum: u128 = 0;
    while !rest.is_empty() {
        let (number, after) = split(rest, |c| c.is_ascii_digit() || c == '.');
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
            return Err(DurationFault::Malformed);
        }
        let (unit, after) = split(after, |c| !c.is_ascii_digit() && c != '.');
        let Some((_, scale)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err(no_such_unit(number, whole, fraction, unit));
        };
        let part = nanoseconds(whole, fraction, *scale).ok_or(DurationFault::TooLong)?;
        sum = sum.checked_add(part).ok_or(DurationFault::TooLong)?;
        if sum > LONGEST.as_nanos() {
            return Err(DurationFault::TooLong);
        }
        rest = after;
    }
    from_nanoseconds(sum).ok_or(DurationFault::TooLong)
}

fn split(text: &str, inside: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !inside(c)).unwrap_or(text.len()))
}

/// Says what was probably meant by `number` of a unit that Go does not have.
fn no_such_unit(number: &str, whole: &str, fraction: &str, unit: &str) -> DurationFault {
    let within = |scale| nanoseconds(whole, fraction, scale).filter(|meant| *meant <= LONGEST.as_nanos());
    if unit.is_empty() {
        // A number that would be too long with the unit that is suggested is no example.
        return DurationFault::NoUnit(within(HOUR).map_or("15", |_| number.trim_end_matches('.')).to_owned());
    }
    if unit.contains(|c: char| c.is_whitespace() || c == '-' || c == '+') {
        return DurationFault::Malformed;
    }
    let scale = match unit {
        "w" | "week" | "weeks" => Some(7 * 24 * HOUR),
        "d" | "D" | "day" | "days" => Some(24 * HOUR),
        "H" | "hr" | "hrs" | "hour" | "hours" => Some(HOUR),
        "min" | "mins" | "minute" | "minutes" | "M" => Some(MINUTE),
        "S" | "sec" | "secs" | "second" | "seconds" => Some(SECOND),
        _ => None,
    };
    let in_one_unit = |meant: u128| {
        let units = [(HOUR, 'h'), (MINUTE, 'm'), (SECOND, 's')];
        units.into_iter().find(|(scale, _)| meant.is_multiple_of(*scale)).map(|(scale, unit)| format!("; write {}{unit}", meant / scale))
    };
    DurationFault::UnknownUnit { unit: unit.to_owned(), hint: scale.and_then(within).and_then(in_one_unit).unwrap_or_default() }
}

/// `whole.fraction` units; what is less than a nanosecond is dropped. Go does too, but by way of a float, which may round
/// the last one up.
fn nanoseconds(whole: &str, fraction: &str, scale: u128) -> Option<u128> {
    let whole: u128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    // From the last digit on, so that none is lost: a tenth of (digit and what follows it), rounded down each time.
    let part = fraction.chars().rev().filter_map(|c| c.to_digit(10)).fold(0, |after, digit| (u128::from(digit) * scale + after) / 10);
    whole.checked_mul(scale)?.checked_add(part)
}

fn from_nanoseconds(sum: u128) -> Option<Duration> {
    let seconds = u64::try_from(sum / SECOND).ok()?;
    let nanoseconds = u32::try_from(sum % SECOND).ok()?;
    Some(Duration::new(seconds, nanoseconds))
}

/// Prints as Go does: `15m0s`, `720h0m0s`, `1.5s`, `100ms`, `0s`.
#[must_use]
pub fn go_string(duration: Duration) -> String {
    let nanoseconds = duration.as_nanos();
    if nanoseconds == 0 {
        return "0s".to_owned();
    }
    if let Some((unit, scale)) =
        [("ns", 1), ("\u{b5}s", 1_000), ("ms", 1_000_000)].into_iter().rev().find(|(_, scale)| nanoseconds >= *scale)
        && nanoseconds < SECOND
    {
        return format!("{}{unit}", decimal(nanoseconds, scale));
    }
    let minutes = nanoseconds / MINUTE;
    let seconds = decimal(nanoseconds % MINUTE, SECOND);
    match (minutes / 60, minutes % 60) {
        (0, 0) => format!("{seconds}s"),
        (0, minutes) => format!("{minutes}m{seconds}s"),
        (hours, minutes) => format!("{hours}h{minutes}m{seconds}s"),
    }
}

/// `value / scale` without trailing zeros; `scale` is a power of ten.
fn decimal(value: u128, scale: u128) -> String {
    let (whole, fraction) = (value / scale, value % scale);
    if fraction == 0 {
        return whole.to_string();
    }
    let width = scale.to_string().len().saturating_sub(1);
    format!("{whole}.{fraction:0width$}").trim_end_matches('0').to_owned()
}

/// Prints for people: `15m`, `1h30m`, `5d22h43m`, `0s`. Whole seconds; what is zero is left out.
#[must_use]
pub fn human(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let parts = [(seconds / 86_400, 'd'), (seconds / 3600 % 24, 'h'), (seconds / 60 % 60, 'm'), (seconds % 60, 's')];
    let mut text = String::new();
    for (value, unit) in parts.into_iter().filter(|(value, _)| *value > 0) {
        // Writing to a String cannot fail.
        let _infallible = write!(text, "{value}{unit}");
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}
