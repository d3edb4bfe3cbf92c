//! What an unquoted word of YAML is to kubectl.
//!
//! kubectl reads YAML 1.1 as its Go library does: `yes` and `on` are true, `0x10` and `010` are numbers, `02:00` is
//! text. A verdict on anything else than what the API server would get is worth nothing.

use serde_json::{Number, Value};

/// The value of an unquoted word; `None` for one that no JSON can carry.
pub(crate) fn plain(text: &str) -> Option<Value> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Some(Value::Null),
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Some(Value::Bool(true)),
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Some(Value::Bool(false)),
        ".nan" | ".NaN" | ".NAN" | ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" | "-.inf" | "-.Inf" | "-.INF" => None,
        _ if text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.')) => number(&text.replace('_', ""), text),
        _ => Some(text.into()),
    }
}

/// A number if it is one, else text.
fn number(digits: &str, text: &str) -> Option<Value> {
    if let Some(number) = integer(digits) {
        return Some(Value::Number(number));
    }
    if is_float(digits) {
        return digits.parse().ok().and_then(float).map(Value::Number);
    }
    Some(text.into())
}

/// Go's integers: decimal, or with the prefix `0x`, `0o`, `0b` or `0`.
fn integer(digits: &str) -> Option<Number> {
    let (negative, unsigned) = match digits.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, digits.strip_prefix('+').unwrap_or(digits)),
    };
    let lower = unsigned.to_ascii_lowercase();
    let (radix, rest) = [("0x", 16), ("0o", 8), ("0b", 2)]
        .into_iter()
        .find_map(|(prefix, radix)| lower.strip_prefix(prefix).map(|rest| (radix, rest)))
        .or_else(|| lower.strip_prefix('0').filter(|rest| !rest.is_empty()).map(|rest| (8, rest)))
        .unwrap_or((10, lower.as_str()));
    if !rest.starts_with(|c: char| c.is_digit(radix)) {
        return None;
    }
    let value = u64::from_str_radix(rest, radix).ok()?;
    if negative { 0_i64.checked_sub_unsigned(value).map(Number::from) } else { Some(Number::from(value)) }
}

/// JSON does not tell `1.0` from `1`, so what is whole is an integer.
fn float(value: f64) -> Option<Number> {
    let whole = format!("{value:.0}").parse::<i64>().ok().filter(|_| value.fract() == 0.0);
    whole.map(Number::from).or_else(|| Number::from_f64(value))
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
fn is_float(digits: &str) -> bool {
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = digits.strip_prefix(['-', '+']).unwrap_or(digits);
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).map_or((unsigned, None), |(mantissa, exponent)| (mantissa, Some(exponent)));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent_fits = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        !digits.is_empty() && all_digits(digits)
    });
    all_digits(whole) && all_digits(fraction) && !(whole.is_empty() && fraction.is_empty()) && exponent_fits
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// As the Go library that kubectl uses has answered.
    #[test]
    fn words_are_what_kubectl_makes_of_them() {
        let rows = [
            ("", json!(null)),
            ("~", json!(null)),
            ("yes", json!(true)),
            ("Off", json!(false)),
            ("n", json!(false)),
            ("yEs", json!("yEs")),
            ("2", json!(2)),
            ("-2", json!(-2)),
            ("+2", json!(2)),
            ("1_000", json!(1000)),
            ("0x10", json!(16)),
            ("010", json!(8)),
            ("0o10", json!(8)),
            ("0b11", json!(3)),
            ("08", json!(8)),
            ("0", json!(0)),
            ("-0", json!(0)),
            ("-0x10", json!(-16)),
            ("0X1f", json!(31)),
            ("0_7", json!(7)),
            ("_1", json!("_1")),
            ("-9223372036854775808", json!(i64::MIN)),
            ("18446744073709551615", json!(u64::MAX)),
            ("18446744073709551616", json!(18_446_744_073_709_551_616.0)),
            ("1.5", json!(1.5)),
            ("+.5", json!(0.5)),
            ("1.", json!(1)),
            ("0.0", json!(0)),
            ("1e+3", json!(1000)),
            ("1e3", json!(1000)),
            ("1.5E1", json!(15)),
            ("1e", json!("1e")),
            ("1.e+", json!("1.e+")),
            (".", json!(".")),
            ("1:30", json!("1:30")),
            ("02:00", json!("02:00")),
            ("24:00", json!("24:00")),
            ("15m", json!("15m")),
            ("2026-01-01", json!("2026-01-01")),
            ("0x", json!("0x")),
            ("0o", json!("0o")),
            ("0b2", json!("0b2")),
            ("--1", json!("--1")),
            ("auto", json!("auto")),
        ];
        for (text, value) in rows {
            assert_eq!(plain(text), Some(value), "{text:?}");
        }
        assert_eq!(plain(".nan"), None);
        assert_eq!(plain("-.inf"), None);
    }
}
