//! A long life that broke a rule, cut down to what is needed for it.

use crate::decide::Decider;
use crate::invariant::Violation;
use crate::model::fair::Fair;
use crate::model::story::Story;
use crate::moves::{Move, moves};
use crate::play::play;
use crate::setup::Setup;
use crate::world::World;

/// How often a shorter life is tried.
const TRIES: usize = 600;

/// The shortest life found that breaks the same rule, as a story.
#[must_use]
pub fn shrink(setup: &Setup, decider: &Decider, trace: &[Move], violation: &Violation) -> Story {
    let mut shortest = trace.to_vec();
    let mut found = violation.clone();
    let mut tries = 0;
    let mut chunk = shortest.len().div_ceil(2);
    while chunk > 0 && tries < TRIES {
        let mut from = 0;
        let mut shorter = false;
        while from < shortest.len() && tries < TRIES {
            tries += 1;
            let kept = |place: &usize| *place < from || *place >= from + chunk;
            let candidate: Vec<Move> = shortest.iter().enumerate().filter(|(place, _)| kept(place)).map(|(_, what)| *what).collect();
            match replay(setup, decider, &candidate, violation.rule) {
                Some((played, violation)) => {
                    shortest = played;
                    found = violation;
                    shorter = true;
                }
                None => from += chunk,
            }
        }
        chunk = if chunk > 1 { chunk.div_ceil(2) } else { usize::from(shorter) };
    }
    Story::of_moves(setup, decider, &shortest, found)
}

/// The moves of `trace` that are possible, up to the one that breaks the rule.
fn replay(setup: &Setup, decider: &Decider, trace: &[Move], rule: &str) -> Option<(Vec<Move>, Violation)> {
    let mut world = World::new(setup);
    let mut played = Vec::new();
    for what in trace {
        if !possible(setup, decider, &world, *what) {
            continue;
        }
        played.push(*what);
        let made = play(setup, decider, &world, *what);
        match made.violation {
            None => world = made.after,
            Some(violation) => return (violation.rule == rule).then_some((played, violation)),
        }
    }
    let violation = Fair::default().follow(setup, decider, &world).violation.filter(|violation| violation.rule == rule);
    violation.map(|violation| (played, violation))
}

/// The move can happen here; time can pass to any instant that is ahead.
fn possible(setup: &Setup, decider: &Decider, world: &World, what: Move) -> bool {
    match what {
        Move::Tick(at) => at > world.now,
        Move::Worker(..) | Move::Leader(_) | Move::Karpenter(_) | Move::Scheduler(_) | Move::Person(_) => {
            moves(world, setup, decider).iter().any(|(possible, _)| *possible == what)
        }
    }
}
