//! What the command `cleanup` takes off a cluster, as the list of its writes.
//!
//! Without `everything` that is what no rotation owns, by the rule of [`crate::sweep`] and no other. With it, as before a
//! removal, nobody owns anything any more: every trace that this program has left is taken off, also of a rotation in
//! flight. Nothing is deleted but placeholders; a drain that has begun is Karpenter's, and goes on.
//!
//! Marks do not say whose they are. The placeholder of a rotation does, by its namespace: the marks of a claim with a
//! placeholder elsewhere are another installation's. While another installation leads, so are all that have none.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::ResourceExt;

use crate::annotation::{
    ACTIVE_ROTATION, CLAIM_KEYS, Change, LAST_FAILURE_AT, LAST_ROTATION_AT, SURGE_FOR, WINDOW_OPENED_AT, clear_anchor,
};
use crate::karpenter::{NodeClaim, NodePool};
use crate::placeholder;
use crate::rotation::effect::{Effect, Planned, Target};
use crate::rotation::mark;
use crate::rotation::reservation::delete_placeholder;
use crate::sweep::{self, Marked, Repair, pool_of};

/// Whose marks may be taken off, and how many of them.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    /// Namespace of the installation.
    pub namespace: &'a str,
    /// Another installation leads now, from another namespace.
    pub rival: bool,
    /// Also what a rotation owns, and what is remembered of those that are over.
    pub everything: bool,
}

/// What is to be written, and what is not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// In order; what belongs together is in one of them.
    pub repairs: Vec<Repair>,
    /// What stays, in the order in which it is told.
    pub left: BTreeSet<Left>,
}

/// Something that stays, and why.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Left {
    /// A rotation in flight owns its marks.
    Rotation {
        /// The NodePool.
        pool: String,
        /// The NodeClaim in rotation.
        claim: String,
    },
    /// The drain has begun.
    Drain {
        /// The NodeClaim that Karpenter drains.
        claim: String,
    },
    /// Launched for a rotation that is taken back; it may be in use.
    Launched {
        /// The NodeClaim.
        claim: String,
        /// The NodeClaim in whose place it was to be.
        instead_of: String,
    },
    /// A placeholder outside the installation's namespace.
    Placeholder {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// Marks that may be another installation's.
    Foreign {
        /// `NodePool`, `NodeClaim` or `Node`.
        kind: &'static str,
        /// Name of the object.
        name: String,
    },
}

/// What is to be done about these marks. They were read before the pools, and live.
#[must_use]
pub fn plan(marked: &Marked, pools: &[NodePool], scope: Scope<'_>, now: Timestamp) -> Plan {
    let (marked, own, mut left) = own(marked, pools, scope);
    if scope.everything {
        left.extend(marked.claims.iter().filter_map(|claim| stays(&marked, claim, now)));
        return Plan { repairs: everything(&marked, &own), left };
    }
    let anchored = sweep::anchored(pools, now);
    let draining = marked.claims.iter().filter(|claim| marked.may_drain(claim, now) && !anchored.contains(&claim.name_any()));
    left.extend(draining.map(|claim| Left::Drain { claim: claim.name_any() }));
    let rotating = own.iter().filter_map(|pool| Some((pool.name_any(), pool.marks(now).anchor?)));
    left.extend(rotating.map(|(pool, claim)| Left::Rotation { pool, claim }));
    // All pools, since an anchor owns its marks whosever it is.
    let repairs = sweep::of_cluster(&marked, pools, now).into_iter();
    // A drain that has lost its anchor is the operator's to take up again; its claim goes either way.
    let kept =
        |repair: &Repair| !repair.effects.iter().any(|planned| anchors(&planned.effect) || touches_other_pool(&planned.effect, &own));
    Plan { repairs: repairs.filter(kept).collect(), left }
}

fn anchors(effect: &Effect) -> bool {
    matches!(effect, Effect::AnnotatePool { change, .. } if change.get(ACTIVE_ROTATION).is_some_and(Option::is_some))
}

fn touches_other_pool(effect: &Effect, own: &[NodePool]) -> bool {
    matches!(effect, Effect::AnnotatePool { pool, .. } if !own.iter().any(|known| known.name_any() == pool.name))
}

/// The marks without those that are another installation's, which are named.
fn own(marked: &Marked, pools: &[NodePool], scope: Scope<'_>) -> (Marked, Vec<NodePool>, BTreeSet<Left>) {
    let mut left = BTreeSet::new();
    let ours = |pod: &&Pod| pod.namespace().as_deref() == Some(scope.namespace);
    let (own, others): (Vec<&Pod>, Vec<&Pod>) = marked.placeholders.iter().partition(ours);
    left.extend(others.iter().map(|pod| Left::Placeholder { namespace: pod.namespace().unwrap_or_default(), name: pod.name_any() }));
    let has = |pods: &[&Pod], claim: &str| pods.iter().any(|pod| placeholder::belongs_to(pod, claim));
    let foreign = |claim: Option<&str>| match claim {
        Some(claim) if has(&own, claim) => false,
        Some(claim) => scope.rival || has(&others, claim),
        None => scope.rival,
    };
    let mut keep = |kind: &'static str, name: String, is_marked: bool, foreign: bool| {
        if is_marked && foreign {
            left.insert(Left::Foreign { kind, name });
        }
        !foreign
    };
    let claims = marked.claims.iter().filter(|claim| {
        let name = claim.name_any();
        let foreign = foreign(Some(&name));
        keep("NodeClaim", name, !traces(*claim, &CLAIM_KEYS).is_empty(), foreign)
    });
    let claims = claims.cloned().collect();
    let nodes = marked.nodes.iter().filter(|node| {
        let foreign = foreign(node.annotations().get(SURGE_FOR).map(String::as_str));
        keep("Node", node.name_any(), mark::is_marked(node), foreign)
    });
    let nodes = nodes.cloned().collect();
    let pools = pools.iter().filter(|pool| {
        let foreign = foreign(pool.annotations().get(ACTIVE_ROTATION).map(String::as_str));
        keep("NodePool", pool.name_any(), !traces(*pool, &pool_keys()).is_empty(), foreign)
    });
    let pools = pools.cloned().collect();
    (Marked { placeholders: own.into_iter().cloned().collect(), nodes, claims }, pools, left)
}

/// What of a claim's rotation stays although its marks go.
fn stays(marked: &Marked, claim: &NodeClaim, now: Timestamp) -> Option<Left> {
    let name = claim.name_any();
    if marked.may_drain(claim, now) {
        return Some(Left::Drain { claim: name });
    }
    let launched = claim.marks(now).surge_claim?;
    Some(Left::Launched { claim: launched, instead_of: name })
}

/// For each pool, what there is of ours: claims first, so that a leader that was paused can no longer delete them, and the
/// anchor last, so that whoever comes after a crash finds what is left (I3).
fn everything(marked: &Marked, pools: &[NodePool]) -> Vec<Repair> {
    let mut names: BTreeSet<String> = pools.iter().map(ResourceExt::name_any).collect();
    names.extend(marked.placeholders.iter().map(pool_of));
    names.extend(marked.nodes.iter().map(pool_of));
    names.extend(marked.claims.iter().map(pool_of));
    let of_pool = |pool: String| {
        let mut effects: Vec<Planned> = Vec::new();
        for claim in marked.claims.iter().filter(|claim| pool_of(*claim) == pool) {
            let change = traces(claim, &CLAIM_KEYS);
            effects.extend((!change.is_empty()).then(|| Effect::AnnotateClaim { claim: Target::of(claim), change }.into()));
        }
        let placeholders = marked.placeholders.iter().filter(|pod| pool_of(*pod) == pool && pod.metadata.deletion_timestamp.is_none());
        effects.extend(placeholders.map(|pod| delete_placeholder(pod).into()));
        effects.extend(marked.nodes.iter().filter(|node| pool_of(*node) == pool).filter_map(release).map(Planned::from));
        if let Some(object) = pools.iter().find(|object| object.name_any() == pool) {
            let change = traces(object, &pool_keys());
            effects.extend((!change.is_empty()).then(|| Effect::AnnotatePool { pool: Target::of(object), change }.into()));
        }
        (!effects.is_empty()).then_some(Repair { pool, effects })
    };
    names.into_iter().filter_map(of_pool).collect()
}

/// Our marks off; a Node that is being taken away is not opened for Pods again.
fn release(node: &Node) -> Option<Effect> {
    let mut effect = mark::unmark(node)?;
    if let Effect::MarkNode { unschedulable, .. } = &mut effect
        && node.metadata.deletion_timestamp.is_some()
    {
        *unschedulable = None;
    }
    Some(effect)
}

/// Everything that this program writes on a NodePool. What people write there, `freeze`, is not among it.
fn pool_keys() -> Vec<&'static str> {
    clear_anchor().into_keys().chain([LAST_ROTATION_AT, LAST_FAILURE_AT, WINDOW_OPENED_AT]).collect()
}

/// The removal of those of the keys that are there.
fn traces(object: &impl ResourceExt, keys: &[&'static str]) -> Change {
    keys.iter().filter(|key| object.annotations().contains_key(**key)).map(|key| (*key, None)).collect()
}
