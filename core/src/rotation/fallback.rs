//! The surge-less path: near its deadline a claim is drained in the window, without a replacement first (§3.6, D8).
//!
//! Only where the policy asks for it. Karpenter leaves a claim alone that is being deleted already, so it is the delete that
//! has to come before the deadline, not the end of the drain: the grace period does not count here.

use std::time::Duration;

use jiff::Timestamp;

use crate::annotation::{ACTIVE_ROTATION, ACTIVE_ROTATION_STATE, Change, ClaimState, DRAINING_AT, ROLLBACK, ROTATION_MODE, STATE, stamp};
use crate::gate::{Closed, Gate};
use crate::policy::governing::Governing;
use crate::rotation::announcement::Announcement;
use crate::rotation::draining::delete_old_claim;
use crate::rotation::effect::{Effect, Planned};
use crate::rotation::observation::Seen;
use crate::rotation::pass::{Pass, Rotation};
use crate::rotation::report::Activity;
use crate::rotation::{Decision, Next, start};
use crate::schedule::{BUFFER, SHORT_REQUEUE};
use crate::selection::{Candidate, rank};

/// The most urgent claim for which a surge would come too late, if the policy asks for a drain then.
///
/// The pauses of failed attempts do not hold it up: at the deadline it would be too late (review 14). What a person
/// closes, the window and the freeze, stays closed, and so does the pause in which a rotated pool settles.
pub(super) fn candidate<'a>(pass: &'a Pass<'_>, closed: Option<Closed>) -> Option<&'a Candidate> {
    let governing = pass.governing.as_deref().filter(|governing| governing.forceful_fallback)?;
    if closed.is_some_and(|closed| closed.gate != Gate::FailurePause) {
        return None;
    }
    let survey = pass.survey.as_ref()?;
    let due = survey.eligible.iter().chain(&survey.in_backoff).filter(|candidate| due(governing, candidate.deadline, pass.now));
    due.min_by(|a, b| rank(a).cmp(&rank(b)))
}

/// A surge that began now could still be waiting when the delete has to be sent.
fn due(governing: &Governing, deadline: Option<Timestamp>, now: Timestamp) -> bool {
    left(governing, deadline, now).is_some_and(|left| left < governing.ready_timeout.saturating_add(BUFFER))
}

/// A pending rotation can wait no longer: the delete has to be sent while the buffer lasts (review 14).
pub(super) fn overdue(rotation: &Rotation<'_>, governing: &Governing) -> bool {
    let left = left(governing, rotation.claim.deadline(), rotation.pass.now);
    governing.forceful_fallback && !rotation.pass.marks.frozen() && left.is_some_and(|left| left <= BUFFER)
}

/// The first whole second after `now` at which a surge would come too late, as the windows of `now` have it; `None` where
/// the policy does not ask for a drain then, or where that is so already.
pub(super) fn due_at(governing: &Governing, deadline: Option<Timestamp>, now: Timestamp) -> Option<Timestamp> {
    let last = last_chance(governing, deadline.filter(|_| governing.forceful_fallback)?, now);
    let at = last.checked_sub(governing.ready_timeout.saturating_add(BUFFER)).ok()?;
    at.checked_add(Duration::from_secs(1)).ok().filter(|at| *at > now)
}

/// Time until the last chance. `None`: the claim never expires.
fn left(governing: &Governing, deadline: Option<Timestamp>, now: Timestamp) -> Option<Duration> {
    Some(last_chance(governing, deadline?, now).duration_since(now).try_into().unwrap_or_default())
}

/// The deadline, or the end of the window if no other opens before the deadline, since after that the node would expire at
/// a time that nobody chose.
fn last_chance(governing: &Governing, deadline: Timestamp, now: Timestamp) -> Timestamp {
    let windows = &governing.windows;
    let opens_again = windows.next_open(now).is_some_and(|open| open < deadline);
    let close = windows.next_close(now).filter(|_| !opens_again);
    close.map_or(deadline, |close| close.min(deadline))
}

/// Begins a rotation that has no surge: anchor and mirror in one write, then the claim, then the delete.
pub(super) fn begin(pass: &Pass<'_>, candidate: &Candidate) -> Seen<Decision> {
    let Some(rotation) = start::confirmed(pass, candidate)? else {
        return Seen::Continue(start::behind(pass));
    };
    let mut anchor = mirror(pass.now);
    anchor.insert(ACTIVE_ROTATION, Some(rotation.name()));
    let told = vec![start::started(pass, candidate, true), announcement(&rotation, false)];
    let anchor = Planned { effect: Effect::AnnotatePool { pool: pass.pool_target(), change: anchor }, then: told };
    Seen::Continue(drain(&rotation, anchor))
}

/// A rotation whose surge does not come goes on without one. What it has reserved so far stays for the drained Pods.
pub(super) fn convert(rotation: &Rotation<'_>) -> Decision {
    let mirror = Effect::AnnotatePool { pool: rotation.pass.pool_target(), change: mirror(rotation.pass.now) };
    drain(rotation, mirror.then(announcement(rotation, true)))
}

fn mirror(now: Timestamp) -> Change {
    [
        (ACTIVE_ROTATION_STATE, Some("draining".to_owned())),
        (ROTATION_MODE, Some("forceful-fallback".to_owned())),
        (DRAINING_AT, Some(stamp(now))),
    ]
    .into()
}

fn announcement(rotation: &Rotation<'_>, converted: bool) -> Announcement {
    Announcement::ForcefulFallback { claim: rotation.name(), deadline: rotation.claim.deadline(), converted }
}

fn drain(rotation: &Rotation<'_>, first: Planned) -> Decision {
    let mut effects = vec![first];
    effects.extend(state_draining(rotation));
    effects.push(delete_old_claim(rotation, true));
    rotation.pass.act(Activity::Draining(rotation.name()), effects, Next::After(SHORT_REQUEUE))
}

/// The claim's state, whatever it said before: the mirror has the word (review 2, 4).
pub(super) fn state_draining(rotation: &Rotation<'_>) -> Option<Planned> {
    let mut change = Change::new();
    if rotation.marks.state != ClaimState::Draining {
        change.insert(STATE, Some("draining".to_owned()));
    }
    if rotation.marks.rollback.is_some() {
        change.insert(ROLLBACK, None);
    }
    (!change.is_empty()).then(|| Effect::AnnotateClaim { claim: rotation.claim_target(), change }.into())
}
