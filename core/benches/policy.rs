//! What the rules of the policy domain cost. `make bench` runs them; docs/performance.md has the figures.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "the whole file is a benchmark")]

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Node;
use noderotation_core::doubt::Strictness;
use noderotation_core::karpenter::NodeClaim;
use noderotation_core::policy::governing::Governing;
use noderotation_core::policy::validate::validate;
use noderotation_core::resolve::{PolicyEntry, resolve};
use noderotation_core::selection::{Nodes, survey};
use noderotation_core::surroundings::Surroundings;
use serde_json::{Value, json};

fn now() -> Timestamp {
    "2026-06-15T12:34:56Z".parse().unwrap()
}

fn policy(name: &str, selector: &Value, windows: &Value) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {"nodePoolSelector": {"matchLabels": selector}, "maintenanceWindows": windows}
    })
}

fn governing(windows: &Value) -> Governing {
    validate(&policy("bench", &json!({}), windows)).unwrap()
}

fn one_window() -> Value {
    json!([{"timezone": "America/New_York", "days": ["Wed", "Sat"], "start": "02:00", "end": "06:00"}])
}

/// As many windows as a policy may have, over zones with and without daylight saving, some across midnight.
fn many_windows() -> Value {
    let zones = ["America/New_York", "Europe/Berlin", "Asia/Tokyo", "Australia/Lord_Howe", "UTC", "America/Sao_Paulo", "Africa/Casablanca"];
    let days = [json!(["Mon", "Thu"]), json!(["Tue", "Sat"]), json!(["Wed"]), json!(["Fri", "Sun"])];
    (0..64)
        .map(|index| {
            let (start, end) =
                (format!("{:02}:{:02}", index % 24, index * 7 % 60), format!("{:02}:{:02}", (index + 2) % 24, index * 11 % 60));
            json!({"timezone": zones[index % zones.len()], "days": days[index % days.len()], "start": start, "end": end})
        })
        .collect()
}

fn windows(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("windows");
    for (name, windows) in [("1 entry", one_window()), ("64 entries", many_windows())] {
        let windows = governing(&windows).windows;
        let now = now();
        let year = now + SignedDuration::from_hours(53 * 7 * 24);
        group.bench_function(format!("membership, {name}"), |b| b.iter(|| windows.contains(black_box(now))));
        group.bench_function(format!("next opening, {name}"), |b| b.iter(|| windows.next_open(black_box(now))));
        group.bench_function(format!("next closing, {name}"), |b| b.iter(|| windows.next_close(black_box(now))));
        group.bench_function(format!("occurrences of 53 weeks, {name}"), |b| b.iter(|| windows.occurrences(black_box(now), year)));
        group.bench_function(format!("P, D and idle gap, {name}"), |b| b.iter(|| windows.measures(black_box(now))));
    }
    group.finish();
}

fn resolution(criterion: &mut Criterion) {
    let policies: Vec<PolicyEntry> = (0..100)
        .map(|index| {
            PolicyEntry::from_object(&policy(&format!("p{index}"), &json!({"team": format!("t{index}"), "tier": "gold"}), &one_window()))
        })
        .collect();
    let pools: Vec<BTreeMap<String, String>> = (0..1000)
        .map(|index| {
            let labels = [("team", format!("t{}", index % 120)), ("tier", "gold".to_owned()), ("zone", format!("z{}", index % 3))];
            labels.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
        })
        .collect();
    criterion.bench_function("resolution of 1,000 pools among 100 policies", |b| {
        b.iter(|| pools.iter().map(|labels| resolve(black_box(labels), &policies)).collect::<Vec<_>>());
    });
}

/// A policy that selects every pool, changed beside others: what a review of the admission endpoint costs at the most.
fn surroundings(criterion: &mut Criterion) {
    let others: Vec<Value> =
        (0..100).map(|index| policy(&format!("p{index}"), &json!({"team": format!("t{index}")}), &one_window())).collect();
    let pools = (0..1000).map(|index| {
        let labels = json!({"team": format!("t{}", index % 120)});
        let life = json!({"spec": {"expireAfter": if index % 2 == 0 { "336h" } else { "24h" }}});
        serde_json::from_value(json!({"metadata": {"name": format!("pool-{index}"), "labels": labels}, "spec": {"template": life}}))
            .unwrap()
    });
    let surroundings = Surroundings::new(&others, pools);
    let entry = PolicyEntry::from_object(&policy("all", &json!({}), &one_window()));
    criterion.bench_function("a policy beside 1,000 pools and 100 policies", |b| {
        b.iter(|| surroundings.judge(Some(&entry), black_box(&entry), Strictness::default(), now()));
    });
}

fn selection(criterion: &mut Criterion) {
    let governing = governing(&one_window());
    let claims: Vec<NodeClaim> = (0..10_000_u32)
        .map(|index| {
            let created = now() - SignedDuration::from_mins(i64::from(index));
            let failed = json!({"noderotation.io/state": "failed", "noderotation.io/failed-at": "2026-06-15T12:00:00Z", "noderotation.io/retry-count": "2"});
            let annotations = if index % 10 == 0 { failed } else { json!({}) };
            serde_json::from_value(json!({
                "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
                "metadata": {"name": format!("claim-{index}"), "creationTimestamp": created.to_string(), "annotations": annotations},
                "spec": {"expireAfter": "240h", "terminationGracePeriod": "1h"},
                "status": {"nodeName": format!("node-{index}"), "conditions": [{"type": "Ready", "status": "True"}]}
            }))
            .unwrap()
        })
        .collect();
    let nodes: Vec<Node> =
        (0..10_000).map(|index| serde_json::from_value(json!({"metadata": {"name": format!("node-{index}")}})).unwrap()).collect();
    let by_name = Nodes::new(&nodes);
    let period = Duration::from_secs(4 * 24 * 3600);
    criterion.bench_function("selection over 10,000 claims", |b| {
        b.iter(|| survey(&governing, period, black_box(&claims), &by_name, now()));
    });
}

criterion_group!(benches, windows, resolution, surroundings, selection);
criterion_main!(benches);
