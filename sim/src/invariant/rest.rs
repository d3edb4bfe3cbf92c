//! What must hold once nothing more happens: at an instant in which everybody has done what there was to do, and at the
//! end of a fair run (L1 to L3, I5).

use super::Violation;
use super::schedule::overdue;
use crate::annotation::{COMPANIONS, Key, Value};
use crate::setup::Setup;
use crate::world::World;
use crate::world::object::{Claim, Pool, Role};

/// At an instant at which everybody rests.
#[must_use]
pub fn check_instant(setup: &Setup, world: &World) -> Option<Violation> {
    let late = world.pools.iter().find_map(|pool| overdue(setup, world, pool).map(|claim| (pool, claim)));
    if let Some((pool, claim)) = late {
        return Some(Violation::new("L2", format!("claim-{} of pool-{} could be rotated and is not", claim.id, pool.id)));
    }
    orphans(world).map(|orphan| Violation::new("I5", format!("{orphan}, and no anchor names it")))
}

/// At the end of a fair run.
#[must_use]
pub fn check_end(world: &World) -> Option<Violation> {
    for pool in &world.pools {
        if pool.annotations.has(Key::Anchor) && !stuck(world, pool) {
            let anchor = pool.annotations.get(Key::Anchor).text();
            return Some(Violation::new("L1", format!("the rotation of {anchor} in pool-{} never ends", pool.id)));
        }
        let left = COMPANIONS.iter().find(|key| pool.annotations.has(**key) && !pool.annotations.has(Key::Anchor));
        if let Some(key) = left {
            return Some(Violation::new("L3", format!("{key:?} is left on pool-{}", pool.id)));
        }
    }
    let in_rotation = |claim: &&Claim| !anchors(world, claim.id) && progress(claim);
    let left = world.claims.iter().find(in_rotation);
    left.map(|claim| Violation::new("L3", format!("claim-{} is left {:?}", claim.id, claim.annotations.get(Key::State).text())))
}

/// The claim says that it is in rotation.
fn progress(claim: &Claim) -> bool {
    let state = claim.annotations.get(Key::State);
    state.is("pending")
        || state.is("draining")
        || [Key::StartedAt, Key::SurgeClaim, Key::Rollback].iter().any(|key| claim.annotations.has(*key))
}

/// The claim in rotation drains and a PodDisruptionBudget holds it up.
#[must_use]
pub fn stuck(world: &World, pool: &Pool) -> bool {
    let claim = pool.annotations.get(Key::Anchor).as_claim().and_then(|id| world.claim(id));
    claim.is_some_and(|claim| claim.deleted.is_some() && claim.stuck)
}

fn anchors(world: &World, claim: u16) -> bool {
    world.pools.iter().any(|pool| pool.annotations.get(Key::Anchor) == Value::claim(claim))
}

/// A mark of ours on a Node, or a placeholder, whose claim no anchor names.
fn orphans(world: &World) -> Option<String> {
    for node in &world.nodes {
        // A pool in rotation sweeps when that is over.
        if world.pool(node.pool).is_some_and(|pool| pool.annotations.has(Key::Anchor)) {
            continue;
        }
        let owner = node.annotations.get(Key::SurgeFor).as_claim();
        let marks = [Key::SurgeFor, Key::ProtectionOwned, Key::Cordoned];
        if let Some(key) = marks.iter().find(|key| node.annotations.has(**key) && !owner.is_some_and(|id| anchors(world, id))) {
            return Some(format!("{key:?} survives on node-{}", node.id));
        }
    }
    let ours = world.pods.iter().filter(|pod| pod.labelled);
    let ids = ours.filter_map(|pod| match pod.role {
        Role::Placeholder(id) => Some(id),
        Role::Work(_) => None,
    });
    ids.into_iter().find(|id| !anchors(world, *id)).map(|id| format!("the placeholder of claim-{id} survives"))
}
