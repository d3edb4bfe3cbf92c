//! What people do, at any time and without looking at what the operator is in the middle of.

use std::fmt;

use super::{Move, Moves, Object};
use crate::annotation::{Annotations, CLAIM, Key, NODE, POOL, Value};
use crate::instant::MINUTE;
use crate::setup::{POLICIES, Policy, Setup};
use crate::world::World;
use crate::world::object::{Claim, Deleter, Phase, Role};

/// How long a person freezes a pool.
const FREEZE: u32 = 20 * MINUTE;

/// What people do, and whoever else writes to the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PersonMove {
    /// Freezes a pool for a while.
    Freeze(u8),
    /// Freezes a pool in words.
    FreezeInWords(u8),
    /// Takes a freeze away.
    Unfreeze(u8),
    /// Takes away, or gives back, the label that the policy selects.
    Select(u8, bool),
    /// Makes the pool static, or not.
    Fix(u8, bool),
    /// Lowers the pool's limits to what it has, or lifts them.
    Fill(u8, bool),
    /// Changes the policy.
    Govern(Policy),
    /// Makes the API server refuse placeholders, or let them in again.
    Reject(bool),
    /// Cordons a node, or lifts a cordon.
    Cordon(u16, bool),
    /// Protects a node, or takes the protection away.
    Protect(u16, bool),
    /// Deletes a claim.
    DeleteClaim(u16),
    /// Deletes a placeholder.
    DeletePlaceholder(u16),
    /// Gives a claim and its node to another pool.
    Relabel(u16, u8),
    /// Creates a Pod with the name of a placeholder.
    Squat(u16),
    /// Takes all annotations of ours away.
    Strip(Object),
    /// Writes nonsense over the state of a claim.
    Garble(u16),
    /// Writes the name of a claim into a pool's anchor.
    Misanchor(u8, Value),
}

pub(super) fn moves(world: &World, setup: &Setup, moves: &mut Moves) {
    let may = setup.perturbations;
    let mut all = Vec::with_capacity(64);
    if may.people {
        about_pools(world, &mut all);
        about_nodes(world, &mut all);
        about_claims(world, &mut all);
    }
    if may.stripping {
        let stripped = |annotations: &Annotations, keys: &[Key]| keys.iter().all(|key| *key == Key::Protection || !annotations.has(*key));
        all.extend(world.pools.iter().filter(|p| !stripped(&p.annotations, &POOL)).map(|p| PersonMove::Strip(Object::Pool(p.id))));
        all.extend(world.claims.iter().filter(|c| !stripped(&c.annotations, &CLAIM)).map(|c| PersonMove::Strip(Object::Claim(c.id))));
        all.extend(world.nodes.iter().filter(|n| !stripped(&n.annotations, &NODE)).map(|n| PersonMove::Strip(Object::Node(n.id))));
    }
    if may.garbage {
        all.extend(world.claims.iter().filter(|c| !c.annotations.get(Key::State).is("banana")).map(|c| PersonMove::Garble(c.id)));
        for pool in world.pools.iter().filter(|pool| !pool.annotations.has(Key::Anchor)) {
            all.push(PersonMove::Misanchor(pool.id, Value::word("claim-none")));
            let foreign = world.claims.iter().find(|claim| claim.pool != pool.id);
            all.extend(foreign.map(|claim| PersonMove::Misanchor(pool.id, Value::claim(claim.id))));
        }
    }
    moves.extend(all.into_iter().map(|what| (Move::Person(what), 1)));
}

fn about_pools(world: &World, all: &mut Vec<PersonMove>) {
    for pool in &world.pools {
        let freeze = pool.annotations.get(Key::Freeze);
        if freeze.is_present() {
            all.push(PersonMove::Unfreeze(pool.id));
        } else {
            all.extend([PersonMove::Freeze(pool.id), PersonMove::FreezeInWords(pool.id)]);
        }
        all.extend([
            PersonMove::Select(pool.id, !pool.selected),
            PersonMove::Fix(pool.id, !pool.fixed),
            PersonMove::Fill(pool.id, !pool.full),
        ]);
    }
    all.extend(POLICIES.iter().filter(|policy| **policy != world.policy).map(|policy| PersonMove::Govern(*policy)));
    all.push(PersonMove::Reject(!world.rejecting));
}

fn about_nodes(world: &World, all: &mut Vec<PersonMove>) {
    for node in &world.nodes {
        all.push(PersonMove::Cordon(node.id, !node.unschedulable));
        all.push(PersonMove::Protect(node.id, !node.annotations.get(Key::Protection).is("true")));
    }
}

fn about_claims(world: &World, all: &mut Vec<PersonMove>) {
    for claim in &world.claims {
        if claim.deleted.is_none() {
            all.push(PersonMove::DeleteClaim(claim.id));
        }
        let others = world.pools.iter().filter(|pool| pool.id != claim.pool);
        all.extend(others.map(|pool| PersonMove::Relabel(claim.id, pool.id)));
        if world.pod(Role::Placeholder(claim.id)).is_some() {
            all.push(PersonMove::DeletePlaceholder(claim.id));
        } else {
            all.push(PersonMove::Squat(claim.id));
        }
    }
}

pub(super) fn change(world: &mut World, what: PersonMove) {
    let now = world.now;
    match what {
        PersonMove::Freeze(id) => annotate(world, id, Key::Freeze, Value::stamp(now.plus(FREEZE))),
        PersonMove::FreezeInWords(id) => annotate(world, id, Key::Freeze, Value::word("soon")),
        PersonMove::Unfreeze(id) => annotate(world, id, Key::Freeze, Value::ABSENT),
        PersonMove::Misanchor(id, value) => annotate(world, id, Key::Anchor, value),
        PersonMove::Select(id, selected) => world.change_pool(id, |pool| pool.selected = selected),
        PersonMove::Fix(id, fixed) => world.change_pool(id, |pool| pool.fixed = fixed),
        PersonMove::Fill(id, full) => world.change_pool(id, |pool| pool.full = full),
        PersonMove::Govern(policy) => world.policy = policy,
        PersonMove::Reject(rejecting) => world.rejecting = rejecting,
        PersonMove::Cordon(id, unschedulable) => world.change_node(id, |node| {
            node.unschedulable = unschedulable;
            // With our mark still on it nobody could tell.
            node.cordoned_by_person = unschedulable && !node.annotations.has(Key::Cordoned);
        }),
        PersonMove::Protect(id, protected) => world.change_node(id, |node| {
            node.annotations.set(Key::Protection, if protected { Value::word("true") } else { Value::ABSENT });
            node.protected_by_person = protected && !node.annotations.has(Key::ProtectionOwned);
        }),
        PersonMove::DeleteClaim(id) => world.change_claim(id, |claim| {
            claim.deleted = Some(now);
            claim.deleter = Some(Deleter::Person);
        }),
        PersonMove::DeletePlaceholder(id) => world.pods.retain(|pod| pod.role != Role::Placeholder(id)),
        PersonMove::Relabel(id, pool) => {
            world.change_claim(id, |claim| {
                claim.pool = pool;
                // What drains there now is the person's doing.
                claim.deleter = claim.deleter.map(|_| Deleter::Person);
            });
            world.change_node(id, |node| node.pool = pool);
        }
        PersonMove::Squat(id) => {
            world.add_pod(Role::Placeholder(id), 1, None, None, Phase::Pending);
            world.change_pod(Role::Placeholder(id), |pod| pod.labelled = false);
        }
        PersonMove::Garble(id) => world.change_claim(id, |claim| {
            claim.annotations.set(Key::State, Value::word("banana"));
        }),
        PersonMove::Strip(object) => strip(world, object),
    }
}

fn annotate(world: &mut World, id: u8, key: Key, value: Value) {
    world.change_pool(id, |pool| {
        pool.annotations.set(key, value);
        if key == Key::Anchor {
            pool.told = 0;
        }
    });
}

/// Takes every key of our prefix away. What they said was ours now looks like a person's, to everybody.
fn strip(world: &mut World, object: Object) {
    match object {
        Object::Pool(id) => world.change_pool(id, |pool| {
            pool.annotations = Annotations::default();
            pool.told = 0;
            pool.begun = false;
            pool.answer_lost = false;
            pool.stripped = true;
        }),
        Object::Claim(id) => world.change_claim(id, |claim: &mut Claim| claim.annotations = Annotations::default()),
        Object::Node(id) => world.change_node(id, |node| {
            let protection = node.annotations.get(Key::Protection);
            node.annotations = Annotations::default();
            node.annotations.set(Key::Protection, protection);
            node.protected_by_person = protection.is("true");
            node.cordoned_by_person = node.unschedulable;
        }),
    }
}

impl PersonMove {
    /// What it is, without whom it befalls.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Self::Freeze(_) => "freeze",
            Self::FreezeInWords(_) => "freeze in words",
            Self::Unfreeze(_) => "unfreeze",
            Self::Select(_, true) => "label pool",
            Self::Select(_, false) => "unlabel pool",
            Self::Fix(..) => "static pool",
            Self::Fill(..) => "limit pool",
            Self::Govern(Policy::Valid) => "policy valid",
            Self::Govern(Policy::Hasty) => "policy changed",
            Self::Govern(Policy::Gone) => "policy deleted",
            Self::Govern(Policy::Invalid) => "policy invalid",
            Self::Govern(Policy::Tied) => "policies tied",
            Self::Reject(_) => "placeholders refused",
            Self::Cordon(_, true) => "cordon",
            Self::Cordon(_, false) => "uncordon",
            Self::Protect(_, true) => "protect",
            Self::Protect(_, false) => "unprotect",
            Self::DeleteClaim(_) => "delete claim by hand",
            Self::DeletePlaceholder(_) => "delete placeholder by hand",
            Self::Relabel(..) => "relabel claim",
            Self::Squat(_) => "squat",
            Self::Strip(Object::Pool(_)) => "strip pool",
            Self::Strip(Object::Claim(_)) => "strip claim",
            Self::Strip(Object::Node(_)) => "strip node",
            Self::Garble(_) => "garble",
            Self::Misanchor(..) => "misanchor",
        }
    }
}

impl fmt::Display for PersonMove {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Freeze(id) => write!(f, "a person freezes pool-{id} for a while"),
            Self::FreezeInWords(id) => write!(f, "a person freezes pool-{id} until \"soon\""),
            Self::Unfreeze(id) => write!(f, "a person unfreezes pool-{id}"),
            Self::Select(id, true) => write!(f, "a person labels pool-{id} for the policy"),
            Self::Select(id, false) => write!(f, "a person takes the policy's label off pool-{id}"),
            Self::Fix(id, true) => write!(f, "a person makes pool-{id} static"),
            Self::Fix(id, false) => write!(f, "a person makes pool-{id} dynamic"),
            Self::Fill(id, true) => write!(f, "a person limits pool-{id} to the nodes that it has"),
            Self::Fill(id, false) => write!(f, "a person lifts the limit of pool-{id}"),
            Self::Govern(policy) => write!(f, "a person changes the policy: {policy:?}"),
            Self::Reject(true) => write!(f, "the API server begins to refuse placeholders"),
            Self::Reject(false) => write!(f, "the API server lets placeholders in again"),
            Self::Cordon(id, true) => write!(f, "a person cordons node-{id}"),
            Self::Cordon(id, false) => write!(f, "a person uncordons node-{id}"),
            Self::Protect(id, true) => write!(f, "a person protects node-{id}"),
            Self::Protect(id, false) => write!(f, "a person takes the protection off node-{id}"),
            Self::DeleteClaim(id) => write!(f, "a person deletes claim-{id}"),
            Self::DeletePlaceholder(id) => write!(f, "a person deletes the placeholder of claim-{id}"),
            Self::Relabel(id, pool) => write!(f, "a person gives claim-{id} to pool-{pool}"),
            Self::Squat(id) => write!(f, "somebody's Pod takes the name of the placeholder of claim-{id}"),
            Self::Strip(object) => write!(f, "a person takes our annotations off {object}"),
            Self::Garble(id) => write!(f, "a person writes \"banana\" as the state of claim-{id}"),
            Self::Misanchor(id, value) => write!(f, "a person writes {} into the anchor of pool-{id}", value.text()),
        }
    }
}
