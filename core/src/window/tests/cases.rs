//! Public fault reports as inputs, each named by its number, and what is right for them.

use super::*;

const WORKDAYS: [Weekday; 5] = [Monday, Tuesday, Wednesday, Thursday, Friday];

#[test]
fn c001_an_end_before_the_start_is_on_the_next_day() {
    let overnight = windows("America/Los_Angeles", &WORKDAYS, "21:00", "05:00");
    assert_eq!(open_times(&overnight, "2026-01-06"), ["2026-01-06T05:00:00Z/2026-01-06T13:00:00Z"]);
    // Saturday morning belongs to Friday's window, and no window opens on Saturday evening.
    assert_eq!(open_times(&overnight, "2026-01-10"), ["2026-01-10T05:00:00Z/2026-01-10T13:00:00Z"]);
    assert!(open_times(&overnight, "2026-01-11").is_empty());
}

#[test]
fn c004_the_day_ends_at_24_00() {
    let until_midnight = windows("UTC", &[Friday], "07:00", "24:00");
    assert_eq!(open_times(&until_midnight, "2026-01-09"), ["2026-01-09T07:00:00Z/2026-01-10T00:00:00Z"]);
    assert_eq!(open_times(&windows("UTC", &[Friday], "07:00", "00:00"), "2026-01-09"), open_times(&until_midnight, "2026-01-09"));
}

#[test]
fn c005_the_last_minute_is_closed_when_the_end_is_23_59() {
    let two = Windows::new(vec![entry("UTC", &[Monday], "22:00", "23:59"), entry("UTC", &[Tuesday], "00:00", "07:00")]);
    assert!(two.contains(at("2026-01-05T23:58:59Z")) && !two.contains(at("2026-01-05T23:59:30Z")));
    assert!(two.contains(at("2026-01-06T00:00:00Z")));
}

#[test]
fn t71_a_closed_minute_ends_a_window_on_both_sides() {
    let nightly = windows("UTC", &ALL, "00:00", "23:59");
    let whole = windows("UTC", &ALL, "00:00", "24:00");
    for now in ["2026-01-07T00:00:00Z", "2026-01-07T12:00:00Z", "2026-01-07T23:58:59Z"] {
        let occurrence = nightly.occurrence(at(now)).unwrap();
        assert_eq!((occurrence.open, occurrence.close), (at("2026-01-07T00:00:00Z"), at("2026-01-07T23:59:00Z")), "{now}");
        let occurrence = whole.occurrence(at(now)).unwrap();
        assert!(occurrence.open < at("2026-01-06T00:00:00Z") && occurrence.close > at("2026-01-08T23:59:00Z"), "{now}");
    }
    assert!(nightly.occurrence(at("2026-01-07T23:59:00Z")).is_none());
}

#[test]
fn c009_the_order_of_the_days_means_nothing() {
    let days = [Sunday, Monday, Tuesday, Wednesday, Thursday, Friday];
    assert!(windows("Asia/Jerusalem", &days, "00:00", "23:59").contains(at("2026-01-04T10:00:00Z")));
}

#[test]
fn c010_the_day_is_that_of_the_entrys_zone() {
    let auckland = windows("Pacific/Auckland", &[Monday], "06:30", "19:30");
    assert!(auckland.contains(at("2026-01-04T18:00:00Z")));
    assert_eq!(open_times(&auckland, "2026-01-04"), ["2026-01-04T17:30:00Z/2026-01-05T06:30:00Z"]);
}

#[test]
fn c012_one_open_entry_is_enough() {
    let days = [Monday, Tuesday, Wednesday, Thursday];
    let union = Windows::new(vec![entry("UTC", &days, "09:00", "17:00"), entry("UTC", &[Friday], "09:00", "14:00")]);
    assert!(union.contains(at("2026-01-07T10:00:00Z")));
    assert!(!union.contains(at("2026-01-09T15:00:00Z")));
}

#[test]
fn c021_after_the_last_day_it_is_closed_until_the_first() {
    let office = windows("UTC", &WORKDAYS, "09:00", "17:00");
    assert_eq!(office.next_open(at("2026-01-09T17:00:00Z")), Some(at("2026-01-12T09:00:00Z")));
}

#[test]
fn c022_a_quarter_of_an_hour_over_midnight_is_open_on_both_days() {
    let short = windows("UTC", &[Monday], "23:55", "00:10");
    assert_eq!(open_times(&short, "2026-01-06"), ["2026-01-05T23:55:00Z/2026-01-06T00:10:00Z"]);
    let (inside, before, after) = (at("2026-01-06T00:09:59Z"), at("2026-01-05T23:54:59Z"), at("2026-01-06T00:10:00Z"));
    assert!(short.contains(inside) && !short.contains(before) && !short.contains(after));
    // Only Monday's evening opens it.
    assert!(open_times(&short, "2026-01-07").is_empty());
}

#[test]
fn c025_leap_days_and_year_ends_are_ordinary() {
    let tuesday = windows("UTC", &[Tuesday], "02:00", "06:00");
    assert_eq!(tuesday.next_open(at("2028-02-28T12:00:00Z")), Some(at("2028-02-29T02:00:00Z")));
    assert_eq!(tuesday.next_close(at("2028-02-29T03:00:00Z")), Some(at("2028-02-29T06:00:00Z")));
    assert_eq!(tuesday.next_open(at("2028-12-31T00:00:00Z")), Some(at("2029-01-02T02:00:00Z")));
}

#[test]
fn c026_without_an_entry_or_a_day_nothing_opens_and_nothing_hangs() {
    let now = at("2026-01-01T00:00:00Z");
    for closed in [Windows::default(), windows("UTC", &[], "02:00", "06:00")] {
        assert_eq!((closed.next_open(now), closed.next_close(now), closed.occurrence(now)), (None, None, None));
        assert_eq!((closed.period(now), closed.shortest(now), closed.idle_gap(now)), (None, None, None));
    }
}

#[test]
fn c028_the_local_wall_clock_stays_fixed_over_daylight_saving() {
    let berlin = windows("Europe/Berlin", &[Sunday], "02:00", "06:00");
    assert_eq!(open_times(&berlin, "2026-03-29"), ["2026-03-29T01:00:00Z/2026-03-29T04:00:00Z"]);
    assert_eq!(open_times(&berlin, "2026-10-25"), ["2026-10-25T00:00:00Z/2026-10-25T05:00:00Z"]);
}

#[test]
fn c029_a_window_inside_a_spring_gap_does_not_occur() {
    let new_york = windows("America/New_York", &[Sunday], "02:00", "03:00");
    assert!(open_times(&new_york, "2026-03-08").is_empty());
    assert_eq!(new_york.next_open(at("2026-03-07T00:00:00Z")), Some(at("2026-03-15T06:00:00Z")));
}

#[test]
fn c031_a_repeated_local_time_counts_twice() {
    let new_york = windows("America/New_York", &[Sunday], "01:30", "03:00");
    let open = ["2026-11-01T05:30:00Z/2026-11-01T06:00:00Z", "2026-11-01T06:30:00Z/2026-11-01T08:00:00Z"];
    assert_eq!(open_times(&new_york, "2026-11-01"), open);
}

#[test]
fn c033_a_start_inside_a_gap_is_the_first_instant_after_it() {
    let new_york = windows("America/New_York", &[Sunday], "02:30", "04:00");
    assert_eq!(open_times(&new_york, "2026-03-08"), ["2026-03-08T07:00:00Z/2026-03-08T08:00:00Z"]);
    assert_eq!(new_york.next_open(at("2026-03-08T06:59:59Z")), Some(at("2026-03-08T07:00:00Z")));
    // Wholly inside the gap there is no instant until the next week.
    let skipped = windows("America/New_York", &[Sunday], "02:30", "03:00");
    assert_eq!(skipped.next_open(at("2026-03-08T00:00:00Z")), Some(at("2026-03-15T06:30:00Z")));
}

#[test]
fn c036_a_day_of_23_hours_is_not_walked_past() {
    let berlin = windows("Europe/Berlin", &[Sunday], "12:00", "13:00");
    assert_eq!(berlin.next_open(at("2026-03-26T11:00:00Z")), Some(at("2026-03-29T10:00:00Z")));
}

#[test]
fn c037_a_daily_window_that_is_skipped_opens_on_the_next_day() {
    let daily = windows("America/New_York", &ALL, "02:30", "02:45");
    assert_eq!(daily.next_open(at("2026-03-08T06:30:00Z")), Some(at("2026-03-09T06:30:00Z")));
}

#[test]
fn c039_winter_time_may_be_the_exception() {
    let dublin = windows("Europe/Dublin", &[Sunday], "01:00", "02:00");
    assert!(open_times(&dublin, "2026-03-29").is_empty());
    assert_eq!(open_times(&dublin, "2026-03-22"), ["2026-03-22T01:00:00Z/2026-03-22T02:00:00Z"]);
}

#[test]
fn c040_c041_the_rules_are_those_of_the_bundled_database() {
    assert!(zone::database_version() >= "2023c", "{}", zone::database_version());
    let mexico = windows("America/Mexico_City", &[Wednesday], "02:00", "06:00");
    assert_eq!(open_times(&mexico, "2026-07-01"), ["2026-07-01T08:00:00Z/2026-07-01T12:00:00Z"]);
    let casablanca = windows("Africa/Casablanca", &[Sunday], "02:00", "04:00");
    assert_eq!(open_times(&casablanca, "2026-02-15"), ["2026-02-15T01:00:00Z/2026-02-15T04:00:00Z"]);
    assert_eq!(open_times(&casablanca, "2026-03-22"), ["2026-03-22T02:00:00Z/2026-03-22T03:00:00Z"]);
    // From November 2026 on British Columbia keeps summer time.
    let vancouver = windows("America/Vancouver", &[Wednesday], "02:00", "06:00");
    assert_eq!(open_times(&vancouver, "2027-01-06"), ["2027-01-06T09:00:00Z/2027-01-06T13:00:00Z"]);
}

#[test]
fn c051_zones_with_other_changes_are_one_union_and_the_longer_wait_counts() {
    let mixed =
        Windows::new(vec![entry("Europe/Paris", &[Sunday], "02:00", "06:00"), entry("America/New_York", &[Saturday], "21:00", "23:00")]);
    // In winter both nights overlap: 01:00 to 05:00 and 02:00 to 04:00 in UTC.
    assert_eq!(open_times(&mixed, "2026-01-11"), ["2026-01-11T01:00:00Z/2026-01-11T05:00:00Z"]);
    // The week after New York's change, and Paris's own night of 23 hours.
    assert_eq!(open_times(&mixed, "2026-03-15"), ["2026-03-15T01:00:00Z/2026-03-15T05:00:00Z"]);
    assert_eq!(open_times(&mixed, "2026-03-29"), ["2026-03-29T01:00:00Z/2026-03-29T04:00:00Z"]);
    // Summer to winter is an hour more than a week, and that is the P that findings use.
    let hours = |hours: u64| Some(std::time::Duration::from_secs(hours * 3600));
    let from = at("2026-01-01T00:00:00Z");
    assert_eq!((mixed.period(from), mixed.shortest(from)), (hours(169), hours(3)));
}

#[test]
fn midnight_may_be_skipped_and_half_an_hour_repeated() {
    let beirut = windows("Asia/Beirut", &[Sunday], "00:00", "02:00");
    assert_eq!(open_times(&beirut, "2026-03-28"), ["2026-03-28T22:00:00Z/2026-03-28T23:00:00Z"]);
    let lord_howe = windows("Australia/Lord_Howe", &[Sunday], "01:30", "02:00");
    assert_eq!(open_times(&lord_howe, "2026-04-04"), ["2026-04-04T14:30:00Z/2026-04-04T15:30:00Z"]);
}

/// Samoa went over the date line: its Friday 30 December 2011 did not take place.
#[test]
fn a_day_that_the_clock_jumps_over_is_told_and_no_other() {
    let (from, until) = (at("2011-12-20T00:00:00Z"), at("2012-01-10T00:00:00Z"));
    let told = |windows: &Windows| -> Vec<(String, u16, String)> {
        windows.skipped(from, until).into_iter().map(|skipped| (skipped.day.to_string(), skipped.start, skipped.zone_name)).collect()
    };
    let friday = windows("Pacific/Apia", &[Friday], "02:00", "06:00");
    assert_eq!(told(&friday), [("2011-12-30".to_owned(), 120, "Pacific/Apia".to_owned())]);
    assert_eq!(told(&windows("Pacific/Apia", &[Thursday], "02:00", "06:00")), []);
    assert_eq!(told(&windows("UTC", &[Friday], "02:00", "06:00")), []);
}
