//! Is the reserved capacity sound (§5.2 `surge_ready`, D7).

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::ResourceExt;

use crate::karpenter::{NodeClaim, node_leaving, node_ready};
use crate::rotation::pass::Rotation;
use crate::rotation::reservation::diminished;

/// A sound reservation.
pub(super) struct Surge<'a> {
    /// The Node that the placeholder runs on.
    pub(super) node: &'a Node,
    /// `provisioned` or `absorbed`.
    pub(super) path: &'static str,
}

/// The sound reservation of a rotation, or what is missing, in words.
pub(super) fn surge_ready<'a>(rotation: &Rotation<'a>) -> Result<Surge<'a>, &'static str> {
    let close_up = rotation.close_up;
    close_up.placeholder.as_ref().ok_or("the placeholder does not exist")?;
    let placeholder = close_up.own_placeholder().ok_or("a Pod that is not ours has the placeholder's name")?;
    if placeholder.metadata.deletion_timestamp.is_some() {
        return Err("the placeholder is being deleted");
    }
    if diminished(placeholder).is_some() {
        return Err("the placeholder asks for less than it was made with");
    }
    if phase(placeholder) != "Running" {
        return Err("the placeholder is not running");
    }
    let host = close_up.bound_to().ok_or("the placeholder is not bound to a node")?;
    let node = close_up.surge_node.as_ref().filter(|node| node.name_any() == host).ok_or("the placeholder's node does not exist")?;
    if rotation.claim.node_name() == Some(host) {
        return Err("the placeholder runs on the node that is to be replaced");
    }
    if !rotation.pass.has_node(node) {
        return Err("the placeholder runs on a node of another NodePool");
    }
    if !node_ready(node) {
        return Err("the placeholder's node is not Ready");
    }
    let claim = close_up.surge_claim.as_ref().filter(|claim| claim.node_name() == Some(host));
    let claim = claim.ok_or("the placeholder's node has no NodeClaim")?;
    if node_leaving(node) || claim.deleting() {
        return Err("the placeholder's node is being taken away");
    }
    if !claim.is_true("Initialized") {
        return Err("the placeholder's node is not initialized");
    }
    Ok(Surge { node, path: path(claim, placeholder) })
}

/// The claim was launched for this surge: it is younger than the placeholder, by the API server's own clock (review 11).
pub(super) fn induced(claim: &NodeClaim, placeholder: &Pod) -> bool {
    let since: Option<Timestamp> = placeholder.creation_timestamp().map(|t| t.0);
    since.is_some_and(|since| claim.created() > since)
}

fn path(claim: &NodeClaim, placeholder: &Pod) -> &'static str {
    if induced(claim, placeholder) { "provisioned" } else { "absorbed" }
}

/// `Pending`, `Running`, `Succeeded`, `Failed`, or empty.
pub(super) fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default()
}
