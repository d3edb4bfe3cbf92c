//! Maintenance windows: when a rotation may start (§3.1, D4).
//!
//! An entry is a set of local weekdays and a local wall-clock interval in one IANA zone; the effective window is the
//! union of all entries. An instant is inside if its local time is: local times that a spring change skips never
//! occur, and both passes of a repeated local time count. All arithmetic walks civil dates, never multiples of a day.

mod calendar;
mod entry;
mod measures;
mod piece;
mod skipped;
#[cfg(test)]
mod tests;
pub mod zone;

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

pub use calendar::Occurrence;
use calendar::{Upcoming, ahead};
pub use entry::{Entry, MINUTES_OF_DAY};
pub use measures::Measures;
pub use skipped::Skipped;

/// The union of the entries of one policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Windows {
    entries: Vec<Entry>,
}

/// How far back the beginning of an occurrence is looked for first; longer than any interval of one day.
const CLOSE: SignedDuration = SignedDuration::from_hours(2 * 24);
/// How far around an occurrence its edges are looked for first; longer than any interval and any pause of a week.
const NEAR: SignedDuration = SignedDuration::from_hours(15 * 24);
/// How far an opening is looked for before the answer is "none", and the longest occurrence that is told whole.
const FAR: SignedDuration = SignedDuration::from_hours(400 * 24);

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
        self.entries.iter().any(|entry| entry.contains(now))
    }

    /// The merged occurrence that contains `now`; whole unless it is longer than 400 days.
    #[must_use]
    pub fn occurrence(&self, now: Timestamp) -> Option<Occurrence> {
        if !self.contains(now) {
            return None;
        }
        let reached = |reach: SignedDuration| {
            let (from, until) = (ahead(now, -reach), ahead(now, FAR));
            let occurrence = Upcoming::new(&self.entries, from, until).find(|occurrence| occurrence.close > now)?;
            // One that begins where the look began may have begun before.
            (reach == FAR || occurrence.open.as_second() > from.as_second()).then_some(occurrence)
        };
        [CLOSE, NEAR, FAR].into_iter().find_map(reached)
    }

    /// The occurrences that have not closed at `now`, in order, for 400 days. One that is open is cut at `now`; one that
    /// never closes ends with what was looked at.
    pub fn upcoming(&self, now: Timestamp) -> impl Iterator<Item = Occurrence> {
        Upcoming::new(&self.entries, now, ahead(now, FAR))
    }

    /// A window is open at `now` and does not close within 400 days, as where the entries cover the week.
    #[must_use]
    pub fn never_closes(&self, now: Timestamp) -> bool {
        self.contains(now) && self.next_close(now).is_none()
    }

    /// The occurrence that is open, or else the next one. `None` as for [`Self::next_open`]: of one that never closes there is
    /// no beginning and no end to tell, and what was looked at moves with `now`.
    #[must_use]
    pub fn current_or_next(&self, now: Timestamp) -> Option<Occurrence> {
        if self.never_closes(now) {
            return None;
        }
        self.occurrence(now).or_else(|| self.upcoming(now).next())
    }

    /// When the next occurrence opens, strictly after `now`. `None` if there is none within 400 days, as for a
    /// window that never closes.
    #[must_use]
    pub fn next_open(&self, now: Timestamp) -> Option<Timestamp> {
        self.upcoming(now).map(|occurrence| occurrence.open).find(|open| *open > now)
    }

    /// When the occurrence that contains `now` closes, or else the next one. `None` as for [`Self::next_open`].
    #[must_use]
    pub fn next_close(&self, now: Timestamp) -> Option<Timestamp> {
        let horizon = ahead(now, FAR);
        self.upcoming(now).map(|occurrence| occurrence.close).find(|close| close.as_second() < horizon.as_second())
    }

    /// The merged occurrences that overlap `[from, until)`, in order. One at an edge is whole unless it is longer than
    /// 400 days.
    #[must_use]
    pub fn occurrences(&self, from: Timestamp, until: Timestamp) -> Vec<Occurrence> {
        let around = |margin: SignedDuration| {
            let (first, last) = (ahead(from, -margin), ahead(until, margin));
            let all = calendar::occurrences(&self.entries, first, last);
            // Edges are whole seconds, whatever the instants that were asked for.
            let at_edge = |o: &Occurrence| o.open.as_second() <= first.as_second() || o.close.as_second() >= last.as_second();
            let cut = all.iter().any(|o| o.close > from && o.open < until && at_edge(o));
            (all, cut)
        };
        let (all, cut) = around(NEAR);
        let mut all = if cut { around(FAR).0 } else { all };
        all.retain(|occurrence| occurrence.close > from && occurrence.open < until);
        all
    }

    /// The windows of the whole days between `from` and `until` that never open, since the clock jumps over them.
    #[must_use]
    pub fn skipped(&self, from: Timestamp, until: Timestamp) -> Vec<Skipped> {
        skipped::skipped(&self.entries, from, until)
    }

    /// P, D and the idle gap over the 53 weeks from `from`, in one walk; `None` without any occurrence.
    #[must_use]
    pub fn measures(&self, from: Timestamp) -> Option<Measures> {
        measures::measure(&self.entries, from)
    }

    /// The same, and the instant before which it comes to the same from any instant on; `from` itself where that is not known.
    #[must_use]
    pub fn measures_held(&self, from: Timestamp) -> (Option<Measures>, Timestamp) {
        measures::measure_held(&self.entries, from)
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
