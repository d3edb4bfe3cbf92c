//! Karpenter's part: nodes come, are chosen for disruption, drain and go.

use std::collections::BTreeSet;

use std::fmt;

use super::{Move, Moves, Object, scheduler};
use crate::annotation::{Annotations, CLAIM, NODE, POOL, Value};
use crate::setup::Setup;
use crate::world::World;
use crate::world::object::{Claim, Deleter, Phase, Pod, Role, Stage};

/// What Karpenter and the cloud do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KarpenterMove {
    /// Nodes neither come nor go and nothing is scheduled, or everything goes on.
    Stall(bool),
    /// It launches a node for a Pod, in the same second or in a later one than whatever else happens now.
    Launch(Role, bool),
    /// A node registers.
    Register(u16),
    /// A node is initialized.
    Initialize(u16),
    /// The cloud has no capacity: the claim goes.
    LaunchFails(u16),
    /// It deletes a claim that has reached its deadline.
    Expire(u16),
    /// It chooses a claim for disruption.
    Disrupt(u16),
    /// It changes its mind.
    Undisrupt(u16),
    /// It deletes a claim that it has chosen.
    DeleteDisrupted(u16),
    /// It begins to take the node of a deleted claim away.
    Terminate(u16),
    /// A deleted claim has drained and is gone.
    Finish(u16),
    /// A PodDisruptionBudget holds a drain up for good.
    Stick(u16),
    /// A node stops being Ready.
    Fail(u16),
    /// It is Ready again.
    Recover(u16),
    /// It writes something that does not matter, but raises the version.
    Touch(Object),
}

pub(super) fn moves(world: &World, setup: &Setup, turn: Option<Move>, moves: &mut Moves) {
    let may = setup.perturbations.machines;
    let mut does = |what, cost| moves.push((Move::Karpenter(what), cost));
    if world.stalled || may {
        does(KarpenterMove::Stall(!world.stalled), u32::from(!world.stalled));
    }
    if world.claims.len() < setup.most_claims {
        for pod in world.pods.iter().filter(|pod| !world.stalled && world.waits_for_a_node(pod, setup)) {
            for what in [false, true].map(|later| KarpenterMove::Launch(pod.role, later)) {
                does(what, Move::Karpenter(what).out_of(turn));
            }
        }
    }
    for claim in &world.claims {
        ordinary(world, claim).into_iter().for_each(|what| does(what, Move::Karpenter(what).out_of(turn)));
        match (claim.deleted, claim.stage) {
            _ if !may => {}
            (Some(_), _) if claim.stuck => {}
            (Some(_), _) => does(KarpenterMove::Stick(claim.id), 1),
            (None, Stage::Launched) => does(KarpenterMove::LaunchFails(claim.id), 1),
            (None, _) if claim.disrupted => does(KarpenterMove::Undisrupt(claim.id), 1),
            (None, _) => does(KarpenterMove::Disrupt(claim.id), 1),
        }
    }
    for node in &world.nodes {
        if !node.ready {
            does(KarpenterMove::Recover(node.id), 0);
        } else if may {
            does(KarpenterMove::Fail(node.id), 1);
        }
    }
    // Only somebody in the middle of a pass can be hurt by it, and to act then costs anyway.
    if may && world.workers.iter().any(|worker| worker.pass.is_some()) {
        world.pools.iter().for_each(|pool| does(KarpenterMove::Touch(Object::Pool(pool.id)), 0));
        world.claims.iter().for_each(|claim| does(KarpenterMove::Touch(Object::Claim(claim.id)), 0));
        world.nodes.iter().for_each(|node| does(KarpenterMove::Touch(Object::Node(node.id)), 0));
    }
}

/// What Karpenter, the scheduler or the kubelet have to do now, the first of it.
#[must_use]
pub fn turn(world: &World, setup: &Setup) -> Option<Move> {
    let claims = world.claims.iter().find_map(|claim| ordinary(world, claim));
    let room = world.claims.len() < setup.most_claims && !world.stalled;
    let launch =
        || world.pods.iter().find(|pod| room && world.waits_for_a_node(pod, setup)).map(|pod| KarpenterMove::Launch(pod.role, true));
    let pods = || scheduler::turn(world, setup).map(Move::Scheduler);
    claims.map(Move::Karpenter).or_else(pods).or_else(|| launch().map(Move::Karpenter))
}

/// What Karpenter does with a claim in the ordinary course of things.
fn ordinary(world: &World, claim: &Claim) -> Option<KarpenterMove> {
    if let Some(deleted) = claim.deleted {
        let node = world.node(claim.id);
        if node.is_some_and(|node| !node.deleting) {
            return Some(KarpenterMove::Terminate(claim.id));
        }
        // A Pod with do-not-disrupt holds the drain up until the grace period is over, or for ever without one.
        let held = world.pods_on(claim.id).any(|pod| pod.labelled && pod.phase != Phase::Failed);
        let over = claim.grace > 0 && world.now.since(deleted) >= claim.grace;
        return (!claim.stuck && !world.stalled && (!held || over)).then_some(KarpenterMove::Finish(claim.id));
    }
    if claim.deadline().is_some_and(|deadline| world.now >= deadline) {
        return Some(KarpenterMove::Expire(claim.id));
    }
    if claim.disrupted {
        return Some(KarpenterMove::DeleteDisrupted(claim.id));
    }
    match claim.stage {
        Stage::Launched if !world.stalled => Some(KarpenterMove::Register(claim.id)),
        Stage::Registered if !world.stalled => Some(KarpenterMove::Initialize(claim.id)),
        Stage::Launched | Stage::Registered | Stage::Ready => None,
    }
}

pub(super) fn change(world: &mut World, setup: &Setup, what: KarpenterMove) {
    let now = world.now;
    match what {
        KarpenterMove::Stall(stalled) => world.stalled = stalled,
        KarpenterMove::Launch(role, later) => launch(world, setup, role, u32::from(later)),
        KarpenterMove::Register(id) => {
            world.change_claim(id, |claim| claim.stage = Stage::Registered);
            if let Some(pool) = world.claim(id).map(|claim| claim.pool) {
                world.add_node(id, pool);
            }
        }
        KarpenterMove::Initialize(id) => world.change_claim(id, |claim| claim.stage = Stage::Ready),
        KarpenterMove::LaunchFails(id) => world.claims.retain(|claim| claim.id != id),
        KarpenterMove::Expire(id) | KarpenterMove::DeleteDisrupted(id) => world.change_claim(id, |claim| {
            claim.deleted = Some(now);
            claim.deleter = Some(Deleter::Karpenter);
        }),
        KarpenterMove::Disrupt(id) => {
            world.change_claim(id, |claim| claim.disrupted = true);
            world.change_node(id, |node| node.tainted = true);
        }
        KarpenterMove::Undisrupt(id) => {
            world.change_claim(id, |claim| claim.disrupted = false);
            world.change_node(id, |node| node.tainted = false);
        }
        KarpenterMove::Terminate(id) => world.change_node(id, |node| {
            node.tainted = true;
            node.deleting = true;
        }),
        KarpenterMove::Finish(id) => finish(world, id),
        KarpenterMove::Stick(id) => world.claims.iter_mut().filter(|claim| claim.id == id).for_each(|claim| claim.stuck = true),
        KarpenterMove::Fail(id) => world.change_node(id, |node| node.ready = false),
        KarpenterMove::Recover(id) => world.change_node(id, |node| node.ready = true),
        KarpenterMove::Touch(Object::Pool(id)) => world.change_pool(id, |_| {}),
        KarpenterMove::Touch(Object::Claim(id)) => world.change_claim(id, |_| {}),
        KarpenterMove::Touch(Object::Node(id)) => world.change_node(id, |_| {}),
    }
}

fn launch(world: &mut World, setup: &Setup, role: Role, later: u32) {
    let launched_for = match role {
        Role::Placeholder(id) => Some(id),
        Role::Work(_) => None,
    };
    let pool = world.pod(role).and_then(|pod| pod.pool).unwrap_or_default();
    let template = setup.seeds.iter().find(|seed| seed.pool == pool);
    let mentioned = world.mentioned();
    let id = (0..u16::MAX).find(|id| !mentioned.contains(id)).unwrap_or(u16::MAX);
    let claim = Claim {
        id,
        version: world.next_version(),
        pool,
        created: world.now.plus(later),
        expire_after: template.map_or(0, |seed| seed.expire_after),
        grace: template.map_or(0, |seed| seed.grace),
        deleted: None,
        stage: Stage::Launched,
        disrupted: false,
        annotations: Annotations::default(),
        launched_for,
        awaited: world.pods.iter().filter_map(waiting).fold(0, |all, bit| all | bit),
        deleter: None,
        stuck: false,
        withdrawn: false,
    };
    let place = world.claims.partition_point(|other| other.id < id);
    world.claims.insert(place, claim);
}

/// The bit of a claim whose placeholder waits for a node.
fn waiting(pod: &Pod) -> Option<u32> {
    match pod.role {
        Role::Placeholder(id) if pod.labelled && pod.node.is_none() => 1u32.checked_shl(id.into()),
        Role::Placeholder(_) | Role::Work(_) => None,
    }
}

/// The claim is gone with its Node; its Pods are to be scheduled anew, but for the placeholder.
fn finish(world: &mut World, id: u16) {
    world.claims.retain(|claim| claim.id != id);
    world.nodes.retain(|node| node.id != id);
    world.pods.retain(|pod| pod.node != Some(id) || matches!(pod.role, Role::Work(_)));
    for pod in world.pods.iter_mut().filter(|pod| pod.node == Some(id)) {
        pod.node = None;
        pod.phase = Phase::Pending;
    }
}

impl World {
    /// Numbers of claims that something still refers to, so that they may not be given again.
    fn mentioned(&self) -> BTreeSet<u16> {
        let mut mentioned = BTreeSet::new();
        let mut values: Vec<Value> = Vec::new();
        values.extend(self.pools.iter().flat_map(|pool| POOL.map(|key| pool.annotations.get(key))));
        for claim in self.claims.iter().chain(self.workers.iter().flat_map(|worker| worker.remembered_claims())) {
            mentioned.insert(claim.id);
            mentioned.extend(claim.launched_for);
            values.extend(CLAIM.map(|key| claim.annotations.get(key)));
        }
        for node in self.nodes.iter().chain(self.workers.iter().flat_map(|worker| worker.remembered_nodes())) {
            mentioned.insert(node.id);
            values.extend(NODE.map(|key| node.annotations.get(key)));
        }
        for pod in &self.pods {
            mentioned.extend(pod.node);
            mentioned.extend(match pod.role {
                Role::Placeholder(id) => Some(id),
                Role::Work(_) => None,
            });
        }
        mentioned.extend(values.into_iter().filter_map(Value::as_claim));
        mentioned.extend(self.workers.iter().flat_map(|worker| worker.remembered_numbers()));
        mentioned
    }
}

impl KarpenterMove {
    /// What it is, without whom it befalls.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Self::Stall(true) => "machines stall",
            Self::Stall(false) => "machines go on",
            Self::Launch(Role::Placeholder(_), false) => "launch within the same second",
            Self::Launch(Role::Placeholder(_), true) => "launch",
            Self::Launch(Role::Work(_), _) => "launch for work",
            Self::Register(_) => "register",
            Self::Initialize(_) => "initialize",
            Self::LaunchFails(_) => "launch fails",
            Self::Expire(_) => "expire",
            Self::Disrupt(_) => "disrupt",
            Self::Undisrupt(_) => "undisrupt",
            Self::DeleteDisrupted(_) => "delete disrupted",
            Self::Terminate(_) => "terminate",
            Self::Finish(_) => "finish",
            Self::Stick(_) => "drain stuck",
            Self::Fail(_) => "node fails",
            Self::Recover(_) => "node recovers",
            Self::Touch(_) => "version raised",
        }
    }
}

impl fmt::Display for KarpenterMove {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stall(true) => write!(f, "Karpenter and the scheduler stand still"),
            Self::Stall(false) => write!(f, "Karpenter and the scheduler go on"),
            Self::Launch(role, false) => write!(f, "Karpenter launches a node for {role}, within the same second"),
            Self::Launch(role, true) => write!(f, "Karpenter launches a node for {role}"),
            Self::Register(id) => write!(f, "node-{id} registers"),
            Self::Initialize(id) => write!(f, "node-{id} is initialized"),
            Self::LaunchFails(id) => write!(f, "there is no capacity for claim-{id}, and it goes"),
            Self::Expire(id) => write!(f, "Karpenter expires claim-{id}"),
            Self::Disrupt(id) => write!(f, "Karpenter chooses claim-{id} for disruption"),
            Self::Undisrupt(id) => write!(f, "Karpenter leaves claim-{id} alone after all"),
            Self::DeleteDisrupted(id) => write!(f, "Karpenter deletes claim-{id}"),
            Self::Terminate(id) => write!(f, "Karpenter begins to drain node-{id}"),
            Self::Finish(id) => write!(f, "claim-{id} and its node are gone"),
            Self::Stick(id) => write!(f, "a PodDisruptionBudget holds up the drain of claim-{id}"),
            Self::Fail(id) => write!(f, "node-{id} is not Ready"),
            Self::Recover(id) => write!(f, "node-{id} is Ready again"),
            Self::Touch(object) => write!(f, "somebody writes {object} without changing anything of interest"),
        }
    }
}
