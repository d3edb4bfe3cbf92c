//! What has happened at all: a rule about something that never happens is held by nothing.

use std::collections::BTreeMap;

use crate::moves::Move;
use crate::worker::Event;

/// How often each kind of thing has happened.
#[derive(Clone, Debug, Default)]
pub struct Coverage(BTreeMap<String, u64>);

impl Coverage {
    /// Counts a move and what came of it.
    pub fn note(&mut self, what: Move, event: Option<&Event>) {
        if let Some(Event::Wrote { write, outcome, told, .. }) = event {
            self.add(&format!("{} {outcome:?}", write.what.kind()));
            for told in write.told.iter().filter(|_| *told) {
                self.add(&format!("told {told:?}"));
            }
        } else {
            self.add(what.kind());
        }
    }

    fn add(&mut self, kind: &str) {
        match self.0.get_mut(kind) {
            Some(count) => *count += 1,
            None => drop(self.0.insert(kind.to_owned(), 1)),
        }
    }

    /// Counts what another has counted.
    pub fn merge(&mut self, other: &Self) {
        for (kind, count) in &other.0 {
            *self.0.entry(kind.clone()).or_default() += count;
        }
    }

    /// How often this kind of thing has happened.
    #[must_use]
    pub fn count(&self, kind: &str) -> u64 {
        self.0.get(kind).copied().unwrap_or_default()
    }

    /// All kinds with their counts.
    pub fn kinds(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(kind, count)| (kind.as_str(), *count))
    }
}
