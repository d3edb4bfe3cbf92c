//! Membership, occurrences, openings and closings say the same, and what the face of a local clock says.

use std::time::Duration;

use jiff::SignedDuration;
use jiff::tz::TimeZoneDatabase;
use proptest::prelude::*;

use super::*;

/// 2010 to 2030.
const SECONDS: std::ops::Range<i64> = 1_262_304_000..1_893_456_000;

fn zones() -> Vec<String> {
    TimeZoneDatabase::bundled().available().map(|name| name.as_str().to_owned()).filter(|name| name != "Factory").collect()
}

/// Reads the clock's face as text, so that it shares no arithmetic with what it judges.
fn clock_says_open(windows: &Windows, now: Timestamp) -> bool {
    windows.entries().iter().any(|entry| {
        let face = |minute: u16| format!("{:02}:{:02}", minute / 60, minute % 60);
        let (start, end) = (face(entry.start), face(entry.end));
        let local = entry.zone.to_datetime(now);
        let time = local.strftime("%H:%M").to_string();
        let today = entry.days.contains(&local.date().weekday());
        let since_yesterday = entry.days.contains(&local.date().yesterday().unwrap().weekday());
        if start < end { today && start <= time && time < end } else { (today && start <= time) || (since_yesterday && time < end) }
    })
}

#[test]
fn around_every_change_of_every_zone_the_occurrences_are_what_the_clock_says() {
    let shapes = [("01:30", "03:00"), ("02:00", "02:30"), ("23:30", "00:30"), ("00:00", "24:00"), ("22:00", "02:15"), ("00:00", "01:00")];
    let (from, until) = (Timestamp::from_second(SECONDS.start).unwrap(), Timestamp::from_second(SECONDS.end).unwrap());
    let (mut changes, mut instants) = (0_usize, 0_usize);
    for name in zones() {
        let zone = zone::zone(&name).unwrap();
        for change in zone.following(from).take_while(|change| change.timestamp() < until) {
            let (start, end) = shapes[changes % shapes.len()];
            let windows = windows(&name, &ALL[..changes % 7 + 1], start, end);
            let reach = SignedDuration::from_hours(2);
            let (first, last) = (change.timestamp() - reach, change.timestamp() + reach);
            let open = windows.occurrences(first, last);
            let mut now = first;
            while now < last {
                let listed = open.iter().any(|o| o.open <= now && now < o.close);
                assert_eq!(listed, clock_says_open(&windows, now), "{name} {now}");
                assert_eq!(listed, windows.contains(now), "{name} {now}");
                now += SignedDuration::from_secs(887);
                instants += 1;
            }
            changes += 1;
        }
    }
    assert!(changes > 8_000 && instants > 100_000, "{changes} changes, {instants} instants");
}

prop_compose! {
    fn any_entry()(
        zone_name in prop::sample::select(zones()),
        days in prop::sample::subsequence(ALL.to_vec(), 1..=7),
        start in 0_u16..1440,
        end in 0_u16..=1440,
    ) -> Entry {
        let end = if end == start { end + 1 } else { end };
        Entry { zone: zone::zone(&zone_name).unwrap(), zone_name, days, start, end }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn all_views_agree(entries in prop::collection::vec(any_entry(), 1..4), second in SECONDS) {
        let windows = Windows::new(entries);
        let now = Timestamp::from_second(second).unwrap();
        let day = windows.occurrences(now, now + SignedDuration::from_hours(24));
        prop_assert!(day.windows(2).all(|pair| pair[0].close < pair[1].open), "apart and in order");
        for minutes in (0..24 * 60).step_by(7) {
            let instant = now + SignedDuration::from_mins(minutes);
            let listed = day.iter().any(|o| o.open <= instant && instant < o.close);
            prop_assert_eq!(clock_says_open(&windows, instant), listed, "at {}", instant);
            prop_assert_eq!(windows.contains(instant), listed, "at {}", instant);
        }
    }

    #[test]
    fn the_edges_are_where_membership_changes(entries in prop::collection::vec(any_entry(), 1..4), second in SECONDS) {
        let windows = Windows::new(entries);
        let now = Timestamp::from_second(second).unwrap();
        let a_second = SignedDuration::from_secs(1);
        let occurrence = windows.occurrence(now);
        prop_assert_eq!(occurrence.is_some(), windows.contains(now));
        if let Some(open) = windows.next_open(now) {
            prop_assert!(open > now && windows.contains(open) && !windows.contains(open - a_second));
            let closed_from = occurrence.map_or(now, |o| o.close);
            prop_assert!(windows.occurrences(closed_from, open).is_empty(), "none was passed over");
        }
        if let Some(close) = windows.next_close(now) {
            prop_assert!(close > now && !windows.contains(close) && windows.contains(close - a_second));
            if let Some(occurrence) = occurrence {
                prop_assert!(occurrence.open <= now);
                prop_assert_eq!(occurrence.close, close);
            }
        }
    }

    /// The period bounds every wait from one opening to the next within the year.
    #[test]
    fn the_period_is_never_an_under_estimate(entry in any_entry(), second in SECONDS) {
        let windows = Windows::new(vec![entry]);
        let from = Timestamp::from_second(second).unwrap();
        let measures = windows.measures(from);
        let year = windows.occurrences(from, from + SignedDuration::from_hours(52 * 168));
        let wait = |earlier: Timestamp, later: Timestamp| Duration::try_from(later.duration_since(earlier)).unwrap();
        for pair in year.windows(2) {
            prop_assert!(measures.is_some_and(|measures| wait(pair[0].open, pair[1].open) <= measures.period));
        }
    }
}
