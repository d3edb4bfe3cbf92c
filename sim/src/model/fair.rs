//! Liveness: once nothing is perturbed any more, everything comes to rest and is well (L1 to L3, I5).
//!
//! An "eventually" over a graph of states is easily wrong on cycles. Here perturbations end in every visited state, and
//! from there one fair run is followed: whoever can act does, in a fixed order, and time passes only when all rest.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::annotation::Key;
use crate::decide::Decider;
use crate::fingerprint::fingerprint;
use crate::invariant::Violation;
use crate::invariant::rest::{check_end, check_instant, stuck};
use crate::invariant::schedule::drain_bound;
use crate::moves::Move;
use crate::moves::clock::next_instant;
use crate::moves::karpenter;
use crate::moves::leader::WorkerMove;
use crate::plan::Plan;
use crate::play::{Played, play};
use crate::setup::Setup;
use crate::worker::{Event, Worker};
use crate::world::World;

/// Moves of a run; more would be a run that does not come to rest.
const LONGEST: usize = 50_000;

/// States whose fair runs were followed.
#[derive(Debug, Default)]
pub struct Fair {
    known: Mutex<HashSet<u64>>,
    followed: AtomicU64,
}

/// A fair run that was followed.
#[derive(Debug)]
pub struct Run {
    /// Its moves.
    pub moves: Vec<Move>,
    /// The rule that it broke.
    pub violation: Option<Violation>,
}

impl Fair {
    /// Follows the fair run from a world. A run that meets a state of an earlier run ends there, because what is wrong
    /// further on was told then.
    pub fn follow(&self, setup: &Setup, decider: &Decider, world: &World) -> Run {
        self.followed.fetch_add(1, Ordering::Relaxed);
        let mut world = calm(world);
        let (mut trail, mut moves) = (Vec::new(), Vec::new());
        let violation = loop {
            let print = fingerprint(&world.encode().0, 0);
            if self.lock().contains(&print) {
                break None;
            }
            trail.push(print);
            if trail.len() > LONGEST {
                break Some(Violation::new("L1", "the run does not come to rest"));
            }
            let what = match next(setup, decider, &world) {
                Ok(Some(what)) => what,
                Ok(None) => break check_end(&world),
                Err(violation) => break Some(violation),
            };
            let Played { after, violation, .. } = play(setup, decider, &world, what);
            moves.push(what);
            if violation.is_some() {
                break violation;
            }
            world = after;
        };
        self.lock().extend(trail);
        Run { moves, violation }
    }

    /// How many runs were followed.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.followed.load(Ordering::Relaxed)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashSet<u64>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Perturbations end: caches follow, clocks are right, nodes are Ready, the API server refuses nothing. What people have
/// decided stays decided.
#[must_use]
pub fn calm(world: &World) -> World {
    let mut world = world.clone();
    world.running = None;
    world.rejecting = false;
    world.stalled = false;
    world.asleep = false;
    for worker in &mut world.workers {
        worker.cached = None;
        worker.skew = 0;
    }
    let failed: Vec<u16> = world.nodes.iter().filter(|node| !node.ready).map(|node| node.id).collect();
    failed.into_iter().for_each(|id| world.change_node(id, |node| node.ready = true));
    world
}

/// What happens next; `None` is nothing, ever.
pub(crate) fn next(setup: &Setup, decider: &Decider, world: &World) -> Result<Option<Move>, Violation> {
    if let Some(what) = in_flight(world).or_else(|| karpenter::turn(world, setup)) {
        return Ok(Some(what));
    }
    for (index, worker) in (0u8..).zip(&world.workers) {
        let going_on = Move::Worker(index, WorkerMove::GoOn);
        match play(setup, decider, world, going_on).event {
            Some(Event::Rested(plan)) if !plan.again => check_stuck(world, worker, &plan)?,
            Some(Event::NoPool) => {}
            Some(Event::Rested(_) | Event::Looked | Event::Decided(_) | Event::Wrote { .. }) | None => return Ok(Some(going_on)),
        }
    }
    check_instant(setup, world).map_or_else(|| Ok(next_instant(world, setup, setup.rest).map(Move::Tick)), Err)
}

/// A drain that a PodDisruptionBudget holds up is told once its bound is past (L1).
fn check_stuck(world: &World, worker: &Worker, plan: &Plan) -> Result<(), Violation> {
    let pool = world.pool(worker.pool).filter(|pool| stuck(world, pool));
    let claim = pool.and_then(|pool| world.claim(pool.annotations.get(Key::Anchor).as_claim()?));
    let bound = claim.and_then(|claim| claim.deleted.map(|at| at.plus(drain_bound(claim))));
    match bound {
        Some(bound) if world.now > bound && !plan.drain_stuck => Err(Violation::new("L1", "a stuck drain is not told")),
        Some(_) | None => Ok(()),
    }
}

/// Passes that were begun go on.
fn in_flight(world: &World) -> Option<Move> {
    let mut workers = (0u8..).zip(&world.workers);
    workers.find(|(_, worker)| worker.pass.is_some()).map(|(index, _)| Move::Worker(index, WorkerMove::GoOn))
}
