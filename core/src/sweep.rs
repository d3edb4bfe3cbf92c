//! Markers that no rotation owns (§5.3, D9).
//!
//! Found by state and not by remembering: at the begin of each lead over the whole cluster, in every pass over a pool
//! without an anchor, and for pools that no longer exist. The markers are read first and the anchors last: a marker whose
//! anchor has come since is owned, and one whose anchor has gone since has changed, so that the write is refused.
//!
//! An anchor that is gone while its claim is in rotation, such as when a NodePool's annotations were replaced, is never
//! leave to begin a second rotation: a drain gets its anchor back, anything else is ended first.

#[cfg(test)]
pub(crate) mod tests;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::ResourceExt;

use crate::annotation::{
    ACTIVE_ROTATION, ACTIVE_ROTATION_STATE, CORDONED, Change, ClaimState, DO_NOT_DISRUPT_OWNED, DRAINING_AT, FAILED_AT, NODEPOOL_LABEL,
    ROLLBACK, STARTED_AT, STATE, SURGE_CLAIM, SURGE_FOR, clear_anchor, stamp,
};
use crate::karpenter::{NodeClaim, NodePool};
use crate::placeholder;
use crate::rotation::announcement::{Announcement, Swept};
use crate::rotation::effect::{Effect, Planned, Target};
use crate::rotation::mark;
use crate::rotation::reservation::delete_placeholder;

/// What may carry our marks; metadata is enough.
#[derive(Clone, Debug, Default)]
pub struct Marked {
    /// Placeholders in the controller's namespace.
    pub placeholders: Vec<Pod>,
    /// Nodes.
    pub nodes: Vec<Node>,
    /// NodeClaims.
    pub claims: Vec<NodeClaim>,
}

impl Marked {
    fn in_pool(&self, name: &str) -> Self {
        fn of<K: ResourceExt + Clone>(objects: &[K], name: &str) -> Vec<K> {
            objects.iter().filter(|object| pool_of(*object) == name).cloned().collect()
        }
        Self { placeholders: of(&self.placeholders, name), nodes: of(&self.nodes, name), claims: of(&self.claims, name) }
    }

    /// It is being deleted, and that by us as far as anybody can tell: of a state that nobody understands, or that a person
    /// has removed while the claim still has its surge, the safe thing is believed.
    pub(crate) fn may_drain(&self, claim: &NodeClaim, now: Timestamp) -> bool {
        claim.deleting()
            && match claim.marks(now).state {
                ClaimState::Draining | ClaimState::Unknown(_) => true,
                ClaimState::Fresh => self.has_surge(&claim.name_any()),
                ClaimState::Pending | ClaimState::Failed | ClaimState::Expired => false,
            }
    }

    fn has_surge(&self, claim: &str) -> bool {
        self.placeholders.iter().any(|pod| placeholder::belongs_to(pod, claim))
            || self.nodes.iter().any(|node| mark::is_marked_for(node, claim))
    }
}

/// The pool that an object belongs to, by Karpenter's label.
pub(crate) fn pool_of(object: &impl ResourceExt) -> String {
    object.labels().get(NODEPOOL_LABEL).cloned().unwrap_or_default()
}

/// Live reads: what may carry our marks, and after that the anchors of all pools.
#[derive(Clone, Debug, Default)]
pub struct Leftovers {
    /// Of one pool.
    pub marked: Marked,
    /// Every claim that the anchor of any pool names.
    pub anchored: BTreeSet<String>,
}

/// What is put right for one pool.
#[derive(Clone, Debug, PartialEq)]
pub struct Repair {
    /// Name of the pool; it may be gone.
    pub pool: String,
    /// Writes that belong together, in order; the first that fails ends the list.
    pub effects: Vec<Planned>,
}

/// The claims that the anchors of `pools` name.
#[must_use]
pub fn anchored(pools: &[NodePool], now: Timestamp) -> BTreeSet<String> {
    pools.iter().filter_map(|pool| pool.marks(now).anchor).collect()
}

/// Everything of the cluster that no rotation owns.
#[must_use]
pub fn of_cluster(marked: &Marked, pools: &[NodePool], now: Timestamp) -> Vec<Repair> {
    let anchored = anchored(pools, now);
    let mut names: BTreeSet<String> = pools.iter().map(ResourceExt::name_any).collect();
    names.extend(marked.placeholders.iter().map(pool_of));
    names.extend(marked.nodes.iter().map(pool_of));
    names.extend(marked.claims.iter().map(pool_of));
    let of_pool = |name: String| {
        let pool = pools.iter().find(|pool| pool.name_any() == name);
        let leftovers = Leftovers { marked: marked.in_pool(&name), anchored: anchored.clone() };
        of_pool(pool, &leftovers, now).into_iter().map(move |effects| Repair { pool: name.clone(), effects }).collect::<Vec<_>>()
    };
    names.into_iter().flat_map(of_pool).collect()
}

/// Anything that the caches show of a pool without an anchor may be a leftover; only live reads can tell.
#[must_use]
pub fn suspected(pool: Option<&NodePool>, marked: &Marked, now: Timestamp) -> bool {
    pool.is_some_and(has_companions)
        || !marked.placeholders.is_empty()
        || marked.nodes.iter().any(mark::is_marked)
        || marked.claims.iter().any(|claim| in_flight(claim, now))
}

/// What no rotation owns of one pool, as lists of writes that belong together. `None` is a pool that is gone.
#[must_use]
pub fn of_pool(pool: Option<&NodePool>, leftovers: &Leftovers, now: Timestamp) -> Vec<Vec<Planned>> {
    let Leftovers { marked, anchored } = leftovers;
    let lost = marked.claims.iter().filter(|claim| !anchored.contains(&claim.name_any()));
    // Nothing can be undone once the delete is sent: what such a drain has reserved stays until the claim is gone.
    let (draining, others): (Vec<&NodeClaim>, Vec<&NodeClaim>) = lost.partition(|claim| marked.may_drain(claim, now));
    let ended = others.into_iter().filter(|claim| in_flight(claim, now));
    let mut lists: Vec<Vec<Planned>> = Vec::new();
    if let Some(pool) = pool.filter(|pool| pool.marks(now).anchor.is_none()) {
        lists.extend(put_right(pool, &draining, now).map(|write| vec![write]));
    }
    let mut owners = anchored.clone();
    owners.extend(draining.iter().map(|claim| claim.name_any()));
    // The claim first: a leader that was paused in its rotation can then no longer delete it.
    let mut of_claims: BTreeMap<String, Vec<Planned>> = ended.map(|claim| (claim.name_any(), vec![end(claim, now)])).collect();
    let orphans = marked.placeholders.iter().filter(|pod| !owners.iter().any(|owner| placeholder::belongs_to(pod, owner)));
    for pod in orphans.filter(|pod| pod.metadata.deletion_timestamp.is_none()) {
        let claim = placeholder::claim_of(pod);
        let swept = Swept::Placeholder { claim: claim.clone(), placeholder: pod.name_any() };
        of_claims.entry(claim).or_default().push(delete_placeholder(pod).then(Announcement::Swept(swept)));
    }
    let anchor = pool.and_then(|pool| pool.marks(now).anchor);
    for node in &marked.nodes {
        let claim = node.annotations().get(SURGE_FOR).cloned();
        // A mark without a claim may be half of a pair that a rotation of the pool still works on.
        let owned = claim.as_ref().map_or_else(|| anchor.is_some(), |claim| owners.contains(claim));
        if let Some(effect) = mark::unmark(node).filter(|_| !owned) {
            let has = |key: &str| node.annotations().contains_key(key);
            let swept = Swept::Node {
                node: node.name_any(),
                claim: claim.clone(),
                thawed: has(SURGE_FOR) || has(DO_NOT_DISRUPT_OWNED),
                uncordoned: has(CORDONED),
            };
            of_claims.entry(claim.unwrap_or_default()).or_default().push(effect.then(Announcement::Swept(swept)));
        }
    }
    lists.extend(of_claims.into_values());
    lists
}

/// The anchor of the one drain that has lost it, or else the end of companions without an anchor (I4).
///
/// Of several drains nobody can say which was the pool's rotation: starts wait until one is left (review 6).
fn put_right(pool: &NodePool, draining: &[&NodeClaim], now: Timestamp) -> Option<Planned> {
    let target = Target::of(pool);
    if let [claim] = draining {
        let mut change: Change = [(ACTIVE_ROTATION, Some(claim.name_any())), (ACTIVE_ROTATION_STATE, Some("draining".to_owned()))].into();
        if let (None, Some(deleted)) = (pool.marks(now).draining_at, &claim.metadata.deletion_timestamp) {
            change.insert(DRAINING_AT, Some(stamp(deleted.0)));
        }
        let swept = Announcement::Swept(Swept::Anchor { claim: claim.name_any() });
        return Some(Effect::AnnotatePool { pool: target, change }.then(swept));
    }
    has_companions(pool).then(|| {
        let cleared = Effect::AnnotatePool { pool: target, change: clear_anchor() };
        cleared.then(Announcement::Swept(Swept::Companions))
    })
}

/// The end of a rotation without an anchor: taken by Karpenter if it is being deleted, else failed.
fn end(claim: &NodeClaim, now: Timestamp) -> Planned {
    let name = claim.name_any();
    let mut change: Change = [(STARTED_AT, None), (SURGE_CLAIM, None), (ROLLBACK, None)].into();
    let told = if claim.deleting() {
        change.insert(STATE, Some("expired".to_owned()));
        Announcement::Expired { claim: name, deadline_reached: None }
    } else {
        change.extend([(STATE, Some("failed".to_owned())), (FAILED_AT, Some(stamp(now)))]);
        Announcement::Swept(Swept::Claim { claim: name })
    };
    Effect::AnnotateClaim { claim: Target::of(claim), change }.then(told)
}

/// A rotation of the claim is under way, as far as the claim knows.
#[must_use]
pub fn in_flight(claim: &NodeClaim, now: Timestamp) -> bool {
    match claim.marks(now).state {
        ClaimState::Pending | ClaimState::Draining | ClaimState::Unknown(_) => true,
        ClaimState::Fresh | ClaimState::Failed | ClaimState::Expired => false,
    }
}

fn has_companions(pool: &NodePool) -> bool {
    clear_anchor().keys().any(|key| pool.annotations().contains_key(*key))
}
