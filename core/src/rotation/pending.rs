//! A claim that waits for its surge (§5.2, `pending`).
//!
//! Every pass asserts what the phase needs, so that it makes no difference where an earlier pass was cut off.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;

use crate::annotation::{
    ACTIVE_ROTATION_STATE, Change, ClaimState, DRAINING_AT, STARTED_AT, STATE, SURGE_CLAIM, SURGE_PATH, SURGE_WAIT, stamp, stored,
};
use crate::duration::go_string;
use crate::karpenter::node_leaving;
use crate::placeholder::{self, Placeholder};
use crate::rotation::announcement::{Announcement, Notice};
use crate::rotation::effect::{Effect, Planned, Target};
use crate::rotation::observation::Seen;
use crate::rotation::pass::Rotation;
use crate::rotation::report::Activity;
use crate::rotation::surge::{Surge, phase, surge_ready};
use crate::rotation::{Decision, Next, expired, mark, rollback};
use crate::schedule::{LONG_REQUEUE, SHORT_REQUEUE};
use crate::selection;

/// Reserves the capacity, and begins the drain once the reservation is sound.
pub(super) fn pursue(rotation: &Rotation<'_>) -> Seen<Decision> {
    let pass = rotation.pass;
    // First of all: Karpenter or a person may have taken the claim already.
    if rotation.claim.deleting() {
        return expired::force_expiring(rotation);
    }
    let Some(governing) = pass.governing.as_deref() else {
        return rollback::governance_lost(rotation);
    };
    let started_at = rotation.marks.started_at.unwrap_or_else(|| stored(pass.now));
    if rotation.marks.rollback || elapsed(started_at, pass.now) > governing.ready_timeout {
        return rollback::time_out(rotation, governing);
    }
    let mut effects = assert_pending(rotation, started_at);
    // A freeze holds what is reserved but escalates nothing.
    if pass.marks.frozen() {
        return Seen::Continue(pass.act(activity(rotation), effects, Next::After(LONG_REQUEUE)));
    }
    match &rotation.close_up.placeholder {
        None => create_placeholder(rotation, effects),
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
                let mut decision = pass.act(activity(rotation), effects, Next::After(SHORT_REQUEUE));
                decision.notices.extend(obstacle(rotation, pod));
                Seen::Continue(decision)
            }
        },
    }
}

fn activity(rotation: &Rotation<'_>) -> Activity {
    Activity::Pending(rotation.name())
}

fn elapsed(since: Timestamp, now: Timestamp) -> Duration {
    now.duration_since(since).try_into().unwrap_or_default()
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
    if bound.is_some() && bound != rotation.marks.surge_claim {
        change.insert(SURGE_CLAIM, bound);
    }
    let mut effects = Vec::new();
    if !change.is_empty() {
        effects.push(Effect::AnnotateClaim { claim: rotation.claim_target(), change }.into());
    }
    let candidate = rotation.close_up.node.as_ref();
    effects.extend(candidate.and_then(|node| mark::freeze_candidate(node, &rotation.name())).map(Planned::from));
    // As soon as the bind is seen: an unprotected host is fair game for consolidation. A host that is leaving is
    // not protected; the reservation there is worthless.
    let host = rotation.close_up.bound_to().and(rotation.close_up.surge_node.as_ref());
    let host = host.filter(|node| !node_leaving(node) && rotation.claim.node_name() != Some(node.name_any().as_str()));
    effects.extend(host.and_then(|node| mark::freeze_host(node, &rotation.name())).map(Planned::from));
    effects
}

/// The placeholder can no longer become a reservation: it has run to its end.
fn dead(pod: &Pod, claim: &str) -> bool {
    placeholder::belongs_to(pod, claim) && pod.metadata.deletion_timestamp.is_none() && matches!(phase(pod), "Succeeded" | "Failed")
}

/// Deletes the placeholder that was observed, and no namesake of it.
pub(super) fn delete_placeholder(pod: &Pod) -> Effect {
    Effect::DeletePlaceholder { namespace: pod.namespace().unwrap_or_default(), pod: Target::of(pod) }
}

/// The placeholder of the rotation's claim; `None` when the claim's node does not exist.
pub(super) fn placeholder(rotation: &Rotation<'_>) -> Seen<Option<Placeholder>> {
    let pass = rotation.pass;
    let (Some(node), Some(governing)) = (&rotation.close_up.node, pass.governing.as_deref()) else {
        return Seen::Continue(None);
    };
    let pods = rotation.close_up.pods_on_candidate()?;
    let mut excluded: BTreeSet<String> = pass.survey.iter().flat_map(|survey| survey.triggered_hosts.clone()).collect();
    excluded.insert(selection::hostname(node));
    let template = &pass.pool().spec.template.spec;
    let settings = &pass.observation.settings;
    let allocatable = rotation.claim.status.as_ref().map(|status| status.allocatable.clone()).unwrap_or_default();
    let request = placeholder::Request {
        claim: &rotation.name(),
        pool: &pass.pool_name(),
        namespace: &settings.namespace,
        image: &settings.placeholder_image,
        priority_class: &settings.priority_class,
        pool_taints: &template.taints,
        pool_requirements: &template.requirements,
        claim_requirements: &rotation.claim.spec.requirements,
        claim_allocatable: &allocatable,
        node,
        pods,
        excluded_hostnames: &excluded,
        required_keys: &governing.required_keys,
        preferred_keys: &governing.preferred_keys,
        whole_node_reservation: governing.whole_node_reservation,
    };
    Seen::Continue(Some(placeholder::build(&request)))
}

fn create_placeholder(rotation: &Rotation<'_>, mut effects: Vec<Planned>) -> Seen<Decision> {
    if let Some(placeholder) = placeholder(rotation)? {
        let created = Announcement::PlaceholderCreated {
            claim: rotation.name(),
            placeholder: placeholder.pod.name_any(),
            sizing: Box::new(placeholder.sizing),
        };
        effects.push(Effect::CreatePlaceholder { pod: Box::new(placeholder.pod) }.then(created));
    }
    Seen::Continue(rotation.pass.act(activity(rotation), effects, Next::After(SHORT_REQUEUE)))
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
    vec![mirror.into(), state.then(ready), delete_old_claim(rotation)]
}

/// The delete of the old claim, with its announcement.
pub(super) fn delete_old_claim(rotation: &Rotation<'_>) -> Planned {
    let node = rotation.claim.node_name().unwrap_or_default().to_owned();
    Effect::DeleteClaim { claim: rotation.claim_target() }.then(Announcement::DrainStarted { claim: rotation.name(), node })
}

/// Until then the scheduler's refusal only says that Karpenter is at work.
const PROVISIONING: SignedDuration = SignedDuration::from_secs(60);

/// What to tell about a placeholder that does not run.
fn obstacle(rotation: &Rotation<'_>, pod: &Pod) -> Option<Notice> {
    let claim = rotation.name();
    if !placeholder::belongs_to(pod, &claim) {
        let message = format!("the Pod {} exists and is not a placeholder of this claim; delete or rename it", pod.name_any());
        return Some(Notice::SurgeRejected { claim, message });
    }
    let waiting = pod.creation_timestamp().map(|created| rotation.pass.now.duration_since(created.0));
    if waiting.is_none_or(|waiting| waiting < PROVISIONING) {
        return None;
    }
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    let refused =
        conditions.iter().find(|c| c.type_ == "PodScheduled" && c.status == "False" && c.reason.as_deref() == Some("Unschedulable"))?;
    Some(Notice::SurgeUnschedulable { claim, placeholder: pod.name_any(), message: refused.message.clone().unwrap_or_default() })
}
