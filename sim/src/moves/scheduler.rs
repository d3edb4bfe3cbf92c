//! The part of the scheduler and of the kubelet: Pods are bound, run, and give way.

use std::fmt;

use super::{Move, Moves};
use crate::setup::Setup;
use crate::world::World;
use crate::world::object::{Claim, Node, Phase, Pod, Role};

/// What the scheduler and the kubelet do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchedulerMove {
    /// A Pod is bound to a node.
    Bind(Role, u16),
    /// A bound Pod runs.
    Run(Role),
    /// A placeholder gives way.
    Preempt(u16),
    /// A placeholder that gave way is gone.
    Vanish(u16),
    /// The kubelet evicts a placeholder.
    Evict(u16),
}

pub(super) fn moves(world: &World, setup: &Setup, turn: Option<Move>, moves: &mut Moves) {
    let may = setup.perturbations.machines;
    let mut ordinary = |what| moves.push((Move::Scheduler(what), Move::Scheduler(what).out_of(turn)));
    for pod in &world.pods {
        match (pod.node, pod.phase) {
            (None, Phase::Pending) if !world.stalled => {
                world.hosts(pod, setup).for_each(|node| ordinary(SchedulerMove::Bind(pod.role, node.id)));
            }
            (Some(_), Phase::Pending) if !world.stalled => ordinary(SchedulerMove::Run(pod.role)),
            (_, Phase::Pending | Phase::Running | Phase::Failed) => {}
        }
        let Role::Placeholder(claim) = pod.role else { continue };
        if pod.terminating {
            ordinary(SchedulerMove::Vanish(claim));
        } else if pod.node.is_some() && (may || turn == Some(Move::Scheduler(SchedulerMove::Preempt(claim)))) {
            ordinary(SchedulerMove::Preempt(claim));
        }
        if may && pod.phase == Phase::Running {
            ordinary(SchedulerMove::Evict(claim));
        }
    }
}

/// What the scheduler or the kubelet have to do now, the first of it.
#[must_use]
pub fn turn(world: &World, setup: &Setup) -> Option<SchedulerMove> {
    world.pods.iter().find_map(|pod| match (pod.role, pod.node, pod.phase) {
        (Role::Placeholder(id), _, _) if pod.terminating => Some(SchedulerMove::Vanish(id)),
        _ if world.stalled => None,
        (_, None, Phase::Pending) => {
            let bind = world.hosts(pod, setup).next().map(|host| SchedulerMove::Bind(pod.role, host.id));
            bind.or_else(|| world.victim(pod, setup).map(SchedulerMove::Preempt))
        }
        (_, Some(_), Phase::Pending) => Some(SchedulerMove::Run(pod.role)),
        (_, _, Phase::Running | Phase::Failed) => None,
    })
}

pub(super) fn change(world: &mut World, what: SchedulerMove) {
    match what {
        SchedulerMove::Bind(role, node) => world.change_pod(role, |pod| pod.node = Some(node)),
        SchedulerMove::Run(role) => world.change_pod(role, |pod| pod.phase = Phase::Running),
        SchedulerMove::Preempt(claim) => world.change_pod(Role::Placeholder(claim), |pod| pod.terminating = true),
        SchedulerMove::Vanish(claim) => world.pods.retain(|pod| pod.role != Role::Placeholder(claim)),
        SchedulerMove::Evict(claim) => world.change_pod(Role::Placeholder(claim), |pod| pod.phase = Phase::Failed),
    }
}

impl World {
    /// What the Pods on a node request.
    fn used(&self, node: u16) -> u32 {
        self.pods_on(node).filter(|pod| pod.phase != Phase::Failed).map(|pod| pod.milli).sum()
    }

    /// Nodes that a Pod fits on.
    pub(crate) fn hosts<'a>(&'a self, pod: &'a Pod, setup: &'a Setup) -> impl Iterator<Item = &'a Node> {
        self.nodes.iter().filter(move |node| {
            let fits = self.used(node.id) + pod.milli <= setup.node_milli;
            fits && node.is_open() && pod.pool.is_none_or(|pool| pool == node.pool)
        })
    }

    /// The claim whose placeholder makes room for a Pod at work that fits nowhere else.
    fn victim(&self, pod: &Pod, setup: &Setup) -> Option<u16> {
        let makes_room = |victim: &Pod| {
            let node = victim.node.and_then(|id| self.node(id)).filter(|node| node.is_open());
            node.is_some_and(|node| self.used(node.id) - victim.milli + pod.milli <= setup.node_milli)
        };
        let mut victims = self.pods.iter().filter(|victim| !victim.terminating && victim.phase != Phase::Failed);
        victims.find_map(|victim| match (pod.role, victim.role) {
            (Role::Work(_), Role::Placeholder(claim)) if makes_room(victim) => Some(claim),
            (Role::Work(_) | Role::Placeholder(_), _) => None,
        })
    }

    /// Karpenter would launch a node for this Pod: no node fits, and none is on its way.
    pub(crate) fn waits_for_a_node(&self, pod: &Pod, setup: &Setup) -> bool {
        let launched_for = match pod.role {
            Role::Placeholder(id) => Some(id),
            Role::Work(_) => None,
        };
        let coming = |claim: &Claim| {
            let usable = self.node(claim.id).is_some_and(|node| node.ready);
            claim.deleted.is_none() && claim.launched_for == launched_for && !usable
        };
        let waits = pod.node.is_none() && pod.phase == Phase::Pending;
        waits && !self.claims.iter().any(coming) && self.hosts(pod, setup).next().is_none()
    }
}

impl SchedulerMove {
    /// What it is, without whom it befalls.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Self::Bind(Role::Placeholder(_), _) => "bind placeholder",
            Self::Bind(Role::Work(_), _) => "bind work",
            Self::Run(_) => "run",
            Self::Preempt(_) => "preempt",
            Self::Vanish(_) => "vanish",
            Self::Evict(_) => "evict",
        }
    }
}

impl fmt::Display for SchedulerMove {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bind(role, node) => write!(f, "{role} is bound to node-{node}"),
            Self::Run(role) => write!(f, "{role} runs"),
            Self::Preempt(claim) => write!(f, "the placeholder of claim-{claim} is preempted"),
            Self::Vanish(claim) => write!(f, "the placeholder of claim-{claim} is gone"),
            Self::Evict(claim) => write!(f, "the kubelet evicts the placeholder of claim-{claim}"),
        }
    }
}
