//! One entry of `spec.maintenanceWindows`: which local times of which zone are inside (D4).

use jiff::Timestamp;
use jiff::civil::Weekday;
use jiff::tz::TimeZone;

/// Minutes of a day; `24:00` as an end.
pub const MINUTES_OF_DAY: u16 = 24 * 60;

/// An entry, parsed.
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

impl Entry {
    /// The interval ends on the day after the one on which it starts.
    #[must_use]
    pub fn crosses_midnight(&self) -> bool {
        self.end < self.start
    }

    /// Start and end in seconds since midnight of the day on which the interval starts.
    pub(super) fn seconds(&self) -> (i64, i64) {
        let end = if self.crosses_midnight() { self.end + MINUTES_OF_DAY } else { self.end };
        (i64::from(self.start) * 60, i64::from(end) * 60)
    }

    /// The local time of `now` is inside.
    #[must_use]
    pub fn contains(&self, now: Timestamp) -> bool {
        let local = self.zone.to_datetime(now);
        let minute = minute_of_day(local);
        let day = local.date().weekday();
        let starts_on = |day: Weekday| self.days.contains(&day);
        if self.crosses_midnight() {
            (starts_on(day) && minute >= self.start) || (starts_on(day.previous()) && minute < self.end)
        } else {
            starts_on(day) && minute >= self.start && minute < self.end
        }
    }
}

fn minute_of_day(local: jiff::civil::DateTime) -> u16 {
    // Hours and minutes of a civil time are never negative.
    let part = |value: i8| u16::try_from(value).unwrap_or_default();
    part(local.hour()) * 60 + part(local.minute())
}
