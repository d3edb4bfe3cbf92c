//! Kubernetes quantities, exact: `100m`, `1.5Gi`, `2e3`.
//!
//! Sums of what people wrote decide what is reserved, so nothing is rounded on the way: values are whole
//! nano-units, and arithmetic that would overflow says so.

use std::fmt;

/// An amount of a resource in nano-units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Amount(i128);

/// The text is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a quantity")]
pub struct Malformed(String);

const NANO: i128 = 1_000_000_000;
const MEBI: i128 = 1 << 20;

const SUFFIXES: [(&str, i128); 15] = [
    ("n", 1),
    ("u", 1_000),
    ("m", 1_000_000),
    ("k", 1_000 * NANO),
    ("M", 1_000_000 * NANO),
    ("G", 1_000_000_000 * NANO),
    ("T", 1_000_000_000_000 * NANO),
    ("P", 1_000_000_000_000_000 * NANO),
    ("E", 1_000_000_000_000_000_000 * NANO),
    ("Ki", (1 << 10) * NANO),
    ("Mi", (1 << 20) * NANO),
    ("Gi", (1 << 30) * NANO),
    ("Ti", (1 << 40) * NANO),
    ("Pi", (1 << 50) * NANO),
    ("Ei", (1 << 60) * NANO),
];

impl Amount {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// So many whole units.
    #[must_use]
    pub fn whole(units: u32) -> Self {
        Self(i128::from(units) * NANO)
    }

    /// So many thousandths of a unit.
    #[must_use]
    pub fn milli(thousandths: u32) -> Self {
        Self(i128::from(thousandths) * (NANO / 1000))
    }

    /// Reads a quantity. What is finer than a nano-unit is rounded away from zero, as the API server does.
    ///
    /// # Errors
    /// When the text is none, or too large to be compared exactly.
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        Self::read(text).ok_or_else(|| Malformed(text.to_owned()))
    }

    fn read(text: &str) -> Option<Self> {
        let (negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let number_end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
        let (number, suffix) = unsigned.split_at(number_end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
            return None;
        }
        let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
        let places = u32::try_from(fraction.len()).ok()?;
        let magnitude = scaled(digits, scale(suffix)?, places)?;
        Some(Self(if negative { -magnitude } else { magnitude }))
    }

    /// The sum, unless it cannot be represented.
    #[must_use]
    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }

    /// The sum, at most the largest amount.
    #[must_use]
    pub fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference, at least the smallest amount.
    #[must_use]
    pub fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

/// What a suffix stands for: a factor, and a power of ten.
fn scale(suffix: &str) -> Option<(i128, i32)> {
    if suffix.is_empty() {
        return Some((NANO, 0));
    }
    if let Some((_, factor)) = SUFFIXES.iter().find(|(name, _)| *name == suffix) {
        return Some((*factor, 0));
    }
    let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    Some((NANO, exponent))
}

/// `digits · factor · 10^(exponent − places)`, rounded up.
fn scaled(digits: i128, (factor, exponent): (i128, i32), places: u32) -> Option<i128> {
    let power = exponent.checked_sub(i32::try_from(places).ok()?)?;
    let product = digits.checked_mul(factor)?;
    let ten = |power: u32| 10_i128.checked_pow(power);
    if power >= 0 {
        return product.checked_mul(ten(power.unsigned_abs())?);
    }
    match ten(power.unsigned_abs()) {
        Some(divisor) => product.checked_add(divisor - 1)?.checked_div(divisor),
        // Divided by more than any amount: the smallest one there is, unless it is nothing.
        None => Some(i128::from(product > 0)),
    }
}

impl fmt::Display for Amount {
    /// The shortest exact spelling with one of the common suffixes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nano = self.0;
        let (value, suffix) = if nano % NANO == 0 {
            let units = nano / NANO;
            let binary = [("Gi", MEBI << 10), ("Mi", MEBI)].into_iter().find(|(_, scale)| units != 0 && units % scale == 0);
            binary.map_or((units, ""), |(suffix, scale)| (units / scale, suffix))
        } else if nano % 1_000_000 == 0 {
            (nano / 1_000_000, "m")
        } else if nano % 1_000 == 0 {
            (nano / 1_000, "u")
        } else {
            (nano, "n")
        };
        write!(f, "{value}{suffix}")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reads_and_prints() {
        let rows = [
            ("0", "0"),
            ("1", "1"),
            ("100m", "100m"),
            ("1000m", "1"),
            ("1.5", "1500m"),
            (".5", "500m"),
            ("5.", "5"),
            ("1.5Gi", "1536Mi"),
            ("1Gi", "1Gi"),
            ("1024Mi", "1Gi"),
            ("128974848", "123Mi"),
            ("129e6", "129000000"),
            ("129M", "129000000"),
            ("1E3", "1000"),
            ("1E", "1000000000000000000"),
            ("1Ei", "1073741824Gi"),
            ("100n", "100n"),
            ("0.1n", "1n"),
            ("1e-30", "1n"),
            ("250u", "250u"),
            ("-1", "-1"),
            ("+2", "2"),
        ];
        for (text, printed) in rows {
            assert_eq!(Amount::parse(text).unwrap().to_string(), printed, "{text}");
        }
    }

    #[test]
    fn refuses_what_is_none() {
        for text in ["", "m", "1.2.3", "1 Gi", "lots", "1Kib", "1e", "e3", "--1", "1e999999999999", "9e40", "."] {
            assert!(Amount::parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read_back(nano in -(1_i128 << 100)..(1_i128 << 100)) {
            let amount = Amount(nano);
            prop_assert_eq!(Amount::parse(&amount.to_string()).unwrap(), amount);
        }

        #[test]
        fn no_text_panics(text in "[-+0-9.eEnumkMGTPi]{0,16}") {
            let _outcome = Amount::parse(&text);
        }
    }
}
