//! What is foreseen of made-up pools, and that it is what the rules say.

use jiff::{SignedDuration, Timestamp};
use noderotation_core::annotation::{ACTIVE_ROTATION, ACTIVE_ROTATION_STATE, DRAINING_AT, STARTED_AT, STATE};
use noderotation_core::resolve::PolicyEntry;
use noderotation_core::selection::Standing;
use serde_json::{Value, json};

use crate::{Cluster, Entry, Mode, PoolForecast, Question, forecast};

/// The policy of the pages: Wednesday and Saturday 02:00 to 06:00, P is 4 days.
fn policy(surge: &Value) -> PolicyEntry {
    PolicyEntry::from_object(&json!({
        "metadata": {"name": "api"},
        "spec": {
            "nodePoolSelector": {},
            "maintenanceWindows": [{"timezone": "UTC", "days": ["Wed", "Sat"], "start": "02:00", "end": "06:00"}],
            "surge": surge,
        }
    }))
}

fn pool(limits: &Value) -> Value {
    json!({
        "metadata": {"name": "p"},
        "spec": {"limits": limits, "template": {"spec": {"expireAfter": "336h", "terminationGracePeriod": "1h"}}}
    })
}

fn claim(name: &str, created: &str) -> Value {
    json!({
        "metadata": {"name": name, "creationTimestamp": created, "labels": {"karpenter.sh/nodepool": "p"}},
        "spec": {"expireAfter": "336h", "terminationGracePeriod": "1h"}
    })
}

fn cluster(surge: &Value, pool: &Value, claims: &[Value]) -> Cluster {
    Cluster {
        policies: vec![policy(surge)],
        pools: vec![serde_json::from_value(pool.clone()).unwrap()],
        claims: claims.iter().map(|claim| serde_json::from_value(claim.clone()).unwrap()).collect(),
        ..Cluster::default()
    }
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn of(cluster: Cluster) -> PoolForecast {
    let now = at("2026-01-01T00:00:00Z");
    let question = Question { now, until: now + SignedDuration::from_hours(60 * 24), whole: false };
    forecast(cluster, question).remove(0)
}

/// `claim mode start end margin`, one a line.
fn told(forecast: &PoolForecast) -> Vec<String> {
    let line = |entry: &Entry| {
        let margin = entry.margin().map(|margin| format!(" {}h", margin.as_hours())).unwrap_or_default();
        let start = entry.start.strftime("%a %d. %H:%M");
        format!("{} {:?} {start} to {}{margin}", entry.claim, entry.mode, entry.end.strftime("%H:%M"))
    };
    forecast.of_present_claims().map(line).collect()
}

/// Three nodes that are due by the first window, the oldest last in name.
fn three() -> [Value; 3] {
    [claim("a", "2025-12-24T02:00:00Z"), claim("b", "2025-12-24T01:00:00Z"), claim("c", "2025-12-24T00:00:00Z")]
}

#[test]
fn nodes_go_one_after_the_other_the_oldest_first_with_a_pause_between_them() {
    let forecast = of(cluster(&json!({}), &pool(&json!({})), &three()));
    assert_eq!(
        told(&forecast),
        [
            "c Provisioned Sat 03. 02:00 to 02:15 93h",
            "b Provisioned Sat 03. 02:25 to 02:40 94h",
            "a Provisioned Sat 03. 02:50 to 03:05 95h"
        ]
    );
    assert!(forecast.claims.iter().all(|claim| claim.standing == Standing::Eligible), "{:?}", forecast.claims);
    assert_eq!(forecast.missed, []);
}

#[test]
fn who_does_not_fit_into_a_window_waits_for_the_next() {
    let slow = json!({"drainEstimate": "1h", "provisioningEstimate": "10m", "cooldownAfter": "1h"});
    let claims: Vec<Value> = (0..4).map(|hour| claim(&format!("n{hour}"), &format!("2025-12-24T0{hour}:00:00Z"))).collect();
    assert_eq!(
        told(&of(cluster(&slow, &pool(&json!({})), &claims))),
        [
            "n0 Provisioned Sat 03. 02:00 to 03:10 93h",
            "n1 Provisioned Sat 03. 04:10 to 05:20 92h",
            // Its deadline is the instant at which the window opens; the next one just has the time to.
            "n2 Expired Wed 07. 02:00 to 03:00 0h",
            "n3 Provisioned Wed 07. 02:00 to 03:10 0h"
        ]
    );
}

#[test]
fn near_its_deadline_a_node_goes_without_a_surge_where_the_policy_asks_for_it() {
    let surge = |enabled: bool| json!({"forcefulFallback": {"enabled": enabled}});
    let late = [claim("late", "2025-12-20T02:10:00Z")];
    assert_eq!(told(&of(cluster(&surge(true), &pool(&json!({})), &late))), ["late Surgeless Sat 03. 02:00 to 02:10 0h"]);
    assert_eq!(told(&of(cluster(&surge(false), &pool(&json!({})), &late))), ["late Provisioned Sat 03. 02:00 to 02:15 0h"]);
    // No room for one more node: it waits for its last chance.
    let full = pool(&json!({"nodes": "1"}));
    let waits = [claim("waits", "2025-12-20T04:00:00Z")];
    assert_eq!(told(&of(cluster(&surge(true), &full, &waits))), ["waits Surgeless Sat 03. 03:43 to 03:53 0h"]);
    assert_eq!(told(&of(cluster(&surge(false), &full, &waits))), ["waits Expired Sat 03. 04:00 to 04:10 0h"]);
}

#[test]
fn a_rotation_that_is_in_flight_goes_on() {
    let mut draining = pool(&json!({}));
    draining["metadata"]["annotations"] =
        json!({ACTIVE_ROTATION: "a", ACTIVE_ROTATION_STATE: "draining", DRAINING_AT: "2025-12-31T23:55:00Z"});
    let mut pending = pool(&json!({}));
    pending["metadata"]["annotations"] = json!({ACTIVE_ROTATION: "a"});
    let mut a = claim("a", "2025-12-24T00:00:00Z");
    a["metadata"]["annotations"] = json!({STATE: "pending", STARTED_AT: "2025-12-31T23:58:00Z"});
    let first = |pool: &Value, claim: &Value| told(&of(cluster(&json!({}), pool, std::slice::from_ref(claim))))[0].clone();
    assert_eq!(first(&pending, &a), "a Provisioned Wed 31. 23:58 to 00:13 143h");
    a["metadata"]["annotations"] = json!({STATE: "draining"});
    a["metadata"]["deletionTimestamp"] = json!("2025-12-31T23:55:00Z");
    assert_eq!(first(&draining, &a), "a Provisioned Wed 31. 23:55 to 00:05 144h");
}

#[test]
fn a_surge_that_finds_room_launches_no_node() {
    let node = |name: &str| {
        json!({
            "metadata": {"name": name, "labels": {"karpenter.sh/nodepool": "p", "kubernetes.io/hostname": name}},
            "status": {"allocatable": {"cpu": "4"}, "conditions": [{"type": "Ready", "status": "True"}]}
        })
    };
    let pod = |name: &str, node: &str, cpu: &str| {
        json!({
            "metadata": {"name": name, "namespace": "a"},
            "spec": {"nodeName": node, "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}
        })
    };
    let with = |cpu: &str| {
        let mut cluster = cluster(&json!({}), &pool(&json!({})), &three());
        cluster.nodes = ["a", "b", "c"].map(|name| serde_json::from_value(node(name)).unwrap()).into();
        cluster.pods = ["a", "b", "c"].map(|name| serde_json::from_value(pod(&format!("on-{name}"), name, cpu)).unwrap()).into();
        of(cluster).entries.iter().map(|entry| entry.mode).collect::<Vec<_>>()
    };
    assert_eq!(with("3"), [Mode::Provisioned; 3]);
    // What the first has brought along is in the way of the others.
    assert_eq!(with("1500m"), [Mode::Absorbed, Mode::Provisioned, Mode::Provisioned]);
    assert_eq!(with("1"), [Mode::Absorbed, Mode::Absorbed, Mode::Provisioned]);
}

/// How many ends are told of a pool within two months, and whether that is all.
fn ends(expire_after: &str, policy: PolicyEntry, claims: &[Value]) -> (usize, bool) {
    let mut brief = pool(&json!({}));
    brief["spec"]["template"]["spec"]["expireAfter"] = json!(expire_after);
    let cluster = Cluster { policies: vec![policy], ..cluster(&json!({}), &brief, claims) };
    let now = at("2026-01-01T00:00:00Z");
    let question = Question { now, until: now + SignedDuration::from_hours(60 * 24), whole: true };
    let forecast = forecast(cluster, question).remove(0);
    (forecast.entries.len(), forecast.cut.is_none())
}

#[test]
fn lives_of_no_length_come_to_an_end_as_well() {
    let one = [claim("a", "2025-12-19T00:00:00Z")];
    for brief in ["0s", "1ns", "1s"] {
        let (ends, all) = ends(brief, policy(&json!({})), &one);
        assert!(ends > 5_000 && ends <= 20_100 && !all, "{brief}: {ends}");
    }
    let (ends, all) = ends("12h", policy(&json!({})), &one);
    assert!(ends > 100 && all, "{ends}");
}

#[test]
fn rotations_of_no_length_come_to_an_end_as_well() {
    let surge = json!({"cooldownAfter": "0s", "provisioningEstimate": "1ns", "drainEstimate": "1ns"});
    let always = json!([{"timezone": "UTC", "days": ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"], "start": "00:00", "end": "23:00"}]);
    let eager = |age: &str| {
        let spec = json!({"nodePoolSelector": {}, "maintenanceWindows": always, "ageThreshold": age, "surge": surge});
        PolicyEntry::from_object(&json!({"metadata": {"name": "eager"}, "spec": spec}))
    };
    let claims = [claim("a", "2025-12-24T00:00:00Z")];
    let (few, all) = ends("336h", eager("100h"), &claims);
    assert!(few < 100 && all, "{few}");
    let (many, all) = ends("336h", eager("1ns"), &claims);
    assert!(many > 5_000 && many <= 20_100 && !all, "{many}");
}

#[test]
fn a_pool_that_is_never_rotated_is_told_to_expire_and_no_more() {
    let mut fixed = pool(&json!({}));
    fixed["spec"]["replicas"] = json!(1);
    assert_eq!(told(&of(cluster(&json!({}), &fixed, &[claim("a", "2025-12-24T00:00:00Z")]))), ["a Expired Wed 07. 00:00 to 00:10 0h"]);
    let mut ungoverned = cluster(&json!({}), &pool(&json!({})), &[claim("a", "2025-12-24T00:00:00Z")]);
    ungoverned.policies.clear();
    assert!(of(ungoverned).entries.is_empty());
}

#[test]
fn the_end_of_what_is_looked_at_is_the_end() {
    let now = at("2026-01-01T00:00:00Z");
    let starts = |hours: i64, whole: bool| {
        let cluster = cluster(&json!({}), &pool(&json!({})), &three());
        forecast(cluster, Question { now, until: now + SignedDuration::from_hours(hours), whole }).remove(0).entries
    };
    assert!(starts(49, false).is_empty());
    assert_eq!(starts(50, false).len(), 1);
    let year = starts(365 * 24, true);
    assert!(year.len() > 100 && year.iter().filter(|entry| entry.successor).count() == year.len() - 3);
    assert!(year.iter().all(|entry| entry.mode == Mode::Provisioned), "{year:?}");
}
