//! Violations that are known and not yet mended. `docs/model.md` tells their stories.
//!
//! An entry lets an exploration pass in spite of one kind of violation, under the one circumstance that causes it. Once it
//! is mended the entry must go: [`KNOWN`] is compared with what the exploration has met.

use crate::invariant::Violation;
use crate::moves::Move;
use crate::worker::Event;
use crate::world::World;
use crate::world::write::Told;

/// A known violation.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Heading of its story.
    pub name: &'static str,
    /// The rules that do not hold.
    rules: &'static [&'static str],
    /// A part of the sentence.
    sentence: &'static str,
    /// What causes it.
    cause: Cause,
}

/// What causes a known violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    /// A person has given the node to another pool.
    Relabelled,
    /// The failure was told, and before the anchor was released Karpenter took the claim.
    FailedThenExpired,
    /// The worker decided from caches that stood still.
    StaleCaches,
}

/// All of them.
pub const KNOWN: [Known; 3] = [
    Known { name: "two candidates in a stale cache", rules: &["end"], sentence: "does not come to an end", cause: Cause::StaleCaches },
    Known { name: "a host that was given to another pool", rules: &["I11"], sentence: "writes node", cause: Cause::Relabelled },
    Known { name: "a failed attempt whose claim expires", rules: &["I9"], sentence: "is counted 2 times", cause: Cause::FailedThenExpired },
];

/// The known violation that a move from `before`, or the state itself, is.
#[must_use]
pub fn known(violation: &Violation, before: &World, what: Option<Move>, event: Option<&Event>) -> Option<&'static Known> {
    let mut same = KNOWN.iter().filter(|known| known.rules.contains(&violation.rule) && violation.sentence.contains(known.sentence));
    same.find(|known| known.cause.applies(before, what, event))
}

impl Cause {
    fn applies(self, before: &World, what: Option<Move>, event: Option<&Event>) -> bool {
        let worker = what.and_then(Move::worker).and_then(|index| before.workers.get(usize::from(index)));
        match self {
            Self::Relabelled => match event {
                Some(Event::Wrote { write, .. }) => write.what.numbers().iter().any(|id| {
                    let pool = before.claim(*id).map(|claim| claim.pool);
                    worker.is_some_and(|worker| pool.is_some_and(|pool| pool != worker.pool))
                }),
                Some(_) | None => false,
            },
            Self::FailedThenExpired => match event {
                Some(Event::Wrote { write, .. }) => write.told == [Told::Expired],
                Some(_) | None => false,
            },
            Self::StaleCaches => {
                let decided_so = matches!(event, Some(Event::Wrote { facts, .. }) if facts.lagging);
                decided_so || worker.is_some_and(|worker| worker.cached.is_some())
            }
        }
    }
}
