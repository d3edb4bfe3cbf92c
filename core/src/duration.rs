//! Go durations: the spelling of every duration in a policy and in Karpenter's objects (D3).
//!
//! The grammar is Go's `ParseDuration` without a sign. The arithmetic is checked and in whole nanoseconds, so that no
//! text can overflow, round or panic. Nothing here rewrites what a person has spelled.

use std::fmt::Write as _;
use std::time::Duration;

/// The longest duration that means anything here: ten years of 365 days.
pub const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// Units in nanoseconds; the micro sign and the Greek letter both stand for micro, as in Go.
const UNITS: [(&str, u128); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

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
        let (whole, after) = split(rest, |c| c.is_ascii_digit());
        let (fraction, after) = match after.strip_prefix('.') {
            Some(after) => split(after, |c| c.is_ascii_digit()),
            None => ("", after),
        };
        if whole.is_empty() && fraction.is_empty() {
            return Err(DurationFault::Malformed);
        }
        let (unit, after) = split(after, |c| !c.is_ascii_digit() && c != '.');
        let scale = scale(whole, unit)?;
        let part = nanoseconds(whole, fraction, scale).ok_or(DurationFault::TooLong)?;
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

fn scale(whole: &str, unit: &str) -> Result<u128, DurationFault> {
    if unit.is_empty() {
        return Err(DurationFault::NoUnit(if whole.is_empty() { "1".to_owned() } else { whole.to_owned() }));
    }
    if let Some((_, scale)) = UNITS.iter().find(|(name, _)| *name == unit) {
        return Ok(*scale);
    }
    if unit.contains(|c: char| c.is_whitespace() || c == '-' || c == '+') {
        return Err(DurationFault::Malformed);
    }
    let hours = |factor: u64| whole.parse::<u64>().ok().and_then(|n| n.checked_mul(factor)).map(|n| format!("{n}h"));
    let meant = match unit {
        "d" | "day" | "days" => hours(24),
        "w" | "week" | "weeks" => hours(168),
        "H" | "hr" | "hour" | "hours" => hours(1),
        "min" | "mins" | "minute" | "minutes" | "M" => Some(format!("{whole}m")),
        "S" | "sec" | "secs" | "second" | "seconds" => Some(format!("{whole}s")),
        _ => None,
    };
    let hint = meant.map_or_else(String::new, |meant| format!("; write {meant}"));
    Err(DurationFault::UnknownUnit { unit: unit.to_owned(), hint })
}

/// `whole.fraction` units; digits beyond a nanosecond are dropped, as in Go.
fn nanoseconds(whole: &str, fraction: &str, scale: u128) -> Option<u128> {
    let whole: u128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let mut sum = whole.checked_mul(scale)?;
    let mut place = scale;
    let mut remainder = 0_u128;
    let mut weight = 1_u128;
    for digit in fraction.chars().take(18).filter_map(|c| c.to_digit(10)) {
        weight = weight.checked_mul(10)?;
        remainder = remainder.checked_mul(10)?.checked_add(u128::from(digit))?;
    }
    place = place.checked_mul(remainder)?.checked_div(weight)?;
    sum = sum.checked_add(place)?;
    Some(sum)
}

fn from_nanoseconds(sum: u128) -> Option<Duration> {
    let seconds = u64::try_from(sum / 1_000_000_000).ok()?;
    let nanoseconds = u32::try_from(sum % 1_000_000_000).ok()?;
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
        && nanoseconds < 1_000_000_000
    {
        return format!("{}{unit}", decimal(nanoseconds, scale));
    }
    let minutes = nanoseconds / 60_000_000_000;
    let seconds = decimal(nanoseconds % 60_000_000_000, 1_000_000_000);
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reads_what_go_reads() {
        let rows: &[(&str, u128, &str)] = &[
            ("15m", 900_000_000_000, "15m0s"),
            ("1h30m", 5_400_000_000_000, "1h30m0s"),
            ("720h", 2_592_000_000_000_000, "720h0m0s"),
            ("1.5h", 5_400_000_000_000, "1h30m0s"),
            ("0", 0, "0s"),
            ("0s", 0, "0s"),
            ("00h", 0, "0s"),
            ("100ms", 100_000_000, "100ms"),
            (".5s", 500_000_000, "500ms"),
            ("1.s", 1_000_000_000, "1s"),
            ("0.1ns", 0, "0s"),
            ("1us", 1_000, "1\u{b5}s"),
            ("1\u{b5}s", 1_000, "1\u{b5}s"),
            ("1\u{3bc}s", 1_000, "1\u{b5}s"),
            ("1.5s", 1_500_000_000, "1.5s"),
            ("90m", 5_400_000_000_000, "1h30m0s"),
            ("5400000ms", 5_400_000_000_000, "1h30m0s"),
            ("3h3h", 21_600_000_000_000, "6h0m0s"),
            ("87600h", 315_360_000_000_000_000, "87600h0m0s"),
        ];
        for (text, nanoseconds, printed) in rows {
            let duration = parse(text).unwrap();
            assert_eq!(duration.as_nanos(), *nanoseconds, "{text}");
            assert_eq!(go_string(duration), *printed, "{text}");
        }
    }

    #[test]
    fn refuses_the_rest_and_says_what_to_write() {
        let rows = [
            ("", "is empty; write for example 15m or 1h30m"),
            ("-5m", "has a sign; write it without one, for example 15m"),
            ("+5m", "has a sign; write it without one, for example 15m"),
            ("5", "has a number without a unit; write for example 5m or 5h"),
            ("1h30", "has a number without a unit; write for example 30m or 30h"),
            ("30d", "has the unknown unit \"d\"; the units are h, m, s, ms, us and ns; write 720h"),
            ("1w", "has the unknown unit \"w\"; the units are h, m, s, ms, us and ns; write 168h"),
            ("1M", "has the unknown unit \"M\"; the units are h, m, s, ms, us and ns; write 1m"),
            ("5 min", "is not a duration; write numbers with units, for example 15m or 1h30m"),
            ("1h 30m", "is not a duration; write numbers with units, for example 15m or 1h30m"),
            (" 15m", "is not a duration; write numbers with units, for example 15m or 1h30m"),
            ("Never", "is not a duration; write numbers with units, for example 15m or 1h30m"),
            ("0 1 * * 0", "is not a duration; write numbers with units, for example 15m or 1h30m"),
            ("1h-5m", "is not a duration; write numbers with units, for example 15m or 1h30m"),
            ("1e3s", "has the unknown unit \"e\"; the units are h, m, s, ms, us and ns"),
            ("87601h", "is longer than 10 years; write at most 87600h"),
            ("99999999999999999999999999999999999999999h", "is longer than 10 years; write at most 87600h"),
            ("18446744073709551615s", "is longer than 10 years; write at most 87600h"),
        ];
        for (text, sentence) in rows {
            assert_eq!(parse(text).unwrap_err().to_string(), sentence, "{text:?}");
        }
    }

    #[test]
    fn prints_for_people() {
        let rows = [(0, "0s"), (59, "59s"), (900, "15m"), (5400, "1h30m"), (513_780, "5d22h43m")];
        for (seconds, text) in rows {
            assert_eq!(human(Duration::from_secs(seconds)), text);
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read_back(nanoseconds in 0..=LONGEST.as_nanos()) {
            let duration = from_nanoseconds(nanoseconds).unwrap();
            prop_assert_eq!(parse(&go_string(duration)).unwrap(), duration);
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,24}") {
            let _outcome = parse(&text);
        }

        #[test]
        fn no_text_of_the_alphabet_panics(text in "[0-9.hmsnuµμ]{0,40}") {
            let _outcome = parse(&text);
        }
    }
}
