//! Membership, occurrences, openings and closings say the same, and what two independent clocks say.

use std::time::Duration;

use jiff::SignedDuration;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

use super::newer::{FIRST, LAST};
use super::walk::Walk;
use super::*;

/// 2024 to 2045.
const SECONDS: std::ops::Range<i64> = 1_704_067_200..2_398_377_600;

/// A time of day; the small hours, in which clocks change, and the ends of the day more often than others.
fn any_time() -> impl Strategy<Value = u16> {
    prop_oneof![3 => 0_u16..240, 1 => prop::sample::select(vec![0, 60, 90, 120, 180, 1380, 1410, 1439]), 2 => 0_u16..1440]
}

prop_compose! {
    pub(super) fn any_entry_in(zone_names: Vec<String>)(
        zone_name in prop::sample::select(zone_names),
        days in prop::sample::subsequence(ALL.to_vec(), 1..=7),
        start in any_time(),
        end in prop_oneof![4 => any_time(), 1 => Just(1440)],
    ) -> Entry {
        let end = if end == start { end + 1 } else { end };
        Entry { zone: zone::zone(&zone_name).unwrap(), zone_name, days, start, end }
    }
}

fn any_entry() -> impl Strategy<Value = Entry> {
    any_entry_in(zones())
}

/// A policy of one to four entries, the first of which is in the zone.
fn any_policy_in(zone_name: &str) -> impl Strategy<Value = Windows> {
    let here = || any_entry_in(vec![zone_name.to_owned()]);
    let more = prop::collection::vec(prop_oneof![2 => here(), 1 => any_entry()], 0..4);
    (here(), more).prop_map(|(first, more)| Windows::new([vec![first], more].concat()))
}

#[test]
#[expect(clippy::print_stdout, reason = "the output of the test says how much was compared")]
fn around_every_change_of_every_zone_the_windows_are_what_both_clocks_say() {
    let mut runner = TestRunner::deterministic();
    let (from, until) = (at(FIRST), at(LAST));
    let (mut changes, mut instants) = (0_usize, 0_usize);
    for name in zones() {
        let zone = zone::zone(&name).unwrap();
        let policies = any_policy_in(&name);
        for change in zone.following(from).map(|change| change.timestamp()).take_while(|change| *change < until) {
            let windows = policies.new_tree(&mut runner).unwrap().current();
            // The largest change is of two hours.
            let walk = Walk::of(&windows, change - SignedDuration::from_mins(125), 250);
            walk.judge_list();
            walk.judge(change - SignedDuration::from_nanos(1));
            walk.judge(change);
            changes += 1;
            instants += walk.instants;
        }
    }
    println!("{changes} changes, {instants} instants");
    assert!(changes > 8_000 && instants > 2_000_000, "{changes} changes, {instants} instants");
}

#[test]
#[expect(clippy::print_stdout, reason = "the output of the test says how much was compared")]
fn on_any_day_of_any_zone_the_windows_are_what_both_clocks_say() {
    let mut runner = TestRunner::deterministic();
    let mut instants = 0_usize;
    for (index, name) in zones().into_iter().enumerate() {
        let (windows, second) = (any_policy_in(&name), SECONDS).new_tree(&mut runner).unwrap().current();
        let begin = Timestamp::from_second(second - second % 60).unwrap();
        // Now and then more than a week, in which every day of the entries comes.
        let days = if index % 20 == 0 { 9 } else { 1 };
        let walk = Walk::of(&windows, begin, days * 24 * 60);
        walk.judge_list();
        walk.judge(Timestamp::from_second(second).unwrap());
        instants += walk.instants;
    }
    println!("{instants} instants");
    assert!(instants > 1_000_000, "{instants} instants");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

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
