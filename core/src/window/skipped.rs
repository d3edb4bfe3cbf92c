//! Windows that never open, since the clock jumps over them (D4).

use std::collections::BTreeSet;

use jiff::Timestamp;
use jiff::civil::Date;

use super::entry::Entry;
use super::piece::{Pieces, days_of};

/// A window of one day whose local times do not occur.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Skipped {
    /// Civil day on which it would have opened.
    pub day: Date,
    /// Minute of that day at which it would have opened.
    pub start: u16,
    /// Name of the zone as the policy spells it.
    pub zone_name: String,
}

/// The windows of whole civil days between `from` and `until` that have no instant, in order.
pub(super) fn skipped(entries: &[Entry], from: Timestamp, until: Timestamp) -> Vec<Skipped> {
    let mut all: Vec<Skipped> = entries.iter().flat_map(|entry| of_entry(entry, from, until)).collect();
    all.sort();
    all
}

fn of_entry(entry: &Entry, from: Timestamp, until: Timestamp) -> impl Iterator<Item = Skipped> {
    let open: BTreeSet<i64> = Pieces::new(entry, from, until).map(|piece| piece.day).collect();
    // Not the days at both ends, of which a part is outside.
    let days = days_of(entry, from, until).filter(move |day| !open.contains(day));
    days.filter_map(|day| {
        let midnight = Timestamp::from_second(day.checked_mul(super::piece::CIVIL_DAY)?).ok()?;
        let day = jiff::tz::TimeZone::UTC.to_datetime(midnight).date();
        Some(Skipped { day, start: entry.start, zone_name: entry.zone_name.clone() })
    })
}
