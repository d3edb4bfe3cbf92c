//! Occurrences of a union of windows on the real calendar, and what is measured on them (D4).
//!
//! The local timeline of a zone is cut where its offset changes. Within one piece a civil interval is one interval of
//! instants, so that skipped local times vanish and repeated ones count twice, exactly as membership has it.

use std::time::Duration;

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::entry::{Entry, MINUTES_OF_DAY};

/// A stretch of open time, adjacent and overlapping entries merged: `[open, close)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Occurrence {
    /// First instant inside.
    pub open: Timestamp,
    /// First instant outside. For a window that never closes, the end of what was looked at.
    pub close: Timestamp,
}

/// What a repeated local hour does to an interval that it cuts in two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Folds {
    /// Two occurrences with the closed time between them, as membership has it.
    Exact,
    /// One occurrence: a person counts one window. For measures only.
    Joined,
}

/// What is measured on the occurrences of 53 weeks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measures {
    /// Longest time from start to start.
    pub period: Duration,
    /// Shortest occurrence.
    pub shortest: Duration,
    /// Shortest closed interval; `None` if there is none.
    pub idle_gap: Option<Duration>,
}

/// P of a window that never closes: the controller looks once a minute.
const CONTINUOUS_PERIOD: Duration = Duration::from_secs(60);
/// Long enough to hold every offset change of a year.
const YEAR: SignedDuration = SignedDuration::from_hours(53 * 7 * 24);

/// The merged occurrences of `entries` within `[from, until)`; those at the edges may be cut.
#[must_use]
pub fn occurrences(entries: &[Entry], from: Timestamp, until: Timestamp, folds: Folds) -> Vec<Occurrence> {
    let mut pieces = Vec::new();
    for entry in entries {
        pieces_of(entry, from, until, folds, &mut pieces);
    }
    merge(pieces)
}

/// Measures the occurrences of the 53 weeks from `from`; `None` without any.
#[must_use]
pub fn measure(entries: &[Entry], from: Timestamp) -> Option<Measures> {
    let until = ahead(from, YEAR);
    // Wider than what is measured, so that no occurrence is cut unless it never closes.
    let margin = SignedDuration::from_hours(8 * 24);
    let all = occurrences(entries, ahead(from, -margin), ahead(until, margin), Folds::Joined);
    let seen: Vec<Occurrence> = all.into_iter().filter(|o| o.close > from && o.open < until).collect();
    let first = seen.first()?;
    if first.open <= from && first.close >= until {
        let whole = elapsed(first.open, first.close);
        return Some(Measures { period: CONTINUOUS_PERIOD, shortest: whole, idle_gap: None });
    }
    let pairs = || seen.iter().zip(seen.iter().skip(1));
    // A single occurrence in 53 weeks: the next is at least that far.
    let period = pairs().map(|(a, b)| elapsed(a.open, b.open)).max().unwrap_or_else(|| elapsed(from, until));
    let shortest = seen.iter().map(|o| elapsed(o.open, o.close)).min()?;
    Some(Measures { period, shortest, idle_gap: pairs().map(|(a, b)| elapsed(a.close, b.open)).min() })
}

/// `at` plus `by`, or the last instant there is.
pub(super) fn ahead(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.saturating_add(by).unwrap_or(at)
}

fn elapsed(from: Timestamp, to: Timestamp) -> Duration {
    to.duration_since(from).try_into().unwrap_or_default()
}

/// A stretch of a zone's timeline with one offset.
struct Stretch {
    from: Timestamp,
    until: Timestamp,
    offset: SignedDuration,
}

fn stretches(zone: &TimeZone, from: Timestamp, until: Timestamp) -> Vec<Stretch> {
    let offset_at = |at: Timestamp| SignedDuration::from_secs(i64::from(zone.to_offset(at).seconds()));
    let mut stretches = Vec::new();
    let mut begin = from;
    for transition in zone.following(from).take_while(|t| t.timestamp() < until) {
        stretches.push(Stretch { from: begin, until: transition.timestamp(), offset: offset_at(begin) });
        begin = transition.timestamp();
    }
    stretches.push(Stretch { from: begin, until, offset: offset_at(begin) });
    stretches
}

fn pieces_of(entry: &Entry, from: Timestamp, until: Timestamp, folds: Folds, pieces: &mut Vec<Occurrence>) {
    let stretches = stretches(&entry.zone, from, until);
    let mut first = 0;
    // From the day before: an interval may cross midnight.
    let mut day = entry.zone.to_datetime(from).date().yesterday().ok();
    let last = entry.zone.to_datetime(until).date();
    while let Some(date) = day.filter(|date| *date <= last) {
        day = date.tomorrow().ok();
        if !entry.days.contains(&date.weekday()) {
            continue;
        }
        let Some((local_start, local_end)) = civil_interval(entry, date) else {
            continue;
        };
        // Stretches that ended long before this day are done with.
        while stretches.get(first).is_some_and(|s| local_start.duration_since(s.until) > SignedDuration::from_hours(48)) {
            first += 1;
        }
        let found = stretches
            .iter()
            .skip(first)
            .take_while(|s| s.from.duration_since(local_end) < SignedDuration::from_hours(48))
            .filter_map(|stretch| piece(stretch, local_start, local_end));
        match folds {
            Folds::Exact => pieces.extend(found),
            Folds::Joined => pieces.extend(found.reduce(|a, b| Occurrence { open: a.open, close: b.close })),
        }
    }
}

/// Start and end of the interval that starts on `date`, as if the wall clock showed UTC.
fn civil_interval(entry: &Entry, date: Date) -> Option<(Timestamp, Timestamp)> {
    let at = |date: Date, minute: u16| {
        let midnight = DateTime::from_parts(date, jiff::civil::Time::midnight());
        let midnight = TimeZone::UTC.to_timestamp(midnight).ok()?;
        midnight.checked_add(SignedDuration::from_mins(i64::from(minute))).ok()
    };
    let end = if entry.crosses_midnight() { entry.end + MINUTES_OF_DAY } else { entry.end };
    Some((at(date, entry.start)?, at(date, end)?))
}

/// The instants of `stretch` at which the wall clock shows `[local_start, local_end)`.
fn piece(stretch: &Stretch, local_start: Timestamp, local_end: Timestamp) -> Option<Occurrence> {
    let open = local_start.checked_sub(stretch.offset).ok()?.max(stretch.from);
    let close = local_end.checked_sub(stretch.offset).ok()?.min(stretch.until);
    (open < close).then_some(Occurrence { open, close })
}

/// Joins what touches or overlaps.
fn merge(mut pieces: Vec<Occurrence>) -> Vec<Occurrence> {
    pieces.sort_unstable();
    let mut merged: Vec<Occurrence> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        match merged.last_mut() {
            Some(last) if piece.open <= last.close => last.close = last.close.max(piece.close),
            Some(_) | None => merged.push(piece),
        }
    }
    merged
}
