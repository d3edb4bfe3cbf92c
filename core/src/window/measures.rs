//! P, D and the idle gap: what is measured on the occurrences of a year (D4).

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::calendar::{Occurrence, ahead, merge};
use super::entry::Entry;
use super::piece::{Piece, Pieces};

/// What is measured on the occurrences of 53 weeks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measures {
    /// P: longest time from start to start. One minute for a window that never closes.
    pub period: Duration,
    /// D: shortest occurrence.
    pub shortest: Duration,
    /// Shortest closed interval; `None` if there is none.
    pub idle_gap: Option<Duration>,
}

/// P of a window that never closes: the controller looks once a minute.
const CONTINUOUS_PERIOD: Duration = Duration::from_secs(60);
/// Long enough to hold every offset change of a year.
const YEAR: SignedDuration = SignedDuration::from_hours(53 * 7 * 24);
/// Looked at on both sides of the year, so that no occurrence is cut unless it never closes.
const MARGIN: SignedDuration = SignedDuration::from_hours(8 * 24);

/// Measures the occurrences of the 53 weeks from `from`; `None` without any.
pub(super) fn measure(entries: &[Entry], from: Timestamp) -> Option<Measures> {
    let until = ahead(from, YEAR);
    let (first, last) = (ahead(from, -MARGIN), ahead(until, MARGIN));
    let intervals = entries.iter().flat_map(|entry| whole(Pieces::new(entry, first, last).collect())).collect();
    let mut seen = merge(intervals);
    seen.retain(|occurrence| occurrence.close > from && occurrence.open < until);
    let first = seen.first()?;
    if first.open <= from && first.close >= until {
        let whole = elapsed(first.open, first.close);
        return Some(Measures { period: CONTINUOUS_PERIOD, shortest: whole, idle_gap: None });
    }
    let pairs = || seen.iter().zip(seen.iter().skip(1));
    // A single occurrence in 53 weeks: the next is at least that far.
    let period = pairs().map(|(a, b)| elapsed(a.open, b.open)).max().unwrap_or_else(|| elapsed(from, until));
    let shortest = seen.iter().map(|Occurrence { open, close }| elapsed(*open, *close)).min()?;
    Some(Measures { period, shortest, idle_gap: pairs().map(|(a, b)| elapsed(a.close, b.open)).min() })
}

/// One interval a civil day. A repeated local hour may cut a window in two, with closed time between; a person counts
/// one window all the same, and neither half of it is its length (review 27).
fn whole(mut pieces: Vec<Piece>) -> Vec<(i64, i64)> {
    pieces.sort_by_key(|piece| (piece.day, piece.open));
    pieces.chunk_by(|a, b| a.day == b.day).filter_map(|day| Some((day.first()?.open, day.last()?.close))).collect()
}

fn elapsed(from: Timestamp, to: Timestamp) -> Duration {
    to.duration_since(from).try_into().unwrap_or_default()
}
