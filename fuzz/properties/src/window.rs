//! Windows: all that is asked of them agrees, and with what the face of a local clock says (D4).

mod input;

use jiff::{SignedDuration, Timestamp};
use noderotation_core::window::{Entry, Occurrence, Windows};

use input::Input;

const SECOND: SignedDuration = SignedDuration::from_secs(1);
/// How far windows are looked at around an instant.
const NEAR: SignedDuration = SignedDuration::from_hours(8 * 24);
/// How far an opening is looked for, as the windows document it.
const FAR: SignedDuration = SignedDuration::from_hours(400 * 24);
/// What the measures are taken over.
const YEAR: SignedDuration = SignedDuration::from_hours(53 * 7 * 24);

/// Holds membership, occurrences, openings, closings and measures of some windows against each other and the clock.
pub fn check(input: &[u8]) {
    let Input { now, entries } = Input::read(input);
    let windows = Windows::new(entries);
    let (first, last) = (shifted(now, -NEAR), shifted(now, NEAR));
    let open = windows.occurrences(first, last);
    if shifted(now, -FAR * 2) == Timestamp::MIN || shifted(now, FAR * 2) == Timestamp::MAX {
        // At the ends of time an answer is owed, but no right one.
        let _answers = (windows.occurrence(now), windows.next_open(now), windows.next_close(now), windows.measures(now));
        return;
    }
    are_apart(&open, first, last);
    agree_with_the_clock(&windows, &open, first, last);
    edges_are_where_the_clock_changes(&windows, &open);
    is_the_occurrence_of(&windows, &open, now);
    is_what_comes_next(&windows, now);
    is_measured(&windows, now);
    is_the_union_of_its_days(&windows, first, last);
}

/// `at` plus `by`, or the last instant there is.
fn shifted(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.saturating_add(by).unwrap_or(at)
}

/// Some entry's wall clock shows a time inside. The face is read as text, so that no arithmetic is shared.
fn clock_says_open(windows: &Windows, now: Timestamp) -> bool {
    windows.entries().iter().any(|entry| {
        let face = |minute: u16| format!("{:02}:{:02}", minute / 60, minute % 60);
        let (start, end) = (face(entry.start), face(entry.end));
        let local = entry.zone.to_datetime(now);
        let time = local.strftime("%H:%M").to_string();
        let today = entry.days.contains(&local.date().weekday());
        let yesterday = local.date().yesterday().is_ok_and(|date| entry.days.contains(&date.weekday()));
        if start < end { today && start <= time && time < end } else { (today && start <= time) || (yesterday && time < end) }
    })
}

fn are_apart(open: &[Occurrence], first: Timestamp, last: Timestamp) {
    for occurrence in open {
        assert!(occurrence.open < occurrence.close, "{occurrence:?} is empty");
        assert!(occurrence.close > first && occurrence.open < last, "{occurrence:?} is not within {first} and {last}");
    }
    for (one, next) in open.iter().zip(open.iter().skip(1)) {
        assert!(one.close < next.open, "{one:?} and {next:?} are not apart");
    }
}

fn agree_with_the_clock(windows: &Windows, open: &[Occurrence], first: Timestamp, last: Timestamp) {
    let mut now = first;
    while now < last {
        let listed = open.iter().any(|o| o.open <= now && now < o.close);
        assert_eq!(listed, clock_says_open(windows, now), "listed and clock at {now} of {windows:?}");
        assert_eq!(listed, windows.contains(now), "listed and contained at {now} of {windows:?}");
        // No divisor of an hour, so that all minutes are met in time.
        now = shifted(now, SignedDuration::from_secs(7 * 887));
    }
}

/// What is longer than can be told whole has an edge that is none.
fn edges_are_where_the_clock_changes(windows: &Windows, open: &[Occurrence]) {
    for occurrence in open.iter().filter(|o| o.close.duration_since(o.open) < FAR) {
        let edges = [(occurrence.open, true), (occurrence.close, false)];
        for (edge, opens) in edges {
            assert_eq!(clock_says_open(windows, edge), opens, "at {edge} of {occurrence:?}, {windows:?}");
            assert_eq!(clock_says_open(windows, shifted(edge, -SECOND)), !opens, "before {edge} of {occurrence:?}, {windows:?}");
        }
    }
}

fn is_the_occurrence_of(windows: &Windows, open: &[Occurrence], now: Timestamp) {
    let (told, listed) = (windows.occurrence(now), open.iter().find(|o| o.open <= now && now < o.close).copied());
    let whole = |occurrence: Occurrence| occurrence.close.duration_since(occurrence.open) < FAR;
    assert_eq!(told.is_some(), listed.is_some(), "at {now} of {windows:?}");
    assert_eq!(told.filter(|o| whole(*o)), listed.filter(|o| whole(*o)), "at {now} of {windows:?}");
}

fn is_what_comes_next(windows: &Windows, now: Timestamp) {
    let horizon = shifted(now, FAR);
    let year = windows.occurrences(now, horizon);
    let next_open = year.iter().map(|o| o.open).find(|open| *open > now);
    assert_eq!(windows.next_open(now), next_open, "after {now} of {windows:?}");
    let next_close = year.iter().map(|o| o.close).find(|close| *close > now && *close < horizon);
    assert_eq!(windows.next_close(now), next_close, "after {now} of {windows:?}");
}

/// The measures count a repeated hour once, so they bound what is counted exactly. What began before `from` they may cut,
/// down to what they look at around the year.
fn is_measured(windows: &Windows, from: Timestamp) {
    let exact = windows.occurrences(from, shifted(from, YEAR));
    let Some(measures) = windows.measures(from) else {
        assert!(exact.is_empty(), "nothing is measured of {exact:?}");
        return;
    };
    let Some(idle_gap) = measures.idle_gap else {
        return;
    };
    let shortest = exact.iter().map(|o| o.close.duration_since(o.open)).min().map(|shortest| shortest.min(NEAR));
    assert!(shortest.is_some_and(|shortest| shortest <= signed(measures.shortest)), "{measures:?} and {shortest:?} of {windows:?}");
    assert!(measures.period >= measures.shortest + idle_gap, "{measures:?} of {windows:?}");
    let pairs = || exact.iter().zip(exact.iter().skip(1));
    for (one, next) in pairs().filter(|(one, _)| one.open >= from) {
        assert!(next.open.duration_since(one.open) <= signed(measures.period), "{one:?}, {next:?}, {measures:?} of {windows:?}");
    }
    let shortest_gap = pairs().map(|(one, next)| next.open.duration_since(one.close)).min();
    assert!(shortest_gap.is_some_and(|gap| gap <= signed(idle_gap)), "{measures:?} and {shortest_gap:?} of {windows:?}");
}

fn signed(duration: std::time::Duration) -> SignedDuration {
    duration.try_into().unwrap_or(SignedDuration::MAX)
}

/// Neither the order of the entries nor how days are put together into entries has a meaning.
fn is_the_union_of_its_days(windows: &Windows, first: Timestamp, last: Timestamp) {
    let of_one_day = |entry: &Entry| entry.days.iter().map(|day| Entry { days: vec![*day], ..entry.clone() }).collect::<Vec<_>>();
    let apart = Windows::new(windows.entries().iter().rev().flat_map(of_one_day).collect());
    assert_eq!(windows.occurrences(first, last), apart.occurrences(first, last), "{windows:?}");
    assert_eq!(windows.measures(first), apart.measures(first), "{windows:?}");
}
