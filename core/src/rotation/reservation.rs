//! The placeholder of a rotation: how it is asked for, and what keeps it from becoming a reservation (D7).

use std::collections::BTreeSet;

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;

use crate::annotation::REQUESTS;
use crate::karpenter::node_leaving;
use crate::placeholder::size::effective_requests;
use crate::placeholder::{self, Amount, Placeholder};
use crate::rotation::announcement::{Announcement, Notice};
use crate::rotation::effect::{Effect, Planned, Target};
use crate::rotation::observation::Seen;
use crate::rotation::pass::Rotation;
use crate::rotation::surge::phase;
use crate::selection;

/// The placeholder can no longer become a reservation: it has run to its end.
pub(super) fn dead(pod: &Pod, claim: &str) -> bool {
    placeholder::belongs_to(pod, claim) && pod.metadata.deletion_timestamp.is_none() && matches!(phase(pod), "Succeeded" | "Failed")
}

/// Deletes the placeholder that was observed, and no namesake of it.
pub(crate) fn delete_placeholder(pod: &Pod) -> Effect {
    Effect::DeletePlaceholder { namespace: pod.namespace().unwrap_or_default(), pod: Target::of(pod) }
}

/// A placeholder on a host that is itself being taken away reserves nothing, and its `do-not-disrupt` would hold up
/// that host's own drain (faults.md 0.7).
pub(super) fn release_dying_host(rotation: &Rotation<'_>) -> Option<Planned> {
    let placeholder = rotation.close_up.own_placeholder()?;
    // Without a bind the close-up shows the host that was recorded, and the placeholder is not on it.
    let host = rotation.close_up.bound_to().and(rotation.close_up.surge_node.as_ref())?;
    let leaving = node_leaving(host) || rotation.close_up.surge_claim.as_ref().is_some_and(|claim| claim.deleting());
    (leaving && placeholder.metadata.deletion_timestamp.is_none()).then(|| {
        delete_placeholder(placeholder).then(Announcement::ReservationLost {
            claim: rotation.name(),
            why: "the node that holds the reservation is being taken away".to_owned(),
        })
    })
}

/// What a placeholder asks for less of than it was made with: an admission webhook, a LimitRange or a resize has changed
/// it, and what it reserves is not what the drain will need (review 10).
pub(super) fn diminished(pod: &Pod) -> Option<String> {
    let written = pod.annotations().get(REQUESTS)?;
    let asked = effective_requests(pod);
    let less = written.split(',').filter_map(|pair| pair.split_once('=')).filter_map(|(name, text)| {
        let (wanted, asked) = (Amount::parse(text).ok()?, asked.get(name).copied().unwrap_or_default());
        (asked < wanted).then(|| format!("{name} {asked} instead of {wanted}"))
    });
    let less: Vec<String> = less.collect();
    (!less.is_empty()).then(|| less.join(", "))
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
        image_pull_secrets: &settings.placeholder_pull_secrets,
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

/// Until then the scheduler's refusal only says that Karpenter is at work.
const PROVISIONING: SignedDuration = SignedDuration::from_secs(60);

/// What to tell about a placeholder that does not run.
pub(super) fn obstacle(rotation: &Rotation<'_>, pod: &Pod) -> Option<Notice> {
    let claim = rotation.name();
    if !placeholder::belongs_to(pod, &claim) {
        let message = format!("the Pod {} exists and is not a placeholder of this claim; delete or rename it", pod.name_any());
        return Some(Notice::SurgeRejected { claim, message });
    }
    if let Some(less) = diminished(pod) {
        let message = format!("the Pod {} was made smaller on its way in: {less}; leave its requests alone", pod.name_any());
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
