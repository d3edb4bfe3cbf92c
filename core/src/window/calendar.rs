//! Occurrences of a union of windows on the real calendar (D4).

use std::iter::Peekable;

use jiff::{SignedDuration, Timestamp};

use super::entry::Entry;
use super::piece::{Piece, Pieces};

/// A stretch of open time, adjacent and overlapping entries merged: `[open, close)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Occurrence {
    /// First instant inside.
    pub open: Timestamp,
    /// First instant outside. For a window that never closes, the end of what was looked at.
    pub close: Timestamp,
}

impl Occurrence {
    /// Whole seconds of Unix time; `None` outside of what a timestamp can say.
    fn of(open: i64, close: i64) -> Option<Self> {
        Some(Self { open: Timestamp::from_second(open).ok()?, close: Timestamp::from_second(close).ok()? })
    }
}

/// The merged occurrences of `entries` within `[from, until)`; those at the edges are cut.
pub(super) fn occurrences(entries: &[Entry], from: Timestamp, until: Timestamp) -> Vec<Occurrence> {
    let pieces = entries.iter().flat_map(|entry| Pieces::new(entry, from, until));
    merge(pieces.map(|piece| (piece.open, piece.close)).collect())
        .into_iter()
        .filter_map(|(open, close)| Occurrence::of(open, close))
        .collect()
}

/// Joins what touches or overlaps, in order. Opening and closing in seconds of Unix time.
pub(super) fn merge(mut intervals: Vec<(i64, i64)>) -> Vec<(i64, i64)> {
    // Stable: it is quick on the sorted runs that each entry contributes.
    intervals.sort_by_key(|(open, _)| *open);
    let mut merged: Vec<(i64, i64)> = Vec::with_capacity(intervals.len());
    for (open, close) in intervals {
        match merged.last_mut() {
            Some((_, last)) if open <= *last => *last = close.max(*last),
            Some(_) | None => merged.push((open, close)),
        }
    }
    merged
}

/// The occurrences from an instant on, one at a time, for who needs only the next one or two.
pub(super) struct Upcoming<'a> {
    entries: Vec<Peekable<Pieces<'a>>>,
}

impl<'a> Upcoming<'a> {
    /// The first one may have begun before `from` and is then cut there.
    pub(super) fn new(entries: &'a [Entry], from: Timestamp, until: Timestamp) -> Self {
        Self { entries: entries.iter().map(|entry| Pieces::new(entry, from, until).peekable()).collect() }
    }

    /// The earliest piece of all entries that opens no later than `latest`.
    fn take(&mut self, latest: i64) -> Option<Piece> {
        let opens = |pieces: &mut Peekable<Pieces<'a>>| pieces.peek().map(|piece| piece.open);
        let earliest = self.entries.iter_mut().filter_map(|pieces| opens(pieces).map(|open| (open, pieces))).min_by_key(|(open, _)| *open);
        earliest.filter(|(open, _)| *open <= latest)?.1.next()
    }
}

impl Iterator for Upcoming<'_> {
    type Item = Occurrence;

    fn next(&mut self) -> Option<Occurrence> {
        let first = self.take(i64::MAX)?;
        let mut close = first.close;
        while let Some(piece) = self.take(close) {
            close = close.max(piece.close);
        }
        Occurrence::of(first.open, close)
    }
}

/// `at` plus `by`, or the last instant there is.
pub(super) fn ahead(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.saturating_add(by).unwrap_or(at)
}
