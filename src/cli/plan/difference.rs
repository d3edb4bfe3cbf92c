//! What a policy would change: the calendar before and after it, node by node.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::report::{EXPIRES, Line, Pool};

/// Before and after.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli) struct Difference {
    /// Pools of which something changes, by name.
    pub(in crate::cli) pools: Vec<Changed>,
    /// Nodes that are there now and expire by force, before.
    pub(in crate::cli) expiries_before: usize,
    /// The same after.
    pub(in crate::cli) expiries_after: usize,
}

/// A pool of which something changes.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli) struct Changed {
    /// Its name.
    pub(in crate::cli) name: String,
    /// Who governs it before; absent for nobody.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::cli) governed_before: Option<String>,
    /// Who governs it after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::cli) governed_after: Option<String>,
    /// NodeClaims that come to another end, by name.
    pub(in crate::cli) claims: Vec<Change>,
}

/// The end of one node, before and after.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct Change {
    /// Its NodeClaim.
    pub(in crate::cli) claim: String,
    /// Absent where none was in sight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::cli) before: Option<Line>,
    /// The same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::cli) after: Option<Line>,
}

/// Compares two plans for the same pools.
pub(in crate::cli) fn between(before: &[Pool], after: &[Pool]) -> Difference {
    let expiries = |pools: &[Pool]| present(pools).filter(|line| line.how == EXPIRES).count();
    let pairs = before.iter().zip(after);
    Difference {
        pools: pairs.filter_map(|(before, after)| changed(before, after)).collect(),
        expiries_before: expiries(before),
        expiries_after: expiries(after),
    }
}

fn present(pools: &[Pool]) -> impl Iterator<Item = &Line> {
    pools.iter().flat_map(|pool| &pool.calendar).filter(|line| !line.successor)
}

fn changed(before: &Pool, after: &Pool) -> Option<Changed> {
    let ends = |pool: &Pool| -> BTreeMap<String, Line> {
        present(std::slice::from_ref(pool)).map(|line| (line.claim.clone(), line.clone())).collect()
    };
    let (ends_before, ends_after) = (ends(before), ends(after));
    let names: BTreeSet<&String> = ends_before.keys().chain(ends_after.keys()).collect();
    let change = |claim: &String| {
        let (before, after) = (ends_before.get(claim).cloned(), ends_after.get(claim).cloned());
        let same = before.as_ref().map(what) == after.as_ref().map(what);
        (!same).then(|| Change { claim: claim.clone(), before, after })
    };
    let claims: Vec<Change> = names.into_iter().filter_map(change).collect();
    let (governed_before, governed_after) = (before.governed_by.clone(), after.governed_by.clone());
    let same = claims.is_empty() && governed_before == governed_after;
    (!same).then(|| Changed { name: after.name.clone(), governed_before, governed_after, claims })
}

/// What counts as the same: a zone that is named otherwise does.
fn what(line: &Line) -> (jiff::Timestamp, jiff::Timestamp, &'static str) {
    (line.start, line.end, line.how)
}
