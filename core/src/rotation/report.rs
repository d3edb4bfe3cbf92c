//! Why this and not that: the same value feeds gauges, log lines, status and the commands.

mod json;
mod next_look;
mod state;

use std::sync::Arc;

use jiff::Timestamp;

use crate::gate::Closed;
use crate::headroom::Shortfall;
use crate::policy::governing::Governing;
use crate::schedule::Derived;
use crate::selection::Survey;
use crate::window::Occurrence;
pub use state::State;

/// What a pool is doing, or what keeps it from it.
#[derive(Clone, Debug, PartialEq)]
pub enum Activity {
    /// No policy selects the pool.
    Ungoverned,
    /// Policies tie, or the winner is invalid; the message names them.
    Conflict(String),
    /// The pool is being deleted.
    NodePoolDeleting,
    /// The pool refills itself.
    StaticNodePool,
    /// Karpenter launches no nodes for the pool.
    NodePoolNotReady,
    /// A finding says that the schedule cannot work.
    Infeasible,
    /// A start gate is closed.
    Gated(Closed),
    /// What no rotation owns is removed, before anything else begins.
    Sweeping,
    /// A claim of the pool still drains from a rotation whose anchor is gone.
    OrphanDraining(String),
    /// No claim is eligible; the census says why.
    NoEligibleClaim,
    /// One more node does not fit under the limits.
    NoHeadroom(Vec<Shortfall>),
    /// A rotation of this claim begins.
    Starting(String),
    /// This claim waits for its surge.
    Pending(String),
    /// The rotation of this claim is being undone.
    RollingBack(String),
    /// This claim drains.
    Draining(String),
    /// The rotation of this claim ends.
    Ending(String),
}

/// The view of one pool that a step formed.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The policy that it was judged by; `None` without one.
    pub policy: Option<Arc<Governing>>,
    /// What the pool is doing.
    pub activity: Activity,
    /// A maintenance window is open.
    pub window_open: bool,
    /// That window, or else the next one; `None` without a policy, where none is in sight, and for one that never closes.
    pub next_window: Option<Occurrence>,
    /// A freeze is in force until then.
    pub freeze_until: Option<Timestamp>,
    /// The standing of each claim; `None` without a policy.
    pub survey: Option<Survey>,
    /// What follows from policy and pool; `None` without a policy.
    pub derived: Option<Derived>,
    /// The drain exceeds its bound.
    pub drain_stuck: bool,
    /// No policy can be said to govern the pool: a tie, or an invalid winner.
    pub policy_conflict: bool,
}

impl Activity {
    /// The claim whose rotation is in flight, or ends in this pass.
    #[must_use]
    pub fn claim(&self) -> Option<&str> {
        match self {
            Self::Starting(claim) | Self::Pending(claim) | Self::RollingBack(claim) | Self::Draining(claim) | Self::Ending(claim) => {
                Some(claim)
            }
            Self::Ungoverned
            | Self::Conflict(_)
            | Self::NodePoolDeleting
            | Self::StaticNodePool
            | Self::NodePoolNotReady
            | Self::Infeasible
            | Self::Gated(_)
            | Self::Sweeping
            | Self::OrphanDraining(_)
            | Self::NoEligibleClaim
            | Self::NoHeadroom(_) => None,
        }
    }
}

impl Report {
    /// A rotation is in flight.
    #[must_use]
    pub fn in_progress(&self) -> bool {
        self.activity.claim().is_some() && !matches!(self.activity, Activity::Ending(_))
    }
}
