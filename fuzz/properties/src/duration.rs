//! Durations: what is accepted, what it is worth, and that it is printed and read back as the same (D3).

use std::time::Duration;

use noderotation_core::duration::{DurationFault, LONGEST, go_string, human, parse};

/// Units in nanoseconds, each before a unit that its name begins with.
const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Holds the reading and printing of durations against a recogniser that knows nothing but the grammar.
pub fn check(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let expected = worth(&text).filter(|nanoseconds| *nanoseconds <= LONGEST.as_nanos());
    match parse(&text) {
        Ok(duration) => {
            assert_eq!(Some(duration.as_nanos()), expected, "{text:?} is read as {duration:?}");
            is_printed_and_read_back(duration);
        }
        Err(fault) => {
            assert_eq!(expected, None, "{text:?} is refused: {fault}");
            advice_can_be_followed(&text, &fault);
        }
    }
}

fn is_printed_and_read_back(duration: Duration) {
    let printed = go_string(duration);
    assert_eq!(parse(&printed), Ok(duration), "{printed}");
    assert!(printed.len() <= 32, "{printed} does not fit into a policy");
    assert!(!human(duration).is_empty());
}

/// Whatever a sentence says to write instead is itself accepted.
fn advice_can_be_followed(text: &str, fault: &DurationFault) {
    let sentence = fault.to_string();
    assert!(!sentence.chars().any(char::is_control), "{sentence:?} is more than one line");
    let advice = sentence.rsplit_once("write ").map_or("", |(_, advice)| advice);
    let advised = advice.split(' ').filter(|word| word.starts_with(|c: char| c.is_ascii_digit() || c == '.'));
    for word in advised {
        assert!(parse(word).is_ok(), "{text:?} {sentence}: {word} is refused too");
    }
}

/// Nanoseconds that `text` stands for, exactly, whatever has less than one being dropped; `None` if it is no duration,
/// and the most there is if it is longer than that.
fn worth(text: &str) -> Option<u128> {
    if text == "0" {
        return Some(0);
    }
    let mut rest = text;
    let mut sum = 0_u128;
    while !rest.is_empty() || text.is_empty() {
        let after_whole = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let whole = rest.strip_suffix(after_whole)?;
        let (fraction, after_number) = match after_whole.strip_prefix('.') {
            None => ("", after_whole),
            Some(point) => {
                let after = point.trim_start_matches(|c: char| c.is_ascii_digit());
                (point.strip_suffix(after)?, after)
            }
        };
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let begins_anew = |rest: &str| rest.is_empty() || rest.starts_with(|c: char| c.is_ascii_digit() || c == '.');
        let of_unit = |(name, scale)| after_number.strip_prefix(name).filter(|rest| begins_anew(rest)).map(|rest| (rest, scale));
        let (after_unit, scale) = UNITS.into_iter().find_map(of_unit)?;
        sum = sum.saturating_add(product(&format!("{whole}{fraction}"), fraction.len(), scale));
        rest = after_unit;
    }
    Some(sum)
}

/// `digits / 10^places * scale`, multiplied as on paper so that no length of digits is too long; the most there is if
/// that does not fit.
fn product(digits: &str, places: usize, scale: u64) -> u128 {
    let mut written = Vec::new();
    let mut carry = 0_u128;
    for digit in digits.chars().rev().filter_map(|c| c.to_digit(10)) {
        carry += u128::from(digit) * u128::from(scale);
        written.push(carry % 10);
        carry /= 10;
    }
    while carry > 0 {
        written.push(carry % 10);
        carry /= 10;
    }
    let whole = written.into_iter().skip(places).rev();
    whole.fold(0, |value: u128, digit| value.saturating_mul(10).saturating_add(digit))
}
