//! The table of what Go reads, what it does not, and what is printed.

mod cases;

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
        ("5400s", 5_400_000_000_000, "1h30m0s"),
        ("0h10m", 600_000_000_000, "10m0s"),
        ("0.000000001s", 1, "1ns"),
        ("0.999999999999999999999999s", 999_999_999, "999.999999ms"),
        // Digits beyond the eighteenth still carry.
        ("0.33333333333333333399h", 1_200_000_000_000, "20m0s"),
        ("1m0.5s", 60_500_000_000, "1m0.5s"),
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
        ("15M", "has the unknown unit \"M\"; the units are h, m, s, ms, us and ns; write 15m"),
        ("1H", "has the unknown unit \"H\"; the units are h, m, s, ms, us and ns; write 1h"),
        ("15m ", "is not a duration; write numbers with units, for example 15m or 1h30m"),
        ("--5m", "has a sign; write it without one, for example 15m"),
        ("+-5m", "has a sign; write it without one, for example 15m"),
        ("99999", "has a number without a unit; write for example 15m or 15h"),
        ("0.5", "has a number without a unit; write for example 0.5m or 0.5h"),
        ("00", "has a number without a unit; write for example 00m or 00h"),
        ("1.5d", "has the unknown unit \"d\"; the units are h, m, s, ms, us and ns; write 36h"),
        (".s", "is not a duration; write numbers with units, for example 15m or 1h30m"),
        ("1..5h", "is not a duration; write numbers with units, for example 15m or 1h30m"),
        ("9223372036854775807ns", "is longer than 10 years; write at most 87600h"),
        ("2562047h", "is longer than 10 years; write at most 87600h"),
        ("30days", "has the unknown unit \"days\"; the units are h, m, s, ms, us and ns; write 720h"),
        ("90secs", "has the unknown unit \"secs\"; the units are h, m, s, ms, us and ns; write 90s"),
        ("9999999999999999999999d", "has the unknown unit \"d\"; the units are h, m, s, ms, us and ns"),
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
