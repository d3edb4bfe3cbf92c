//! The zones whose rules have changed since the release of the database that chrono-tz carries.
//!
//! jiff's data are newer. Where the two differ, the second opinion is what the newer release says, written out here;
//! the table is held against both libraries, so that a name cannot stay after chrono-tz has caught up, nor be missing.

use std::collections::BTreeSet;

use jiff::SignedDuration;

use super::oracle::Second;
use super::*;

/// What both databases are compared over, and what the agreement of the windows is tested over.
pub(super) const FIRST: &str = "2024-01-01T00:00:00Z";
pub(super) const LAST: &str = "2046-01-01T00:00:00Z";

/// Names, the first and the last instant of a difference, and the offset in between, in minutes.
type Row = (&'static [&'static str], &'static str, &'static str, i64);

const CHANGED: [Row; 5] = [
    // Morocco gives its summer time up, and with it the pause in Ramadan.
    (&["Africa/Casablanca", "Africa/El_Aaiun"], "2026-09-20T01:00:00Z", LAST, 0),
    // Three provinces of Canada keep summer time for good.
    (&["America/Vancouver", "Canada/Pacific"], "2026-11-01T09:00:00Z", LAST, -7 * 60),
    (&["America/Edmonton", "America/Inuvik", "America/Yellowknife", "Canada/Mountain"], "2026-11-01T08:00:00Z", LAST, -6 * 60),
    (&["America/Winnipeg", "America/Rainy_River", "Canada/Central"], "2026-11-01T07:00:00Z", LAST, -5 * 60),
    // Cuba keeps it for one winter.
    (&["America/Havana", "Cuba"], "2026-11-01T05:00:00Z", "2027-03-14T05:00:00Z", -4 * 60),
];

/// Moldova changes at 01:00 UTC like its neighbours; the older data have it an hour before.
const AN_HOUR_LATER: [&str; 2] = ["Europe/Chisinau", "Europe/Tiraspol"];
/// The days of its changes: year, day of March, day of October.
const SUNDAYS: [(u16, u8, u8); 22] = [
    (2024, 31, 27),
    (2025, 30, 26),
    (2026, 29, 25),
    (2027, 28, 31),
    (2028, 26, 29),
    (2029, 25, 28),
    (2030, 31, 27),
    (2031, 30, 26),
    (2032, 28, 31),
    (2033, 27, 30),
    (2034, 26, 29),
    (2035, 25, 28),
    (2036, 30, 26),
    (2037, 29, 25),
    (2038, 28, 31),
    (2039, 27, 30),
    (2040, 25, 28),
    (2041, 31, 27),
    (2042, 30, 26),
    (2043, 29, 25),
    (2044, 27, 30),
    (2045, 26, 29),
];

/// A stretch of time with an offset that the older data do not have.
pub(super) struct Fixed {
    pub(super) from: Timestamp,
    pub(super) until: Timestamp,
    pub(super) minutes: i64,
}

/// Where the newer data differ for a name, in order.
pub(super) fn fixed_of(name: &str) -> Vec<Fixed> {
    let rows = CHANGED.iter().filter(|(names, ..)| names.contains(&name));
    let mut fixed: Vec<Fixed> =
        rows.map(|(_, from, until, minutes)| Fixed { from: at(from), until: at(until), minutes: *minutes }).collect();
    if AN_HOUR_LATER.contains(&name) {
        let hour = |year: u16, month: u8, day: u8, minutes: i64| {
            let from = at(&format!("{year}-{month:02}-{day:02}T00:00:00Z"));
            Fixed { from, until: from + SignedDuration::from_hours(1), minutes }
        };
        fixed.extend(SUNDAYS.iter().flat_map(|(year, march, october)| [hour(*year, 3, *march, 120), hour(*year, 10, *october, 180)]));
    }
    fixed
}

/// Every instant at which either database changes the zone's offset.
fn changes(name: &str, second: &Second) -> BTreeSet<Timestamp> {
    let (first, last) = (at(FIRST), at(LAST));
    let zone = zone::zone(name).unwrap();
    let mut changes: BTreeSet<Timestamp> =
        zone.following(first).map(|change| change.timestamp()).take_while(|change| *change < last).collect();
    // No rule puts two changes nearer to each other than this.
    let step = SignedDuration::from_hours(10 * 24);
    let mut begin = first;
    while begin < last {
        let end = last.min(begin + step);
        if second.offset_as_released(begin) != second.offset_as_released(end) {
            let (mut before, mut after) = (begin.as_second(), end.as_second());
            while after - before > 1 {
                let middle = before + (after - before) / 2;
                let same = second.offset_as_released(Timestamp::from_second(middle).unwrap()) == second.offset_as_released(begin);
                if same { before = middle } else { after = middle }
            }
            changes.insert(Timestamp::from_second(after).unwrap());
        }
        begin = end;
    }
    changes
}

#[test]
fn the_databases_differ_where_the_table_says_and_nowhere_else() {
    let mut differing: Vec<String> = Vec::new();
    let mut compared = 0;
    for name in zones() {
        let (zone, second) = (zone::zone(&name).unwrap(), Second::of(&name));
        let offset = |now| i64::from(zone.to_offset(now).seconds());
        let mut instants = changes(&name, &second);
        // Between two changes both are constant, so this is every instant.
        instants.extend(fixed_of(&name).iter().flat_map(|fixed| [fixed.from, fixed.until]));
        instants.insert(at(FIRST));
        let a_second = SignedDuration::from_secs(1);
        let sides: Vec<Timestamp> = instants.iter().flat_map(|change| [*change - a_second, *change]).collect();
        for now in sides.iter().filter(|now| at(FIRST) <= **now && **now < at(LAST)) {
            assert_eq!(offset(*now), second.offset(*now), "{name} {now}: the table is wrong, or lacks the name");
            compared += 1;
        }
        for fixed in fixed_of(&name) {
            let (begins, ends) = (fixed.from, fixed.until - a_second);
            assert!(
                [begins, ends].iter().all(|now| offset(*now) != second.offset_as_released(*now)),
                "{name}: {begins} to {ends} is too long"
            );
        }
        if let Some(from) = sides.iter().find(|now| at(FIRST) <= **now && offset(**now) != second.offset_as_released(**now)) {
            assert_eq!(Some(*from), fixed_of(&name).first().map(|fixed| fixed.from), "{name}: when the difference begins");
            differing.push(name);
        }
    }
    let listed: BTreeSet<&str> = CHANGED.iter().flat_map(|(names, ..)| names.iter().copied()).chain(AN_HOUR_LATER).collect();
    assert_eq!(differing, listed.into_iter().collect::<Vec<_>>(), "a listed name that does not differ must go");
    assert!(compared > 10_000, "{compared} instants");
}

#[test]
fn the_second_opinion_is_older_and_knows_the_same_names() {
    assert!(chrono_tz::IANA_TZDB_VERSION < zone::database_version());
    let names: Vec<String> = zones();
    assert_eq!(names.len(), 597);
    let known: Vec<&str> = chrono_tz::TZ_VARIANTS.iter().map(|zone| zone.name()).collect();
    assert_eq!(names.iter().map(String::as_str).collect::<BTreeSet<_>>(), known.into_iter().collect());
}
