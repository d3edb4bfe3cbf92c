//! The verdict on policies before anybody applies them, alone or with the pools and claims that they would govern (§5.4).
//!
//! Nothing is decided here: it asks the functions that the admission endpoint and the reconcile ask, and puts their
//! answers side by side.

mod opening;
mod policy;
mod pool;
mod report;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use jiff::Timestamp;
use kube::ResourceExt;
use serde_json::Value;

use crate::doubt::Among;
pub use crate::doubt::Strictness;
use crate::governance::{Governance, governance};
use crate::karpenter::{NodeClaim, NodePool};
use crate::resolve::PolicyEntry;
pub use report::{
    ClaimReport, DerivedReport, FaultReport, FindingReport, Opening, PolicyReport, PoolReport, Report, Schedule, SkippedWindow,
};

/// What is judged together.
#[derive(Clone, Copy, Debug)]
pub struct Subjects<'a> {
    /// Policies as they are written. Of several with one name the last counts, as it would for `kubectl apply`.
    pub policies: &'a [Value],
    /// NodePools that they may govern.
    pub pools: &'a [NodePool],
    /// NodeClaims of those.
    pub claims: &'a [NodeClaim],
}

/// Judges the subjects at `now`. The report is sorted by name, whatever the order of the subjects.
#[must_use]
pub fn check(subjects: Subjects<'_>, strictness: Strictness, now: Timestamp) -> Report {
    let entries = last_of_each_name(subjects.policies);
    let governance = governance(&entries, subjects.pools.iter().map(|pool| (pool.name(), pool.labels())));
    let mut claims: BTreeMap<&str, Vec<&NodeClaim>> = BTreeMap::new();
    for claim in subjects.claims {
        claims.entry(claim.pool().unwrap_or_default()).or_default().push(claim);
    }
    let reported = |pool| pool::report(pool, &entries, claims.get(pool.name()).map(Vec::as_slice).unwrap_or_default(), now);
    let mut pools: Vec<PoolReport> = subjects.pools.iter().map(reported).collect();
    pools.sort_by(|a, b| a.name.cmp(&b.name));
    let none = Governance::default();
    let counted: Vec<(&NodePool, usize)> = subjects.pools.iter().map(|pool| (pool, claims.get(pool.name()).map_or(0, Vec::len))).collect();
    let among = Among { policies: &entries, pools: &counted };
    let mut policies: Vec<PolicyReport> = subjects
        .policies
        .iter()
        .enumerate()
        .map(|(index, value)| {
            let name = policy::name(value);
            let place = policy::Place { governance: governance.get(name).unwrap_or(&none), among, strictness };
            let mut report = policy::report(value, &place, now);
            report.index = index;
            report
        })
        .collect();
    policies.sort_by(|a, b| (&a.name, a.index).cmp(&(&b.name, b.index)));
    policy::refuse_doubles(&mut policies);
    claims.retain(|name, _| !subjects.pools.iter().any(|pool| pool.name() == *name));
    Report { policies, pools, notes: claims.iter().map(|(pool, claims)| stray(pool, claims.len())).collect() }
}

fn last_of_each_name(policies: &[Value]) -> Vec<PolicyEntry> {
    let by_name: BTreeMap<&str, &Value> = policies.iter().map(|value| (policy::name(value), value)).collect();
    by_name.into_values().map(PolicyEntry::from_object).collect()
}

/// Claims that nothing can be said about, since their pool is not there.
fn stray(pool: &str, count: usize) -> String {
    match pool {
        "" => format!("{count} NodeClaim(s) have no label karpenter.sh/nodepool and are not judged"),
        pool => format!("{count} NodeClaim(s) belong to NodePool {pool}, which is not in the input, and are not judged"),
    }
}
