//! Marks on Nodes: the freeze of the surge pair and the cordon of the candidate (§5.3).
//!
//! What a person has set is never adopted, changed or removed (I6): our own marks say which of the two is ours.

use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;

use crate::annotation::{CORDONED, Change, DO_NOT_DISRUPT, DO_NOT_DISRUPT_OWNED, SURGE_FOR};
use crate::karpenter::protected_by_operator;
use crate::rotation::effect::{Effect, Proceed, Target};

/// Protects the candidate from Karpenter and keeps new Pods away; `None` when nothing is left to do.
///
/// It is cordoned only together with the first mark: a cordon that a person has lifted since stays lifted (review 13).
pub(super) fn freeze_candidate(node: &Node, claim: &str) -> Option<Effect> {
    let mut change = protection(node, claim);
    let cordon = !is_marked_for(node, claim) && !unschedulable(node);
    if cordon {
        change.insert(CORDONED, Some("true".to_owned()));
    } else if node.annotations().contains_key(CORDONED) && !unschedulable(node) {
        change.insert(CORDONED, None);
    }
    mark(node, change, cordon.then_some(true), Proceed::UnlessLeaving)
}

/// Protects the host of the surge from Karpenter; `None` when nothing is left to do.
pub(super) fn freeze_host(node: &Node, claim: &str) -> Option<Effect> {
    mark(node, protection(node, claim), None, Proceed::UnlessLeaving)
}

/// Closes the host of the surge before it is judged empty, so that it stays so (review 8).
///
/// `None` when it is closed already.
pub(super) fn cordon_host(node: &Node, claim: &str) -> Option<Effect> {
    if unschedulable(node) {
        return None;
    }
    let change = [(SURGE_FOR, Some(claim.to_owned())), (CORDONED, Some("true".to_owned()))].into();
    mark(node, change, Some(true), Proceed::Always)
}

/// A person's `do-not-disrupt` that Karpenter does not take for a protection, and that ours replaces; a plain `false` asks
/// for none.
pub(super) fn unrecognised(node: &Node) -> Option<&str> {
    let value = node.annotations().get(DO_NOT_DISRUPT)?;
    let ours = node.annotations().contains_key(DO_NOT_DISRUPT_OWNED);
    (!ours && value != "true" && value != "false").then_some(value)
}

/// Takes every mark of ours off.
pub(crate) fn unmark(node: &Node) -> Option<Effect> {
    let mut change = Change::new();
    let has = |key: &str| node.annotations().contains_key(key);
    if has(SURGE_FOR) {
        change.insert(SURGE_FOR, None);
    }
    if has(DO_NOT_DISRUPT_OWNED) {
        change.insert(DO_NOT_DISRUPT_OWNED, None);
        if has(DO_NOT_DISRUPT) {
            change.insert(DO_NOT_DISRUPT, None);
        }
    }
    // Nodes are looked up by metadata alone; what is not known to be schedulable is made so.
    let uncordon = has(CORDONED) && (node.spec.is_none() || unschedulable(node));
    if has(CORDONED) {
        change.insert(CORDONED, None);
    }
    mark(node, change, uncordon.then_some(false), Proceed::Always)
}

/// The Node carries any mark of ours.
pub(crate) fn is_marked(node: &Node) -> bool {
    [SURGE_FOR, DO_NOT_DISRUPT_OWNED, CORDONED].iter().any(|key| node.annotations().contains_key(*key))
}

/// The Node carries the mark of the rotation of `claim`.
pub(crate) fn is_marked_for(node: &Node, claim: &str) -> bool {
    node.annotations().get(SURGE_FOR).map(String::as_str) == Some(claim)
}

/// No new Pods are scheduled there.
pub(super) fn unschedulable(node: &Node) -> bool {
    node.spec.as_ref().and_then(|spec| spec.unschedulable).unwrap_or(false)
}

fn protection(node: &Node, claim: &str) -> Change {
    let mut change = Change::new();
    if !is_marked_for(node, claim) {
        change.insert(SURGE_FOR, Some(claim.to_owned()));
    }
    let ours = node.annotations().contains_key(DO_NOT_DISRUPT_OWNED);
    let in_force = node.annotations().get(DO_NOT_DISRUPT).map(String::as_str) == Some("true");
    if !(protected_by_operator(node.annotations()) || ours && in_force) {
        change.insert(DO_NOT_DISRUPT, Some("true".to_owned()));
        change.insert(DO_NOT_DISRUPT_OWNED, Some("true".to_owned()));
    }
    change
}

fn mark(node: &Node, change: Change, unschedulable: Option<bool>, proceed: Proceed) -> Option<Effect> {
    (!change.is_empty() || unschedulable.is_some()).then(|| Effect::MarkNode { node: Target::of(node), change, unschedulable, proceed })
}
