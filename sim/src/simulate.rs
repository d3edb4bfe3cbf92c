//! Months in the life of a made-up cluster, the same for the same seed.

use crate::coverage::Coverage;
use crate::decide::Decider;
use crate::fingerprint::fingerprint;
use crate::fleet::Fleet;
use crate::invariant::Violation;
use crate::model::fair::{self, Fair};
use crate::model::story::Story;
use crate::moves::{Move, moves};
use crate::play::{Played, play};
use crate::random::Random;
use crate::shrink::shrink;
use crate::world::World;

/// After so many moves perturbations are stopped for once, to see whether everything comes to rest.
const REST_EVERY: usize = 500;
/// A life is cut off after so many moves.
const LONGEST: usize = 100_000;
/// Of a hundred free moves, so many are not the next in the fair order.
const UNFAIR: u32 = 30;

/// What became of a seed.
#[derive(Debug)]
pub struct Outcome {
    /// Moves made.
    pub moves: usize,
    /// The same for the same life.
    pub print: u64,
    /// What has happened at all.
    pub coverage: Coverage,
    /// A violation, told as briefly as could be.
    pub story: Option<Story>,
}

/// Lives through a seed.
#[must_use]
pub fn simulate(fleet: &Fleet, seed: u64) -> Outcome {
    let decider = Decider::default();
    let mut life = Life {
        fleet,
        decider: &decider,
        random: Random::new(!seed),
        world: World::new(&fleet.setup),
        trace: Vec::new(),
        coverage: Coverage::default(),
    };
    let story = life.live().map(|violation| shrink(&fleet.setup, &decider, &life.trace, &violation));
    let words: Vec<u8> = life.trace.iter().flat_map(|what| what.to_string().into_bytes()).chain(life.world.encode().0).collect();
    Outcome { moves: life.trace.len(), print: fingerprint(&words, 0), coverage: life.coverage, story }
}

struct Life<'a> {
    fleet: &'a Fleet,
    decider: &'a Decider,
    random: Random,
    world: World,
    trace: Vec<Move>,
    coverage: Coverage,
}

impl Life<'_> {
    /// The rule that it broke, if it did not live to the end.
    fn live(&mut self) -> Option<Violation> {
        while self.trace.len() < LONGEST {
            let Some(what) = self.choose() else { break };
            self.trace.push(what);
            let Played { after, event, violation } = play(&self.fleet.setup, self.decider, &self.world, what);
            self.coverage.note(what, event.as_ref());
            self.world = after;
            let rest = self.trace.len().is_multiple_of(REST_EVERY);
            let violation = violation.or_else(|| if rest { self.rest() } else { None });
            if violation.is_some() {
                return violation;
            }
        }
        self.rest()
    }

    /// Nothing is perturbed any more: does everything come to rest, and is it well then?
    fn rest(&self) -> Option<Violation> {
        Fair::default().follow(&self.fleet.setup, self.decider, &self.world).violation
    }

    /// The next move; `None` at the end of time.
    fn choose(&mut self) -> Option<Move> {
        let perturbed = self.random.chance(self.fleet.rate);
        if !perturbed && !self.random.chance(UNFAIR) {
            // A rule that does not hold at rest is told by `rest`, when perturbations have ended.
            if let Ok(next) = fair::next(&self.fleet.setup, self.decider, &self.world) {
                return next.filter(|what| !matches!(what, Move::Tick(at) if *at > self.fleet.until));
            }
        }
        let all = moves(&self.world, &self.fleet.setup, self.decider);
        let wanted: Vec<Move> = all.iter().filter(|(_, cost)| (*cost > 0) == perturbed).map(|(what, _)| *what).collect();
        let anything: Vec<Move> = all.into_iter().map(|(what, _)| what).collect();
        self.random.pick(if wanted.is_empty() { &anything } else { &wanted }).copied()
    }
}
