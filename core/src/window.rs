//! Maintenance windows: when a rotation may start (§3.1, D4).
//!
//! An entry is a set of local weekdays and a local wall-clock interval in one IANA zone; the effective window is the
//! union of all entries. An instant is inside if its local time is: local times that a spring change skips never
//! occur, and both passes of a repeated local time count. All arithmetic walks civil dates, never multiples of a day.

pub mod calendar;
#[cfg(test)]
mod tests;
pub mod zone;

use std::time::Duration;

use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

pub use calendar::Measures;

/// Minutes of a day; `24:00` as an end.
pub const MINUTES_OF_DAY: u16 = 24 * 60;

/// One entry of `spec.maintenanceWindows`, parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Zone of the wall clock.
    pub zone: TimeZone,
    /// Name of the zone as the policy spells it.
    pub zone_name: String,
    /// Days on which an interval starts.
    pub days: Vec<Weekday>,
    /// Minute of the day, 0 to 1439, inclusive.
    pub start: u16,
    /// Minute of the day, 0 to 1440, exclusive; before `start` it is on the next day.
    pub end: u16,
}

/// The union of the entries of one policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Windows {
    entries: Vec<Entry>,
}

/// A stretch of open time, adjacent and overlapping entries merged: `[open, close)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Occurrence {
    /// First instant inside.
    pub open: Timestamp,
    /// First instant outside. For a window that never closes, the end of what was looked at.
    pub close: Timestamp,
}

/// How far an opening is looked for first; longer than any interval and any pause of a week.
const NEAR: SignedDuration = SignedDuration::from_hours(15 * 24);
/// How far it is looked for before the answer is "none", and the longest occurrence that is told whole.
const FAR: SignedDuration = SignedDuration::from_hours(400 * 24);

impl Entry {
    /// The interval ends on the day after the one on which it starts.
    #[must_use]
    pub fn crosses_midnight(&self) -> bool {
        self.end < self.start
    }
}

impl Windows {
    /// The union of `entries`.
    #[must_use]
    pub fn new(entries: Vec<Entry>) -> Self {
        Self { entries }
    }

    /// The entries, in the order of the policy.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// A window is open at `now`.
    #[must_use]
    pub fn contains(&self, now: Timestamp) -> bool {
        self.entries.iter().any(|entry| inside(entry, now))
    }

    /// The merged occurrence that contains `now`.
    #[must_use]
    pub fn occurrence(&self, now: Timestamp) -> Option<Occurrence> {
        if !self.contains(now) {
            return None;
        }
        self.occurrences(now, ahead(now, SignedDuration::from_secs(1))).into_iter().find(|o| o.open <= now && now < o.close)
    }

    /// When the next occurrence opens, strictly after `now`. `None` if there is none within 400 days, as for a
    /// window that never closes.
    #[must_use]
    pub fn next_open(&self, now: Timestamp) -> Option<Timestamp> {
        self.next(now, |occurrence| (occurrence.open > now).then_some(occurrence.open))
    }

    /// When the occurrence that contains `now` closes, or else the next one. `None` as for [`Self::next_open`].
    #[must_use]
    pub fn next_close(&self, now: Timestamp) -> Option<Timestamp> {
        let horizon = ahead(now, FAR);
        self.next(now, |occurrence| (occurrence.close > now && occurrence.close < horizon).then_some(occurrence.close))
    }

    fn next(&self, now: Timestamp, wanted: impl Fn(&Occurrence) -> Option<Timestamp>) -> Option<Timestamp> {
        let within = |reach| self.occurrences(now, ahead(now, reach)).iter().find_map(&wanted);
        within(NEAR).or_else(|| within(FAR))
    }

    /// The merged occurrences that overlap `[from, until)`, in order. One at an edge is whole unless it is longer than
    /// 400 days.
    #[must_use]
    pub fn occurrences(&self, from: Timestamp, until: Timestamp) -> Vec<Occurrence> {
        let around = |margin: SignedDuration| {
            let (first, last) = (ahead(from, -margin), ahead(until, margin));
            let all = calendar::occurrences(&self.entries, first, last, calendar::Folds::Exact);
            let cut = all.iter().any(|o| (o.open <= first && o.close > from) || (o.close >= last && o.open < until));
            (all, cut)
        };
        let (all, cut) = around(NEAR);
        let mut all = if cut { around(FAR).0 } else { all };
        all.retain(|occurrence| occurrence.close > from && occurrence.open < until);
        all
    }

    /// P, D and the idle gap over the 53 weeks from `from`, in one walk; `None` without any occurrence.
    #[must_use]
    pub fn measures(&self, from: Timestamp) -> Option<Measures> {
        calendar::measure(&self.entries, from)
    }

    /// P: the longest time from the start of one occurrence to the start of the next, over the 53 weeks from `from`.
    /// One minute for a window that never closes, `None` without any occurrence.
    #[must_use]
    pub fn period(&self, from: Timestamp) -> Option<Duration> {
        self.measures(from).map(|measures| measures.period)
    }

    /// D: the shortest occurrence over the 53 weeks from `from`.
    #[must_use]
    pub fn shortest(&self, from: Timestamp) -> Option<Duration> {
        self.measures(from).map(|measures| measures.shortest)
    }

    /// The shortest closed interval over the 53 weeks from `from`; `None` for a window that never closes.
    #[must_use]
    pub fn idle_gap(&self, from: Timestamp) -> Option<Duration> {
        self.measures(from).and_then(|measures| measures.idle_gap)
    }
}

/// `at` plus `by`, or the last instant there is.
fn ahead(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.saturating_add(by).unwrap_or(at)
}

/// The local time of `now` is inside the entry.
fn inside(entry: &Entry, now: Timestamp) -> bool {
    let local = entry.zone.to_datetime(now);
    let minute = minute_of_day(local);
    let day = local.date().weekday();
    let starts_on = |day: Weekday| entry.days.contains(&day);
    if entry.crosses_midnight() {
        (starts_on(day) && minute >= entry.start) || (starts_on(day.previous()) && minute < entry.end)
    } else {
        starts_on(day) && minute >= entry.start && minute < entry.end
    }
}

fn minute_of_day(local: jiff::civil::DateTime) -> u16 {
    // Hours and minutes of a civil time are never negative.
    let part = |value: i8| u16::try_from(value).unwrap_or_default();
    part(local.hour()) * 60 + part(local.minute())
}
