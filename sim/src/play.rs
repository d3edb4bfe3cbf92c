//! One move, made and judged.

use crate::decide::Decider;
use crate::invariant::{Violation, check};
use crate::known::{Known, known};
use crate::moves::Move;
use crate::setup::Setup;
use crate::worker::Event;
use crate::world::World;

/// What the invariants say about a move or a state.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Nothing.
    Fine,
    /// A rule does not hold, and that is known.
    Known(&'static Known),
    /// A rule does not hold.
    Broken(Violation),
}

impl Verdict {
    /// The verdict on a violation of a state in which nothing moves.
    #[must_use]
    pub fn on_rest(violation: Option<Violation>, world: &World) -> Self {
        violation.map_or(Self::Fine, |violation| known(&violation, world, None, None).map_or(Self::Broken(violation), Self::Known))
    }
}

/// A move that was made.
#[derive(Debug)]
pub struct Played {
    /// The world afterwards.
    pub after: World,
    /// What a worker did.
    pub event: Option<Event>,
    /// What is wrong with it.
    pub verdict: Verdict,
}

/// Makes a move and judges it.
#[must_use]
pub fn play(setup: &Setup, decider: &Decider, before: &World, what: Move) -> Played {
    let mut after = before.clone();
    let (event, violation) = match what.apply(&mut after, setup, decider) {
        Ok(event) => {
            let violation = check(setup, before, &after, what, event.as_ref());
            (event, violation)
        }
        Err(stuck) => (None, Some(Violation::new("end", stuck.to_string()))),
    };
    let verdict = match violation {
        None => Verdict::Fine,
        Some(violation) => {
            let known = known(&violation, before, Some(what), event.as_ref());
            known.map_or(Verdict::Broken(violation), Verdict::Known)
        }
    };
    Played { after, event, verdict }
}
