//! What is told to people once a write has landed: events, counters and log lines come from these values.

use std::time::Duration;

use jiff::Timestamp;

use crate::headroom::Shortfall;
use crate::placeholder::Sizing;
use crate::policy::finding::FindingCode;

/// How a rotation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// The old claim drained after its replacement was ready.
    Success,
    /// The surge was not ready in time and was rolled back.
    Failure,
    /// Karpenter or a person took the claim before the surge was ready.
    Expired,
}

impl Outcome {
    /// The value of the metric's label `outcome`.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Expired => "expired",
        }
    }
}

/// Something that has happened in the rotation of `claim`.
#[derive(Clone, Debug, PartialEq)]
pub enum Announcement {
    /// The anchor is written.
    Started {
        /// The old claim.
        claim: String,
        /// Its age.
        age: Duration,
        /// When Karpenter would delete it by force.
        deadline: Option<Timestamp>,
        /// How many claims were eligible.
        eligible: usize,
        /// Near its deadline, and so without a surge.
        surgeless: bool,
    },
    /// The claim is drained without a replacement first, which the policy asks for near a deadline.
    ForcefulFallback {
        /// The old claim.
        claim: String,
        /// When Karpenter would delete it by force.
        deadline: Option<Timestamp>,
        /// A surge was waited for, and has not come in time.
        converted: bool,
    },
    /// The placeholder is created.
    PlaceholderCreated {
        /// The old claim.
        claim: String,
        /// Name of the Pod.
        placeholder: String,
        /// How its size came about.
        sizing: Box<Sizing>,
    },
    /// The replacement is ready, and the drain is about to begin.
    SurgeReady {
        /// The old claim.
        claim: String,
        /// Node with the reserved capacity.
        surge_node: String,
        /// From the start to here.
        surge_wait: Duration,
        /// `provisioned` or `absorbed`, where known.
        surge_path: Option<String>,
    },
    /// The old claim's deletion is sent.
    DrainStarted {
        /// The old claim.
        claim: String,
        /// Its node.
        node: String,
        /// Without a surge.
        forceful_fallback: bool,
    },
    /// The old claim is gone and the anchor released.
    Completed {
        /// The old claim.
        claim: String,
        /// Node with the reserved capacity, where still known.
        surge_node: Option<String>,
        /// From the start to the ready surge, where known.
        surge_wait: Option<Duration>,
        /// `provisioned` or `absorbed`, where known.
        surge_path: Option<String>,
        /// From the delete to here, where known.
        drain: Option<Duration>,
        /// Without a surge.
        forceful_fallback: bool,
    },
    /// The attempt is rolled back, and the anchor is released.
    Failed {
        /// The old claim.
        claim: String,
        /// The limit that was exceeded; not known once no policy governs the pool.
        ready_timeout: Option<Duration>,
        /// Attempts that failed so far, this one included.
        retry_count: u32,
        /// When the next attempt may begin, window permitting; not known once no policy governs the pool.
        next_attempt: Option<Timestamp>,
    },
    /// The claim was taken before the surge was ready, and the anchor is released.
    Expired {
        /// The old claim.
        claim: String,
        /// Karpenter's deadline had come; otherwise someone or something else deleted it. `None`: not known.
        deadline_reached: Option<bool>,
    },
    /// The pool lost its policy, and the rotation is rolled back.
    GovernanceLost {
        /// The old claim.
        claim: String,
        /// Why no policy governs the pool.
        why: String,
    },
    /// The anchor named a claim of another pool, and is released.
    ForeignAnchor {
        /// The claim.
        claim: String,
        /// Its pool, if it has one.
        pool: Option<String>,
    },
    /// Something that no rotation owned is put right.
    Swept(Swept),
    /// A stamp was too far ahead to be true; it counts as now, and says so.
    StampInFuture {
        /// The claim that carried it; `None` is the pool.
        claim: Option<String>,
        /// Its key.
        key: &'static str,
        /// As it was written.
        value: String,
    },
    /// A Node carried a `do-not-disrupt` that protects nothing; ours has replaced it.
    UnrecognisedOptOut {
        /// The old claim.
        claim: String,
        /// The Node.
        node: String,
        /// As it was written.
        value: String,
    },
    /// An occurrence of the window has closed without a success, although claims were due.
    WindowMissed {
        /// When it opened.
        opened_at: Timestamp,
        /// Claims that might have been rotated.
        eligible: usize,
        /// Claims that only their backoff held.
        in_backoff: usize,
    },
    /// The reservation is no longer sound, and the rotation waits for a new one.
    ReservationLost {
        /// The old claim.
        claim: String,
        /// What was found.
        why: String,
    },
}

/// Something that no rotation owned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Swept {
    /// A claim that was in rotation by its own word only; it counts as a failure.
    Claim {
        /// The claim.
        claim: String,
    },
    /// A placeholder.
    Placeholder {
        /// The claim that it was for.
        claim: String,
        /// The Pod.
        placeholder: String,
    },
    /// Marks on a Node.
    Node {
        /// The Node.
        node: String,
        /// The claim that they were for; `None` where only a cordon or a protection of ours was left.
        claim: Option<String>,
        /// Karpenter may take it away again.
        thawed: bool,
        /// New Pods may come again.
        uncordoned: bool,
    },
    /// The anchor of a drain was gone, and is written again.
    Anchor {
        /// The claim that drains.
        claim: String,
    },
    /// Companions of an anchor without the anchor.
    Companions,
}

/// A state of affairs worth telling once, when it begins; the shell compares with the pass before.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Notice {
    /// A finding about the schedule.
    Finding {
        /// Its code, the event's reason.
        code: FindingCode,
        /// It blocks starts.
        fatal: bool,
        /// What is wrong and what to change.
        sentence: String,
    },
    /// A claim's whole life is shorter than its lead time.
    ShortLead {
        /// The claim.
        claim: String,
    },
    /// No policy can be said to govern the pool.
    PolicyConflict {
        /// Names the policies and what to change.
        message: String,
    },
    /// A static pool refills itself and is never rotated.
    StaticNodePool,
    /// Karpenter launches no nodes for the pool.
    NodePoolNotReady,
    /// The freeze annotation cannot be read and counts as frozen.
    FreezeUnparsable {
        /// As written.
        value: String,
    },
    /// One more node does not fit under the pool's limits.
    InsufficientHeadroom {
        /// The candidate.
        claim: String,
        /// Each limit in the way, with its numbers.
        shortfalls: String,
    },
    /// The scheduler refuses the placeholder so far.
    SurgeUnschedulable {
        /// The old claim.
        claim: String,
        /// The Pod.
        placeholder: String,
        /// The scheduler's words.
        message: String,
    },
    /// There can be no placeholder.
    SurgeRejected {
        /// The old claim.
        claim: String,
        /// Why, in the words of whoever refused it.
        message: String,
    },
    /// A drain takes longer than its bound.
    DrainStuck {
        /// The old claim.
        claim: String,
        /// Phase, Pods and budgets, as far as known.
        waits_for: String,
    },
}

impl Notice {
    /// The notice without what may change while the same state of affairs goes on.
    #[must_use]
    pub fn subject(&self) -> Self {
        match self {
            Self::DrainStuck { claim, .. } => Self::DrainStuck { claim: claim.clone(), waits_for: String::new() },
            Self::Finding { .. }
            | Self::ShortLead { .. }
            | Self::PolicyConflict { .. }
            | Self::StaticNodePool
            | Self::NodePoolNotReady
            | Self::FreezeUnparsable { .. }
            | Self::InsufficientHeadroom { .. }
            | Self::SurgeUnschedulable { .. }
            | Self::SurgeRejected { .. } => self.clone(),
        }
    }

    /// The headroom notice for `claim`.
    #[must_use]
    pub fn headroom(claim: &str, shortfalls: &[Shortfall]) -> Self {
        let list: Vec<String> = shortfalls.iter().map(ToString::to_string).collect();
        Self::InsufficientHeadroom { claim: claim.to_owned(), shortfalls: list.join("; ") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_labels() {
        assert_eq!([Outcome::Success, Outcome::Failure, Outcome::Expired].map(Outcome::label), ["success", "failure", "expired"]);
    }

    #[test]
    fn a_drain_that_waits_for_something_else_is_the_same_one_and_any_other_notice_is_its_words() {
        let stuck = |claim: &str, waits_for: &str| Notice::DrainStuck { claim: claim.to_owned(), waits_for: waits_for.to_owned() };
        assert_eq!(stuck("a", "a Pod").subject(), stuck("a", "a budget").subject());
        assert_ne!(stuck("a", "").subject(), stuck("b", "").subject());
        let frozen = |value: &str| Notice::FreezeUnparsable { value: value.to_owned() };
        assert_eq!(frozen("soon").subject(), frozen("soon"));
        assert_ne!(frozen("soon").subject(), frozen("later").subject());
    }

    #[test]
    fn every_limit_in_the_way_is_named() {
        let shortfall = |resource: &str, requested: &str| Shortfall {
            resource: resource.to_owned(),
            requested: requested.to_owned(),
            limit: "8".to_owned(),
            used: "7".to_owned(),
        };
        let notice = Notice::headroom("a", &[shortfall("cpu", "4"), shortfall("nodes", "2")]);
        let shortfalls = "cpu: 4 requested, 7 of 8 in use; nodes: 2 requested, 7 of 8 in use".to_owned();
        assert_eq!(notice, Notice::InsufficientHeadroom { claim: "a".to_owned(), shortfalls });
    }
}
