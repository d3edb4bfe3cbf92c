//! Lives in calm and storm: nothing is lost, chance repeats, and what was foreseen happens.

use jiff::{SignedDuration, Timestamp};
use noderotation_core::resolve::{PolicyEntry, resolve};
use noderotation_forecast::{Cluster, Question, forecast};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Pace, Play, live};
use crate::fleet::{Fleet, Times, read};
use crate::report::{Attempt, End, Mode, Outcome, PoolReport};
use crate::run;

fn policy(change: impl FnOnce(&mut Value)) -> Vec<PolicyEntry> {
    let window = json!({"timezone": "America/New_York", "days": ["Wed", "Sat"], "start": "02:00", "end": "06:00"});
    let mut policy = json!({"metadata": {"name": "all"}, "spec": {"nodePoolSelector": {}, "maintenanceWindows": [window]}});
    change(&mut policy["spec"]);
    vec![PolicyEntry::from_object(&policy)]
}

fn fleet(change: impl FnOnce(&mut Value)) -> Fleet {
    let mut value = json!({
        "start": "2026-01-01T00:00:00Z",
        "end": "2026-04-01T00:00:00Z",
        "pools": [{"name": "api", "expireAfter": "336h", "terminationGracePeriod": "1h", "nodes": [{"count": 6, "age": "24h", "within": "96h"}]}],
    });
    change(&mut value);
    read(&value, Times::default()).unwrap()
}

/// Weather of every kind.
fn stormy(value: &mut Value) {
    value["pools"][0]["provisioning"] = json!({"min": "1m", "p50": "4m", "p95": "14m", "max": "40m"});
    value["pools"][0]["drain"] = json!({"min": "1m", "p50": "5m", "max": "50m"});
    value["pools"][0]["launchFails"] = json!("15%");
    value["pools"][0]["blockedDrains"] = json!({"chance": "20%"});
    value["pools"][0]["scale"] = json!([{"at": "2026-01-20T00:00:00Z", "to": 9}, {"at": "2026-02-20T03:00:00Z", "to": 4}]);
    value["pools"][0]["cycles"] = json!([{"every": "24h", "first": "7h", "lasts": "8h", "add": 3}]);
    value["droughts"] = json!([{"from": "2026-01-10T06:00:00Z", "to": "2026-01-10T09:00:00Z"}]);
    value["freezes"] = json!([{"from": "2026-01-30T00:00:00Z", "to": "2026-02-02T00:00:00Z", "pools": ["api"]}]);
    value["outages"] = json!([
        {"from": "2026-02-07T08:00:00Z", "to": "2026-02-21T00:00:00Z"},
        {"from": "2026-03-07T07:30:00Z", "to": "2026-03-08T00:00:00Z", "of": "everybody"},
    ]);
}

/// Every node comes to one end, which its attempts agree with, and the work has its nodes.
fn nothing_is_lost(pool: &PoolReport, fleet: &Fleet) {
    let mut names: Vec<&str> = pool.nodes.iter().map(|node| node.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), pool.nodes.len());
    for node in &pool.nodes {
        assert_eq!(node.end == End::Alive, node.deleted.is_none(), "{node:?}");
        assert!(node.gone.is_none_or(|gone| Some(gone) >= node.deleted), "{node:?}");
        if node.end == End::Expired {
            assert!(node.deleted >= node.deadline, "{node:?}");
        }
        if node.end == End::Alive {
            let outage = fleet.outages.iter().any(|outage| outage.to >= fleet.end);
            assert!(outage || node.deadline.is_none_or(|deadline| deadline >= fleet.end), "{node:?}");
        }
    }
    let rotated = pool.nodes.iter().filter(|node| node.end == End::Rotated && node.gone.is_some()).count();
    let succeeded = pool.rotations.iter().filter(|attempt| attempt.outcome == Outcome::Success).count();
    // The operator may be away when the last ones are gone.
    assert!(rotated.abs_diff(succeeded) <= 1, "{rotated} {succeeded}");
    for attempt in &pool.rotations {
        let open = pool.windows.iter().any(|window| window.open <= attempt.start && attempt.start < window.close);
        assert!(open, "it begins outside of windows: {attempt:?}");
        assert_eq!(attempt.end.is_none(), attempt.outcome == Outcome::Unfinished, "{attempt:?}");
        let away = fleet.outages.iter().any(|outage| outage.from <= attempt.start && attempt.start < outage.to);
        assert!(!away, "it begins while nobody can write: {attempt:?}");
    }
    let overlaps = pool.rotations.windows(2).any(|pair| pair[0].end.is_none_or(|end| end > pair[1].start));
    assert!(!overlaps, "two at a time");
}

#[test]
fn a_calm_fleet_is_rotated_before_its_deadlines() {
    let report = run(&fleet(|_| ()), &policy(|_| ()), 1);
    let summary = &report.summary;
    assert_eq!((summary.forced_expiries, summary.failed_attempts, summary.by_fallback), (0, 0, 0), "{summary:?}");
    assert!(summary.rotated > 6 * 8 && summary.by_surge == summary.rotated, "{summary:?}");
    // Five minutes until the new one is Ready, and ten of drain, each time.
    let rotated = u64::try_from(summary.rotated).unwrap();
    assert!(summary.surge_node_seconds.abs_diff(rotated * 900) <= rotated + 900, "{summary:?}");
    nothing_is_lost(&report.pools[0], &fleet(|_| ()));
}

#[test]
fn the_same_seed_is_the_same_life_and_another_is_another() {
    let (fleet, policies) = (fleet(stormy), policy(|_| ()));
    assert_eq!(run(&fleet, &policies, 7), run(&fleet, &policies, 7));
    assert_ne!(run(&fleet, &policies, 7).pools, run(&fleet, &policies, 8).pools);
}

#[test]
fn in_a_storm_everything_happens_and_nothing_is_lost() {
    let fleet = fleet(stormy);
    let mut ends = std::collections::BTreeSet::new();
    let mut outcomes = std::collections::BTreeSet::new();
    let mut modes = std::collections::BTreeSet::new();
    for seed in 0..12 {
        let policies = policy(|spec| spec["surge"] = json!({"forcefulFallback": {"enabled": seed % 2 == 0}}));
        let report = run(&fleet, &policies, seed);
        assert_eq!(report.pools[0].ungoverned, None);
        nothing_is_lost(&report.pools[0], &fleet);
        ends.extend(report.pools[0].nodes.iter().map(|node| node.end));
        outcomes.extend(report.pools[0].rotations.iter().map(|attempt| attempt.outcome));
        modes.extend(report.pools[0].rotations.iter().map(|attempt| attempt.mode));
    }
    assert!([End::Rotated, End::Expired, End::ScaledDown, End::Removed, End::NeverReady].iter().all(|end| ends.contains(end)), "{ends:?}");
    assert!([Outcome::Success, Outcome::Failed].iter().all(|outcome| outcomes.contains(outcome)), "{outcomes:?}");
    assert!([Mode::Surge, Mode::Fallback].iter().all(|mode| modes.contains(mode)), "{modes:?}");
}

/// Seeds for what is compared at length: `SIMULATED_LIVES=200` takes as many.
fn seeds(few: u64) -> std::ops::Range<u64> {
    0..std::env::var_os("SIMULATED_LIVES").map_or(few, |count| count.to_str().unwrap().parse().unwrap())
}

/// Whoever looks only when something has happened, or can, sees the same as who looks all the time.
#[test]
fn to_look_more_often_changes_nothing() {
    for seed in seeds(2) {
        let fleet = fleet(|value| {
            stormy(value);
            // Minute by minute a quarter of a year would take as long as all other tests.
            value["end"] = json!("2026-02-03T00:00:00Z");
            value["outages"] = json!([{"from": "2026-01-23T00:00:00Z", "to": "2026-01-26T00:00:00Z"}]);
        });
        let policies = policy(|spec| spec["surge"] = json!({"forcefulFallback": {"enabled": seed % 2 == 0}}));
        let lives = [Pace::Events, Pace::Requeues].map(|pace| {
            let plan = &fleet.pools[0];
            live(&fleet, plan, resolve(&plan.labels, &policies), seed, pace)
        });
        // Triggers are strict: who waits for them comes a second later than who happens to look then.
        let same = |a: &Attempt, b: &Attempt| {
            let near = a.start.duration_since(b.start).abs() <= SignedDuration::from_secs(10);
            near && (&a.node, a.mode, a.outcome) == (&b.node, b.mode, b.outcome)
        };
        let [events, requeues] = &lives;
        let differs = events.rotations.iter().zip(&requeues.rotations).find(|(a, b)| !same(a, b));
        assert_eq!((differs, events.rotations.len()), (None, requeues.rotations.len()), "seed {seed}");
        let ends = |life: &PoolReport| life.nodes.iter().map(|node| (node.name.clone(), node.end)).collect::<Vec<_>>();
        assert_eq!(ends(events), ends(requeues), "seed {seed}");
    }
}

/// What `plan` foresees is what happens as long as nothing fails.
#[test]
fn a_calm_life_is_the_one_that_was_foreseen() {
    for seed in seeds(8) {
        let fleet = fleet(|value| value["pools"][0]["nodes"] = json!([{"count": 2 + seed % 5, "age": "10h", "within": "300h"}]));
        let policies = policy(|spec| spec["surge"] = json!({"forcefulFallback": {"enabled": seed % 3 == 0}}));
        let plan = &fleet.pools[0];
        let mut play = Play::new(&fleet, plan, resolve(&plan.labels, &policies), seed, Pace::Events);
        play.populate();
        let claims = play.observation.claims.clone();
        let cluster = Cluster { policies: policies.clone(), pools: vec![play.observation.pool.clone()], claims, ..Cluster::default() };
        let foreseen = forecast(cluster, Question { now: fleet.start, until: fleet.end, whole: false });
        let mut foreseen: Vec<(Timestamp, String)> =
            foreseen[0].of_present_claims().map(|entry| (entry.start, entry.claim.clone())).collect();
        let lived = live(&fleet, plan, resolve(&plan.labels, &policies), seed, Pace::Events);
        let rotated = lived.rotations.iter().map(|attempt| (attempt.start, attempt.node.clone()));
        let expired = lived.nodes.iter().filter(|node| node.end == End::Expired).map(|node| (node.deleted.unwrap(), node.name.clone()));
        let mut lived: Vec<(Timestamp, String)> = rotated.chain(expired).collect();
        lived.retain(|(_, name)| foreseen.iter().any(|(_, other)| other == name));
        foreseen.sort();
        lived.sort();
        assert_eq!(foreseen, lived, "seed {seed}");
    }
}

#[test]
fn while_nobody_reaches_the_api_server_nothing_happens_and_then_everything_that_is_overdue() {
    let (from, to) = ("2026-01-05T00:00:00Z", "2026-02-15T00:00:00Z");
    for (of, expired) in [("operator", true), ("everybody", true)] {
        let fleet = fleet(|value| value["outages"] = json!([{"from": from, "to": to, "of": of}]));
        let report = run(&fleet, &policy(|_| ()), 3);
        let pool = &report.pools[0];
        nothing_is_lost(pool, &fleet);
        let (from, to): (Timestamp, Timestamp) = (from.parse().unwrap(), to.parse().unwrap());
        let within = |at: Timestamp| from <= at && at < to;
        let expiries: Vec<Timestamp> = pool.nodes.iter().filter(|node| node.end == End::Expired).filter_map(|node| node.deleted).collect();
        assert_eq!(!expiries.is_empty(), expired);
        // Karpenter goes on without the operator, and not without the API server.
        assert_eq!(expiries.iter().any(|at| within(*at)), of == "operator", "{expiries:?}");
        assert!(pool.rotations.iter().any(|attempt| attempt.start > to + SignedDuration::from_hours(24 * 7)));
    }
}

#[test]
fn a_pool_that_is_full_waits_for_room() {
    let fleet = fleet(|value| value["pools"][0]["limit"] = json!(6));
    let report = run(&fleet, &policy(|_| ()), 1);
    assert_eq!(report.summary.rotated, 0, "{:?}", report.summary);
    assert!(report.summary.forced_expiries > 0 && report.summary.longest_queue > 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost_in_any_fleet(
        seed in 0_u64..1_000_000, count in 1_u64..12, hours in 30_u64..400, fails in 0_u32..60, blocked in 0_u32..60,
        fallback: bool, cycle in 2_u64..40,
    ) {
        let fleet = fleet(|value| {
            stormy(value);
            let pool = &mut value["pools"][0];
            pool["nodes"] = json!([{"count": count, "age": "2h", "within": format!("{}h", hours / 2)}]);
            pool["expireAfter"] = json!(format!("{hours}h"));
            pool["launchFails"] = json!(format!("{fails}%"));
            pool["blockedDrains"] = json!({"chance": format!("{blocked}%"), "lasts": {"min": "1m", "max": "9h"}});
            pool["cycles"] = json!([{"every": format!("{cycle}h"), "lasts": "90m", "add": 2}]);
        });
        let policies = policy(|spec| {
            spec["surge"] = json!({"forcefulFallback": {"enabled": fallback}});
            spec["maintenanceWindows"] = json!([{"timezone": "UTC", "days": ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"], "start": "02:00", "end": "06:00"}]);
        });
        let report = run(&fleet, &policies, seed);
        nothing_is_lost(&report.pools[0], &fleet);
    }
}
