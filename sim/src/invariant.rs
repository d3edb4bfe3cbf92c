//! What must never happen (design.md D1), as functions over the world and its transitions.
//!
//! Nothing here calls the product's rules, and nothing here decides what the product does. Where two writers are apart
//! in time, a rule can only bind what the writer had seen; [`seen`] says what that was.

pub mod rest;
pub mod schedule;
pub mod seen;
mod write;

use crate::moves::Move;
use crate::setup::Setup;
use crate::worker::Event;
use crate::world::World;

/// A rule that does not hold, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// `I1` to `I12`, `L1` to `L3`, or what else must hold.
    pub rule: &'static str,
    /// What happened.
    pub sentence: String,
}

impl Violation {
    /// A violation of `rule`.
    #[must_use]
    pub fn new(rule: &'static str, sentence: impl Into<String>) -> Self {
        Self { rule, sentence: sentence.into() }
    }
}

/// What is wrong with one move from `before` to `after`.
#[must_use]
pub fn check(setup: &Setup, before: &World, after: &World, what: Move, event: Option<&Event>) -> Option<Violation> {
    let worker = before.workers.get(usize::from(what.worker()?))?;
    match event? {
        Event::Wrote { write, outcome, facts, overtaken, .. } => {
            let landed = write::Landed { setup, before, after, worker, write, outcome: *outcome, facts: *facts, overtaken: *overtaken };
            landed.check()
        }
        Event::Looked | Event::Rested(_) | Event::Decided(_) | Event::NoPool => None,
    }
}
