//! Which claim is rotated next, and why each of the others is not (§5.2 step 3, D6).

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;

use crate::annotation::{ClaimMarks, ClaimState, HOSTNAME_LABEL};
use crate::backoff;
use crate::karpenter::{NodeClaim, node_leaving, protected_by_operator};
use crate::policy::governing::{AgeThreshold, Governing};
use crate::schedule;

/// What selection makes of one claim. Declared in the order of judgement: the first that applies counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// An operator of the cluster protects its node with `do-not-disrupt`.
    OptedOut,
    /// Being deleted.
    Deleting,
    /// Karpenter has already chosen it for disruption.
    Disrupted,
    /// Not Ready, or without a node.
    NotReady,
    /// A rotation of it is under way.
    InFlight,
    /// Karpenter took it during a rotation.
    Terminal,
    /// Its age trigger has not come.
    NotTriggered,
    /// Triggered, but its last attempt failed a short while ago.
    InBackoff,
    /// May be rotated now.
    Eligible,
}

/// Number of claims in each [`Standing`]; the sum is the number of claims.
pub type Census = BTreeMap<Standing, usize>;

/// A claim that may be rotated now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Name of the NodeClaim.
    pub name: String,
    /// When Karpenter deletes it by force; `None` is never.
    pub deadline: Option<Timestamp>,
    /// When it was created.
    pub created: Timestamp,
}

/// All claims of a pool as selection sees them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// How many claims are in which standing.
    pub census: Census,
    /// Those that may be rotated, the next one first.
    pub eligible: Vec<Candidate>,
    /// Those that are due and wait only for their backoff, in the same order.
    pub in_backoff: Vec<Candidate>,
    /// Hosts of all claims past their age trigger, whatever their standing; a surge should not land there.
    pub triggered_hosts: BTreeSet<String>,
    /// The highest retry count among the claims.
    pub highest_retry_count: u32,
    /// How many claims have an attempt that failed, and none since that succeeded.
    pub failed: usize,
    /// The nearest deadline among the claims that are not being deleted.
    pub next_deadline: Option<Timestamp>,
    /// When the next claim becomes eligible by the passing of time alone.
    pub next_change: Option<Timestamp>,
    /// Claims whose whole life is shorter than their lead time (D5, `ShortLead`).
    pub short_lead: Vec<String>,
}

/// Nodes to be looked up by their names.
#[derive(Clone, Debug, Default)]
#[expect(clippy::disallowed_types, reason = "nothing walks it, and its hashes have no random seed")]
pub struct Nodes<'a>(std::collections::HashMap<&'a str, &'a Node, BuildHasherDefault<DefaultHasher>>);

impl<'a> Nodes<'a> {
    /// Those of `nodes` that have a name.
    #[must_use]
    pub fn new(nodes: impl IntoIterator<Item = &'a Node>) -> Self {
        Self(nodes.into_iter().filter_map(|node| Some((node.metadata.name.as_deref()?, node))).collect())
    }

    /// The Node of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&'a Node> {
        self.0.get(name).copied()
    }
}

/// Judges every claim of a pool. `nodes` are the pool's Nodes; `period` is the policy's P (D4).
#[must_use]
pub fn survey<'a>(
    governing: &Governing,
    period: Duration,
    claims: impl IntoIterator<Item = &'a NodeClaim>,
    nodes: &Nodes<'_>,
    now: Timestamp,
) -> Survey {
    let mut survey = Survey::default();
    let mut triggered = Vec::new();
    for claim in claims {
        let node = claim.node_name().and_then(|name| nodes.get(name));
        let marks = claim.marks(now);
        let life = Life::of(governing, period, claim);
        let standing = standing(governing, &life, claim, &marks, node, now);
        *survey.census.entry(standing).or_insert(0) += 1;
        survey.highest_retry_count = survey.highest_retry_count.max(marks.retry_count);
        survey.failed += usize::from(marks.retry_count > 0);
        if life.triggered(now) {
            triggered.extend(node.map(hostname));
        }
        if !claim.deleting() {
            survey.short_lead.extend(life.short_lead.then(|| claim.name_any()));
            survey.next_deadline = earlier(survey.next_deadline, life.deadline);
        }
        let candidate = || Candidate { name: claim.name_any(), deadline: life.deadline, created: claim.created() };
        match standing {
            Standing::NotTriggered => survey.next_change = earlier(survey.next_change, life.due),
            Standing::InBackoff => {
                survey.next_change = earlier(survey.next_change, retry_at(governing, &marks, now));
                survey.in_backoff.push(candidate());
            }
            Standing::Eligible => survey.eligible.push(candidate()),
            Standing::OptedOut
            | Standing::Deleting
            | Standing::Disrupted
            | Standing::NotReady
            | Standing::InFlight
            | Standing::Terminal => {}
        }
    }
    // At once: insertion by insertion would take half of the whole pass.
    survey.triggered_hosts = triggered.into_iter().collect();
    survey.eligible.sort_by(|a, b| rank(a).cmp(&rank(b)));
    survey.in_backoff.sort_by(|a, b| rank(a).cmp(&rank(b)));
    survey
}

/// `None` is never.
fn earlier(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    [one, other].into_iter().flatten().min()
}

/// Earliest deadline, then oldest, then name; a claim without a deadline comes after those with one.
#[must_use]
pub fn rank(candidate: &Candidate) -> (Timestamp, Timestamp, &str) {
    (candidate.deadline.unwrap_or(Timestamp::MAX), candidate.created, &candidate.name)
}

/// The value that hostname terms compare with: the label, else the Node's name.
#[must_use]
pub fn hostname(node: &Node) -> String {
    node.labels().get(HOSTNAME_LABEL).cloned().unwrap_or_else(|| node.name_any())
}

/// What selection makes of one claim whose Node is `node`.
#[must_use]
pub fn standing(
    governing: &Governing,
    life: &Life,
    claim: &NodeClaim,
    marks: &ClaimMarks,
    node: Option<&Node>,
    now: Timestamp,
) -> Standing {
    if node.is_some_and(|n| protected_by_operator(n.annotations())) {
        return Standing::OptedOut;
    }
    if claim.deleting() {
        return Standing::Deleting;
    }
    if claim.is_true("DisruptionReason") || node.is_some_and(node_leaving) {
        return Standing::Disrupted;
    }
    if node.is_none() || !claim.is_true("Ready") {
        return Standing::NotReady;
    }
    match marks.state {
        ClaimState::Pending | ClaimState::Draining | ClaimState::Unknown(_) => return Standing::InFlight,
        ClaimState::Expired => return Standing::Terminal,
        ClaimState::Fresh | ClaimState::Failed => {}
    }
    if !life.triggered(now) {
        return Standing::NotTriggered;
    }
    if retry_at(governing, marks, now).is_some_and(|at| now < at) { Standing::InBackoff } else { Standing::Eligible }
}

/// When a failed claim may be tried again.
fn retry_at(governing: &Governing, marks: &ClaimMarks, now: Timestamp) -> Option<Timestamp> {
    let failed_at = marks.failed_at.filter(|_| marks.state == ClaimState::Failed)?;
    Some(backoff::next_attempt(governing, failed_at, marks.retry_count, now))
}

/// When a claim is due under a policy and when it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Life {
    /// When its age trigger comes: in auto mode its deadline less its lead time, under an override that age. `None` is
    /// never, as in auto mode for `expireAfter: Never`.
    pub due: Option<Timestamp>,
    /// When Karpenter deletes it by force; `None` is never.
    pub deadline: Option<Timestamp>,
    /// It lives no longer than its lead time (D5, `ShortLead`).
    pub short_lead: bool,
}

impl Life {
    /// The life of `claim`, by its own `expireAfter` and grace period.
    #[must_use]
    pub fn of(governing: &Governing, period: Duration, claim: &NodeClaim) -> Self {
        let (created, length) = (claim.created(), claim.spec.expire_after());
        let lead_time = schedule::lead_time(governing, period, claim.spec.termination_grace_period());
        let deadline = length.and_then(|length| created.checked_add(length).ok());
        let due = match governing.age_threshold {
            AgeThreshold::Auto => deadline.and_then(|deadline| deadline.checked_sub(lead_time).ok()),
            AgeThreshold::Override(age) => created.checked_add(age).ok(),
        };
        Self { due, deadline, short_lead: length.is_some_and(|length| length <= lead_time) }
    }

    /// Old enough to be rotated: later than `due`.
    #[must_use]
    pub fn triggered(&self, now: Timestamp) -> bool {
        self.due.is_some_and(|due| now > due)
    }
}
