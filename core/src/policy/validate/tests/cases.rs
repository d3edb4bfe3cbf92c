//! Public fault reports about what a policy says, each named by its number.

use super::*;
use crate::policy::default;
use crate::policy::schema;

/// The faults of the good policy with one window of these fields.
fn of_window(window: &Value) -> Vec<String> {
    faults(&with("/spec/maintenanceWindows", json!([window])))
}

/// The faults of the good policy with one field of `spec` replaced.
fn of(field: &str, value: Value) -> Vec<String> {
    faults(&with(&format!("/spec/{field}"), value))
}

fn selector(expressions: &Value) -> Selector {
    validate(&with("/spec/nodePoolSelector", json!({ "matchExpressions": expressions }))).unwrap().selector
}

fn labels(pairs: &[(&str, &str)]) -> std::collections::BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn c003_a_short_day_and_the_machines_zone_are_told_together() {
    let told = of_window(&json!({"timezone": "Local", "days": ["mo"], "start": "14:00", "end": "17:00"}));
    insta::assert_snapshot!(told.join("\n"), @r#"
    spec.maintenanceWindows[0].timezone: "Local" is the zone of a machine, which differs from node to node; write an IANA name such as Europe/Berlin
    spec.maintenanceWindows[0].days[0]: "mo" is not a day; write Mon
    "#);
    assert!(of_window(&json!({"timezone": "Europe/Berlin", "days": ["Mon"], "start": "14:00", "end": "17:00"})).is_empty());
}

#[test]
fn c007_c008_an_interval_that_ends_where_it_starts_is_neither_nothing_nor_a_day() {
    let sentence = "equals start, so the window has no length; for a whole day write 00:00 to 24:00";
    for (days, time) in [(json!(["Mon"]), "02:00"), (json!(["Sat", "Sun"]), "03:00"), (json!(["Mon"]), "00:00")] {
        let told = of_window(&json!({"timezone": "UTC", "days": days, "start": time, "end": time}));
        assert_eq!(told, [format!("spec.maintenanceWindows[0].end: \"{time}\" {sentence}")]);
    }
    // What the remedy says is accepted, and is the whole weekend.
    let whole = json!([{"timezone": "UTC", "days": ["Sat", "Sun"], "start": "00:00", "end": "24:00"}]);
    let windows = validate(&with("/spec/maintenanceWindows", whole)).unwrap().windows;
    let saturday = windows.next_open("2026-01-01T00:00:00Z".parse().unwrap()).unwrap();
    let occurrence = windows.occurrence(saturday).unwrap();
    assert_eq!(format!("{}/{}", occurrence.open, occurrence.close), "2026-01-03T00:00:00Z/2026-01-05T00:00:00Z");
}

#[test]
fn c017_a_window_without_a_zone_is_refused() {
    let told = of_window(&json!({"days": ["Mon"], "start": "12:00", "end": "13:00"}));
    assert_eq!(told, ["spec.maintenanceWindows[0].timezone: is required; write an IANA name such as Europe/Berlin"]);
}

#[test]
fn c022_an_interval_over_midnight_is_accepted() {
    assert!(of_window(&json!({"timezone": "UTC", "days": ["Mon"], "start": "23:55", "end": "00:10"})).is_empty());
}

#[test]
fn c027_day_names_and_keys_of_another_tool_are_refused_with_ours() {
    let told = of_window(&json!({"timezone": "UTC", "days": ["saturday"], "startTime": "8:00", "end": "10:00"}));
    insta::assert_snapshot!(told.join("\n"), @r#"
    spec.maintenanceWindows[0].days[0]: "saturday" is not a day; write Sat
    spec.maintenanceWindows[0].start: is required; write a time of day as HH:MM
    "#);
}

#[test]
fn c053_c054_days_are_no_unit_and_fall_back_to_nothing() {
    let units = "the units are h, m, s, ms, us and ns";
    let told = of("surge", json!({"retryBackoff": "2d"}));
    assert_eq!(told, [format!("spec.surge.retryBackoff: \"2d\" has the unknown unit \"d\"; {units}; write 48h")]);
    let told = of("ageThreshold", json!("30d"));
    assert_eq!(told, [format!("spec.ageThreshold: \"30d\" has the unknown unit \"d\"; {units}; write 720h")]);
    let meant = validate(&with("/spec/ageThreshold", json!("720h"))).unwrap();
    assert_eq!(meant.age_threshold, AgeThreshold::Override(Duration::from_secs(30 * 24 * 3600)));
}

/// Every field that takes a duration.
const DURATIONS: [&str; 7] = [
    "ageThreshold",
    "surge/readyTimeout",
    "surge/cooldownAfter",
    "surge/failurePause",
    "surge/retryBackoff",
    "surge/provisioningEstimate",
    "surge/drainEstimate",
];

#[test]
fn c055_c056_every_field_reads_the_same_grammar() {
    for field in DURATIONS {
        for good in ["1h30m", "90m", "1.5h", "5400s", "5400000ms", ".5h", "1.h"] {
            assert!(of(field, json!(good)).is_empty(), "{field}: {good}");
        }
        for bad in ["1h30", "1H", "1h 30m", " 1h", "+1h", "1d", "", "99999999999999999999h", "2562047h", "2562048h"] {
            assert_eq!(of(field, json!(bad)).len(), 1, "{field}: {bad:?}");
        }
    }
}

#[test]
fn c057_no_duration_has_a_format_of_another_grammar() {
    let definition = serde_json::to_value(schema::definition()).unwrap().to_string();
    assert!(definition.contains("\"readyTimeout\"") && definition.contains("\"format\":\"int32\""));
    assert!(!definition.contains("\"format\":\"duration\""));
}

#[test]
fn c062_zero_and_nothing_are_no_age() {
    assert_eq!(of("ageThreshold", json!("0s")), [r#"spec.ageThreshold: "0s" must be longer than zero; write for example auto or 720h"#]);
    assert_eq!(of("ageThreshold", json!("")), [r#"spec.ageThreshold: "" is neither auto nor a duration; write auto, or for example 720h"#]);
    // Only a field that is not there means auto.
    assert_eq!(validate(&with("/spec/ageThreshold", Value::Null)).unwrap().age_threshold, AgeThreshold::Auto);
}

#[test]
fn c064_the_spelling_survives_the_defaults() {
    for text in ["15m", "1.5h", "900s", "0h10m"] {
        let stored = default::apply(None, &with("/spec/surge/readyTimeout", json!(text)));
        assert_eq!(stored["spec"]["surge"]["readyTimeout"], text);
        assert_eq!(default::apply(Some(&stored), &stored), stored, "{text}: a second apply changes nothing");
    }
}

#[test]
fn c067_a_cron_text_is_sent_to_the_windows() {
    let told = of("ageThreshold", json!("0 1 * * 0"));
    let words = "is a time to rotate at, not an age; write auto or for example 720h, and the times as maintenanceWindows";
    assert_eq!(told, [format!("spec.ageThreshold: \"0 1 * * 0\" {words}")]);
}

#[test]
fn c069_not_in_holds_for_a_missing_key() {
    let not_production = selector(&json!([{"key": "env", "operator": "NotIn", "values": ["prod"]}]));
    assert!(not_production.matches(&labels(&[])) && !not_production.matches(&labels(&[("env", "prod")])));
}

#[test]
fn c072_operators_with_too_few_or_too_many_values_are_refused() {
    let told = of(
        "nodePoolSelector",
        json!({"matchExpressions": [{"key": "team", "operator": "In", "values": []}, {"key": "team", "operator": "Exists", "values": ["a"]}]}),
    );
    insta::assert_snapshot!(told.join("\n"), @r#"
    spec.nodePoolSelector.matchExpressions[0].values: [] is empty; In and NotIn need at least one value
    spec.nodePoolSelector.matchExpressions[1].values: ["a"] must not be there; Exists and DoesNotExist take no values
    "#);
}

#[test]
fn c073_an_empty_value_is_there() {
    let without = selector(&json!([{"key": "env", "operator": "DoesNotExist"}]));
    assert!(!without.matches(&labels(&[("env", "")])) && without.matches(&labels(&[("team", "a")])));
}

#[test]
fn c074_null_for_both_halves_of_a_selector_is_the_empty_selector() {
    let everything = validate(&with("/spec/nodePoolSelector", json!({"matchExpressions": null, "matchLabels": null}))).unwrap().selector;
    assert!(everything.matches(&labels(&[])) && everything.matches(&labels(&[("team", "a")])));
    assert_eq!(everything.specificity(), 0);
}

#[test]
fn c079_three_expressions_all_hold_or_none_does() {
    let three = selector(&json!([
        {"key": "tier", "operator": "In", "values": ["cache"]},
        {"key": "env", "operator": "NotIn", "values": ["dev"]},
        {"key": "env", "operator": "Exists"}
    ]));
    assert_eq!(three.specificity(), 3);
    assert!(three.matches(&labels(&[("tier", "cache"), ("env", "prod")])));
    assert!(!three.matches(&labels(&[("tier", "cache")])), "NotIn holds without the key, Exists does not");
    assert!(!three.matches(&labels(&[("tier", "cache"), ("env", "dev")])));
    assert!(!three.matches(&labels(&[("tier", "web"), ("env", "prod")])));
}

#[test]
fn c177_a_required_key_in_the_singular_is_missed() {
    let mut policy = with("/spec/maintenanceWindows", Value::Null);
    policy["spec"]["maintenanceWindow"] = good()["spec"]["maintenanceWindows"].clone();
    let words = "is required; write at least one window with timezone, days, start and end";
    assert_eq!(faults(&policy), [format!("spec.maintenanceWindows: {words}")]);
}

#[test]
fn c180_thousands_of_windows_are_refused_with_their_number() {
    let window = good()["spec"]["maintenanceWindows"][0].clone();
    let many = |count: usize| of("maintenanceWindows", json!(vec![window.clone(); count]));
    assert_eq!(many(5_000), ["spec.maintenanceWindows: has 5000 windows; write at most 64"]);
    assert!(many(64).is_empty() && !many(65).is_empty());
}

#[test]
fn t66_t67_a_zero_that_is_written_is_refused_and_what_is_not_written_is_a_default() {
    for field in ["readyTimeout", "retryBackoff", "failurePause", "provisioningEstimate", "drainEstimate"] {
        let pointer = format!("/spec/surge/{field}");
        for (value, refused) in [(json!("0s"), true), (json!("-1m"), true), (json!("1m"), false), (Value::Null, false)] {
            assert_eq!(faults(&with(&pointer, value.clone())).len(), usize::from(refused), "{field}: {value}");
        }
    }
    // The one duration that may be zero is zero then, and not its default.
    for (value, cooldown) in [(json!("0s"), 0), (Value::Null, 600)] {
        let governing = validate(&with("/spec/surge/cooldownAfter", value)).unwrap();
        assert_eq!(governing.cooldown_after.as_secs(), cooldown);
    }
    for (value, refused) in [(json!(0), true), (json!(1), false), (Value::Null, false)] {
        assert_eq!(faults(&with("/spec/surge/maxUnavailable", value.clone())).len(), usize::from(refused), "{value}");
    }
}

#[test]
fn t63_the_default_of_the_failure_pause_is_never_shorter_than_ten_minutes() {
    for (cooldown, pause) in [("0s", 600), ("2m", 600), ("10m", 600), ("30m", 1800)] {
        let governing = validate(&with("/spec/surge", json!({"cooldownAfter": cooldown}))).unwrap();
        assert_eq!(governing.failure_pause.as_secs(), pause, "{cooldown}");
    }
}

#[test]
fn c215_only_one_node_at_a_time_is_supported() {
    for number in [0, 2] {
        let told = of("surge/maxUnavailable", json!(number));
        assert_eq!(told, [format!("spec.surge.maxUnavailable: {number} is not supported; write 1, or leave the field out")]);
    }
    let absent = with("/spec/surge/maxUnavailable", Value::Null);
    assert!(faults(&absent).is_empty());
    assert_eq!(default::apply(None, &absent)["spec"]["surge"]["maxUnavailable"], 1);
}
