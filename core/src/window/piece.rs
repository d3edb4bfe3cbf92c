//! The open stretches of one entry on the timeline, one after the other (D4).
//!
//! The timeline of a zone is cut where its offset changes. Within one piece of it a wall-clock interval is one interval
//! of instants, so that skipped local times vanish and repeated ones count twice, exactly as membership has it.

use std::iter::Peekable;

use jiff::civil::Weekday;
use jiff::tz::{TimeZone, TimeZoneFollowingTransitions};
use jiff::{Timestamp, tz::TimeZoneTransition};

use super::entry::Entry;

/// Seconds of a civil day; every day of the wall clock has as many, whatever the instants behind it.
pub(super) const CIVIL_DAY: i64 = 24 * 60 * 60;

/// Open from `open` to before `close`, both in seconds of Unix time: edges of windows and changes of offsets are whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Piece {
    pub(super) open: i64,
    pub(super) close: i64,
    /// Civil day on which the interval starts, in days since 1970-01-01 of the zone's own calendar.
    pub(super) day: i64,
}

/// The pieces of an entry between two instants, in order, cut at both. Work is done as they are asked for.
pub(super) struct Pieces<'a> {
    zone: &'a TimeZone,
    interval: Interval,
    until: i64,
    stretch: Option<Stretch>,
    changes: Peekable<TimeZoneFollowingTransitions<'a>>,
}

/// A part of a zone's timeline with one offset, and how far its days have been walked.
#[derive(Clone, Copy)]
struct Stretch {
    from: i64,
    until: i64,
    offset: i64,
    next_day: i64,
}

impl<'a> Pieces<'a> {
    pub(super) fn new(entry: &'a Entry, from: Timestamp, until: Timestamp) -> Self {
        let (zone, interval) = (&entry.zone, Interval::of(entry));
        let mut pieces = Self { zone, interval, until: until.as_second(), stretch: None, changes: zone.following(from).peekable() };
        pieces.stretch = pieces.stretch_from(from);
        pieces
    }

    /// The part of the timeline that begins at `from`, which may be in the middle of one.
    fn stretch_from(&mut self, from: Timestamp) -> Option<Stretch> {
        let offset = i64::from(self.zone.to_offset(from).seconds());
        let change = self.changes.peek().map(|change| change.timestamp().as_second());
        let (from, until) = (from.as_second(), change.map_or(self.until, |change| change.min(self.until)));
        // From the day before: an interval may cross midnight.
        let next_day = (from + offset).div_euclid(CIVIL_DAY) - 1;
        (from < until).then_some(Stretch { from, until, offset, next_day })
    }

    fn next_stretch(&mut self) -> Option<Stretch> {
        let change: TimeZoneTransition<'_> = self.changes.next()?;
        self.stretch_from(change.timestamp())
    }
}

impl Iterator for Pieces<'_> {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        loop {
            let interval = self.interval;
            match self.stretch.as_mut()?.next_piece(interval) {
                Some(piece) => return Some(piece),
                None => self.stretch = self.next_stretch(),
            }
        }
    }
}

impl Stretch {
    /// The instants at which the wall clock shows the interval of the next day that has one; `None` past the end.
    fn next_piece(&mut self, interval: Interval) -> Option<Piece> {
        let Interval { start, end, days } = interval;
        if days.is_empty() {
            return None;
        }
        loop {
            let day = days.next(self.next_day);
            let midnight = day * CIVIL_DAY - self.offset;
            if midnight + start >= self.until {
                return None;
            }
            self.next_day = day + 1;
            let (open, close) = ((midnight + start).max(self.from), (midnight + end).min(self.until));
            if open < close {
                return Some(Piece { open, close, day });
            }
        }
    }
}

/// The wall-clock interval of an entry, in the form that is quickest to walk.
#[derive(Clone, Copy)]
struct Interval {
    /// Seconds since midnight.
    start: i64,
    end: i64,
    days: Days,
}

impl Interval {
    fn of(entry: &Entry) -> Self {
        let (start, end) = entry.seconds();
        Self { start, end, days: Days::of(&entry.days) }
    }
}

/// Days of the week as bits, counted from that of 1970-01-01, a Thursday.
#[derive(Clone, Copy)]
struct Days(u8);

impl Days {
    fn of(days: &[Weekday]) -> Self {
        Self(days.iter().fold(0, |bits, day| bits | 1 << day.since(Weekday::Thursday)))
    }

    fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The first of them from `day` on, both counted from 1970-01-01; `day` itself if there are none.
    fn next(self, day: i64) -> i64 {
        let two_weeks = u32::from(self.0) | u32::from(self.0) << 7;
        let from_day = two_weeks >> day.rem_euclid(7);
        if from_day == 0 { day } else { day + i64::from(from_day.trailing_zeros()) }
    }
}

/// The days of the entry that lie whole between two instants, in days since 1970-01-01 of its zone's calendar.
pub(super) fn days_of(entry: &Entry, from: Timestamp, until: Timestamp) -> impl Iterator<Item = i64> {
    let day_at = |at: Timestamp| (at.as_second() + i64::from(entry.zone.to_offset(at).seconds())).div_euclid(CIVIL_DAY);
    let days = Days::of(&entry.days);
    let last = day_at(until);
    std::iter::successors(Some(days.next(day_at(from) + 1)), move |day| Some(days.next(day + 1)))
        .take_while(move |day| *day < last && !days.is_empty())
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    #[test]
    fn days_have_the_weekdays_of_the_calendar() {
        let epoch = date(1970, 1, 1);
        for day in [-20_000, -1, 0, 1, 6, 7, 11_016, 20_454, 27_759] {
            let civil = epoch + jiff::Span::new().days(day);
            for weekday in Weekday::Monday.cycle_forward().take(7) {
                let next = Days::of(&[weekday]).next(day);
                assert_eq!((epoch + jiff::Span::new().days(next)).weekday(), weekday, "{civil} {weekday:?}");
                assert!((0..7).contains(&(next - day)), "{civil} {weekday:?}");
            }
        }
        assert_eq!(Days::of(&[Weekday::Monday, Weekday::Wednesday]).next(4), 4);
        assert!(Days::of(&[]).is_empty());
    }
}
