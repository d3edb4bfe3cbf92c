//! A claim whose mirror says that it drains (§5.2, `draining`).
//!
//! Once the delete is sent nothing can be rolled back: the gate stays held until the claim is gone, however long that
//! takes, because a second rotation would take a second node (I1).

use std::time::Duration;

use crate::annotation::{ACTIVE_ROTATION_STATE, DRAINING_AT, SURGE_PATH, SURGE_WAIT};
use crate::karpenter::node_leaving;
use crate::placeholder;
use crate::rotation::announcement::{Announcement, Notice};
use crate::rotation::effect::{Effect, Planned};
use crate::rotation::fallback::state_draining;
use crate::rotation::observation::Seen;
use crate::rotation::pass::Rotation;
use crate::rotation::report::Activity;
use crate::rotation::reservation::delete_placeholder;
use crate::rotation::surge::surge_ready;
use crate::rotation::{Decision, Next};
use crate::schedule::{self, SHORT_REQUEUE};

/// Waits for the drain, or sends the delete that a crash has kept back.
pub(super) fn drain(rotation: &Rotation<'_>) -> Seen<Decision> {
    Seen::Continue(if rotation.claim.deleting() { wait(rotation) } else { resume(rotation) })
}

fn wait(rotation: &Rotation<'_>) -> Decision {
    let effects = Vec::from_iter(release_dying_host(rotation).or_else(|| release_unbound(rotation)));
    let mut decision = rotation.pass.act(Activity::Draining(rotation.name()), effects, Next::After(SHORT_REQUEUE));
    if drain_stuck(rotation) {
        decision.report.drain_stuck = true;
        decision.notices.push(Notice::DrainStuck { claim: rotation.name() });
    }
    decision
}

/// The drain exceeds the claim's own grace period and the buffer (§5.2, stuck drain).
fn drain_stuck(rotation: &Rotation<'_>) -> bool {
    let Some(since) = &rotation.claim.metadata.deletion_timestamp else {
        return false;
    };
    let elapsed: Duration = rotation.pass.now.duration_since(since.0).try_into().unwrap_or_default();
    elapsed > schedule::drain_bound(rotation.claim.spec.termination_grace_period())
}

/// A placeholder on a host that is itself being taken away reserves nothing, and its `do-not-disrupt` would hold up
/// that host's own drain (faults.md 0.7).
fn release_dying_host(rotation: &Rotation<'_>) -> Option<Planned> {
    let placeholder = rotation.close_up.placeholder.as_ref()?;
    let host = rotation.close_up.surge_node.as_ref()?;
    let leaving = node_leaving(host) || rotation.close_up.surge_claim.as_ref().is_some_and(|claim| claim.deleting());
    (leaving && placeholder.metadata.deletion_timestamp.is_none()).then(|| {
        delete_placeholder(placeholder).then(Announcement::ReservationLost {
            claim: rotation.name(),
            why: "the node that holds the reservation is being taken away".to_owned(),
        })
    })
}

/// A placeholder that has found no node by the time that its rotation gave the surge up only asks for one node more:
/// the drained Pods ask for themselves now.
fn release_unbound(rotation: &Rotation<'_>) -> Option<Planned> {
    let unbound = rotation.pass.marks.forceful_fallback && rotation.close_up.bound_to().is_none();
    let placeholder = rotation.close_up.placeholder.as_ref().filter(|pod| placeholder::belongs_to(pod, &rotation.name()));
    let placeholder = placeholder.filter(|pod| unbound && pod.metadata.deletion_timestamp.is_none());
    placeholder.map(|pod| delete_placeholder(pod).into())
}

/// The mirror is written but the delete was not sent. It is sent only if the reservation is still sound; otherwise
/// the rotation goes back to waiting for one (review 3). A rollback that has begun is never overtaken (review 1).
/// Without a surge there is nothing to look at again, and the delete is sent whatever the claim says (review 4).
fn resume(rotation: &Rotation<'_>) -> Decision {
    let sound = if rotation.pass.marks.forceful_fallback {
        Ok(())
    } else if rotation.marks.rollback.is_some() {
        Err("its rollback has begun")
    } else {
        surge_ready(rotation).map(drop)
    };
    match sound {
        Ok(()) => {
            let mut effects = Vec::from_iter(state_draining(rotation));
            effects.push(delete_old_claim(rotation, rotation.pass.marks.forceful_fallback));
            rotation.pass.act(Activity::Draining(rotation.name()), effects, Next::After(SHORT_REQUEUE))
        }
        Err(why) => step_back(rotation, why),
    }
}

fn step_back(rotation: &Rotation<'_>, why: &str) -> Decision {
    let change = [(ACTIVE_ROTATION_STATE, None), (DRAINING_AT, None), (SURGE_WAIT, None), (SURGE_PATH, None)].into();
    let lost = Announcement::ReservationLost { claim: rotation.name(), why: why.to_owned() };
    let effects = vec![Effect::AnnotatePool { pool: rotation.pass.pool_target(), change }.then(lost)];
    rotation.pass.act(Activity::Pending(rotation.name()), effects, Next::Again)
}

/// The delete of the old claim, with its announcement.
pub(super) fn delete_old_claim(rotation: &Rotation<'_>, forceful_fallback: bool) -> Planned {
    let node = rotation.claim.node_name().unwrap_or_default().to_owned();
    let started = Announcement::DrainStarted { claim: rotation.name(), node, forceful_fallback };
    Effect::DeleteClaim { claim: rotation.claim_target() }.then(started)
}
