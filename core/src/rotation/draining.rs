//! A claim whose mirror says that it drains (§5.2, `draining`).
//!
//! Once the delete is sent nothing can be rolled back: the gate stays held until the claim is gone, however long that
//! takes, because a second rotation would take a second node (I1).

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;

use crate::annotation::{ACTIVE_ROTATION_STATE, Change, ClaimState, DRAINING_AT, STATE, SURGE_CLAIM, SURGE_PATH, SURGE_WAIT};
use crate::karpenter::{NodeClaim, node_leaving};
use crate::rotation::announcement::Announcement;
use crate::rotation::effect::{Effect, Planned};
use crate::rotation::fallback::state_draining;
use crate::rotation::observation::Seen;
use crate::rotation::pass::{Pass, Rotation};
use crate::rotation::report::Activity;
use crate::rotation::reservation::{delete_placeholder, release_dying_host};
use crate::rotation::surge::surge_ready;
use crate::rotation::{Decision, Next, stuck};
use crate::schedule::SHORT_REQUEUE;

/// Waits for the drain, or makes up for a delete that was kept back.
pub(super) fn drain(rotation: &Rotation<'_>) -> Seen<Decision> {
    if rotation.claim.deleting() { wait(rotation) } else { Seen::Continue(unsent(rotation)) }
}

/// A drain of which the caches show nothing but that it goes on: it may take a day, and live reads would tell no more
/// (review 28). `None` when there is something to look at.
pub(super) fn undisturbed(pass: &Pass<'_>, name: &str) -> Option<Decision> {
    let observation = pass.observation;
    if observation.close_up.is_some() || !pass.marks.draining {
        return None;
    }
    let claim = observation.claims.iter().find(|claim| claim.name_any() == name && claim.deleting())?;
    let disturbed = stuck::is_stuck(claim, pass.now) || observation.placeholders.iter().any(|pod| looks_worthless(pass, pod));
    (!disturbed).then(|| pass.rest(Activity::Draining(name.to_owned()), Next::After(SHORT_REQUEUE)))
}

/// As far as the caches show, the placeholder reserves nothing.
fn looks_worthless(pass: &Pass<'_>, pod: &Pod) -> bool {
    let host = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()).filter(|host| !host.is_empty());
    let Some(host) = host else {
        return pass.marks.forceful_fallback;
    };
    let node = pass.observation.nodes.iter().find(|node| node.name_any() == host);
    let claim = pass.observation.claims.iter().find(|claim| claim.node_name() == Some(host));
    node.is_some_and(node_leaving) || claim.is_some_and(NodeClaim::deleting)
}

fn wait(rotation: &Rotation<'_>) -> Seen<Decision> {
    let stuck =
        if stuck::is_stuck(rotation.claim, rotation.pass.now) { Some(stuck::notice(rotation.close_up, rotation.claim)?) } else { None };
    let effects = Vec::from_iter(release_dying_host(rotation).or_else(|| release_unbound(rotation)));
    let mut decision = rotation.pass.act(Activity::Draining(rotation.name()), effects, Next::After(SHORT_REQUEUE));
    decision.report.drain_stuck = stuck.is_some();
    decision.notices.extend(stuck);
    Seen::Continue(decision)
}

/// A placeholder that has found no node by the time that its rotation gave the surge up only asks for one node more:
/// the drained Pods ask for themselves now.
fn release_unbound(rotation: &Rotation<'_>) -> Option<Planned> {
    let unbound = rotation.pass.marks.forceful_fallback && rotation.close_up.bound_to().is_none();
    let placeholder = rotation.close_up.own_placeholder().filter(|pod| unbound && pod.metadata.deletion_timestamp.is_none());
    placeholder.map(|pod| delete_placeholder(pod).into())
}

/// The mirror is written and the delete was not sent, such as after a crash.
///
/// Without a surge there is nothing to look at again: the delete is sent whatever the claim says (review 4). Otherwise the
/// rotation goes back to waiting for a sound reservation, and from there to the mirror again (review 3): whoever deletes
/// has written the mirror in the same list of writes. A rollback that has begun is never overtaken (review 1).
fn unsent(rotation: &Rotation<'_>) -> Decision {
    if !rotation.pass.marks.forceful_fallback {
        return step_back(rotation);
    }
    let mut effects = Vec::from_iter(state_draining(rotation));
    effects.push(delete_old_claim(rotation, true));
    rotation.pass.act(Activity::Draining(rotation.name()), effects, Next::After(SHORT_REQUEUE))
}

/// First the claim, as for a rollback: another leader that is just between its mirror and its delete can then no longer
/// delete it, since its version has changed. That leader has recorded the surge claim before the mirror.
fn step_back(rotation: &Rotation<'_>) -> Decision {
    let mut effects = Vec::new();
    let mut fence = Change::new();
    if rotation.marks.state == ClaimState::Draining {
        fence.insert(STATE, Some("pending".to_owned()));
    }
    if rotation.marks.surge_claim.is_some() {
        fence.insert(SURGE_CLAIM, None);
    }
    if rotation.marks.rollback.is_none() && !fence.is_empty() {
        effects.push(Effect::AnnotateClaim { claim: rotation.claim_target(), change: fence }.into());
    }
    let change = [(ACTIVE_ROTATION_STATE, None), (DRAINING_AT, None), (SURGE_WAIT, None), (SURGE_PATH, None)].into();
    let lost = surge_ready(rotation).err().map(|why| Announcement::ReservationLost { claim: rotation.name(), why: why.to_owned() });
    let release = Effect::AnnotatePool { pool: rotation.pass.pool_target(), change };
    effects.push(Planned { effect: release, then: lost.into_iter().collect() });
    rotation.pass.act(Activity::Pending(rotation.name()), effects, Next::Again)
}

/// The delete of the old claim, with its announcement.
pub(super) fn delete_old_claim(rotation: &Rotation<'_>, forceful_fallback: bool) -> Planned {
    let node = rotation.claim.node_name().unwrap_or_default().to_owned();
    let started = Announcement::DrainStarted { claim: rotation.name(), node, forceful_fallback };
    Effect::DeleteClaim { claim: rotation.claim_target() }.then(started)
}
