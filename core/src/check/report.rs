//! What is told of policies, pools and claims: the shape of `check -o json`.
//!
//! Durations are Go durations, instants RFC 3339 in UTC, lists sorted.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::{Serialize, Serializer};

use crate::duration::go_string;
use crate::policy::fault::Fault;
use crate::policy::finding::{Finding, Level};

/// The whole verdict.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// One a policy, by name.
    pub policies: Vec<PolicyReport>,
    /// One a pool, by name.
    pub pools: Vec<PoolReport>,
    /// What was not judged, and why.
    pub notes: Vec<String>,
}

impl Report {
    /// Nothing is refused.
    #[must_use]
    pub fn accepted(&self) -> bool {
        self.policies.iter().all(|policy| policy.accepted) && self.pools.iter().all(|pool| pool.faults.is_empty())
    }
}

/// One policy.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyReport {
    /// `metadata.name`.
    pub name: String,
    /// Its place among the policies that were given.
    #[serde(skip)]
    pub index: usize,
    /// Where it is written, as `file:line`; set by who has read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The API server would take it.
    pub accepted: bool,
    /// Why it would not.
    pub faults: Vec<FaultReport>,
    /// What is doubtful.
    pub warnings: Vec<String>,
    /// Names of the NodePools that it governs.
    pub node_pools: Vec<String>,
    /// Fields that it leaves out and their values, as `path: value`.
    pub defaults: Vec<String>,
    /// When it rotates; `None` for one with faults.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Schedule>,
}

/// One fault, as a cause of an admission refusal carries it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FaultReport {
    /// Path of the field; empty where the fault is in no single field.
    pub field: String,
    /// Its kind, as the API server names causes.
    pub reason: String,
    /// What is wrong and what to write instead.
    pub message: String,
    /// Where it is written, as `file:line:column`; set by who has read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
}

impl From<&Fault> for FaultReport {
    fn from(fault: &Fault) -> Self {
        Self { field: fault.field.clone(), reason: fault.code.reason().to_owned(), message: fault.words(), at: None }
    }
}

/// When a policy rotates.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Schedule {
    /// P: longest time from opening to opening.
    #[serde(serialize_with = "go")]
    pub period: Duration,
    /// D: shortest opening.
    #[serde(serialize_with = "go")]
    pub shortest: Duration,
    /// Shortest closed time; absent for a window that never closes.
    #[serde(serialize_with = "go_option", skip_serializing_if = "Option::is_none")]
    pub idle_gap: Option<Duration>,
    /// The opening that `now` is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_now: Option<Opening>,
    /// The next five.
    pub openings: Vec<Opening>,
    /// Windows among those that the clock jumps over.
    pub skipped: Vec<SkippedWindow>,
}

/// One opening of the merged windows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Opening {
    /// First instant inside.
    pub open: Timestamp,
    /// First instant outside.
    pub close: Timestamp,
    /// Local opening time, `Wed 2026-01-07 02:00`; with the offset, `Sun 2026-11-01 01:30 UTC-4`, where the clock is set in
    /// between or shows one of the two times twice.
    pub local_open: String,
    /// Local closing time, in the same form.
    pub local_close: String,
    /// Zone of both: that of the window that opens it.
    pub timezone: String,
}

/// A window that never opens, since the clock jumps over it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SkippedWindow {
    /// When it would have opened, in local time.
    pub local_open: String,
    /// Its zone.
    pub timezone: String,
}

/// One pool under the policies.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PoolReport {
    /// `metadata.name`.
    pub name: String,
    /// Name of the policy that governs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub governed_by: Option<String>,
    /// Why it is not rotated, if it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_rotated: Option<String>,
    /// Fields of it that cannot be read.
    pub faults: Vec<FaultReport>,
    /// What follows for it; absent where none governs it or its nodes never expire.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub derived: Option<DerivedReport>,
    /// What its schedule cannot do, or barely.
    pub findings: Vec<FindingReport>,
    /// Its claims, the first deadline first.
    pub claims: Vec<ClaimReport>,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FindingReport {
    /// The event's reason.
    pub code: String,
    /// `fatal` or `warning`.
    pub level: Level,
    /// What is the matter and what to change.
    pub message: String,
}

impl From<&Finding> for FindingReport {
    fn from(finding: &Finding) -> Self {
        Self { code: finding.code.name().to_owned(), level: finding.level, message: finding.sentence.clone() }
    }
}

/// What follows from a policy and a pool (D5).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DerivedReport {
    /// E of the template.
    #[serde(serialize_with = "go")]
    pub expire_after: Duration,
    /// tGP of the template.
    #[serde(serialize_with = "go_option", skip_serializing_if = "Option::is_none")]
    pub termination_grace_period: Option<Duration>,
    /// How long before its deadline a node is due.
    #[serde(serialize_with = "go")]
    pub lead_time: Duration,
    /// A: the age at which a node is due; negative if the schedule cannot work.
    #[serde(serialize_with = "go_signed")]
    pub age_threshold: SignedDuration,
    /// G: openings between that and the deadline.
    pub chances: i32,
    /// C: rotations that can start in the shortest opening.
    pub capacity: u32,
    /// The longest that a rotation may take.
    #[serde(serialize_with = "go")]
    pub rotation_bound: Duration,
    /// What a rotation is expected to take.
    #[serde(serialize_with = "go")]
    pub rotation_estimate: Duration,
}

/// One claim.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClaimReport {
    /// `metadata.name`.
    pub name: String,
    /// When it was created; absent if that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<Timestamp>,
    /// From when on it is due; absent for never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due: Option<Timestamp>,
    /// When Karpenter deletes it by force; absent for never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// Openings that begin, or are under way, between those two.
    pub chances: usize,
    /// Its whole life is shorter than its lead time.
    pub short_lead: bool,
}

fn go<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&go_string(*duration))
}

#[expect(clippy::ref_option, reason = "the form that serde calls")]
fn go_option<S: Serializer>(duration: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_some(&duration.map(go_string))
}

fn go_signed<S: Serializer>(duration: &SignedDuration, serializer: S) -> Result<S::Ok, S::Error> {
    let sign = if duration.is_negative() { "-" } else { "" };
    serializer.serialize_str(&format!("{sign}{}", go_string(duration.unsigned_abs())))
}
