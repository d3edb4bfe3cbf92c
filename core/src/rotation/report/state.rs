//! What a pool is doing, or what keeps it from it, in one word and in one sentence: status, `/debug/state` and the commands
//! use the same.

use super::Activity;
use crate::annotation::stamp;
use crate::gate::{Closed, Gate};

/// Kinds of [`Activity`]. Declared in the order in which one of several pools has the word: a rotation in flight, then what
/// a person can do something about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// A rotation is in flight.
    Rotating,
    /// A claim still drains from a rotation whose anchor is gone.
    OrphanDraining,
    /// One more node does not fit under the limits.
    InsufficientHeadroom,
    /// The schedule cannot work.
    InfeasibleSchedule,
    /// Karpenter launches no nodes for the pool.
    NodePoolNotReady,
    /// The pool pauses after a failed attempt.
    FailurePause,
    /// Somebody froze the pool.
    Frozen,
    /// The pool settles after a success.
    CooldownAfterSuccess,
    /// No claim is eligible.
    NoEligibleClaim,
    /// No window is open.
    OutOfWindow,
    /// The pool refills itself.
    StaticNodePool,
    /// The pool is being deleted.
    NodePoolDeleting,
    /// No policy can be said to govern the pool.
    PolicyConflict,
    /// No policy selects the pool.
    Ungoverned,
    /// The pass has not come to a reason: what no rotation owns is removed first.
    Sweeping,
}

impl State {
    /// The word.
    #[must_use]
    pub fn name(self) -> String {
        format!("{self:?}")
    }
}

impl Activity {
    /// Its kind.
    #[must_use]
    pub fn state(&self) -> State {
        match self {
            Self::Starting(_) | Self::Pending(_) | Self::RollingBack(_) | Self::Draining(_) | Self::Ending(_) => State::Rotating,
            Self::OrphanDraining(_) => State::OrphanDraining,
            Self::NoHeadroom(_) => State::InsufficientHeadroom,
            Self::Infeasible => State::InfeasibleSchedule,
            Self::NodePoolNotReady => State::NodePoolNotReady,
            Self::Gated(Closed { gate: Gate::FailurePause, .. }) => State::FailurePause,
            Self::Gated(Closed { gate: Gate::Frozen, .. }) => State::Frozen,
            Self::Gated(Closed { gate: Gate::CooldownAfterSuccess, .. }) => State::CooldownAfterSuccess,
            Self::Gated(Closed { gate: Gate::OutOfWindow, .. }) => State::OutOfWindow,
            Self::NoEligibleClaim => State::NoEligibleClaim,
            Self::StaticNodePool => State::StaticNodePool,
            Self::NodePoolDeleting => State::NodePoolDeleting,
            Self::Conflict(_) => State::PolicyConflict,
            Self::Ungoverned => State::Ungoverned,
            Self::Sweeping => State::Sweeping,
        }
    }

    /// The sentence, without a point. It changes only when a person would want to know.
    #[must_use]
    pub fn sentence(&self) -> String {
        match self {
            Self::Starting(claim) | Self::Pending(claim) | Self::RollingBack(claim) | Self::Draining(claim) | Self::Ending(claim) => {
                format!("rotating NodeClaim {claim}")
            }
            Self::OrphanDraining(claim) => format!("NodeClaim {claim} still drains from an earlier rotation"),
            Self::NoHeadroom(_) => "one more node does not fit under spec.limits".to_owned(),
            Self::Infeasible => "the schedule cannot work, see the condition Feasible".to_owned(),
            Self::NodePoolNotReady => "Karpenter says that it is not Ready".to_owned(),
            Self::Gated(closed) => gated(closed),
            Self::NoEligibleClaim => "no node may be rotated now".to_owned(),
            Self::StaticNodePool => "it sets spec.replicas and refills itself".to_owned(),
            Self::NodePoolDeleting => "it is being deleted".to_owned(),
            Self::Conflict(message) => message.clone(),
            Self::Ungoverned => "no RotationPolicy selects it".to_owned(),
            Self::Sweeping => "what no rotation owns is being removed".to_owned(),
        }
    }
}

fn gated(closed: &Closed) -> String {
    let why = match closed.gate {
        Gate::FailurePause => "pausing after a failed attempt",
        Gate::Frozen => "frozen by the annotation noderotation.io/freeze",
        Gate::CooldownAfterSuccess => "pausing after a success",
        Gate::OutOfWindow => "outside of the windows",
    };
    closed.until.map_or_else(|| why.to_owned(), |until| format!("{why} until {}", stamp(until)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_activity_has_its_sentence() {
        let gated = |gate: Gate, until: Option<&str>| Activity::Gated(Closed { gate, until: until.map(|text| text.parse().unwrap()) });
        let rows = [
            (Activity::Pending("a".to_owned()), "rotating NodeClaim a"),
            (Activity::OrphanDraining("a".to_owned()), "NodeClaim a still drains from an earlier rotation"),
            (Activity::Conflict("two tie".to_owned()), "two tie"),
            (Activity::Ungoverned, "no RotationPolicy selects it"),
            (gated(Gate::OutOfWindow, None), "outside of the windows"),
            (gated(Gate::OutOfWindow, Some("2026-01-07T02:00:00Z")), "outside of the windows until 2026-01-07T02:00:00Z"),
            (gated(Gate::FailurePause, Some("2026-01-07T02:00:00Z")), "pausing after a failed attempt until 2026-01-07T02:00:00Z"),
            (gated(Gate::Frozen, None), "frozen by the annotation noderotation.io/freeze"),
        ];
        for (activity, sentence) in rows {
            assert_eq!(activity.sentence(), sentence, "{activity:?}");
        }
    }
}
