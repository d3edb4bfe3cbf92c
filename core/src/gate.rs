//! The start gates, in order; the first that is closed has the word (§5.2 step 2, D6).
//!
//! A gate stops starts only. A rotation in flight goes on.

use std::time::Duration;

use jiff::Timestamp;

use crate::annotation::{Freeze, PoolMarks};
use crate::policy::governing::Governing;

/// Why a rotation may not start now. Declared in the order of judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gate {
    /// No maintenance window is open.
    OutOfWindow,
    /// An operator of the cluster froze the pool.
    Frozen,
    /// Gate A: the pool settles after a success.
    CooldownAfterSuccess,
    /// Gate B: the pool pauses after a failure.
    FailurePause,
}

impl Gate {
    /// The name that the log line and the commands print.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::OutOfWindow => "outOfWindow",
            Self::Frozen => "frozen",
            Self::CooldownAfterSuccess => "cooldownAfterSuccess",
            Self::FailurePause => "failurePause",
        }
    }
}

/// A closed gate and when it opens by itself, where that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed {
    /// Which one.
    pub gate: Gate,
    /// When it opens by itself; `None` where a person must act or no opening is in sight.
    pub until: Option<Timestamp>,
}

/// The first closed gate, or `None` when a rotation may start at `now`.
///
/// `failed_at` is the later failure stamp of an anchored failed claim, which gate B must respect even if the
/// pool's own stamp was not written yet.
#[must_use]
pub fn first_closed(governing: &Governing, marks: &PoolMarks, failed_at: Option<Timestamp>, now: Timestamp) -> Option<Closed> {
    if !governing.windows.contains(now) {
        return Some(Closed { gate: Gate::OutOfWindow, until: governing.windows.next_open(now) });
    }
    match marks.freeze {
        Freeze::None => {}
        Freeze::Until(until) => return Some(Closed { gate: Gate::Frozen, until: Some(until) }),
        Freeze::Unreadable(_) => return Some(Closed { gate: Gate::Frozen, until: None }),
    }
    if let Some(until) = open_again(marks.last_rotation_at, governing.cooldown_after, now) {
        return Some(Closed { gate: Gate::CooldownAfterSuccess, until: Some(until) });
    }
    let last_failure = marks.last_failure_at.max(failed_at);
    open_again(last_failure, governing.failure_pause, now).map(|until| Closed { gate: Gate::FailurePause, until: Some(until) })
}

/// When `pause` after `since` ends, if it has not ended. A missing stamp counts as long ago.
fn open_again(since: Option<Timestamp>, pause: Duration, now: Timestamp) -> Option<Timestamp> {
    let until = since?.checked_add(pause).ok()?;
    (now < until).then_some(until)
}
