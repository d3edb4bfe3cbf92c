//! What happens to a leader: its passes, their interruption, its caches and its clock.

use std::fmt;

use super::{Move, Moves};
use crate::annotation::{Key, Value};
use crate::decide::Decider;
use crate::instant::MINUTE;
use crate::setup::Setup;
use crate::sight::Cached;
use crate::worker::{Event, Manner, PassStage, Stuck, Worker, Writing, go_on};
use crate::world::World;
use crate::world::object::Pool;
use crate::world::write::{Outcome, What, Write};

/// What a worker does, or what happens to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerMove {
    /// It begins a pass, or goes on with it to its next write.
    GoOn,
    /// The same, but it stops after so many looks.
    PauseAfter(u8),
    /// Its process dies; another takes over with nothing in mind.
    Crash,
    /// Its next write lands, but the answer does not arrive.
    LoseAnswer,
}

/// What happens to leaders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaderMove {
    /// Some caches of a worker stand still from here on.
    Lag(u8, Lag),
    /// They follow again.
    CatchUp(u8),
    /// The clock of a worker is off by so many seconds.
    Skew(u8, i32),
    /// No leader acts any more, or one does again.
    Sleep(bool),
}

/// Which caches stand still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "named after the caches")]
pub enum Lag {
    Pool,
    Claims,
    Nodes,
    Placeholders,
    Policy,
    All,
}

/// Looks of a decision after which it may be paused.
const LOOKS: u8 = 5;
/// How wrong a clock goes, in seconds (faults.md P12).
pub const SKEW: u32 = 10 * MINUTE;
/// A leader that cannot renew for this long has lost its lease.
pub(super) const LEASE: u32 = 15;

pub(super) fn moves(world: &World, setup: &Setup, moves: &mut Moves) {
    let may = setup.perturbations;
    if world.asleep {
        moves.push((Move::Leader(LeaderMove::Sleep(false)), 0));
        return;
    }
    if may.crashes {
        moves.push((Move::Leader(LeaderMove::Sleep(true)), 1));
    }
    for (index, worker) in (0u8..).zip(&world.workers) {
        let mut does = |what, cost| moves.push((Move::Worker(index, what), cost));
        does(WorkerMove::GoOn, 0);
        let writing = worker.pass.as_ref().is_some_and(|pass| matches!(pass.stage, PassStage::Writing(_)));
        if may.crashes && writing {
            does(WorkerMove::LoseAnswer, 1);
        } else if may.crashes {
            (1..=LOOKS).for_each(|looks| does(WorkerMove::PauseAfter(looks), 1));
        }
        if may.crashes && worker.pass.is_some() {
            does(WorkerMove::Crash, 1);
        }
        let mut suffers = |what, cost| moves.push((Move::Leader(what), cost));
        if worker.cached.is_some() {
            suffers(LeaderMove::CatchUp(index), 0);
        } else if may.lags {
            [Lag::Pool, Lag::Claims, Lag::Nodes, Lag::Placeholders, Lag::Policy, Lag::All]
                .into_iter()
                .for_each(|lag| suffers(LeaderMove::Lag(index, lag), 1));
        }
        if worker.skew != 0 {
            suffers(LeaderMove::Skew(index, 0), 0);
        } else if may.skews {
            let skew = i32::try_from(SKEW).unwrap_or_default();
            [skew, -skew].into_iter().for_each(|skew| suffers(LeaderMove::Skew(index, skew), 1));
        }
    }
}

pub(super) fn act(world: &mut World, setup: &Setup, decider: &Decider, worker: u8, what: WorkerMove) -> Result<Option<Event>, Stuck> {
    let manner = match what {
        WorkerMove::GoOn => Manner::Whole,
        WorkerMove::PauseAfter(looks) => Manner::PausedAfter(looks),
        WorkerMove::LoseAnswer => Manner::AnswerLost,
        WorkerMove::Crash => {
            if let Some(worker) = world.workers.get_mut(usize::from(worker)) {
                worker.pass = None;
            }
            return Ok(None);
        }
    };
    let event = go_on(world, setup, decider, usize::from(worker), manner)?;
    if let Event::Wrote { write, outcome, told, .. } = &event {
        let pool = world.workers.get(usize::from(worker)).map(|worker| worker.pool);
        for pool in world.pools.iter_mut().filter(|other| Some(other.id) == pool) {
            count(pool, write, *told);
            if *outcome == Outcome::Landed {
                note(pool, write, *told);
            }
        }
    }
    Ok(Some(event))
}

/// Keeps the count of outcomes told since the anchor was written, which only the invariants ask for.
fn count(pool: &mut Pool, write: &Write, told: bool) {
    let outcomes = write.told.iter().filter(|told| told.outcome().is_some()).count();
    if told {
        pool.told = pool.told.saturating_add(u8::try_from(outcomes).unwrap_or(u8::MAX));
    }
}

/// Keeps what a write that has landed means for the rotation, which only the invariants ask for.
fn note(pool: &mut Pool, write: &Write, told: bool) {
    if !told && write.told.iter().any(|told| told.outcome().is_some()) {
        pool.answer_lost = true;
    }
    if let What::Pool { change, .. } = &write.what {
        pool.stripped = false;
        if change.iter().any(|(key, _)| *key == Key::Anchor) {
            pool.told = 0;
            pool.answer_lost = false;
        }
    }
    let attempts = write.what.change().contains(&(Key::State, Value::word("pending")));
    pool.begun = (pool.begun || attempts) && pool.annotations.has(Key::Anchor);
}

pub(super) fn change(world: &mut World, what: LeaderMove) {
    match what {
        LeaderMove::Lag(index, lag) => {
            let cached = still(world, index, lag);
            world.change_worker(index, |worker| worker.cached = cached);
        }
        LeaderMove::CatchUp(index) => world.change_worker(index, |worker| worker.cached = None),
        LeaderMove::Skew(index, skew) => world.change_worker(index, |worker| worker.skew = skew),
        LeaderMove::Sleep(asleep) => {
            world.asleep = asleep;
            world.workers.iter_mut().for_each(|worker| worker.pass = None);
        }
    }
}

impl World {
    fn change_worker(&mut self, index: u8, change: impl FnOnce(&mut Worker)) {
        if let Some(worker) = self.workers.get_mut(usize::from(index)) {
            change(worker);
        }
    }
}

fn still(world: &World, index: u8, lag: Lag) -> Option<Box<Cached>> {
    let pool = world.workers.get(usize::from(index))?.pool;
    let is = |kind: Lag| lag == kind || lag == Lag::All;
    Some(Box::new(Cached {
        pool: is(Lag::Pool).then(|| world.pool(pool).copied()).flatten(),
        claims: is(Lag::Claims).then(|| world.claims.clone()),
        nodes: is(Lag::Nodes).then(|| world.nodes.clone()),
        pods: is(Lag::Placeholders).then(|| world.pods.clone()),
        policy: is(Lag::Policy).then_some(world.policy),
    }))
}

/// Time has passed: whoever was paused for longer than its lease sends what is on its way, and nothing after it.
pub(super) fn expire_leases(world: &mut World, elapsed: u32) {
    if elapsed < LEASE {
        return;
    }
    for worker in &mut world.workers {
        let Some(pass) = &mut worker.pass else { continue };
        match &mut pass.stage {
            PassStage::Writing(Writing { writes, again, .. }) => {
                writes.truncate(1);
                *again = false;
                pass.last_write = true;
            }
            PassStage::Looking(_) | PassStage::Between => worker.pass = None,
        }
    }
}

impl WorkerMove {
    /// What it is, without whom it befalls.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Self::GoOn => "decides",
            Self::PauseAfter(_) => "is paused between looks",
            Self::Crash => "crash",
            Self::LoseAnswer => "answer lost",
        }
    }
}

impl fmt::Display for WorkerMove {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GoOn => write!(f, "goes on"),
            Self::PauseAfter(looks) => write!(f, "is paused after {looks} looks"),
            Self::Crash => write!(f, "dies"),
            Self::LoseAnswer => write!(f, "writes, and gets no answer"),
        }
    }
}

impl LeaderMove {
    /// What it is, without whom it befalls.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Self::Lag(_, Lag::Pool) => "lag of the pool",
            Self::Lag(_, Lag::Claims) => "lag of the claims",
            Self::Lag(_, Lag::Nodes) => "lag of the nodes",
            Self::Lag(_, Lag::Placeholders) => "lag of the placeholders",
            Self::Lag(_, Lag::Policy) => "lag of the policy",
            Self::Lag(_, Lag::All) => "lag of all caches",
            Self::CatchUp(_) => "caches catch up",
            Self::Skew(_, 0) => "clock right again",
            Self::Skew(..) => "clock wrong",
            Self::Sleep(true) => "no leader",
            Self::Sleep(false) => "a leader again",
        }
    }
}

impl fmt::Display for LeaderMove {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lag(worker, lag) => write!(f, "the caches of worker {worker} stand still: {lag:?}"),
            Self::CatchUp(worker) => write!(f, "the caches of worker {worker} follow again"),
            Self::Skew(worker, 0) => write!(f, "the clock of worker {worker} is right again"),
            Self::Skew(worker, skew) => write!(f, "the clock of worker {worker} is off by {skew} s"),
            Self::Sleep(true) => write!(f, "no leader acts any more"),
            Self::Sleep(false) => write!(f, "a leader acts again"),
        }
    }
}
