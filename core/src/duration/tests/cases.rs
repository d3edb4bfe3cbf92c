//! Public fault reports about spellings and bounds of a duration.

use super::*;

#[test]
fn c055_five_spellings_of_an_hour_and_a_half_are_equal() {
    for text in ["1h30m", "90m", "1.5h", "5400s", "5400000ms"] {
        assert_eq!(parse(text), Ok(Duration::from_secs(5400)), "{text}");
    }
}

#[test]
fn c056_a_missing_unit_a_capital_a_blank_and_a_sign_are_refused() {
    for text in ["1h30", "1H", "1h 30m", " 1h", "+1h"] {
        assert!(parse(text).is_err(), "{text:?}");
    }
    // As Go reads them, in every field alike.
    assert_eq!((parse(".5h"), parse("1.h")), (Ok(Duration::from_secs(1800)), Ok(Duration::from_secs(3600))));
}

#[test]
fn c061_numbers_at_and_over_the_limit_of_64_bits_are_too_long() {
    // The first is the last whole hour of 64 bits of nanoseconds; all are beyond ten years.
    for text in ["2562047h", "2562048h", "99999999999999999999h", "340282366920938463463374607431768211456h"] {
        assert_eq!(parse(text), Err(DurationFault::TooLong), "{text}");
    }
    assert_eq!((parse("87600h"), parse("87600h1ns")), (Ok(LONGEST), Err(DurationFault::TooLong)));
}
