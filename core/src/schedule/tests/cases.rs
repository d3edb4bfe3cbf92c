//! Public fault reports about feasibility, each named by its number, with its numbers.

use super::*;
use crate::policy::finding::FindingCode;

/// The base of the cases: Wednesday and Saturday, two to six, UTC.
fn base(spec: &Value, surge: &Value) -> Governing {
    let mut spec = spec.clone();
    if spec.get("maintenanceWindows").is_none() {
        spec["maintenanceWindows"] = window("UTC", &["Wed", "Sat"], "02:00", "06:00");
    }
    policy(&spec, surge)
}

const EVERY_DAY: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

fn window(zone: &str, days: &[&str], start: &str, end: &str) -> Value {
    json!([{"timezone": zone, "days": days, "start": start, "end": end}])
}

fn plain() -> Governing {
    base(&json!({}), &json!({}))
}

/// The sentence of one finding.
fn sentence(derived: &Derived, code: FindingCode) -> Option<&str> {
    derived.findings.iter().find(|finding| finding.code == code).map(|finding| finding.sentence.as_str())
}

#[test]
fn the_arithmetic_of_the_base() {
    let governing = plain();
    let derived = derive(&governing, &life(336, Some(1)), 1, now());
    assert_eq!((derived.period, derived.t_rot), (Some(hours(96)), minutes(77)));
    assert_eq!(lead_time(&governing, hours(96), Some(hours(1))), hours(8 * 24 + 1) + minutes(17));
    assert_eq!(derived.age_threshold, SignedDuration::from_mins((5 * 24 + 22) * 60 + 43));
}

#[test]
fn c006_every_day_to_23_59_is_not_continuous() {
    let governing = base(&json!({"maintenanceWindows": window("UTC", &EVERY_DAY, "00:00", "23:59")}), &json!({}));
    let measures = governing.windows.measures(now()).unwrap();
    assert_eq!((measures.period, measures.idle_gap, measures.shortest), (hours(24), Some(minutes(1)), minutes(23 * 60 + 59)));
    assert_eq!(lead_time(&governing, measures.period, Some(hours(1))), hours(49) + minutes(17));
    let derived = derive(&governing, &life(336, Some(1)), 1, now());
    // 23 h 59 min hold 57 whole slots of 25 min and a part of one more.
    assert_eq!((derived.age_threshold, derived.capacity), (SignedDuration::from_mins((336 - 50) * 60 + 43), 58));
}

#[test]
fn c050_two_zones_that_fill_each_others_minute_are_continuous() {
    let mut both = window("UTC", &EVERY_DAY, "00:00", "23:59");
    both.as_array_mut().unwrap().extend(window("Asia/Tokyo", &EVERY_DAY, "00:00", "23:59").as_array().unwrap().clone());
    let derived = derive(&base(&json!({ "maintenanceWindows": both }), &json!({})), &life(336, Some(1)), 5, now());
    assert_eq!(derived.period, Some(minutes(1)));
    // E less t_rot less two minutes.
    assert_eq!(derived.age_threshold, SignedDuration::from_mins(336 * 60 - 77 - 2));
    assert_eq!(derived.findings, Vec::new());
}

#[test]
fn c086_without_a_grace_period_an_hour_is_assumed_and_told() {
    let derived = derive(&plain(), &life(336, None), 1, now());
    assert_eq!(derived.t_rot, minutes(77));
    assert_eq!(codes(&plain(), &life(336, None), 1), ["TGPUnset"]);
    assert_eq!(codes(&plain(), &life(336, Some(1)), 1), Vec::<String>::new());
}

#[test]
fn c087_an_implied_grace_period_of_a_day_is_told_where_the_life_is_too_long() {
    let derived = derive(&plain(), &life(720, None), 1, now());
    assert!(!derived.is_infeasible(), "advice only");
    assert_eq!(codes(&plain(), &life(720, None), 1), ["TGPUnset", "HardCapExceeded"]);
    insta::assert_snapshot!(sentence(&derived, FindingCode::HardCapExceeded).unwrap(), @"expireAfter and the terminationGracePeriod of 24h that EKS Auto Mode implies are 31d together; EKS Auto Mode ends a node's life at 21d");
}

#[test]
fn c088_t64_21_days_are_allowed_and_a_minute_more_is_told() {
    let with_grace = |grace| PoolLife { expire_after: Some(hours(480)), termination_grace_period: Some(grace) };
    let (exact, more) = (with_grace(hours(24)), with_grace(hours(24) + minutes(1)));
    assert_eq!(codes(&plain(), &exact, 1), Vec::<String>::new());
    assert_eq!(codes(&plain(), &more, 1), ["HardCapExceeded"]);
    // The finding changes nothing: A is what the formula says, a minute less for the longer drain.
    let age = |life| derive(&plain(), &life, 1, now()).age_threshold;
    assert_eq!((age(exact), age(more)), (SignedDuration::from_mins(263 * 60 + 43), SignedDuration::from_mins(263 * 60 + 42)));
}

#[test]
fn c211_a_fleet_of_one_age_misses_its_windows_where_they_are_short() {
    let long = derive(&plain(), &life(336, Some(1)), 12, now());
    assert_eq!((long.t_rot_estimate, long.capacity), (minutes(15), 10));
    assert_eq!(sentence(&long, FindingCode::ThroughputBurstShortfall), None);
    let short = base(&json!({"maintenanceWindows": window("UTC", &["Wed", "Sat"], "02:00", "02:30")}), &json!({}));
    let short = derive(&short, &life(336, Some(1)), 12, now());
    assert_eq!(short.capacity, 2);
    insta::assert_snapshot!(sentence(&short, FindingCode::ThroughputBurstShortfall).unwrap(), @"if all 12 claims come due together, 8 of them miss their windows: 2 rotations fit into a window; add or lengthen windows");
}

#[test]
fn c212_a_life_shorter_than_two_windows_is_fatal_and_says_the_three_ways_out() {
    let daily = base(&json!({"maintenanceWindows": window("UTC", &EVERY_DAY, "02:00", "06:00")}), &json!({}));
    let derived = derive(&daily, &life(10, Some(1)), 2, now());
    assert!(derived.is_infeasible());
    // 10 h less two days less 77 min.
    assert_eq!(derived.age_threshold, SignedDuration::from_mins(10 * 60 - 48 * 60 - 77));
    insta::assert_snapshot!(sentence(&derived, FindingCode::ANonPositive).unwrap(), @"expireAfter 10h is not longer than the lead time: 2 windows at most 1d apart, and 1h17m for a rotation; add windows, raise expireAfter, or lower minRotationChances");
}

#[test]
fn t58_a_window_shorter_than_a_rotation_still_starts_one() {
    let short = base(&json!({"maintenanceWindows": window("UTC", &["Wed", "Sat"], "02:00", "02:10")}), &json!({}));
    for (claims, below_arrival, burst) in [(1, false, false), (2, true, false), (3, true, true)] {
        let derived = derive(&short, &life(336, Some(1)), claims, now());
        assert_eq!(derived.capacity, 1);
        assert_eq!(sentence(&derived, FindingCode::ThroughputBelowArrival).is_some(), below_arrival, "{claims} claims");
        assert_eq!(sentence(&derived, FindingCode::ThroughputBurstShortfall).is_some(), burst, "{claims} claims");
    }
}

#[test]
fn t59_the_cooldown_counts_where_a_rotation_reaches_into_the_next_window() {
    // A gap of 20 minutes, and 15 for a rotation.
    let mut windows = window("UTC", &EVERY_DAY, "00:00", "12:00");
    windows.as_array_mut().unwrap().extend(window("UTC", &EVERY_DAY, "12:20", "23:40").as_array().unwrap().clone());
    for (cooldown, told) in [("5m", false), ("5m1s", true), ("0s", false)] {
        let governing = base(&json!({ "maintenanceWindows": windows }), &json!({"cooldownAfter": cooldown}));
        let derived = derive(&governing, &life(336, Some(1)), 1, now());
        assert_eq!(sentence(&derived, FindingCode::RotationSpansNextWindow).is_some(), told, "{cooldown}");
    }
}

#[test]
fn t60_t61_the_forecast_expects_neither_forced_drains_nor_time_limits_that_run_out() {
    let usual = derive(&plain(), &life(336, Some(1)), 1, now());
    for (timeout, grace) in [("15m", 24), ("3h", 1), ("3h", 24)] {
        let derived = derive(&base(&json!({}), &json!({"readyTimeout": timeout})), &life(480, Some(grace)), 1, now());
        assert_eq!((derived.t_rot_estimate, derived.capacity), (usual.t_rot_estimate, usual.capacity), "{timeout} and {grace}h");
        assert!(derived.t_rot > usual.t_rot, "{timeout} and {grace}h");
    }
    assert_eq!(usual.t_rot_estimate, minutes(5 + 10));
}

#[test]
fn t104_half_a_day_of_life_under_a_daily_window_is_fatal_and_a_fortnight_is_not() {
    let daily =
        |age: &str| base(&json!({"maintenanceWindows": window("UTC", &EVERY_DAY, "02:00", "06:00"), "ageThreshold": age}), &json!({}));
    // The age, a day for each of two windows, and 77 minutes.
    let rows: [(u64, &[&str]); 7] = [
        (12 * 60, &["OverrideGBelowOne"]),
        (35 * 60 + 76, &["OverrideGBelowOne"]),
        (35 * 60 + 77, &["OverrideGBelowK"]),
        (59 * 60 + 76, &["OverrideGBelowK"]),
        (59 * 60 + 77, &[]),
        (336 * 60, &[]),
        (60, &["OverrideGBelowOne"]),
    ];
    for (expire_after, expected) in rows {
        let life = PoolLife { expire_after: Some(minutes(expire_after)), termination_grace_period: Some(hours(1)) };
        let mut codes = codes(&daily("11h"), &life, 1);
        codes.retain(|code| code != "AVeryAggressive");
        assert_eq!(codes, expected, "{expire_after} minutes");
        assert_eq!(derive(&daily("11h"), &life, 1, now()).is_infeasible(), expected == ["OverrideGBelowOne"], "{expire_after} minutes");
    }
}

#[test]
fn r17_midnight_ends_nothing() {
    let at = |text: &str| text.parse::<Timestamp>().unwrap();
    let mut split = window("UTC", &["Wed"], "22:00", "24:00");
    split.as_array_mut().unwrap().extend(window("UTC", &["Thu"], "00:00", "04:00").as_array().unwrap().clone());
    for windows in [split, window("UTC", &["Wed"], "22:00", "04:00")] {
        let governing = base(&json!({ "maintenanceWindows": windows }), &json!({}));
        let derived = derive(&governing, &life(720, Some(1)), 1, now());
        assert_eq!((derived.period, derived.capacity), (Some(hours(168)), 15), "{windows}");
        assert_eq!(sentence(&derived, FindingCode::RotationSpansNextWindow), None, "{windows}");
        // Of two hours of backoff all fit, though midnight comes before.
        let next = crate::backoff::next_attempt(&governing, at("2026-01-07T23:00:00Z"), 3, at("2026-01-07T23:30:00Z"));
        assert_eq!(next, at("2026-01-08T01:00:00Z"), "{windows}");
        // No opening was missed at midnight; it is once the whole of it is over.
        for (now, missed) in [("2026-01-07T23:59:30Z", false), ("2026-01-08T00:00:00Z", false), ("2026-01-08T04:00:00Z", true)] {
            let circumstances = crate::missed_window::Circumstances {
                windows: &governing.windows,
                opened: crate::annotation::OpenedAt::At(at("2026-01-07T22:00:00Z")),
                outstanding: 1,
                frozen: false,
                last_rotation_at: None,
            };
            assert_eq!(crate::missed_window::judge(&circumstances, at(now)).missed.is_some(), missed, "{now}: {windows}");
        }
    }
}

#[test]
fn c214_estimates_above_their_bounds_are_cut_and_change_no_age() {
    let plain = derive(&plain(), &life(336, Some(1)), 1, now());
    let long = base(&json!({}), &json!({"drainEstimate": "2h", "provisioningEstimate": "20m"}));
    let derived = derive(&long, &life(336, Some(1)), 1, now());
    assert_eq!(derived.t_rot_estimate, minutes(15 + 60));
    assert_eq!((derived.age_threshold, derived.t_rot), (plain.age_threshold, plain.t_rot));
    assert_eq!(codes(&long, &life(336, Some(1)), 1), ["DrainEstimateAboveTGP", "ProvisioningEstimateAboveReadyTimeout"]);
    let equal = base(&json!({}), &json!({"drainEstimate": "1h", "provisioningEstimate": "15m"}));
    assert_eq!(codes(&equal, &life(336, Some(1)), 1), Vec::<String>::new());
}

#[test]
fn c216_the_burst_is_told_from_one_claim_too_many() {
    let told = |claims| codes(&plain(), &life(336, Some(1)), claims).contains(&"ThroughputBurstShortfall".to_owned());
    assert_eq!((told(20), told(21)), (false, true));
}
