//! A walk over the local clocks minute by minute, and all that the product says of the walked time held against it.

use jiff::SignedDuration;

use super::oracle::Oracle;
use super::*;

const MINUTE: SignedDuration = SignedDuration::from_mins(1);
const INSTANT: SignedDuration = SignedDuration::from_nanos(1);

/// Some minutes in a row and whether the clocks say that a window is open in each of them.
pub(super) struct Walk<'a> {
    windows: &'a Windows,
    oracles: Vec<Oracle>,
    first: Timestamp,
    open: Vec<bool>,
    /// How many instants were compared.
    pub(super) instants: usize,
}

impl<'a> Walk<'a> {
    /// Walks `minutes` minutes from `first`; both clocks and the membership agree in each of them.
    pub(super) fn of(windows: &'a Windows, first: Timestamp, minutes: usize) -> Self {
        let oracles = windows.entries().iter().map(Oracle::of).collect();
        let mut walk = Self { windows, oracles, first, open: Vec::with_capacity(minutes), instants: 0 };
        for index in 0..minutes {
            let open = walk.ask(walk.minute(index));
            if walk.open.last().is_some_and(|before| *before != open) {
                // Nothing but the minute itself may be the edge.
                assert_ne!(walk.ask(walk.minute(index) - INSTANT), open, "{}", walk.at(walk.minute(index) - INSTANT));
            }
            walk.open.push(open);
        }
        walk
    }

    fn ask(&mut self, now: Timestamp) -> bool {
        let open = self.oracles.iter().any(|oracle| oracle.face_says_open(now));
        assert_eq!(self.oracles.iter().any(|oracle| oracle.second_says_open(now)), open, "the clocks differ: {}", self.at(now));
        assert_eq!(self.windows.contains(now), open, "membership: {}", self.at(now));
        self.instants += 1;
        open
    }

    fn minute(&self, index: usize) -> Timestamp {
        self.first + MINUTE * i32::try_from(index).unwrap()
    }

    fn last(&self) -> Timestamp {
        self.minute(self.open.len())
    }

    /// For messages.
    fn at(&self, now: Timestamp) -> String {
        let entry = |entry: &Entry| format!("{} {:?} {}-{}", entry.zone_name, entry.days, entry.start, entry.end);
        format!("{now}: {}", self.windows.entries().iter().map(entry).collect::<Vec<_>>().join("; "))
    }

    /// The minutes at which it opens, or closes.
    fn edges(&self, opens: bool) -> impl Iterator<Item = Timestamp> {
        let pairs = self.open.iter().zip(self.open.iter().skip(1)).enumerate();
        pairs.filter(move |(_, (before, after))| *before != *after && **after == opens).map(|(index, _)| self.minute(index + 1))
    }

    /// The list of occurrences is that of the walk, cut where it begins and ends.
    pub(super) fn judge_list(&self) {
        let mut opens: Vec<Timestamp> = self.open.first().filter(|open| **open).map(|_| self.first).into_iter().collect();
        opens.extend(self.edges(true));
        let closes = self.edges(false).chain([self.last()]);
        let walked: Vec<(Timestamp, Timestamp)> = opens.into_iter().zip(closes).collect();
        let listed = self.windows.occurrences(self.first, self.last());
        let cut = listed.iter().map(|occurrence| (occurrence.open.max(self.first), occurrence.close.min(self.last())));
        assert_eq!(cut.collect::<Vec<_>>(), walked, "{}", self.at(self.first));
    }

    /// What is said at one instant of the walk: the occurrence, the next opening and the next closing.
    pub(super) fn judge(&self, now: Timestamp) {
        let open = self.windows.contains(now);
        let (opens, closes) = (self.edges(true).find(|at| *at > now), self.edges(false).find(|at| *at > now));
        for (name, told, walked) in [("opens", self.windows.next_open(now), opens), ("closes", self.windows.next_close(now), closes)] {
            match walked {
                Some(_) => assert_eq!(told, walked, "{name} next after {}", self.at(now)),
                // Not within the walk: then it is at its end or beyond, or never.
                None => assert!(told.is_none_or(|told| told >= self.last()), "{name} at {told:?} after {}", self.at(now)),
            }
        }
        let occurrence = self.windows.occurrence(now);
        assert_eq!(occurrence.is_some(), open, "occurrence at {}", self.at(now));
        if let Some(occurrence) = occurrence {
            match self.edges(true).filter(|at| *at <= now).last() {
                Some(opened) => assert_eq!(occurrence.open, opened, "{}", self.at(now)),
                None => assert!(occurrence.open <= self.first, "{}", self.at(now)),
            }
            match closes {
                Some(closes) => assert_eq!(occurrence.close, closes, "{}", self.at(now)),
                None => assert!(occurrence.close >= self.last(), "{}", self.at(now)),
            }
        }
    }
}
