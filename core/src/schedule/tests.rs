//! The arithmetic of the chapter's examples, and one row a finding beside its good twin.

mod cases;
mod derivation;
mod exact;
mod fraction;

use serde_json::{Value, json};

use super::*;
use crate::policy::validate::validate;

const HOUR: u64 = 3600;

fn hours(hours: u64) -> Duration {
    Duration::from_secs(hours * HOUR)
}

fn minutes(minutes: u64) -> Duration {
    Duration::from_secs(minutes * 60)
}

fn now() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

/// Wednesday and Saturday, two to six, with the given fields of `spec` and `spec.surge` on top.
fn policy(spec: &Value, surge: &Value) -> Governing {
    let mut policy = json!({
        "metadata": {"name": "p"},
        "spec": {
            "nodePoolSelector": {},
            "maintenanceWindows": [{"timezone": "Asia/Tokyo", "days": ["Wed", "Sat"], "start": "02:00", "end": "06:00"}],
            "surge": surge
        }
    });
    for (key, value) in spec.as_object().unwrap() {
        policy["spec"][key] = value.clone();
    }
    validate(&policy).unwrap()
}

fn life(expire_after: u64, grace: Option<u64>) -> PoolLife {
    PoolLife { expire_after: Some(hours(expire_after)), termination_grace_period: grace.map(hours) }
}

fn codes(governing: &Governing, life: &PoolLife, claims: usize) -> Vec<String> {
    derive(governing, life, claims, now()).findings.iter().map(|finding| finding.code.to_string()).collect()
}

#[test]
fn t62_the_worked_example() {
    let derived = derive(&policy(&json!({}), &json!({})), &life(336, Some(1)), 10, now());
    assert_eq!(derived.t_rot, minutes(77));
    assert_eq!(derived.t_rot_estimate, minutes(15));
    assert_eq!(derived.age_threshold, SignedDuration::from_mins(142 * 60 + 43));
    assert_eq!((derived.chances, derived.capacity), (2, 10));
    assert_eq!(derived.period, Some(hours(96)));
    assert!(derived.findings.is_empty(), "{:?}", derived.findings);
}

/// A window of 28 minutes in each half hour, which is what a soak test runs with.
#[test]
fn the_soak_example() {
    let window = |half_hour: usize| {
        let (hour, minute) = (half_hour / 2, half_hour % 2 * 30);
        json!({"timezone": "UTC", "days": ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"],
            "start": format!("{hour:02}:{minute:02}"), "end": format!("{hour:02}:{:02}", minute + 28)})
    };
    let windows: Vec<Value> = (0..48).map(window).collect();
    let governing = policy(&json!({ "maintenanceWindows": windows }), &json!({"readyTimeout": "5m", "cooldownAfter": "2m"}));
    let pool = PoolLife { expire_after: Some(minutes(132)), termination_grace_period: Some(minutes(5)) };
    let derived = derive(&governing, &pool, 1, now());
    assert_eq!((derived.period, derived.t_rot, derived.t_rot_estimate), (Some(minutes(30)), minutes(12), minutes(10)));
    assert_eq!((derived.age_threshold, derived.capacity, derived.chances), (SignedDuration::from_hours(1), 3, 2));
    assert_eq!(codes(&governing, &pool, 1), ["RotationSpansNextWindow"]);
}

#[test]
fn an_override_leaves_the_chances_that_it_leaves() {
    let derived = derive(&policy(&json!({"ageThreshold": "100h"}), &json!({})), &life(336, Some(1)), 1, now());
    // 336 h less 77 min less 100 h are 234.7 h: two periods of 96 h.
    assert_eq!((derived.chances, derived.age_threshold), (2, SignedDuration::from_hours(100)));
}

#[test]
fn a_pool_that_never_expires_derives_nothing() {
    let never = PoolLife { expire_after: None, termination_grace_period: None };
    assert_eq!(derive(&policy(&json!({}), &json!({})), &never, 100, now()), Derived::default());
}

#[test]
fn bounds_of_the_drain() {
    assert_eq!(drain_bound(Some(hours(1))), minutes(62));
    assert_eq!(drain_bound(None), hours(1));
    let governing = policy(&json!({}), &json!({}));
    assert_eq!(lead_time(&governing, hours(96), Some(hours(1))), hours(192) + minutes(77));
    assert_eq!(lead_time(&governing, hours(96), None), hours(192) + minutes(77));
}

#[test]
fn each_finding_has_its_condition() {
    let plain = || policy(&json!({}), &json!({}));
    let surge = |surge: Value| policy(&json!({}), &surge);
    let spec = |spec: Value| policy(&spec, &json!({}));
    let daily = json!({"maintenanceWindows": [{"timezone": "UTC", "days": ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"], "start": "00:00", "end": "23:59"}]});
    let none: &[&str] = &[];
    let rows: Vec<(&str, Governing, PoolLife, usize, &[&str])> = vec![
        ("nothing", plain(), life(336, Some(1)), 10, none),
        (
            "the lead time itself",
            plain(),
            PoolLife { expire_after: Some(hours(192) + minutes(77)), ..life(0, Some(1)) },
            0,
            &["ANonPositive"],
        ),
        ("a minute more", plain(), PoolLife { expire_after: Some(hours(192) + minutes(78)), ..life(0, Some(1)) }, 0, &["AVeryAggressive"]),
        ("K of one", spec(json!({"minRotationChances": 1})), life(336, Some(1)), 0, &["KBelowTwo"]),
        ("an override beyond the expiry", spec(json!({"ageThreshold": "300h"})), life(336, Some(1)), 0, &["OverrideGBelowOne"]),
        ("an override with one window", spec(json!({"ageThreshold": "200h"})), life(336, Some(1)), 0, &["OverrideGBelowK"]),
        ("an override with two windows", spec(json!({"ageThreshold": "140h"})), life(336, Some(1)), 0, none),
        ("no grace period", plain(), life(336, None), 0, &["TGPUnset"]),
        ("21 days and no more", plain(), life(503, Some(1)), 0, none),
        ("more than 21 days", plain(), life(504, Some(1)), 0, &["HardCapExceeded"]),
        ("a short backoff", surge(json!({"retryBackoff": "14m"})), life(336, Some(1)), 0, &["RetryBackoffShort"]),
        (
            "a drain estimate above the grace period",
            surge(json!({"drainEstimate": "2h"})),
            life(336, Some(1)),
            0,
            &["DrainEstimateAboveTGP"],
        ),
        ("a drain estimate without a grace period", surge(json!({"drainEstimate": "2h"})), life(336, None), 0, &["TGPUnset"]),
        (
            "a provisioning estimate above the timeout",
            surge(json!({"provisioningEstimate": "20m"})),
            life(336, Some(1)),
            0,
            &["ProvisioningEstimateAboveReadyTimeout"],
        ),
        ("a burst that fits", plain(), life(336, Some(1)), 20, &["ThroughputBelowArrival"]),
        ("a burst that does not", plain(), life(336, Some(1)), 21, &["ThroughputBelowArrival", "ThroughputBurstShortfall"]),
        ("claims as fast as windows", plain(), life(336, Some(1)), 14, none),
        ("a rotation longer than the gap", spec(daily), life(336, Some(1)), 1, &["RotationSpansNextWindow"]),
    ];
    for (name, governing, life, claims, expected) in rows {
        assert_eq!(codes(&governing, &life, claims), expected, "{name}");
    }
}

#[test]
fn only_what_cannot_work_is_fatal() {
    let infeasible = derive(&policy(&json!({}), &json!({})), &life(100, Some(1)), 0, now());
    assert!(infeasible.is_infeasible());
    insta::assert_snapshot!(infeasible.findings[0].sentence, @"expireAfter 4d4h is not longer than the lead time: 2 windows at most 4d apart, and 1h17m for a rotation; add windows, raise expireAfter, or lower minRotationChances");
    assert!(!derive(&policy(&json!({}), &json!({})), &life(504, None), 99, now()).is_infeasible());
}

#[test]
fn no_value_that_the_schema_admits_overflows() {
    let longest = json!({"readyTimeout": "87600h", "cooldownAfter": "87600h", "retryBackoff": "87600h", "failurePause": "87600h", "drainEstimate": "87600h", "provisioningEstimate": "87600h"});
    let governing = policy(&json!({"minRotationChances": i32::MAX, "ageThreshold": "87600h"}), &longest);
    let derived = derive(
        &governing,
        &PoolLife { expire_after: Some(crate::duration::LONGEST), termination_grace_period: Some(crate::duration::LONGEST) },
        usize::MAX,
        now(),
    );
    assert!(derived.is_infeasible());
}
