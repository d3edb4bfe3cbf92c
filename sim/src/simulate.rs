//! Months in the life of a made-up cluster, the same for the same seed.

use crate::coverage::Coverage;
use crate::decide::Decider;
use crate::fingerprint::fingerprint;
use crate::fleet::Fleet;
use crate::invariant::Violation;
use crate::model::fair::{self, Fair};
use crate::model::story::Story;
use crate::moves::{Move, moves};
use crate::play::{Played, Verdict, play};
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
    /// A known violation ended it.
    pub known: Option<&'static str>,
    /// A violation that is not known, told as briefly as could be.
    pub story: Option<Story>,
}

/// How a life ended.
enum End {
    Old,
    Known(&'static str),
    Broken(Violation),
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
    let end = life.live();
    let (known, story) = match end {
        End::Old => (None, None),
        End::Known(name) => (Some(name), None),
        End::Broken(violation) => (None, Some(shrink(&fleet.setup, &decider, &life.trace, &violation))),
    };
    let words: Vec<u8> = life.trace.iter().flat_map(|what| what.to_string().into_bytes()).chain(life.world.encode().0).collect();
    Outcome { moves: life.trace.len(), print: fingerprint(&words, 0), coverage: life.coverage, known, story }
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
    fn live(&mut self) -> End {
        while self.trace.len() < LONGEST {
            let Some(what) = self.choose() else { break };
            self.trace.push(what);
            let Played { after, event, verdict } = play(&self.fleet.setup, self.decider, &self.world, what);
            self.coverage.note(what, event.as_ref());
            self.world = after;
            match verdict {
                Verdict::Fine => {}
                Verdict::Known(known) => return End::Known(known.name),
                Verdict::Broken(violation) => return End::Broken(violation),
            }
            if self.trace.len().is_multiple_of(REST_EVERY)
                && let Some(end) = self.rest()
            {
                return end;
            }
        }
        self.rest().unwrap_or(End::Old)
    }

    /// Nothing is perturbed any more: does everything come to rest, and is it well then?
    fn rest(&self) -> Option<End> {
        match Fair::default().follow(&self.fleet.setup, self.decider, &self.world).verdict {
            Verdict::Fine => None,
            Verdict::Known(known) => Some(End::Known(known.name)),
            Verdict::Broken(violation) => Some(End::Broken(violation)),
        }
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
