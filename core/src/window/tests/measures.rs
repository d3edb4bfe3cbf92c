//! P, D and the idle gap: of windows whose measures are known, and of any against a walk through the year.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::TimeDelta;
use jiff::SignedDuration;
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;

use super::agreement::any_entry_in;
use super::oracle::{Oracle, Second};
use super::*;
use crate::window::Measures;

fn hours(hours: u64) -> Option<Duration> {
    Some(Duration::from_secs(hours * 3600))
}

fn minutes(minutes: u64) -> Option<Duration> {
    Some(Duration::from_secs(minutes * 60))
}

type Row = (&'static str, Windows, Option<Duration>, Option<Duration>, Option<Duration>);

fn rows() -> Vec<Row> {
    let tokyo = |days: &[Weekday], start, end| windows("Asia/Tokyo", days, start, end);
    let pair = |one, other| Windows::new(vec![one, other]);
    let adjacent = pair(entry("UTC", &[Monday], "00:00", "02:00"), entry("UTC", &[Monday], "02:00", "06:00"));
    let overlapping = pair(entry("UTC", &[Monday], "00:00", "04:00"), entry("UTC", &[Monday], "02:00", "06:00"));
    let week_end = pair(entry("UTC", &[Sunday], "22:00", "24:00"), entry("UTC", &[Monday], "00:00", "02:00"));
    let zones = pair(entry("UTC", &[Wednesday], "02:00", "06:00"), entry("Asia/Tokyo", &[Wednesday], "02:00", "06:00"));
    let filled = pair(entry("UTC", &ALL, "00:00", "23:59"), entry("Asia/Tokyo", &ALL, "00:00", "23:59"));
    let mixed = pair(entry("Europe/Paris", &[Sunday], "02:00", "06:00"), entry("America/New_York", &[Saturday], "21:00", "23:00"));
    vec![
        ("two days", tokyo(&[Wednesday, Saturday], "02:00", "06:00"), hours(96), hours(4), hours(68)),
        ("one day", tokyo(&[Saturday], "02:00", "06:00"), hours(168), hours(4), hours(164)),
        ("across the edge of the UTC week", tokyo(&[Monday], "06:00", "10:00"), hours(168), hours(4), hours(164)),
        ("three days", windows("UTC", &[Monday, Wednesday, Friday], "00:00", "01:00"), hours(72), hours(1), hours(47)),
        ("overnight", windows("UTC", &[Monday], "22:00", "04:00"), hours(168), hours(6), hours(162)),
        ("t55 t56 adjacent entries are one", adjacent, hours(168), hours(6), hours(162)),
        ("overlapping entries are one", overlapping, hours(168), hours(6), hours(162)),
        ("t56 so are those that meet at the edge of the week", week_end, hours(168), hours(4), hours(164)),
        ("two zones", zones, hours(159), hours(4), hours(5)),
        ("c006 a minute closed at midnight", windows("UTC", &ALL, "00:00", "23:59"), hours(24), minutes(23 * 60 + 59), minutes(1)),
        ("c050 each fills the other's minute", filled, minutes(1), hours(53 * 168), None),
        ("t53 every day to 24:00", windows("UTC", &ALL, "00:00", "24:00"), minutes(1), hours(53 * 168), None),
        // New York's evening lies within the night of Paris, whose spring night is an hour short and autumn week an hour long.
        ("c051 zones with other changes", mixed, hours(169), hours(3), hours(164)),
        // Winter's Sunday noon is an hour later than summer's.
        ("daylight saving never shortens P", windows("America/New_York", &[Sunday], "12:00", "13:00"), hours(169), hours(1), hours(166)),
    ]
}

#[test]
fn measures_of_the_fixtures() {
    let from = at("2026-01-01T00:00:00Z");
    for (name, windows, period, shortest, idle_gap) in rows() {
        assert_eq!(windows.period(from), period, "P: {name}");
        // A window that never closes is as long as what was looked at, and a little more.
        assert!(windows.shortest(from) == shortest || (idle_gap.is_none() && windows.shortest(from) > shortest), "D: {name}");
        assert_eq!(windows.idle_gap(from), idle_gap, "gap: {name}");
    }
}

#[test]
fn a_repeated_hour_makes_no_second_window_for_the_measures() {
    let fold = windows("America/New_York", &[Sunday], "01:30", "03:00");
    let from = at("2026-04-01T00:00:00Z");
    // The spring gap leaves 01:30 to 02:00: half an hour. The fold's half hour does not count.
    assert_eq!(fold.shortest(from), minutes(30));
    assert_eq!(fold.idle_gap(from), minutes((7 * 24 - 2) * 60 + 30));
}

#[test]
fn a_window_that_never_closes_has_no_edges() {
    let now = at("2026-01-01T00:00:00Z");
    let whole = windows("UTC", &ALL, "00:00", "24:00");
    assert_eq!((whole.next_open(now), whole.next_close(now)), (None, None));
    assert!(whole.occurrence(now).is_some());
}

/// P, D and the idle gap of entries in one zone by its wall clock in the second opinion, minute by minute. What a
/// repeated hour cuts out of an interval is part of it: the interval is known by the wall-clock time of its opening.
fn walked(windows: &Windows, from: Timestamp) -> Option<Measures> {
    let (week, day) = (SignedDuration::from_hours(168), SignedDuration::from_hours(24));
    let until = from + week * 53;
    let oracles: Vec<Oracle> = windows.entries().iter().map(Oracle::of).collect();
    let clock = Second::of(&windows.entries()[0].zone_name);
    let mut intervals = BTreeMap::new();
    let mut now = from - day * 8;
    while now < until + day * 8 {
        let local = clock.local(now);
        let next = now + SignedDuration::from_mins(1);
        for (index, since) in oracles.iter().enumerate().filter_map(|(index, oracle)| Some((index, oracle.since_opening(&local)?))) {
            let opened = local - TimeDelta::minutes(since.into());
            intervals.entry((index, opened)).and_modify(|(_, close)| *close = next).or_insert((now, next));
        }
        now = next;
    }
    let mut spans: Vec<(Timestamp, Timestamp)> = intervals.into_values().collect();
    spans.sort();
    spans.dedup_by(|next, span| {
        let joins = next.0 <= span.1;
        span.1 = if joins { span.1.max(next.1) } else { span.1 };
        joins
    });
    spans.retain(|(open, close)| *close > from && *open < until);
    let length = |from: Timestamp, to: Timestamp| Duration::try_from(to.duration_since(from)).unwrap();
    let pairs = || spans.iter().zip(spans.iter().skip(1));
    Some(Measures {
        period: pairs().map(|(one, next)| length(one.0, next.0)).max()?,
        shortest: spans.iter().map(|(open, close)| length(*open, *close)).min()?,
        idle_gap: pairs().map(|(one, next)| length(one.1, next.0)).min(),
    })
}

#[test]
fn the_measures_are_those_of_a_walk_through_the_year() {
    let mut runner = TestRunner::deterministic();
    // Changes of one hour, of half an hour, of two; at midnight; four in a year.
    let zones = [
        "America/New_York",
        "Europe/Berlin",
        "Australia/Lord_Howe",
        "Antarctica/Troll",
        "Africa/Cairo",
        "Asia/Beirut",
        "America/Havana",
        "Africa/Casablanca",
    ];
    for name in zones {
        let entries = proptest::collection::vec(any_entry_in(vec![name.to_owned()]), 1..4);
        let (entries, days) = (entries, 0_i64..300).new_tree(&mut runner).unwrap().current();
        let from = at("2025-01-01T00:00:00Z") + SignedDuration::from_hours(days * 24);
        let windows = Windows::new(entries);
        assert_eq!(windows.measures(from), walked(&windows, from), "from {from}: {windows:?}");
    }
}

#[test]
fn measures_hold_as_long_as_they_say() {
    let mut runner = TestRunner::deterministic();
    let zones = ["UTC", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca"].map(str::to_owned).to_vec();
    let mut lasted = 0;
    for _ in 0..40 {
        let entries = proptest::collection::vec(any_entry_in(zones.clone()), 1..4);
        let (entries, minutes) = (entries, 0_i64..500_000).new_tree(&mut runner).unwrap().current();
        let from = at("2025-01-01T00:00:00Z") + SignedDuration::from_mins(minutes);
        let windows = Windows::new(entries);
        let (measures, held) = windows.measures_held(from);
        assert_eq!(measures, windows.measures(from));
        assert!(held >= from);
        let length = held.duration_since(from);
        lasted += usize::from(length > SignedDuration::from_secs(1));
        for part in 0..8 {
            let then = from + length * part / 8;
            assert!(then == held || windows.measures(then) == measures, "from {from}, held until {held}, at {then}: {windows:?}");
        }
        let last = held - SignedDuration::from_secs(1);
        assert!(last < from || windows.measures(last) == measures, "from {from}, held until {held}: {windows:?}");
    }
    assert!(lasted > 20, "only {lasted} of 40 hold at all");
}
