//! What it costs to play a fleet forward. `make bench` runs it.

#![expect(clippy::unwrap_used, reason = "the whole file is a benchmark")]

use std::hint::black_box;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use jiff::{SignedDuration, Timestamp};
use noderotation_core::resolve::PolicyEntry;
use noderotation_forecast::{Cluster, Question, forecast};
use serde_json::json;

/// So many pools with so many claims each, born one after the other over their first week.
fn cluster(pools: usize, claims: usize, now: Timestamp) -> Cluster {
    let window = json!({"timezone": "America/New_York", "days": ["Wed", "Sat"], "start": "02:00", "end": "06:00"});
    let policy = json!({"metadata": {"name": "all"}, "spec": {"nodePoolSelector": {}, "maintenanceWindows": [window]}});
    let life = json!({"expireAfter": "336h", "terminationGracePeriod": "1h"});
    let mut cluster = Cluster { policies: vec![PolicyEntry::from_object(&policy)], ..Cluster::default() };
    for pool in 0..pools {
        let name = format!("pool-{pool}");
        let object = json!({"metadata": {"name": name}, "spec": {"template": {"spec": life}}});
        cluster.pools.push(serde_json::from_value(object).unwrap());
        for claim in 0..claims {
            let age = SignedDuration::from_secs(i64::try_from(claim * 7 * 86_400 / claims).unwrap());
            let labels = json!({"karpenter.sh/nodepool": name});
            let metadata = json!({"name": format!("{name}-{claim}"), "creationTimestamp": now - age, "labels": labels});
            cluster.claims.push(serde_json::from_value(json!({"metadata": metadata, "spec": life})).unwrap());
        }
    }
    cluster
}

fn year(criterion: &mut Criterion) {
    let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let mut group = criterion.benchmark_group("forecast");
    group.sample_size(10);
    let rows = [
        ("100 pools of 10 nodes, a year", 100, 10, true),
        ("50 pools of 20 nodes, a year", 50, 20, true),
        ("1,000 pools of 10 nodes, until all are through", 1000, 10, false),
    ];
    for (name, pools, claims, whole) in rows {
        let question = Question { now, until: now + SignedDuration::from_hours(365 * 24), whole };
        let cluster = cluster(pools, claims, now);
        group.bench_function(name, |b| {
            b.iter_batched(|| cluster.clone(), |cluster| black_box(forecast(cluster, question)), BatchSize::LargeInput);
        });
    }
    group.finish();
}

criterion_group!(benches, year);
criterion_main!(benches);
