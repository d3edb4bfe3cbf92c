//! An anchored claim that says `failed`: its next attempt begins, or a crash came between the last two writes of a rollback
//! (§5.2, `failed`).

use jiff::{SignedDuration, Timestamp};

use crate::annotation::{Change, LAST_FAILURE_AT, PoolMarks, ROLLBACK, STARTED_AT, STATE, SURGE_CLAIM, clear_anchor, stamp};
use crate::backoff;
use crate::gate;
use crate::headroom;
use crate::rotation::announcement::Announcement;
use crate::rotation::cleanup::clean_up;
use crate::rotation::effect::{Effect, Planned};
use crate::rotation::observation::Seen;
use crate::rotation::pass::Rotation;
use crate::rotation::report::Activity;
use crate::rotation::reservation::placeholder;
use crate::rotation::{Decision, Next, expired};
use crate::schedule::{Derived, LONG_REQUEUE};

/// Ends the attempt whose anchor a crash left behind, begins the next one if everything allows it, or releases an anchor
/// under which nothing was begun.
pub(super) fn retry_or_release(rotation: &Rotation<'_>) -> Seen<Decision> {
    if rotation.claim.deleting() {
        return expired::force_expiring(rotation);
    }
    let pass = rotation.pass;
    let failed_at = unrecorded(rotation);
    if failed_at.is_none() && may_retry(rotation)? {
        let change = [(STATE, Some("pending".to_owned())), (STARTED_AT, None), (SURGE_CLAIM, None), (ROLLBACK, None)].into();
        let effects = vec![Effect::AnnotateClaim { claim: rotation.claim_target(), change }.into()];
        return Seen::Continue(pass.act(Activity::Starting(rotation.name()), effects, Next::Again));
    }
    // Once more: a leader that was paused in the attempt may have come late with a mark or the placeholder.
    let mut effects = clean_up(rotation.close_up, &rotation.name())?;
    let (last, next) = match failed_at {
        Some(failed_at) => (release(rotation, failed_at, rotation.marks.retry_count), Next::Again),
        None => (Effect::AnnotatePool { pool: pass.pool_target(), change: clear_anchor() }.into(), Next::After(LONG_REQUEUE)),
    };
    effects.push(last);
    Seen::Continue(pass.act(Activity::Ending(rotation.name()), effects, next))
}

/// A failure that the pool does not know of yet: the attempt under this anchor has failed, and the anchor was not released.
///
/// The anchor of a next attempt records it, see [`recorded`].
fn unrecorded(rotation: &Rotation<'_>) -> Option<Timestamp> {
    rotation.marks.failed_at.filter(|failed_at| rotation.pass.marks.last_failure_at.is_none_or(|known| known < *failed_at))
}

/// A failure is later than the last that the pool knows of, whatever another leader's clock said: see [`unrecorded`].
pub(super) fn later_than_the_last(pool: &PoolMarks, now: Timestamp) -> Timestamp {
    let after = pool.last_failure_at.and_then(|last| last.checked_add(SignedDuration::from_secs(1)).ok());
    after.map_or(now, |after| after.max(now))
}

/// What the anchor of an attempt says of an earlier one of the same claim that failed without the pool's knowledge.
pub(super) fn recorded(rotation: &Rotation<'_>) -> Change {
    unrecorded(rotation).map(|failed_at| (LAST_FAILURE_AT, Some(stamp(failed_at)))).into_iter().collect()
}

/// The release of the anchor after a failed attempt; the failure is counted with this write, and so once.
pub(super) fn release(rotation: &Rotation<'_>, failed_at: Timestamp, retry_count: u32) -> Planned {
    let pass = rotation.pass;
    let governing = pass.governing.as_deref();
    let mut change = clear_anchor();
    change.insert(LAST_FAILURE_AT, Some(stamp(failed_at)));
    let failed = Announcement::Failed {
        claim: rotation.name(),
        ready_timeout: governing.map(|governing| governing.ready_timeout),
        retry_count,
        next_attempt: governing.map(|governing| backoff::next_attempt(governing, failed_at, retry_count, pass.now)),
    };
    Effect::AnnotatePool { pool: pass.pool_target(), change }.then(failed)
}

/// Gates, backoff, feasibility and headroom, as for any start.
fn may_retry(rotation: &Rotation<'_>) -> Seen<bool> {
    let (pass, marks) = (rotation.pass, &rotation.marks);
    let Some(governing) = pass.governing.as_deref() else {
        return Seen::Continue(false);
    };
    let infeasible = pass.derived.as_ref().is_some_and(Derived::is_infeasible);
    let gated = gate::first_closed(governing, &pass.marks, marks.failed_at, pass.now).is_some();
    let next_attempt = marks.failed_at.map(|at| backoff::next_attempt(governing, at, marks.retry_count, pass.now));
    if pass.never_rotated() || pass.pool().is_broken() || infeasible || gated || next_attempt.is_some_and(|at| pass.now < at) {
        return Seen::Continue(false);
    }
    let placeholder = placeholder(rotation)?;
    Seen::Continue(placeholder.is_some_and(|p| headroom::shortfalls(pass.pool(), pass.claims(), &p.sizing.requests).is_empty()))
}
