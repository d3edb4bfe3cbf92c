//! What `plan` tells, in the shape of its JSON. Durations are Go durations, instants RFC 3339 in UTC, lists sorted.

use jiff::Timestamp;
use noderotation_core::check::{DerivedReport, FaultReport, FindingReport};
use serde::Serialize;

use super::difference::Difference;

/// The whole plan.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli) struct Plan {
    /// As of when.
    pub(in crate::cli) at: Timestamp,
    /// Nothing that would begin later is told.
    pub(in crate::cli) until: Timestamp,
    /// What a policy that was given would change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::cli) difference: Option<Difference>,
    /// Policies that the API server would refuse, and that govern nothing.
    pub(in crate::cli) refused: Vec<Refused>,
    /// One a pool, by name.
    pub(in crate::cli) pools: Vec<Pool>,
    /// What was assumed or passed over.
    pub(in crate::cli) notes: Vec<String>,
}

/// A policy with faults.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct Refused {
    /// Its name.
    pub(in crate::cli) name: String,
    /// Why.
    pub(in crate::cli) faults: Vec<FaultReport>,
}

/// One pool.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli) struct Pool {
    /// Its name.
    pub(in crate::cli) name: String,
    /// The policy that governs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::cli) governed_by: Option<String>,
    /// Why it is that one, or none.
    pub(in crate::cli) why: String,
    /// What it is doing, or what keeps it from rotating, in a word.
    pub(in crate::cli) state: String,
    /// The same in a sentence.
    pub(in crate::cli) sentence: String,
    /// The gates of a start.
    pub(in crate::cli) gates: Vec<Gate>,
    /// Durations of its template that cannot be read.
    pub(in crate::cli) faults: Vec<FaultReport>,
    /// What its schedule cannot do, or can barely do.
    pub(in crate::cli) findings: Vec<FindingReport>,
    /// What follows from policy and pool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::cli) derived: Option<DerivedReport>,
    /// How it follows.
    pub(in crate::cli) formulas: Vec<Formula>,
    /// Its NodeClaims, by deadline.
    pub(in crate::cli) claims: Vec<Claim>,
    /// How they come to their ends, in this order.
    pub(in crate::cli) calendar: Vec<Line>,
    /// Openings that go by unused although NodeClaims are due.
    pub(in crate::cli) missed_windows: Vec<Timestamp>,
    /// Nothing is told of what comes later: its nodes come and go too often.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::cli) ends_at: Option<Timestamp>,
    /// When rotations may start, in order: those of the horizon, at most a thousand.
    pub(in crate::cli) windows: Vec<Window>,
    /// When its last rotation ended, as the NodePool tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::cli) last_rotation_at: Option<Timestamp>,
}

/// One opening.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct Window {
    /// When it opens; one that is open already begins with the plan.
    pub(in crate::cli) open: Timestamp,
    /// When it closes.
    pub(in crate::cli) close: Timestamp,
}

/// One gate.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct Gate {
    /// Its name.
    pub(in crate::cli) gate: &'static str,
    /// It lets a rotation start.
    pub(in crate::cli) open: bool,
    /// When it opens by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::cli) until: Option<Timestamp>,
}

/// One value with its operands.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct Formula {
    /// What it is.
    pub(in crate::cli) name: &'static str,
    /// `2 × 4d + 15m + 1h + 2m = 8d1h17m`.
    pub(in crate::cli) formula: String,
}

/// One NodeClaim as it is now.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli) struct Claim {
    /// Its name.
    pub(in crate::cli) name: String,
    /// Its Node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::cli) node: Option<String>,
    /// When it was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::cli) created: Option<Timestamp>,
    /// How old it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::cli) age: Option<String>,
    /// From when on it is due; absent for never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::cli) due: Option<Timestamp>,
    /// When Karpenter deletes it by force; absent for never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::cli) deadline: Option<Timestamp>,
    /// What selection makes of it, in a word.
    pub(in crate::cli) bucket: String,
    /// The same in a sentence.
    pub(in crate::cli) reason: &'static str,
    /// PodDisruptionBudgets that allow no eviction from its Node now.
    pub(in crate::cli) held_by_budgets: Vec<String>,
    /// Pods of its Node that ask not to be disrupted.
    pub(in crate::cli) held_by_pods: Vec<String>,
}

/// The end of one node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli) struct Line {
    /// Its NodeClaim.
    pub(in crate::cli) claim: String,
    /// Its Node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::cli) node: Option<String>,
    /// It came in the place of one that is there now.
    pub(in crate::cli) successor: bool,
    /// `surge`, `surge into free room`, `fallback`, `expires`.
    pub(in crate::cli) how: &'static str,
    /// When its rotation begins, or it expires.
    pub(in crate::cli) start: Timestamp,
    /// When its drain begins.
    pub(in crate::cli) drain: Timestamp,
    /// When it is expected to be gone.
    pub(in crate::cli) end: Timestamp,
    /// When Karpenter would delete it by force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::cli) deadline: Option<Timestamp>,
    /// From the begin of the drain to the deadline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::cli) margin: Option<String>,
    /// The start on the clock of the window, `Wed 2026-01-07 02:00`.
    pub(in crate::cli) local_start: String,
    /// The zone of that clock.
    pub(in crate::cli) timezone: String,
}

/// How a node that no rotation reaches in time ends.
pub(in crate::cli) const EXPIRES: &str = "expires";

impl Plan {
    /// No policy is refused, no duration unreadable, and no node that is there now expires by force.
    pub(in crate::cli) fn is_well(&self) -> bool {
        let expires = |pool: &Pool| pool.calendar.iter().any(|line| line.how == EXPIRES && !line.successor);
        self.refused.is_empty() && !self.pools.iter().any(|pool| expires(pool) || !pool.faults.is_empty())
    }
}
