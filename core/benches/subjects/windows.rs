//! The windows of a policy.

use std::hint::black_box;

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::{Subject, governing, now, one_window};

/// As many windows as a policy may have, over zones with and without daylight saving, some across midnight.
fn many_windows() -> Value {
    let zones = ["America/New_York", "Europe/Berlin", "Asia/Tokyo", "Australia/Lord_Howe", "UTC", "America/Sao_Paulo", "Africa/Casablanca"];
    let days = [json!(["Mon", "Thu"]), json!(["Tue", "Sat"]), json!(["Wed"]), json!(["Fri", "Sun"])];
    (0..64)
        .map(|index| {
            let (start, end) =
                (format!("{:02}:{:02}", index % 24, index * 7 % 60), format!("{:02}:{:02}", (index + 2) % 24, index * 11 % 60));
            json!({"timezone": zones[index % zones.len()], "days": days[index % days.len()], "start": start, "end": end})
        })
        .collect()
}

/// Each question that can be asked of them.
pub(super) fn subjects() -> Vec<Subject> {
    let (now, mut subjects) = (now(), Vec::new());
    for (name, entries) in [("1 entry", one_window()), ("64 entries", many_windows())] {
        let windows = || governing(&entries).windows;
        let year = now + SignedDuration::from_hours(53 * 7 * 24);
        let named = |question: &str| format!("windows/{question}, {name}");
        let (membership, opening, closing, occurrences, measures) = (windows(), windows(), windows(), windows(), windows());
        subjects.extend([
            Subject::new(named("membership"), move || membership.contains(black_box(now))),
            Subject::new(named("next opening"), move || opening.next_open(black_box(now))),
            Subject::new(named("next closing"), move || closing.next_close(black_box(now))),
            Subject::new(named("occurrences of 53 weeks"), move || occurrences.occurrences(black_box(now), year)),
            Subject::new(named("P, D and idle gap"), move || measures.measures(black_box(now))),
        ]);
    }
    subjects
}
