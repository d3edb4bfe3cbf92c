//! One non-blocking step for one NodePool (§5.2).
//!
//! [`step`] is total: whatever can be observed has an outcome. It returns the writes in order, what to tell once each
//! has landed, why this and not that, and when to look again. It never waits, and it remembers nothing.

mod ahead;
pub mod announcement;
mod cleanup;
mod completion;
mod draining;
pub mod effect;
mod expired;
mod failed;
mod fallback;
pub(crate) mod mark;
pub mod observation;
mod opening;
mod orphan;
mod pass;
mod pending;
pub mod report;
pub(crate) mod reservation;
mod rollback;
mod start;
pub mod stuck;
mod surge;
#[cfg(test)]
mod tests;

use std::time::Duration;

use jiff::Timestamp;

use crate::annotation::ClaimState;
use announcement::Notice;
use effect::Planned;
use observation::{Observation, Seen};
pub use pass::Memory;
use pass::{Pass, Rotation};
use report::Report;

/// When the pool is looked at again if nothing wakes it earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// At once, in the same pass: the writes open the way for the next step.
    Again,
    /// After this long.
    After(Duration),
    /// When a policy, the pool or one of its objects changes.
    OnChange,
}

/// What a step came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The writes, in order; the first that fails ends the list.
    pub effects: Vec<Planned>,
    /// States of affairs that hold now; each is told when it begins.
    pub notices: Vec<Notice>,
    /// Why this and not that.
    pub report: Report,
    /// When to look again.
    pub next: Next,
}

/// The next step of one NodePool at `now`, or what must be seen first.
pub fn step(observation: &Observation, now: Timestamp) -> Seen<Decision> {
    decide(&Pass::new(observation, now))
}

/// The same for who serves each look from the very objects of the observation: what was worked out before the look holds
/// after it, and is not worked out again. The caller forgets it when the objects change, or the time.
pub fn step_again(observation: &Observation, now: Timestamp, memory: &mut Memory) -> Seen<Decision> {
    let pass = Pass::recalling(observation, now, memory);
    let seen = decide(&pass);
    pass.remember(memory);
    seen
}

fn decide(pass: &Pass<'_>) -> Seen<Decision> {
    match &pass.marks.anchor {
        Some(name) => advance(pass, name),
        None => start::start(pass),
    }
}

/// Drives the rotation in flight; there is at most one per pool (I1).
fn advance(pass: &Pass<'_>, name: &str) -> Seen<Decision> {
    if let Some(drain) = draining::undisturbed(pass, name) {
        return Seen::Continue(drain);
    }
    let close_up = pass.observation.close_up(name)?;
    let Some(claim) = &close_up.claim else {
        return completion::complete(pass, close_up);
    };
    let rotation = Rotation::new(pass, close_up, claim);
    if !pass.has_claim(claim) {
        return completion::release_foreign(&rotation);
    }
    // The mirror has the word whatever the claim says: annotations stripped in mid-drain must neither free
    // the gate nor turn a success into an expiry (review 2).
    if pass.marks.draining {
        return draining::drain(&rotation);
    }
    match rotation.marks.state {
        // A claim that says draining without the mirror goes back to pending (review 3).
        ClaimState::Fresh | ClaimState::Pending | ClaimState::Draining | ClaimState::Unknown(_) => pending::pursue(&rotation),
        ClaimState::Failed => failed::retry_or_release(&rotation),
        ClaimState::Expired => expired::force_expiring(&rotation),
    }
}
