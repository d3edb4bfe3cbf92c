//! P, D and the idle gap: what is measured on the occurrences of a year (D4).

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::calendar::{ahead, merge};
use super::entry::Entry;
use super::piece::Pieces;

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
    measure_held(entries, from).0
}

/// The same, and the instant up to which it comes to the same whatever it is measured from; `from` itself if that is not known.
pub(super) fn measure_held(entries: &[Entry], from: Timestamp) -> (Option<Measures>, Timestamp) {
    let until = ahead(from, YEAR);
    let mut intervals = Vec::new();
    for entry in entries {
        whole(Pieces::new(entry, ahead(from, -MARGIN), ahead(until, MARGIN)), &mut intervals);
    }
    let start = from;
    let (from, until) = (from.as_second(), until.as_second());
    let mut seen = merge(intervals);
    let next = seen.iter().map(|(open, _)| *open).find(|open| *open >= until);
    seen.retain(|(open, close)| *close > from && *open < until);
    let held = seen.first().zip(next).map_or(start, |((open, close), next)| {
        // What begins before the walk or ends after it is cut at another place each time.
        let whole = *open > from - MARGIN.as_secs() / 2;
        // The first one that is seen no longer, or the first one more.
        let same = (*close).min(from + next - until);
        if whole { Timestamp::from_second(same).unwrap_or(start).max(start) } else { start }
    });
    (of_occurrences(&seen, from, until), held)
}

fn of_occurrences(seen: &[(i64, i64)], from: i64, until: i64) -> Option<Measures> {
    let (open, close) = *seen.first()?;
    if open <= from && close >= until {
        return Some(Measures { period: CONTINUOUS_PERIOD, shortest: seconds(close - open), idle_gap: None });
    }
    let pairs = || seen.iter().zip(seen.iter().skip(1));
    // A single occurrence in 53 weeks: the next is at least that far.
    let period = pairs().map(|((open, _), (next, _))| next - open).max().unwrap_or(until - from);
    let shortest = seen.iter().map(|(open, close)| close - open).min()?;
    let idle_gap = pairs().map(|((_, close), (next, _))| next - close).min();
    Some(Measures { period: seconds(period), shortest: seconds(shortest), idle_gap: idle_gap.map(seconds) })
}

/// Adds one interval a civil day. A repeated local hour may cut a window in two, with closed time between; a person counts
/// one window all the same, and neither half of it is its length (review 27).
fn whole(pieces: Pieces<'_>, intervals: &mut Vec<(i64, i64)>) {
    // Pieces that a repeated hour cuts are of this day or of those around it.
    let mut recent: [(i64, usize); 3] = [(i64::MIN, 0); 3];
    for piece in pieces {
        let other = recent.iter().find(|(day, _)| *day == piece.day).and_then(|(_, index)| intervals.get_mut(*index));
        if let Some((_, close)) = other {
            *close = piece.close;
        } else {
            recent.rotate_right(1);
            recent[0] = (piece.day, intervals.len());
            intervals.push((piece.open, piece.close));
        }
    }
}

/// Differences of instants in order are not negative.
fn seconds(count: i64) -> Duration {
    Duration::from_secs(u64::try_from(count).unwrap_or_default())
}
