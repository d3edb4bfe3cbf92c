//! An anchored claim that says `failed`: a crash came between the rollback's last two writes (§5.2, `failed`).

use crate::annotation::{LAST_FAILURE_AT, ROLLBACK, STARTED_AT, STATE, SURGE_CLAIM, clear_anchor, stamp};
use crate::backoff;
use crate::gate;
use crate::headroom;
use crate::rotation::effect::Effect;
use crate::rotation::observation::Seen;
use crate::rotation::pass::Rotation;
use crate::rotation::report::Activity;
use crate::rotation::reservation::placeholder;
use crate::rotation::{Decision, Next, expired};
use crate::schedule::{Derived, LONG_REQUEUE};

/// Begins the next attempt if everything allows it, else releases the anchor that the crash left behind.
pub(super) fn retry_or_release(rotation: &Rotation<'_>) -> Seen<Decision> {
    if rotation.claim.deleting() {
        return expired::force_expiring(rotation);
    }
    if may_retry(rotation)? {
        let change = [(STATE, Some("pending".to_owned())), (STARTED_AT, None), (SURGE_CLAIM, None), (ROLLBACK, None)].into();
        let effects = vec![Effect::AnnotateClaim { claim: rotation.claim_target(), change }.into()];
        return Seen::Continue(rotation.pass.act(Activity::Starting(rotation.name()), effects, Next::Again));
    }
    let pass = rotation.pass;
    let mut change = clear_anchor();
    // The later of the two: the crash must not void the pause that the failure began.
    if let Some(at) = pass.marks.last_failure_at.max(rotation.marks.failed_at) {
        change.insert(LAST_FAILURE_AT, Some(stamp(at)));
    }
    let effects = vec![Effect::AnnotatePool { pool: pass.pool_target(), change }.into()];
    Seen::Continue(pass.act(Activity::Ending(rotation.name()), effects, Next::After(LONG_REQUEUE)))
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
    if pass.never_rotated() || infeasible || gated || next_attempt.is_some_and(|at| pass.now < at) {
        return Seen::Continue(false);
    }
    let placeholder = placeholder(rotation)?;
    Seen::Continue(placeholder.is_some_and(|p| headroom::shortfalls(pass.pool(), &p.sizing.requests).is_empty()))
}
