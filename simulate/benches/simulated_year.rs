//! What it costs to live through a year. `make bench` runs it.

#![expect(clippy::unwrap_used, reason = "the whole file is a benchmark")]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use noderotation_core::resolve::PolicyEntry;
use noderotation_simulate::fleet::{Times, read};
use noderotation_simulate::{Fleet, run};
use serde_json::json;

/// Pools with so many nodes each, born over a week, in ordinary weather.
fn fleet(pools: usize, nodes: usize, expire_after: &str) -> Fleet {
    let pool = |number: usize| {
        json!({
            "name": format!("pool-{number}"), "expireAfter": expire_after, "terminationGracePeriod": "1h",
            "nodes": [{"count": nodes, "within": "168h"}],
            "provisioning": {"min": "1m", "p50": "3m", "max": "9m"}, "drain": {"min": "1m", "p50": "5m", "max": "20m"}, "launchFails": "1%",
        })
    };
    let pools: Vec<serde_json::Value> = (0..pools).map(pool).collect();
    read(&json!({"start": "2026-01-01T00:00:00Z", "end": "2027-01-01T00:00:00Z", "pools": pools}), Times::default()).unwrap()
}

fn year(criterion: &mut Criterion) {
    let window = json!({"timezone": "America/New_York", "days": ["Wed", "Sat"], "start": "02:00", "end": "06:00"});
    let policy = json!({"metadata": {"name": "all"}, "spec": {"nodePoolSelector": {}, "maintenanceWindows": [window]}});
    let policies = vec![PolicyEntry::from_object(&policy)];
    let mut group = criterion.benchmark_group("simulate");
    group.sample_size(10);
    let rows = [
        ("1,000 nodes in 100 pools, expireAfter 30 days, a year", 100, 10, "720h"),
        ("1,000 nodes in 100 pools, expireAfter 14 days, a year", 100, 10, "336h"),
        ("10,000 nodes in 1,000 pools, expireAfter 30 days, a year", 1000, 10, "720h"),
    ];
    for (name, pools, nodes, expire_after) in rows {
        let fleet = fleet(pools, nodes, expire_after);
        group.bench_function(name, |b| b.iter(|| black_box(run(&fleet, &policies, 1))));
    }
    group.finish();
}

criterion_group!(benches, year);
criterion_main!(benches);
