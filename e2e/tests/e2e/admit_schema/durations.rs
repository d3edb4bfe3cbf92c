//! Durations: what Go reads, what of that a policy may say, and what it may not.

use anyhow::{Context as _, Result, ensure};
use libtest_mimic::{Failed, Trial};
use noderotation_core::duration::parse;
use serde_json::{Value, json};

use super::row::{Row, admits, endpoint_refuses, refuses, server_refuses};

/// Each text with its value in nanoseconds as Go 1.26 reads it, `None` if it does not; the public case that it is first.
const GO: [(&str, &str, Option<i64>); 98] = [
    ("c057", "15m", Some(900_000_000_000)),
    ("c055", "1h30m", Some(5_400_000_000_000)),
    ("", "720h", Some(2_592_000_000_000_000)),
    ("c055", "1.5h", Some(5_400_000_000_000)),
    ("c055", "90m", Some(5_400_000_000_000)),
    ("c055", "5400s", Some(5_400_000_000_000)),
    ("c055", "5400000ms", Some(5_400_000_000_000)),
    ("", "0", Some(0)),
    ("c062", "0s", Some(0)),
    ("", "0h0m0s", Some(0)),
    ("", "00h", Some(0)),
    ("", "100ms", Some(100_000_000)),
    ("", ".5s", Some(500_000_000)),
    ("", "1.s", Some(1_000_000_000)),
    ("", "0.1ns", Some(0)),
    ("", "1us", Some(1000)),
    ("", "1\u{b5}s", Some(1000)),
    ("", "1\u{3bc}s", Some(1000)),
    ("", "1ms1us1ns", Some(1_001_001)),
    ("", "3m2h", Some(7_380_000_000_000)),
    ("", "1h1h", Some(7_200_000_000_000)),
    ("", "9223372036854775807ns", Some(9_223_372_036_854_775_807)),
    ("", "9223372036854775808ns", None),
    ("", "87600h", Some(315_360_000_000_000_000)),
    ("", "87600.0h", Some(315_360_000_000_000_000)),
    ("", "87599h60m", Some(315_360_000_000_000_000)),
    ("", "87600h1ns", Some(315_360_000_000_000_001)),
    ("", "87600.0000001h", Some(315_360_000_000_360_000)),
    ("", "87601h", Some(315_363_600_000_000_000)),
    ("", "99999h", Some(359_996_400_000_000_000)),
    ("", "100000h", Some(360_000_000_000_000_000)),
    ("", "2562047h", Some(9_223_369_200_000_000_000)),
    ("", "2562048h", None),
    ("", "99999999999999999999h", None),
    ("", "5256000m", Some(315_360_000_000_000_000)),
    ("", "5256001m", Some(315_360_060_000_000_000)),
    ("", "10000000m", Some(600_000_000_000_000_000)),
    ("", "315360000s", Some(315_360_000_000_000_000)),
    ("", "315360001s", Some(315_360_001_000_000_000)),
    ("", "1000000000s", Some(1_000_000_000_000_000_000)),
    ("", "18446744073709551615s", None),
    ("", "315360000000ms", Some(315_360_000_000_000_000)),
    ("", "315360000001ms", Some(315_360_000_001_000_000)),
    ("", "315360000000000us", Some(315_360_000_000_000_000)),
    ("", "315360000000001us", Some(315_360_000_000_001_000)),
    ("", "315360000000000\u{b5}s", Some(315_360_000_000_000_000)),
    ("", "315360000000000000ns", Some(315_360_000_000_000_000)),
    ("", "315360000000000001ns", Some(315_360_000_000_000_001)),
    ("", "1000000000000000000ns", Some(1_000_000_000_000_000_000)),
    ("", "99999h99999h99999h99999h99999h", Some(1_799_982_000_000_000_000)),
    ("", "00000000000000000000000000000001m", Some(60_000_000_000)),
    ("", "00000000000000000000000000000001h", Some(3_600_000_000_000)),
    ("", "000000000000000000000000000000001m", Some(60_000_000_000)),
    ("", "0000000000000000000000000000087600h", Some(315_360_000_000_000_000)),
    ("", "0.000000001s", Some(1)),
    ("", "0.0000000001s", Some(0)),
    ("", "87599.99999999999999999h", Some(315_360_000_000_000_000)),
    ("", "-5m", Some(-300_000_000_000)),
    ("", "+5m", Some(300_000_000_000)),
    ("", "-0s", Some(0)),
    ("", "--5m", None),
    ("", "+-5m", None),
    ("", "1h-5m", None),
    ("", "1d", None),
    ("c054", "30d", None),
    ("", "1w", None),
    ("", "1M", None),
    ("", "15M", None),
    ("", "1H", None),
    ("", "5 min", None),
    ("", "1h 30m", None),
    ("", " 15m", None),
    ("", "15m ", None),
    ("", "15m\n", None),
    ("", "15\u{a0}m", None),
    ("", "15 minutes", None),
    ("", "Never", None),
    ("c062", "", None),
    ("", "auto", None),
    ("", "Auto", None),
    ("", "1e3s", None),
    ("", "5", None),
    ("", "0.5", None),
    ("", "00", None),
    ("", "h", None),
    ("", ".", None),
    ("", ".h", None),
    ("", "1..5h", None),
    ("", "1,5h", None),
    ("", "1h30", None),
    ("", "0x1h", None),
    ("", "1_000s", None),
    ("", "PT15M", None),
    ("", "15:00", None),
    ("", "\u{661}m", None),
    ("", "15\u{ff4d}", None),
    ("", "Inf", None),
    ("", "0 1 * * 0", None),
];

/// Ten years.
const LONGEST: i64 = 87_600 * 3600 * 1_000_000_000;
/// Characters of a duration.
const MOST_CHARACTERS: usize = 32;

/// Fields with the same rule.
struct Rule {
    field: &'static str,
    zero: bool,
    auto: bool,
    sentence: &'static str,
}

const POSITIVE: &str = "must be a duration longer than zero and at most 87600h; write for example 15m or 1h30m";

/// One field of each rule: it meets every text.
const RULES: [Rule; 3] = [
    Rule { field: "ageThreshold", zero: false, auto: true, sentence: "must be auto, or a duration longer than zero and at most 87600h" },
    Rule { field: "surge.cooldownAfter", zero: true, auto: false, sentence: "must be a duration of at most 87600h; write for example 10m" },
    Rule { field: "surge.readyTimeout", zero: false, auto: false, sentence: POSITIVE },
];
/// The other fields, which meet the edges only.
const OTHERS: [&str; 4] = ["surge.failurePause", "surge.retryBackoff", "surge.provisioningEstimate", "surge.drainEstimate"];
const EDGES: [(&str, Option<i64>); 9] = [
    ("1ns", Some(1)),
    ("87600h", Some(LONGEST)),
    ("0s", Some(0)),
    ("87600h1ns", Some(LONGEST + 1)),
    ("99999999999999999999h", None),
    ("-5m", Some(-300_000_000_000)),
    ("30d", None),
    ("", None),
    ("000000000000000000000000000000001m", Some(60_000_000_000)),
];

pub(crate) fn trials() -> Vec<Trial> {
    vec![Trial::test("admit_schema::durations::each_has_the_value_that_go_reads", || {
        each_has_the_value_that_go_reads().map_err(|error| Failed::from(format!("{error:#}")))
    })]
}

/// What is admitted is also the same time. Of a fraction Go rounds the last nanosecond.
fn each_has_the_value_that_go_reads() -> Result<()> {
    for (_, text, go) in GO {
        let Ok(ours) = parse(text) else { continue };
        let go = go.with_context(|| format!("validation reads {text:?}, which Go does not"))?;
        let difference = i128::try_from(ours.as_nanos())? - i128::from(go);
        ensure!(difference.abs() <= i128::from(text.contains('.')), "{text:?} is {go} ns for Go, and {ours:?} for validation");
    }
    Ok(())
}

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for rule in &RULES {
        rows.extend(GO.iter().map(|(case, text, go)| row(case, rule, text, *go)));
    }
    for field in OTHERS {
        let rule = Rule { field, zero: false, auto: false, sentence: POSITIVE };
        rows.extend(EDGES.iter().map(|(text, go)| row("", &rule, text, *go)));
    }
    rows.extend(rounded());
    rows
}

/// What follows from Go's value: neither sign nor more than ten years, and zero where that means something.
fn row(case: &str, rule: &Rule, text: &str, go: Option<i64>) -> Row {
    let pointer = format!("/spec/{}", rule.field.replace('.', "/"));
    let field = format!("spec.{}", rule.field);
    let name = format!("{case} {field} {text:?}").trim_start().to_owned();
    let least = if rule.zero { 0 } else { 1 };
    let within = go.is_some_and(|value| (least..=LONGEST).contains(&value)) && !text.starts_with(['-', '+']);
    if text.chars().count() > MOST_CHARACTERS {
        refuses(&name, &pointer, json!(text), &field, "may not be more than 32 bytes")
    } else if within || (rule.auto && text == "auto") {
        admits(&name, &pointer, json!(text))
    } else {
        refuses(&name, &pointer, json!(text), &field, rule.sentence)
    }
}

/// The API server reads a fraction in floating point, validation in whole nanoseconds: at the bounds they differ by one.
fn rounded() -> Vec<Row> {
    let (pointer, field) = ("/spec/surge/readyTimeout", "spec.surge.readyTimeout");
    let almost_one: Value = json!("0.99999999999999999999ns");
    let almost_ten_years: Value = json!("87599.99999999999999999h1ns");
    vec![
        endpoint_refuses("a fraction that Go rounds up to a nanosecond", pointer, almost_one, field, "must be longer than zero"),
        server_refuses("a fraction that Go rounds up to ten years", pointer, almost_ten_years, field, POSITIVE),
    ]
}
