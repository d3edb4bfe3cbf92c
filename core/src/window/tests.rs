//! Windows against fixtures, against a naive oracle, and against themselves.

use jiff::civil::Weekday::{self, Friday, Monday, Saturday, Sunday, Thursday, Tuesday, Wednesday};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::*;

const ALL: [Weekday; 7] = [Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday];

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn minute(text: &str) -> u16 {
    let (hours, minutes) = text.split_once(':').unwrap();
    hours.parse::<u16>().unwrap() * 60 + minutes.parse::<u16>().unwrap()
}

fn entry(zone_name: &str, days: &[Weekday], start: &str, end: &str) -> Entry {
    Entry {
        zone: zone::zone(zone_name).unwrap(),
        zone_name: zone_name.to_owned(),
        days: days.to_vec(),
        start: minute(start),
        end: minute(end),
    }
}

fn windows(zone_name: &str, days: &[Weekday], start: &str, end: &str) -> Windows {
    Windows::new(vec![entry(zone_name, days, start, end)])
}

fn hours(hours: u64) -> Option<Duration> {
    Some(Duration::from_secs(hours * 3600))
}

/// Open intervals of a day, as `open/close` in UTC.
fn open_times(windows: &Windows, from: &str, until: &str) -> Vec<String> {
    windows.occurrences(at(from), at(until)).iter().map(|o| format!("{}/{}", o.open, o.close)).collect()
}

#[test]
fn the_local_wall_clock_stays_fixed_over_daylight_saving() {
    let berlin = windows("Europe/Berlin", &[Sunday], "02:00", "06:00");
    assert_eq!(open_times(&berlin, "2026-03-29T00:00:00Z", "2026-03-30T00:00:00Z"), ["2026-03-29T01:00:00Z/2026-03-29T04:00:00Z"]);
    assert_eq!(open_times(&berlin, "2026-10-25T00:00:00Z", "2026-10-26T00:00:00Z"), ["2026-10-25T00:00:00Z/2026-10-25T05:00:00Z"]);
}

#[test]
fn a_window_in_a_spring_gap_does_not_occur_and_the_next_one_does() {
    let new_york = windows("America/New_York", &[Sunday], "02:00", "03:00");
    assert!(open_times(&new_york, "2026-03-08T00:00:00Z", "2026-03-09T00:00:00Z").is_empty());
    assert_eq!(new_york.next_open(at("2026-03-07T00:00:00Z")), Some(at("2026-03-15T06:00:00Z")));
    let dublin = windows("Europe/Dublin", &[Sunday], "01:00", "02:00");
    assert!(open_times(&dublin, "2026-03-29T00:00:00Z", "2026-03-30T00:00:00Z").is_empty());
    let daily = windows("America/New_York", &ALL, "02:30", "02:45");
    assert_eq!(daily.next_open(at("2026-03-08T06:30:00Z")), Some(at("2026-03-09T06:30:00Z")));
}

#[test]
fn a_repeated_hour_counts_twice_for_membership_and_once_for_measures() {
    let fold = windows("America/New_York", &[Sunday], "01:30", "03:00");
    assert_eq!(
        open_times(&fold, "2026-11-01T00:00:00Z", "2026-11-02T00:00:00Z"),
        ["2026-11-01T05:30:00Z/2026-11-01T06:00:00Z", "2026-11-01T06:30:00Z/2026-11-01T08:00:00Z"]
    );
    // The spring gap leaves 01:30 to 02:00: half an hour. The fold's half hour does not count.
    assert_eq!(fold.shortest(at("2026-04-01T00:00:00Z")).unwrap(), Duration::from_secs(1800));
    assert_eq!(fold.idle_gap(at("2026-04-01T00:00:00Z")), Some(Duration::from_secs((7 * 24 - 2) * 3600 + 1800)));
}

#[test]
fn the_day_is_that_of_the_entrys_zone() {
    let auckland = windows("Pacific/Auckland", &[Monday], "06:30", "19:30");
    assert!(auckland.contains(at("2026-01-04T18:00:00Z")));
    assert_eq!(open_times(&auckland, "2026-01-04T00:00:00Z", "2026-01-06T00:00:00Z"), ["2026-01-04T17:30:00Z/2026-01-05T06:30:00Z"]);
}

#[test]
fn an_overnight_window_belongs_to_the_day_on_which_it_starts() {
    let overnight = windows("UTC", &[Friday], "22:00", "04:00");
    for (instant, open) in [
        ("2026-01-09T21:59:59Z", false),
        ("2026-01-09T22:00:00Z", true),
        ("2026-01-10T03:59:59Z", true),
        ("2026-01-10T04:00:00Z", false),
        ("2026-01-09T03:00:00Z", false),
        ("2026-01-10T22:00:00Z", false),
    ] {
        assert_eq!(overnight.contains(at(instant)), open, "{instant}");
    }
    let until_midnight = windows("UTC", &[Friday], "22:00", "24:00");
    assert!(until_midnight.contains(at("2026-01-09T23:59:59Z")) && !until_midnight.contains(at("2026-01-10T00:00:00Z")));
}

#[test]
fn measures_of_the_fixtures() {
    let from = at("2026-01-01T00:00:00Z");
    let tokyo = |days: &[Weekday]| windows("Asia/Tokyo", days, "02:00", "06:00");
    assert_eq!(tokyo(&[Wednesday, Saturday]).period(from), hours(96));
    assert_eq!(tokyo(&[Wednesday, Saturday]).shortest(from), hours(4));
    assert_eq!(tokyo(&[Wednesday, Saturday]).idle_gap(from), hours(68));
    assert_eq!(tokyo(&[Saturday]).period(from), hours(168));
    assert_eq!(windows("UTC", &[Monday, Wednesday, Friday], "00:00", "01:00").period(from), hours(72));
    let adjacent = Windows::new(vec![entry("UTC", &[Monday], "00:00", "02:00"), entry("UTC", &[Monday], "02:00", "06:00")]);
    assert_eq!((adjacent.period(from), adjacent.shortest(from), adjacent.idle_gap(from)), (hours(168), hours(6), hours(162)));
    let two_zones = Windows::new(vec![entry("UTC", &[Wednesday], "02:00", "06:00"), entry("Asia/Tokyo", &[Wednesday], "02:00", "06:00")]);
    assert_eq!(two_zones.period(from), hours(159));
}

#[test]
fn a_minute_at_midnight_keeps_a_day_from_being_continuous() {
    let from = at("2026-01-01T00:00:00Z");
    let hole = windows("UTC", &ALL, "00:00", "23:59");
    assert_eq!((hole.period(from), hole.idle_gap(from)), (hours(24), Some(Duration::from_secs(60))));
    let whole = windows("UTC", &ALL, "00:00", "24:00");
    assert_eq!((whole.period(from), whole.idle_gap(from)), (Some(Duration::from_secs(60)), None));
    assert_eq!((whole.next_open(from), whole.next_close(from)), (None, None));
    let filled = Windows::new(vec![entry("UTC", &ALL, "00:00", "23:59"), entry("Asia/Tokyo", &ALL, "00:00", "23:59")]);
    assert_eq!(filled.period(from), Some(Duration::from_secs(60)));
}

#[test]
fn daylight_saving_never_shortens_the_period() {
    let new_york = windows("America/New_York", &[Sunday], "12:00", "13:00");
    assert_eq!(new_york.period(at("2026-01-01T00:00:00Z")), hours(169));
}

#[test]
fn leap_days_and_year_ends_are_ordinary() {
    let tuesday = windows("UTC", &[Tuesday], "02:00", "06:00");
    assert_eq!(tuesday.next_open(at("2028-02-28T12:00:00Z")), Some(at("2028-02-29T02:00:00Z")));
    assert_eq!(tuesday.next_close(at("2028-02-29T03:00:00Z")), Some(at("2028-02-29T06:00:00Z")));
    let sunday = windows("Europe/Berlin", &[Sunday], "12:00", "13:00");
    assert_eq!(sunday.next_open(at("2026-03-26T11:00:00Z")), Some(at("2026-03-29T10:00:00Z")));
}

#[test]
fn no_entry_never_opens() {
    let none = Windows::default();
    let now = at("2026-01-01T00:00:00Z");
    assert_eq!((none.next_open(now), none.next_close(now), none.period(now), none.occurrence(now)), (None, None, None, None));
}

prop_compose! {
    fn any_entry()(
        zone_name in prop::sample::select(vec![
            "UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Tokyo", "America/Havana",
            "Africa/Casablanca", "Asia/Kathmandu", "Pacific/Apia", "Asia/Beirut", "Pacific/Chatham", "Europe/Dublin",
        ]),
        days in prop::sample::subsequence(ALL.to_vec(), 1..=7),
        start in 0_u16..1440,
        end in 0_u16..=1440,
    ) -> Entry {
        let end = if end == start { end + 1 } else { end };
        Entry { zone: zone::zone(zone_name).unwrap(), zone_name: zone_name.to_owned(), days, start, end }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Membership, occurrences, next opening and next closing say the same at every instant.
    #[test]
    fn all_views_agree(entries in prop::collection::vec(any_entry(), 1..4), second in 1_262_304_000_i64..1_893_456_000) {
        let windows = Windows::new(entries);
        let now = Timestamp::from_second(second).unwrap();
        let day = windows.occurrences(now, now + SignedDuration::from_hours(24));
        for minutes in (0..24 * 60).step_by(7) {
            let instant = now + SignedDuration::from_mins(minutes);
            let listed = day.iter().any(|o| o.open <= instant && instant < o.close);
            prop_assert_eq!(windows.contains(instant), listed, "at {}", instant);
        }
        if let Some(occurrence) = windows.occurrence(now) {
            prop_assert!(occurrence.open <= now && now < occurrence.close);
            if let Some(close) = windows.next_close(now) {
                prop_assert_eq!(close, occurrence.close);
                prop_assert!(!windows.contains(close));
            }
        }
        if let Some(open) = windows.next_open(now) {
            prop_assert!(open > now && windows.contains(open));
            prop_assert!(!windows.contains(open - SignedDuration::from_secs(1)));
        }
    }

    /// The period bounds every wait from one opening to the next within the year.
    #[test]
    fn the_period_is_never_an_under_estimate(entry in any_entry(), second in 1_735_689_600_i64..1_893_456_000) {
        let windows = Windows::new(vec![entry]);
        let from = Timestamp::from_second(second).unwrap();
        let period = windows.period(from).unwrap();
        let openings: Vec<_> = windows.occurrences(from, from + SignedDuration::from_hours(40 * 168)).iter().map(|o| o.open).collect();
        for pair in openings.windows(2) {
            let wait: Duration = pair[1].duration_since(pair[0]).try_into().unwrap();
            prop_assert!(wait <= period, "{wait:?} > {period:?}");
        }
    }
}
