//! Two clocks that judge a window without the product's arithmetic: jiff's face read as text, and chrono-tz by numbers.
//!
//! The first shares the data with the product and nothing else. The second shares nothing: its own library, its own
//! release of the database, and a rule that counts minutes of the week instead of comparing times of the day.

use chrono::{Datelike as _, NaiveDateTime, TimeDelta, Timelike as _};
use chrono_tz::Tz;

use super::newer::{Fixed, fixed_of};
use super::*;

const NAMES: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const DAY: u32 = 24 * 60;
const WEEK: u32 = 7 * DAY;

/// An entry as both clocks know it.
pub(super) struct Oracle {
    entry: Entry,
    opens_on: Vec<&'static str>,
    /// The days after those, into which an interval across midnight reaches.
    reaches_into: Vec<&'static str>,
    start: String,
    end: String,
    second: Second,
}

impl Oracle {
    pub(super) fn of(entry: &Entry) -> Self {
        let face = |minute: u16| format!("{:02}:{:02}", minute / 60, minute % 60);
        let place = |day: &Weekday| usize::try_from(day.to_monday_zero_offset()).unwrap();
        Self {
            entry: entry.clone(),
            opens_on: entry.days.iter().map(|day| NAMES[place(day)]).collect(),
            reaches_into: entry.days.iter().map(|day| NAMES[(place(day) + 1) % 7]).collect(),
            start: face(entry.start),
            end: face(entry.end),
            second: Second::of(&entry.zone_name),
        }
    }

    /// The first clock: jiff's face, compared as text.
    pub(super) fn face_says_open(&self, now: Timestamp) -> bool {
        let face = self.entry.zone.to_datetime(now).strftime("%a %H:%M").to_string();
        let (day, time) = face.split_once(' ').unwrap();
        let (today, since_yesterday) = (self.opens_on.contains(&day), self.reaches_into.contains(&day));
        let (start, end) = (self.start.as_str(), self.end.as_str());
        if start < end { today && start <= time && time < end } else { (today && start <= time) || (since_yesterday && time < end) }
    }

    /// The second clock: minutes since the entry's start on one of its days, counted around the week.
    pub(super) fn second_says_open(&self, now: Timestamp) -> bool {
        self.since_opening(&self.second.local(now)).is_some()
    }

    /// Minutes since the interval that contains the local time opened, by its wall clock.
    pub(super) fn since_opening(&self, local: &NaiveDateTime) -> Option<u32> {
        let minute = local.weekday().num_days_from_monday() * DAY + local.hour() * 60 + local.minute();
        let (start, end) = (u32::from(self.entry.start), u32::from(self.entry.end));
        let length = if end > start { end - start } else { end + DAY - start };
        let opened = self.entry.days.iter().map(|day| u32::try_from(day.to_monday_zero_offset()).unwrap() * DAY + start);
        opened.map(|opened| (minute + WEEK - opened) % WEEK).find(|since| *since < length)
    }
}

/// What chrono-tz says of one zone, or newer data where the zone's rules have changed since its release.
pub(super) struct Second {
    zone: Tz,
    newer: Vec<Fixed>,
}

impl Second {
    pub(super) fn of(name: &str) -> Self {
        Self { zone: name.parse().unwrap(), newer: fixed_of(name) }
    }

    pub(super) fn local(&self, now: Timestamp) -> NaiveDateTime {
        let utc = utc(now);
        match self.newer.iter().find(|fixed| fixed.from <= now && now < fixed.until) {
            Some(fixed) => utc + TimeDelta::minutes(fixed.minutes),
            None => utc.and_utc().with_timezone(&self.zone).naive_local(),
        }
    }

    /// Seconds east of Greenwich.
    pub(super) fn offset(&self, now: Timestamp) -> i64 {
        (self.local(now) - utc(now)).num_seconds()
    }

    /// The same without the newer data.
    pub(super) fn offset_as_released(&self, now: Timestamp) -> i64 {
        (utc(now).and_utc().with_timezone(&self.zone).naive_local() - utc(now)).num_seconds()
    }
}

fn utc(now: Timestamp) -> NaiveDateTime {
    chrono::DateTime::from_timestamp(now.as_second(), 0).unwrap().naive_utc()
}
