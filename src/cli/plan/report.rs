//! What `plan` tells, in the shape of its JSON. Durations are Go durations, instants RFC 3339 in UTC, lists sorted.

use jiff::Timestamp;
use noderotation_core::check::{DerivedReport, FaultReport, FindingReport};
use serde::Serialize;

use super::difference::Difference;

/// The whole plan.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Plan {
    /// As of when.
    pub(super) at: Timestamp,
    /// Nothing that would begin later is told.
    pub(super) until: Timestamp,
    /// What a policy that was given would change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) difference: Option<Difference>,
    /// Policies that the API server would refuse, and that govern nothing.
    pub(super) refused: Vec<Refused>,
    /// One a pool, by name.
    pub(super) pools: Vec<Pool>,
    /// What was assumed or passed over.
    pub(super) notes: Vec<String>,
}

/// A policy with faults.
#[derive(Debug, Serialize)]
pub(super) struct Refused {
    /// Its name.
    pub(super) name: String,
    /// Why.
    pub(super) faults: Vec<FaultReport>,
}

/// One pool.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Pool {
    /// Its name.
    pub(super) name: String,
    /// The policy that governs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) governed_by: Option<String>,
    /// Why it is that one, or none.
    pub(super) why: String,
    /// What it is doing, or what keeps it from rotating, in a word.
    pub(super) state: String,
    /// The same in a sentence.
    pub(super) sentence: String,
    /// The gates of a start.
    pub(super) gates: Vec<Gate>,
    /// Durations of its template that cannot be read.
    pub(super) faults: Vec<FaultReport>,
    /// What its schedule cannot do, or can barely do.
    pub(super) findings: Vec<FindingReport>,
    /// What follows from policy and pool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) derived: Option<DerivedReport>,
    /// How it follows.
    pub(super) formulas: Vec<Formula>,
    /// Its NodeClaims, by deadline.
    pub(super) claims: Vec<Claim>,
    /// How they come to their ends, in this order.
    pub(super) calendar: Vec<Line>,
    /// Openings that go by unused although NodeClaims are due.
    pub(super) missed_windows: Vec<Timestamp>,
    /// Nothing is told of what comes later: its nodes come and go too often.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ends_at: Option<Timestamp>,
    /// When rotations may start, in order: those of the horizon, at most a thousand.
    pub(super) windows: Vec<Window>,
    /// When its last rotation ended, as the NodePool tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) last_rotation_at: Option<Timestamp>,
}

/// One opening.
#[derive(Debug, Serialize)]
pub(super) struct Window {
    /// When it opens; one that is open already begins with the plan.
    pub(super) open: Timestamp,
    /// When it closes.
    pub(super) close: Timestamp,
}

/// One gate.
#[derive(Debug, Serialize)]
pub(super) struct Gate {
    /// Its name.
    pub(super) gate: &'static str,
    /// It lets a rotation start.
    pub(super) open: bool,
    /// When it opens by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) until: Option<Timestamp>,
}

/// One value with its operands.
#[derive(Debug, Serialize)]
pub(super) struct Formula {
    /// What it is.
    pub(super) name: &'static str,
    /// `2 × 4d + 15m + 1h + 2m = 8d1h17m`.
    pub(super) formula: String,
}

/// One NodeClaim as it is now.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Claim {
    /// Its name.
    pub(super) name: String,
    /// Its Node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) node: Option<String>,
    /// When it was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) created: Option<Timestamp>,
    /// How old it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) age: Option<String>,
    /// From when on it is due; absent for never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) due: Option<Timestamp>,
    /// When Karpenter deletes it by force; absent for never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) deadline: Option<Timestamp>,
    /// What selection makes of it, in a word.
    pub(super) bucket: String,
    /// The same in a sentence.
    pub(super) reason: &'static str,
    /// PodDisruptionBudgets that allow no eviction from its Node now.
    pub(super) held_by_budgets: Vec<String>,
    /// Pods of its Node that ask not to be disrupted.
    pub(super) held_by_pods: Vec<String>,
}

/// The end of one node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Line {
    /// Its NodeClaim.
    pub(super) claim: String,
    /// Its Node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) node: Option<String>,
    /// It came in the place of one that is there now.
    pub(super) successor: bool,
    /// `surge`, `surge into free room`, `fallback`, `expires`.
    pub(super) how: &'static str,
    /// When its rotation begins, or it expires.
    pub(super) start: Timestamp,
    /// When its drain begins.
    pub(super) drain: Timestamp,
    /// When it is expected to be gone.
    pub(super) end: Timestamp,
    /// When Karpenter would delete it by force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) deadline: Option<Timestamp>,
    /// From the begin of the drain to the deadline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) margin: Option<String>,
    /// The start on the clock of the window, `Wed 2026-01-07 02:00`.
    pub(super) local_start: String,
    /// The zone of that clock.
    pub(super) timezone: String,
}

/// How a node that no rotation reaches in time ends.
pub(super) const EXPIRES: &str = "expires";

impl Plan {
    /// No policy is refused, no duration unreadable, and no node that is there now expires by force.
    pub(super) fn is_well(&self) -> bool {
        let expires = |pool: &Pool| pool.calendar.iter().any(|line| line.how == EXPIRES && !line.successor);
        self.refused.is_empty() && !self.pools.iter().any(|pool| expires(pool) || !pool.faults.is_empty())
    }
}
