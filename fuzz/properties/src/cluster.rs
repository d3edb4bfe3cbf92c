//! Clusters: whatever files say of one, its forecast comes to an end, in work that time and the number of NodeClaims bound,
//! and contradicts itself nowhere.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use noderotation_core::check::{self, Strictness, Subjects};
use noderotation_core::resolve::PolicyEntry;
use noderotation_forecast::{Cluster, Entry, PoolForecast, Question, forecast};
use noderotation_manifest::Manifest;
use serde_json::Value;

use crate::NOW;

/// How far is looked.
const HORIZON: SignedDuration = SignedDuration::from_hours(20 * 24);
/// Pools of one cluster.
const MOST_POOLS: usize = 3;

/// Has a cluster planned and judged whose objects are in `input`, as YAML or JSON.
pub fn check(input: &[u8]) {
    let mut manifest = Manifest::of_a_cluster();
    manifest.add("file", &String::from_utf8_lossy(input));
    let policies: Vec<Value> = manifest.policies.iter().map(|policy| policy.value.clone()).collect();
    let Manifest { pools, claims, nodes, pods, budgets, .. } = manifest;
    let subjects = Subjects { policies: &policies, pools: &pools, claims: &claims };
    let verdict = check::check(subjects, Strictness::default(), NOW);
    assert_eq!(verdict.pools.len(), pools.len(), "a pool is not judged");
    let names: BTreeSet<&str> = pools.iter().map(|pool| pool.name()).collect();
    // Two of one name are in no cluster, and more than these show nothing that fewer do not, and cost time.
    if names.len() < pools.len() || names.len() > MOST_POOLS {
        return;
    }
    let (written, lives) = (names.len(), claims.len());
    let policies = policies.iter().map(PolicyEntry::from_object).collect();
    let cluster = Cluster { policies, pools, claims, nodes, pods, budgets };
    let until = NOW.saturating_add(HORIZON).unwrap_or(NOW);
    for whole in [false, true] {
        let question = Question { now: NOW, until, whole };
        let forecasts = forecast(cluster.clone(), question);
        assert_eq!(forecasts.len(), written, "a pool is not planned");
        for forecast in &forecasts {
            comes_to_an_end(forecast, lives, until);
        }
    }
}

fn comes_to_an_end(forecast: &PoolForecast, claims: usize, until: Timestamp) {
    let PoolForecast { entries, missed, .. } = forecast;
    let most = claims.saturating_mul(101).saturating_add(20_000);
    assert!(entries.len() <= most, "{} ends of {claims} claims in {HORIZON:?}", entries.len());
    assert!(forecast.cut.is_none_or(|cut| cut <= until), "{:?} is after {until}", forecast.cut);
    assert!(entries.is_sorted_by_key(|entry| (entry.start, entry.drain, &entry.claim)), "{entries:?}");
    let names: BTreeSet<&String> = entries.iter().map(|entry| &entry.claim).collect();
    assert!(names.len() == entries.len() || claims > 1, "a claim ends twice: {entries:?}");
    for entry in entries {
        let Entry { start, drain, end, .. } = entry;
        assert!(drain <= end, "{entry:?} is over before it drains");
        assert!(*start <= until || *start > NOW, "{entry:?} begins too late");
    }
    assert!(missed.iter().all(|opened| *opened <= until), "{missed:?}");
}
