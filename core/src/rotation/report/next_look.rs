//! When a pool at rest is worth another look, by the passing of time alone.
//!
//! The operator looks once a minute and needs no such thing; who plays a schedule forward would walk through every minute
//! of a month without it.

use std::time::Duration;

use jiff::Timestamp;

use super::{Activity, Report};
use crate::gate::{Closed, Gate};
use crate::karpenter::NodeClaim;
use crate::policy::governing::Governing;
use crate::rotation::{Decision, Next, fallback, pending};
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
            Activity::Gated(closed) => opens(closed.until?, survey),
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

impl Decision {
    /// The same for a pool with a rotation in flight too, whose claims are `claims` after the writes of the decision have
    /// landed: for who plays also what goes wrong.
    #[must_use]
    pub fn next_look(&self, claims: &[NodeClaim], now: Timestamp) -> Option<Timestamp> {
        match (&self.report.activity, self.next) {
            (Activity::Pending(name), _) => {
                let claim = claims.iter().find(|claim| claim.metadata.name.as_ref() == Some(name))?;
                pending::next_turn(self.report.policy.as_deref()?, claim, now)
            }
            (Activity::RollingBack(_), Next::After(wait)) => now.checked_add(wait).ok(),
            _ => self.report.next_look(now),
        }
    }
}

/// When a gate opens for somebody: where no claim waits, with the turn of the next one at the earliest.
fn opens(until: Timestamp, survey: &Survey) -> Option<Timestamp> {
    let waits = !survey.eligible.is_empty() || !survey.in_backoff.is_empty();
    if waits { Some(until) } else { turn(survey).map(|turn| turn.max(until)) }
}

/// When the next claim has its turn, by its age or its backoff.
fn turn(survey: &Survey) -> Option<Timestamp> {
    // The trigger is strict.
    survey.next_change.and_then(|at| at.checked_add(Duration::from_secs(1)).ok())
}

/// When another claim has its turn, or one that waits is drained without a surge.
fn waiting(governing: &Governing, survey: &Survey, now: Timestamp) -> Option<Timestamp> {
    let waits = || survey.eligible.iter().chain(&survey.in_backoff);
    let surgeless = waits().filter_map(|candidate| fallback::due_at(governing, candidate.deadline, now)).min();
    // Backoffs and last chances are cut to the window in which they are judged.
    let opening = waits().next().and_then(|_| governing.windows.next_open(now));
    earliest([turn(survey), surgeless, opening])
}

fn earliest<const N: usize>(all: [Option<Timestamp>; N]) -> Option<Timestamp> {
    all.into_iter().flatten().min()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::policy::validate::validate;
    use crate::selection::Candidate;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    /// In the window of Wednesday, with `readyTimeout` 15m.
    const NOW: &str = "2026-01-07T03:00:00Z";

    fn report(activity: Activity, survey: Survey, fallback: bool) -> Report {
        let window = json!({"timezone": "UTC", "days": ["Wed", "Sat"], "start": "02:00", "end": "06:00"});
        let surge = json!({"forcefulFallback": {"enabled": fallback}});
        let policy = json!({"spec": {"nodePoolSelector": {}, "maintenanceWindows": [window], "surge": surge}});
        Report {
            policy: Some(Arc::new(validate(&policy).unwrap())),
            activity,
            window_open: true,
            next_window: None,
            freeze_until: None,
            survey: Some(survey),
            derived: None,
            drain_stuck: false,
            policy_conflict: false,
        }
    }

    fn candidate(deadline: &str) -> Candidate {
        Candidate { name: "a".to_owned(), deadline: Some(at(deadline)), created: at("2026-01-01T00:00:00Z") }
    }

    #[test]
    fn each_state_has_the_instant_at_which_it_may_end() {
        let closed = |gate, until: Option<&str>| Activity::Gated(Closed { gate, until: until.map(at) });
        let turn = Survey { next_change: Some(at("2026-01-07T04:00:00Z")), ..Survey::default() };
        // The last chance is the end of the window, at 06:00.
        let waits = |deadline| Survey { eligible: vec![candidate(deadline)], ..Survey::default() };
        let (pause, cool) = ("2026-01-07T05:50:00Z", "2026-01-07T03:10:00Z");
        let saturday = "2026-01-10T02:00:00Z";
        let rows = [
            ("a gate", closed(Gate::CooldownAfterSuccess, Some(cool)), waits("2026-01-09T00:00:00Z"), false, Some(cool)),
            ("a gate before nobody", closed(Gate::CooldownAfterSuccess, Some(cool)), Survey::default(), true, None),
            ("and a turn after it", closed(Gate::CooldownAfterSuccess, Some(cool)), turn.clone(), true, Some("2026-01-07T04:00:01Z")),
            ("a freeze that nobody can read", closed(Gate::Frozen, None), turn.clone(), true, None),
            ("a trigger is strict", Activity::NoEligibleClaim, turn, false, Some("2026-01-07T04:00:01Z")),
            ("nothing to come", Activity::NoEligibleClaim, Survey::default(), false, None),
            ("a failure", closed(Gate::FailurePause, Some(pause)), waits("2026-01-09T00:00:00Z"), false, Some(pause)),
            ("a last chance", closed(Gate::FailurePause, Some(pause)), waits("2026-01-09T00:00:00Z"), true, Some("2026-01-07T05:43:01Z")),
            ("no room", Activity::NoHeadroom(Vec::new()), waits("2026-01-09T00:00:00Z"), true, Some("2026-01-07T05:43:01Z")),
            ("no room, and another window", Activity::NoHeadroom(Vec::new()), waits("2026-01-20T00:00:00Z"), true, Some(saturday)),
            ("an infeasible schedule", Activity::Infeasible, waits("2026-01-09T00:00:00Z"), true, None),
            ("a rotation", Activity::Pending("a".to_owned()), waits("2026-01-09T00:00:00Z"), true, None),
        ];
        for (name, activity, survey, fallback, expected) in rows {
            assert_eq!(report(activity, survey, fallback).next_look(at(NOW)), expected.map(at), "{name}");
        }
        let nobody = Report { policy: None, ..report(Activity::Ungoverned, Survey::default(), true) };
        assert_eq!(nobody.next_look(at(NOW)), None);
    }
}
