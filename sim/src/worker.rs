//! A leader's pass for one pool, one read or write at a time, as `src/controller/reconcile.rs` makes it.

use std::sync::Arc;

use crate::annotation::Key;
use crate::decide::{Answer, Decider};
use crate::fault::Shell;
use crate::instant::Instant;
use crate::invariant::seen::{Facts, facts};
use crate::plan::Plan;
use crate::setup::Setup;
use crate::sight::{Cached, Sight, Unrepresentable};
use crate::world::World;
use crate::world::object::{Bytes, Claim, Node};
use crate::world::write::{Outcome, What, Write};

/// Looks that one decision may need, twice as many as the operator allows: one may take two turns here.
const LOOKS: u8 = 32;
/// Decisions in one pass.
const STEPS: u8 = 16;
/// Lost races that a pass makes up for at once.
const TRIES: u8 = 5;

/// One leader's part for one pool.
#[derive(Clone, Debug)]
pub struct Worker {
    /// Which leader.
    pub leader: u8,
    /// Which pool.
    pub pool: u8,
    /// Its clock is ahead (or behind) by so many seconds.
    pub skew: i32,
    /// Caches that stand still.
    pub cached: Option<Box<Cached>>,
    /// The pass that it is in.
    pub pass: Option<Box<Pass>>,
}

/// A pass that is not over.
#[derive(Clone, Debug)]
pub struct Pass {
    /// How far it has come.
    pub stage: PassStage,
    /// Lost races so far.
    pub tries: u8,
    /// Decisions so far.
    pub steps: u8,
    /// Others have acted since its first look.
    pub overtaken: bool,
    /// Its lease is over: what is being sent arrives, and nothing after it.
    pub last_write: bool,
}

/// What a pass does next.
#[derive(Clone, Debug)]
pub enum PassStage {
    /// Reads on.
    Looking(Box<Sight>),
    /// Writes.
    Writing(Writing),
    /// Decides again, with the pool read live.
    Between,
}

/// What is left of a decision.
#[derive(Clone, Debug)]
pub struct Writing {
    /// What the pass has seen, in the words of the invariants.
    pub facts: Facts,
    /// What is left to be written.
    pub writes: Vec<Write>,
    /// Decides again afterwards.
    pub again: bool,
}

/// How a move of a worker is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// Until the next write, or the end of the pass.
    Whole,
    /// Stops after so many looks.
    PausedAfter(u8),
    /// The write lands but its answer is lost.
    AnswerLost,
}

/// What came of a move of a worker.
#[derive(Clone, Debug)]
pub enum Event {
    /// Still reading.
    Looked,
    /// A decision with nothing to write.
    Rested(Arc<Plan>),
    /// A decision with writes to come.
    Decided(Arc<Plan>),
    /// One write.
    Wrote {
        /// The write.
        write: Write,
        /// How it went.
        outcome: Outcome,
        /// Its announcements were told.
        told: bool,
        /// What the pass had seen.
        facts: Facts,
        /// Others have acted since the first look.
        overtaken: bool,
    },
    /// There was no pool to look at.
    NoPool,
}

/// A pass that could not go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stuck {
    /// Something that the world cannot represent.
    #[error(transparent)]
    Unrepresentable(#[from] Unrepresentable),
    /// More looks or steps than any rotation needs.
    #[error("the step does not come to an end")]
    Endless,
}

impl Worker {
    /// Idle, with caches that follow and a clock that is right.
    #[must_use]
    pub fn new(leader: u8, pool: u8) -> Self {
        Self { leader, pool, skew: 0, cached: None, pass: None }
    }

    /// The time on its clock.
    #[must_use]
    pub fn clock(&self, now: Instant) -> Instant {
        if self.skew < 0 { now.minus(self.skew.unsigned_abs()) } else { now.plus(self.skew.unsigned_abs()) }
    }

    /// Claims that its caches and its pass still hold.
    pub fn remembered_claims(&self) -> impl Iterator<Item = &Claim> {
        let cached = self.cached.iter().flat_map(|cached| cached.claims.iter().flatten());
        let close_up = self.sight().and_then(|sight| sight.close_up.as_ref());
        let live = close_up.into_iter().flat_map(|close_up| close_up.claim.iter().chain(&close_up.surge_claim));
        cached.chain(self.sight().into_iter().flat_map(|sight| &sight.claims)).chain(live)
    }

    /// Nodes that its caches and its pass still hold.
    pub fn remembered_nodes(&self) -> impl Iterator<Item = &Node> {
        let cached = self.cached.iter().flat_map(|cached| cached.nodes.iter().flatten());
        cached.chain(self.sight().into_iter().flat_map(|sight| &sight.nodes))
    }

    /// Numbers of claims in what it is going to write.
    pub fn remembered_numbers(&self) -> impl Iterator<Item = u16> {
        let writes = match self.pass.as_ref().map(|pass| &pass.stage) {
            Some(PassStage::Writing(writing)) => writing.writes.as_slice(),
            Some(PassStage::Looking(_) | PassStage::Between) | None => [].as_slice(),
        };
        let pool = self.cached.iter().filter_map(|cached| cached.pool).chain(self.sight().map(|sight| sight.pool));
        let named = pool.filter_map(|pool| pool.annotations.get(Key::Anchor).as_claim());
        writes.iter().flat_map(|write| write.what.numbers()).chain(named)
    }

    fn sight(&self) -> Option<&Sight> {
        match self.pass.as_ref().map(|pass| &pass.stage) {
            Some(PassStage::Looking(sight)) => Some(sight),
            Some(PassStage::Writing(_) | PassStage::Between) | None => None,
        }
    }

    /// Its canonical form.
    pub fn encode(&self, world: &World, out: &mut Bytes) {
        out.word(self.skew.unsigned_abs() * 2 + u32::from(self.skew < 0));
        if let Some(cached) = &self.cached {
            out.byte(1);
            cached.pool.iter().for_each(|pool| pool.encode(out));
            out.byte(u8::MAX);
            cached.claims.iter().flatten().for_each(|claim| claim.encode(out));
            out.flags([cached.claims.is_some(), cached.nodes.is_some(), cached.pods.is_some()]);
            cached.nodes.iter().flatten().for_each(|node| node.encode(out));
            out.byte(u8::MAX);
            cached.pods.iter().flatten().for_each(|pod| pod.encode(out));
            out.byte(cached.policy.map_or(u8::MAX, |policy| policy as u8));
        }
        let Some(pass) = &self.pass else {
            return;
        };
        out.byte(2);
        out.byte(pass.tries);
        out.byte(pass.steps);
        out.flags([pass.overtaken, pass.last_write]);
        match &pass.stage {
            PassStage::Looking(sight) => {
                out.byte(0);
                sight.encode(out);
                sight.encode_rest(world, out);
            }
            PassStage::Writing(Writing { facts, writes, again }) => {
                out.byte(1);
                facts.encode(out);
                writes.iter().for_each(|write| write.encode(world, out));
                out.flags([*again]);
            }
            PassStage::Between => out.byte(2),
        }
    }
}

/// Worker `index` goes on: reads up to its next write, or carries that write out.
///
/// # Errors
/// The product asks or says something that must not be.
pub fn go_on(world: &mut World, setup: &Setup, decider: &Decider, index: usize, manner: Manner) -> Result<Event, Stuck> {
    let Some(worker) = world.workers.get_mut(index) else {
        return Ok(Event::NoPool);
    };
    let pass = worker.pass.take();
    let (pool, cached) = (worker.pool, worker.cached.clone());
    let cached = cached.as_deref();
    let begun = Pass { stage: PassStage::Between, tries: 0, steps: 0, overtaken: false, last_write: false };
    let (mut pass, live) = match pass {
        None => (begun, false),
        Some(pass) => (*pass, true),
    };
    let sight = match std::mem::replace(&mut pass.stage, PassStage::Between) {
        PassStage::Writing(writing) => return Ok(write(world, setup, index, pass, writing, manner)),
        PassStage::Looking(sight) => Some(*sight),
        PassStage::Between => {
            pass.overtaken = false;
            Sight::first(world, cached, pool, live)
        }
    };
    let Some(sight) = sight else {
        return Ok(Event::NoPool);
    };
    look(world, setup, decider, index, pass, sight, manner)
}

/// Worker `index` is in the middle of a pass, or would write something in one.
#[must_use]
pub fn wants_to_act(world: &World, setup: &Setup, decider: &Decider, index: usize) -> bool {
    let mut after = world.clone();
    let in_flight = world.workers.get(index).is_some_and(|worker| worker.pass.is_some());
    in_flight
        || match go_on(&mut after, setup, decider, index, Manner::Whole) {
            Ok(Event::Rested(plan)) => plan.again,
            Ok(Event::NoPool) => false,
            Ok(Event::Looked | Event::Decided(_) | Event::Wrote { .. }) | Err(_) => true,
        }
}

fn look(
    world: &mut World,
    setup: &Setup,
    decider: &Decider,
    index: usize,
    mut pass: Pass,
    mut sight: Sight,
    manner: Manner,
) -> Result<Event, Stuck> {
    let now = world.workers.get(index).map_or(world.now, |worker| worker.clock(world.now));
    for looks in 0..LOOKS {
        let plan = match decider.ask(setup, &sight, now)? {
            Answer::Plan(plan) => plan,
            Answer::Look(_) if manner == Manner::PausedAfter(looks) => {
                pass.stage = PassStage::Looking(Box::new(sight));
                keep(world, index, Some(pass));
                return Ok(Event::Looked);
            }
            Answer::Look(look) => {
                sight.look(world, &look)?;
                continue;
            }
        };
        pass.steps += 1;
        if pass.steps > STEPS {
            return Err(Stuck::Endless);
        }
        if plan.writes.is_empty() {
            keep(world, index, plan.again.then_some(pass));
            return Ok(Event::Rested(plan));
        }
        let lagging = world.workers.get(index).is_some_and(|worker| worker.cached.is_some());
        pass.stage = PassStage::Writing(Writing { facts: facts(&sight, now, lagging), writes: plan.bound(&sight)?, again: plan.again });
        keep(world, index, Some(pass));
        return Ok(Event::Decided(plan));
    }
    Err(Stuck::Endless)
}

fn keep(world: &mut World, index: usize, pass: Option<Pass>) {
    if let Some(worker) = world.workers.get_mut(index) {
        worker.pass = pass.map(Box::new);
    }
}

fn write(world: &mut World, setup: &Setup, index: usize, mut pass: Pass, mut writing: Writing, manner: Manner) -> Event {
    let (facts, overtaken) = (writing.facts, pass.overtaken);
    let mut write = writing.writes.remove(0);
    if setup.errs(Shell::Unconditional) {
        write.version = world.version_of(&write.what).unwrap_or(write.version);
    }
    let outcome = world.carry_out(&write);
    let told = setup.errs(Shell::TellsFirst) || outcome == Outcome::Landed && manner != Manner::AnswerLost;
    let rest = |writing: Writing| (!writing.writes.is_empty()).then_some(PassStage::Writing(writing));
    let next = match outcome {
        // What was sent has arrived, but nobody is there to go on.
        _ if manner == Manner::AnswerLost || pass.last_write => None,
        Outcome::Conflict if setup.errs(Shell::GoesOn) => rest(writing),
        Outcome::Landed | Outcome::Already => {
            follow(world, &write.what, &mut writing.writes);
            let again = writing.again.then_some(PassStage::Between);
            rest(writing).or(again)
        }
        Outcome::Conflict if pass.tries < TRIES => {
            pass.tries += 1;
            Some(PassStage::Between)
        }
        Outcome::Conflict | Outcome::Leaving | Outcome::Rejected => None,
    };
    let next = next.map(|stage| Pass { stage, ..pass });
    keep(world, index, next);
    Event::Wrote { write, outcome, told, facts, overtaken }
}

/// A later write of the same object in the same list depends on the answer to this one.
fn follow(world: &World, written: &What, writes: &mut [Write]) {
    let patched = |other: &What| match (written, other) {
        (What::Pool { id, .. }, What::Pool { id: other, .. }) => id == other,
        (What::Claim { id, .. }, What::Claim { id: other, .. } | What::DeleteClaim { id: other }) => id == other,
        (What::Node { id, .. }, What::Node { id: other, .. }) => id == other,
        (
            What::Pool { .. }
            | What::Claim { .. }
            | What::Node { .. }
            | What::Create { .. }
            | What::DeletePod { .. }
            | What::DeleteClaim { .. },
            _,
        ) => false,
    };
    for later in writes.iter_mut().filter(|later| patched(&later.what)) {
        later.version = world.version_of(&later.what).unwrap_or(later.version);
    }
}
