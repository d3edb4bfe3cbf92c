//! When a pool at rest is worth another look, by the passing of time alone.
//!
//! The operator looks once a minute and needs no such thing; who plays a schedule forward would walk through every minute
//! of a month without it.

use std::time::Duration;

use jiff::Timestamp;

use super::{Activity, Report};
use crate::gate::{Closed, Gate};
use crate::policy::governing::Governing;
use crate::rotation::fallback;
use crate::selection::Survey;

impl Report {
    /// The first instant after `now`, when the report was made, at which a step may come to something else although nothing
    /// has changed but the time. `None` is never, and also where a rotation is in flight: what it waits for is not the time.
    #[must_use]
    pub fn next_look(&self, now: Timestamp) -> Option<Timestamp> {
        let (governing, survey) = (self.policy.as_deref()?, self.survey.as_ref()?);
        match &self.activity {
            // The pauses of a failure do not hold a drain without a surge up.
            Activity::Gated(Closed { gate: Gate::FailurePause, until }) => earliest([*until, waiting(governing, survey, now)]),
            Activity::Gated(closed) => closed.until,
            Activity::NoEligibleClaim | Activity::NoHeadroom(_) => waiting(governing, survey, now),
            Activity::Ungoverned
            | Activity::Conflict(_)
            | Activity::NodePoolDeleting
            | Activity::StaticNodePool
            | Activity::NodePoolNotReady
            | Activity::Infeasible
            | Activity::Sweeping
            | Activity::OrphanDraining(_)
            | Activity::Starting(_)
            | Activity::Pending(_)
            | Activity::RollingBack(_)
            | Activity::Draining(_)
            | Activity::Ending(_) => None,
        }
    }
}

/// When another claim has its turn, or one that waits is drained without a surge.
fn waiting(governing: &Governing, survey: &Survey, now: Timestamp) -> Option<Timestamp> {
    // The trigger is strict.
    let turn = survey.next_change.and_then(|at| at.checked_add(Duration::from_secs(1)).ok());
    let waits = || survey.eligible.iter().chain(&survey.in_backoff);
    let surgeless = waits().filter_map(|candidate| fallback::due_at(governing, candidate.deadline, now)).min();
    // Backoffs and last chances are cut to the window in which they are judged.
    let opening = waits().next().and_then(|_| governing.windows.next_open(now));
    earliest([turn, surgeless, opening])
}

fn earliest<const N: usize>(all: [Option<Timestamp>; N]) -> Option<Timestamp> {
    all.into_iter().flatten().min()
}
