//! One move, made and judged.

use crate::decide::Decider;
use crate::invariant::{Violation, check};
use crate::moves::Move;
use crate::setup::Setup;
use crate::worker::Event;
use crate::world::World;

/// A move that was made.
#[derive(Debug)]
pub struct Played {
    /// The world afterwards.
    pub after: World,
    /// What a worker did.
    pub event: Option<Event>,
    /// The rule that it broke.
    pub violation: Option<Violation>,
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
    Played { after, event, violation }
}
