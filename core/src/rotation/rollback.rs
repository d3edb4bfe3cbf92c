//! Undoing a rotation that never left pending: the surge took too long, or the pool lost its policy (§5.2, D9).
//!
//! The first write is a fence on the claim. Whoever decided on an earlier version of the claim, such as a leader that
//! was paused after it saw a ready surge, can then no longer delete it (review 1).

use std::time::Duration;

use jiff::Timestamp;
use kube::ResourceExt;

use crate::annotation::{Change, FAILED_AT, RETRY_COUNT, ROLLBACK, Rollback, STARTED_AT, STATE, SURGE_CLAIM, clear_anchor, stamp, stored};
use crate::karpenter::NodeClaim;
use crate::placeholder;
use crate::rotation::announcement::Announcement;
use crate::rotation::cleanup::clean_up;
use crate::rotation::effect::{Effect, Planned, Target};
use crate::rotation::mark;
use crate::rotation::observation::Seen;
use crate::rotation::pass::Rotation;
use crate::rotation::report::Activity;
use crate::rotation::surge::induced;
use crate::rotation::{Decision, Next, failed};
use crate::schedule::LONG_REQUEUE;

/// Karpenter before 1.14.3 wedges for good when a claim is deleted within about a second of its creation
/// (faults.md 0.5).
const YOUNGEST_TO_REAP: Duration = Duration::from_secs(10);

/// The surge took longer than `readyTimeout`: the attempt has failed.
pub(super) fn time_out(rotation: &Rotation<'_>) -> Seen<Decision> {
    let failed_at = failed::later_than_the_last(&rotation.pass.marks, stored(rotation.pass.now));
    let retry_count = rotation.marks.retry_count.saturating_add(1);
    let on_claim = [(STATE, Some("failed".to_owned())), (FAILED_AT, Some(stamp(failed_at))), (RETRY_COUNT, Some(retry_count.to_string()))];
    undo(rotation, Rollback::ReadyTimeout, on_claim.into(), failed::release(rotation, failed_at, retry_count))
}

/// No policy governs the pool any more: nothing has failed, so no retry is counted and no pause begins.
///
/// Also where one governs it again since: what has begun comes to its end, and the claim is then eligible at once.
pub(super) fn governance_lost(rotation: &Rotation<'_>) -> Seen<Decision> {
    let why = match &rotation.pass.governing {
        Some(_) => "for a while no RotationPolicy governed the NodePool".to_owned(),
        None => rotation.pass.conflict().unwrap_or_else(|| "no RotationPolicy selects the NodePool".to_owned()),
    };
    let lost = Announcement::GovernanceLost { claim: rotation.name(), why };
    let release = Effect::AnnotatePool { pool: rotation.pass.pool_target(), change: clear_anchor() }.then(lost);
    undo(rotation, Rollback::GovernanceLost, [(STATE, None)].into(), release)
}

/// Fence, reap, placeholder, nodes, claim, anchor: each pass goes as far as what it has seen allows.
fn undo(rotation: &Rotation<'_>, reason: Rollback, on_claim: Change, release: Planned) -> Seen<Decision> {
    let pass = rotation.pass;
    let activity = Activity::RollingBack(rotation.name());
    if rotation.marks.rollback.is_none() {
        let change = [(ROLLBACK, Some(reason.text().to_owned()))].into();
        let fence = Effect::AnnotateClaim { claim: rotation.claim_target(), change };
        return Seen::Continue(pass.act(activity, vec![fence.into()], Next::Again));
    }
    let mut effects = match reap(rotation)? {
        Reap::Nothing => Vec::new(),
        Reap::Close(cordon) => return Seen::Continue(pass.act(activity, vec![cordon.into()], Next::Again)),
        Reap::Wait(wait) => return Seen::Continue(pass.rest(activity, Next::After(wait))),
        Reap::Delete(delete) => vec![delete.into()],
    };
    effects.extend(clean_up(rotation.close_up, &rotation.name())?);
    let mut change: Change = [(STARTED_AT, None), (SURGE_CLAIM, None), (ROLLBACK, None)].into();
    change.extend(on_claim);
    effects.push(Effect::AnnotateClaim { claim: rotation.claim_target(), change }.into());
    effects.push(release);
    Seen::Continue(pass.act(activity, effects, Next::After(LONG_REQUEUE)))
}

/// What becomes of the claim that was launched for the surge.
enum Reap {
    /// There is none, or it is not ours to delete.
    Nothing,
    /// Close its Node first, so that it stays empty.
    Close(Effect),
    /// Too young to be deleted safely.
    Wait(Duration),
    /// Empty: delete it.
    Delete(Effect),
}

/// Only the claim that the placeholder was seen bound to, only if it was launched for it, and only if its Node runs
/// nothing real (I8). Anything else is Karpenter's to consolidate.
fn reap(rotation: &Rotation<'_>) -> Seen<Reap> {
    let Some(claim) = reapable(rotation) else {
        return Seen::Continue(Reap::Nothing);
    };
    let age: Duration = rotation.pass.now.duration_since(claim.created()).try_into().unwrap_or_default();
    if age < YOUNGEST_TO_REAP {
        return Seen::Continue(Reap::Wait(YOUNGEST_TO_REAP - age));
    }
    let Some(node) = &rotation.close_up.surge_node else {
        return Seen::Continue(Reap::Nothing);
    };
    if let Some(cordon) = mark::cordon_host(node, &rotation.name()) {
        return Seen::Continue(Reap::Close(cordon));
    }
    let pods = rotation.close_up.pods_on_surge_node()?;
    let ours = |pod: &&k8s_openapi::api::core::v1::Pod| rotation.close_up.own_placeholder().is_some_and(|p| p.uid() == pod.uid());
    let empty = !pods.iter().filter(|pod| !ours(pod)).any(placeholder::is_workload);
    Seen::Continue(if empty { Reap::Delete(Effect::DeleteClaim { claim: Target::of(claim) }) } else { Reap::Nothing })
}

fn reapable<'a>(rotation: &Rotation<'a>) -> Option<&'a NodeClaim> {
    let claim = rotation.close_up.surge_claim.as_ref()?;
    let placeholder = rotation.close_up.own_placeholder()?;
    let persisted = rotation.marks.surge_claim.as_deref() == Some(claim.name_any().as_str());
    let now: Timestamp = rotation.pass.now;
    (persisted
        && claim.name_any() != rotation.name()
        && rotation.pass.has_claim(claim)
        && !claim.deleting()
        && claim.created() <= now
        && induced(claim, placeholder))
    .then_some(claim)
}
