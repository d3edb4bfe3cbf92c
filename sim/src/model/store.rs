//! Which states were visited, and how each was first reached.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Mutex, PoisonError};

/// A fingerprint is a hash already.
#[derive(Default)]
struct Itself(u64);

impl Hasher for Itself {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 << 8) | u64::from(*byte);
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

/// How a state was reached with the fewest perturbations.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    /// Fingerprint of the state before.
    pub(super) parent: u64,
    /// Place of the move among those of the state before.
    pub(super) place: u16,
    /// Perturbations so far.
    pub(super) cost: u32,
}

type Part = Mutex<HashMap<u64, (u64, u16, u8), BuildHasherDefault<Itself>>>;

/// The visited states by fingerprint.
pub(super) struct Store {
    parts: Vec<Part>,
}

impl Default for Store {
    fn default() -> Self {
        Self { parts: (0..256).map(|_| Part::default()).collect() }
    }
}

impl Store {
    fn part(&self, print: u64) -> Option<&Part> {
        self.parts.get(usize::try_from(print >> 56).ok()?)
    }

    /// Remembers a state; true if it is new, or was known only with more perturbations.
    pub(super) fn insert(&self, print: u64, origin: Origin) -> bool {
        let Some(part) = self.part(print) else {
            return false;
        };
        let cost = u8::try_from(origin.cost).unwrap_or(u8::MAX);
        let mut part = part.lock().unwrap_or_else(PoisonError::into_inner);
        if part.contains_key(&print) {
            return false;
        }
        part.insert(print, (origin.parent, origin.place, cost));
        true
    }

    /// How a state was reached.
    pub(super) fn origin_of(&self, print: u64) -> Option<Origin> {
        let part = self.part(print)?.lock().unwrap_or_else(PoisonError::into_inner);
        part.get(&print).map(|(parent, place, cost)| Origin { parent: *parent, place: *place, cost: u32::from(*cost) })
    }

    /// The places of the moves that lead to `last` and through it.
    pub(super) fn path(&self, last: Origin) -> Vec<u16> {
        let mut places = Vec::new();
        let mut origin = Some(last);
        while let Some(step) = origin.filter(|step| step.parent != 0) {
            places.push(step.place);
            origin = self.origin_of(step.parent);
        }
        places.reverse();
        places
    }
}
