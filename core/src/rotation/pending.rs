//! A claim that waits for its surge (§5.2, `pending`).
//!
//! Every pass asserts what the phase needs, so that it makes no difference where an earlier pass was cut off.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;

use crate::annotation::{
    ACTIVE_ROTATION_STATE, Ahead, Change, ClaimState, DRAINING_AT, REQUESTS, Rollback, STARTED_AT, STATE, SURGE_CLAIM, SURGE_PATH,
    SURGE_WAIT, stamp, stored,
};
use crate::duration::go_string;
use crate::karpenter::{NodeClaim, node_leaving};
use crate::placeholder::Placeholder;
use crate::policy::governing::Governing;
use crate::rotation::announcement::Announcement;
use crate::rotation::draining::delete_old_claim;
use crate::rotation::effect::{Effect, Planned};
use crate::rotation::observation::Seen;
use crate::rotation::pass::Rotation;
use crate::rotation::report::Activity;
use crate::rotation::reservation::{dead, delete_placeholder, obstacle, placeholder, release_dying_host};
use crate::rotation::surge::{Surge, surge_ready};
use crate::rotation::{Decision, Next, ahead, expired, fallback, mark, rollback};
use crate::schedule::{BUFFER, LONG_REQUEUE, SHORT_REQUEUE};

/// Reserves the capacity, and begins the drain once the reservation is sound.
pub(super) fn pursue(rotation: &Rotation<'_>) -> Seen<Decision> {
    let pass = rotation.pass;
    // First of all: Karpenter or a person may have taken the claim already.
    if rotation.claim.deleting() {
        return expired::force_expiring(rotation);
    }
    let Some(governing) = pass.governing.as_deref().filter(|_| rotation.marks.rollback != Some(Rollback::GovernanceLost)) else {
        return rollback::governance_lost(rotation);
    };
    let started_at = rotation.marks.started_at.unwrap_or_else(|| stored(pass.now));
    // A rollback that has begun comes to its end, and so does the time limit, unless there is no time for another
    // attempt: then the claim is drained with what there is.
    let overdue = fallback::overdue(rotation, governing) && rotation.marks.rollback.is_none();
    if overdue && surge_ready(rotation).is_err() {
        return Seen::Continue(fallback::convert(rotation));
    }
    if rotation.marks.rollback.is_some() || !overdue && elapsed(started_at, pass.now) > governing.ready_timeout {
        return rollback::time_out(rotation);
    }
    let mut effects = assert_pending(rotation, started_at);
    if let Some(release) = release_dying_host(rotation) {
        effects.push(release);
        return Seen::Continue(pass.act(activity(rotation), effects, Next::Again));
    }
    // A freeze holds what is reserved but escalates nothing.
    if pass.marks.frozen() {
        return Seen::Continue(pass.act(activity(rotation), effects, Next::After(LONG_REQUEUE)));
    }
    let left = governing.ready_timeout.saturating_sub(elapsed(started_at, pass.now));
    match &rotation.close_up.placeholder {
        None => create_placeholder(rotation, effects, left),
        Some(pod) if dead(pod, &rotation.name()) => {
            effects.push(delete_placeholder(pod).into());
            Seen::Continue(pass.act(activity(rotation), effects, Next::Again))
        }
        Some(pod) => match surge_ready(rotation) {
            Ok(surge) => {
                effects.extend(begin_drain(rotation, &surge, started_at));
                Seen::Continue(pass.act(Activity::Draining(rotation.name()), effects, Next::After(SHORT_REQUEUE)))
            }
            Err(_) => {
                let mut decision = pass.act(activity(rotation), effects, Next::After(waits(left)));
                decision.notices.extend(obstacle(rotation, pod));
                Seen::Continue(decision)
            }
        },
    }
}

/// When a claim that waits for its surge comes to something else by the passing of time alone, as of `now`: its time limit,
/// or the last instant for a drain without a surge. `None` when both have passed.
pub(super) fn next_turn(governing: &Governing, claim: &NodeClaim, now: Timestamp) -> Option<Timestamp> {
    let started_at = claim.marks(now).started_at.unwrap_or_else(|| stored(now));
    // The limit is strict.
    let limit = started_at.checked_add(governing.ready_timeout.saturating_add(Duration::from_secs(1))).ok();
    let last_chance = claim.deadline().filter(|_| governing.forceful_fallback).and_then(|deadline| deadline.checked_sub(BUFFER).ok());
    limit.into_iter().chain(last_chance).filter(|at| *at > now).min()
}

fn activity(rotation: &Rotation<'_>) -> Activity {
    Activity::Pending(rotation.name())
}

fn elapsed(since: Timestamp, now: Timestamp) -> Duration {
    now.duration_since(since).try_into().unwrap_or_default()
}

/// Until the next look, where nothing happens before: no later than the end of the time that is left, which is strict.
fn waits(left: Duration) -> Duration {
    SHORT_REQUEUE.min(left.saturating_add(Duration::from_secs(1)))
}

/// State, start and surge claim on the claim; marks on both nodes.
fn assert_pending(rotation: &Rotation<'_>, started_at: Timestamp) -> Vec<Planned> {
    let mut change = Change::new();
    if rotation.marks.state != ClaimState::Pending {
        change.insert(STATE, Some("pending".to_owned()));
    }
    if rotation.marks.started_at.is_none() {
        change.insert(STARTED_AT, Some(stamp(started_at)));
    }
    let bound = rotation.close_up.bound_to().and(rotation.close_up.surge_claim.as_ref()).map(ResourceExt::name_any);
    let bound = bound.filter(|bound| *bound != rotation.name());
    if bound.is_some() && bound != rotation.marks.surge_claim {
        change.insert(SURGE_CLAIM, bound);
    }
    let mut effects = Vec::new();
    if !change.is_empty() {
        let effect = Effect::AnnotateClaim { claim: rotation.claim_target(), change };
        let anew: Vec<Ahead> = rotation.marks.ahead.iter().filter(|ahead| ahead.key == STARTED_AT).cloned().collect();
        effects.push(Planned { effect, then: ahead::announcements(Some(&rotation.name()), &anew) });
    }
    let candidate = rotation.close_up.node.as_ref();
    effects.extend(candidate.and_then(|node| Some((node, mark::freeze_candidate(node, &rotation.name())?))).map(protecting(rotation)));
    // As soon as the bind is seen: an unprotected host is fair game for consolidation. A host that is leaving, or that a
    // person has given to another pool, is not protected; the reservation there is worthless.
    let host = rotation.close_up.bound_to().and(rotation.close_up.surge_node.as_ref());
    let host = host.filter(|node| !node_leaving(node) && rotation.pass.has_node(node));
    let host = host.filter(|node| rotation.claim.node_name() != Some(node.name_any().as_str()));
    effects.extend(host.and_then(|node| Some((node, mark::freeze_host(node, &rotation.name())?))).map(protecting(rotation)));
    effects
}

/// The protection of a Node, and what is told where it replaces somebody's words.
fn protecting(rotation: &Rotation<'_>) -> impl Fn((&Node, Effect)) -> Planned {
    let claim = rotation.name();
    move |(node, effect)| {
        let value = mark::unrecognised(node).map(str::to_owned);
        let opt_out = value.map(|value| Announcement::UnrecognisedOptOut { claim: claim.clone(), node: node.name_any(), value });
        Planned { effect, then: opt_out.into_iter().collect() }
    }
}

fn create_placeholder(rotation: &Rotation<'_>, mut effects: Vec<Planned>, left: Duration) -> Seen<Decision> {
    if let Some(Placeholder { mut pod, sizing }) = placeholder(rotation)? {
        pod.annotations_mut().insert(REQUESTS.to_owned(), sizing.requests_line());
        let created = Announcement::PlaceholderCreated { claim: rotation.name(), placeholder: pod.name_any(), sizing: Box::new(sizing) };
        effects.push(Effect::CreatePlaceholder { pod: Box::new(pod) }.then(created));
    }
    Seen::Continue(rotation.pass.act(activity(rotation), effects, Next::After(waits(left))))
}

/// Mirror, claim, delete, in this order: the mirror decides the outcome once the claim is gone (I2, §5.3).
fn begin_drain(rotation: &Rotation<'_>, surge: &Surge<'_>, started_at: Timestamp) -> Vec<Planned> {
    let pass = rotation.pass;
    let surge_wait = elapsed(started_at, stored(pass.now));
    let mirror = Effect::AnnotatePool {
        pool: pass.pool_target(),
        change: [
            (ACTIVE_ROTATION_STATE, Some("draining".to_owned())),
            (DRAINING_AT, Some(stamp(pass.now))),
            (SURGE_WAIT, Some(go_string(surge_wait))),
            (SURGE_PATH, Some(surge.path.to_owned())),
        ]
        .into(),
    };
    let state = Effect::AnnotateClaim { claim: rotation.claim_target(), change: [(STATE, Some("draining".to_owned()))].into() };
    let ready = Announcement::SurgeReady {
        claim: rotation.name(),
        surge_node: surge.node.name_any(),
        surge_wait,
        surge_path: Some(surge.path.to_owned()),
    };
    // Told with the delete: until that is sent the rotation may still step back, and come here again.
    let mut delete = delete_old_claim(rotation, false);
    delete.then.insert(0, ready);
    vec![mirror.into(), state.into(), delete]
}
