//! What can happen next, and what it does to the world.
//!
//! A move either belongs to the ordinary course of things and is free, or it is a perturbation and costs one. So does
//! the passing of time while somebody has something to do. Acting while a worker is in the middle of a pass costs one
//! more: that worker is then paused, and goes on when it likes.

pub mod clock;
pub mod karpenter;
pub mod leader;
pub mod people;
pub mod scheduler;

use std::fmt;

use crate::decide::Decider;
use crate::instant::Instant;
use crate::setup::Setup;
use crate::worker::{Event, Stuck};
use crate::world::World;
use crate::world::object::Role;
use karpenter::KarpenterMove;
use leader::{LeaderMove, WorkerMove};
use people::PersonMove;
use scheduler::SchedulerMove;

/// An object that somebody writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Object {
    /// A NodePool.
    Pool(u8),
    /// A claim.
    Claim(u16),
    /// A Node.
    Node(u16),
}

/// Something that can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// A worker goes on with its pass, or something happens to it in the middle of one.
    Worker(u8, WorkerMove),
    /// Something happens to the leaders.
    Leader(LeaderMove),
    /// Time passes.
    Tick(Instant),
    /// Karpenter and the cloud.
    Karpenter(KarpenterMove),
    /// The scheduler and the kubelet.
    Scheduler(SchedulerMove),
    /// People, and whoever else writes.
    Person(PersonMove),
}

/// Moves with their costs.
pub type Moves = Vec<(Move, u32)>;

/// The moves of a world, each with its cost.
#[must_use]
pub fn moves(world: &World, setup: &Setup, decider: &Decider) -> Moves {
    let mut moves = Moves::with_capacity(64);
    leader::moves(world, setup, &mut moves);
    clock::moves(world, setup, decider, &mut moves);
    let turn = karpenter::turn(world, setup);
    karpenter::moves(world, setup, turn, &mut moves);
    scheduler::moves(world, setup, turn, &mut moves);
    people::moves(world, setup, &mut moves);
    if let Some(running) = world.running {
        for (what, cost) in &mut moves {
            if what.worker() != Some(running) {
                *cost += 1;
            }
        }
    }
    moves
}

impl Move {
    /// The worker that moves, if it is one.
    #[must_use]
    pub fn worker(self) -> Option<u8> {
        match self {
            Self::Worker(worker, _) => Some(worker),
            Self::Leader(_) | Self::Tick(_) | Self::Karpenter(_) | Self::Scheduler(_) | Self::Person(_) => None,
        }
    }

    /// What it is, without whom it befalls.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Self::Worker(_, what) => what.kind(),
            Self::Leader(what) => what.kind(),
            Self::Tick(_) => "time passes",
            Self::Karpenter(what) => what.kind(),
            Self::Scheduler(what) => what.kind(),
            Self::Person(what) => what.kind(),
        }
    }

    /// What it costs when it is `turn`'s turn: machines work in a fixed order, and to be early is a perturbation. Where a
    /// placeholder lands, and when a node is launched for it, is open.
    fn out_of(self, turn: Option<Self>) -> u32 {
        let placeholder = |what: Self| match what {
            Self::Scheduler(SchedulerMove::Bind(Role::Placeholder(claim), _)) => Some((0, claim)),
            Self::Karpenter(KarpenterMove::Launch(Role::Placeholder(claim), _)) => Some((1, claim)),
            Self::Worker(..) | Self::Leader(_) | Self::Tick(_) | Self::Karpenter(_) | Self::Scheduler(_) | Self::Person(_) => None,
        };
        let free = turn == Some(self) || (placeholder(self).is_some() && turn.and_then(placeholder) == placeholder(self));
        u32::from(!free)
    }

    /// Does it to the world.
    ///
    /// # Errors
    /// The product asks or says something that must not be.
    pub fn apply(self, world: &mut World, setup: &Setup, decider: &Decider) -> Result<Option<Event>, Stuck> {
        let mut event = None;
        match self {
            Self::Worker(worker, what) => event = leader::act(world, setup, decider, worker, what)?,
            Self::Leader(what) => leader::change(world, what),
            Self::Tick(at) => clock::pass(world, at),
            Self::Karpenter(what) => karpenter::change(world, setup, what),
            Self::Scheduler(what) => scheduler::change(world, what),
            Self::Person(what) => people::change(world, what),
        }
        world.overtake(self.worker());
        Ok(event)
    }
}

impl World {
    /// Every pass but that of `mover` has now been overtaken.
    fn overtake(&mut self, mover: Option<u8>) {
        self.running = None;
        for (index, worker) in (0u8..).zip(&mut self.workers) {
            let Some(pass) = &mut worker.pass else { continue };
            if Some(index) == mover {
                self.running = mover;
            } else {
                pass.overtaken = true;
            }
        }
    }
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pool(id) => write!(f, "pool-{id}"),
            Self::Claim(id) => write!(f, "claim-{id}"),
            Self::Node(id) => write!(f, "node-{id}"),
        }
    }
}

impl fmt::Display for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Worker(worker, what) => write!(f, "worker {worker} {what}"),
            Self::Leader(what) => what.fmt(f),
            Self::Tick(at) => write!(f, "it is {at}"),
            Self::Karpenter(what) => what.fmt(f),
            Self::Scheduler(what) => what.fmt(f),
            Self::Person(what) => what.fmt(f),
        }
    }
}
