//! When a policy's windows open next, on the clocks of their zones and in UTC (D4).

use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};

use super::report::{Opening, Schedule, SkippedWindow};
use crate::window::{Entry, Occurrence, Skipped, Windows};

/// How many openings are listed.
const LISTED: usize = 5;

/// `None` for windows that never open.
pub(super) fn schedule(windows: &Windows, now: Timestamp) -> Option<Schedule> {
    let measures = windows.measures(now)?;
    let next: Vec<Occurrence> = windows.upcoming(now).filter(|occurrence| occurrence.open > now).take(LISTED).collect();
    let until = next.last().map_or(now, |last| last.close);
    Some(Schedule {
        period: measures.period,
        shortest: measures.shortest,
        idle_gap: measures.idle_gap,
        open_now: windows.occurrence(now).map(|occurrence| opening(windows, occurrence)),
        openings: next.into_iter().map(|occurrence| opening(windows, occurrence)).collect(),
        skipped: windows.skipped(now, until).into_iter().map(skipped_window).collect(),
    })
}

fn opening(windows: &Windows, Occurrence { open, close }: Occurrence) -> Opening {
    let opener = windows.entries().iter().find(|entry| entry.contains(open));
    let zone = opener.map_or(TimeZone::UTC, |entry: &Entry| entry.zone.clone());
    let timezone = opener.map_or_else(|| "UTC".to_owned(), |entry| entry.zone_name.clone());
    let [local_open, local_close] = faces([open, close], &zone);
    Opening { open, close, local_open, local_close, timezone }
}

/// Both on the clock of the zone. Where it is set in between, or shows one of these times twice, its face alone misleads:
/// the first half of a repeated hour would seem to end before it begins. Then each has its offset beside it.
fn faces(edges: [Timestamp; 2], zone: &TimeZone) -> [String; 2] {
    let twice = |at: Timestamp| zone.to_ambiguous_timestamp(zone.to_datetime(at)).is_ambiguous();
    let [open, close] = edges.map(|at| zone.to_offset(at));
    let misleads = open != close || edges.into_iter().any(twice);
    edges.map(|at| {
        let face = face(zone.to_datetime(at));
        if misleads { format!("{face} {}", words(zone.to_offset(at))) } else { face }
    })
}

/// `UTC-4`, `UTC+5:30`.
fn words(offset: Offset) -> String {
    let sign = if offset.is_negative() { '-' } else { '+' };
    let minutes = offset.seconds().unsigned_abs() / 60;
    match minutes % 60 {
        0 => format!("UTC{sign}{}", minutes / 60),
        odd => format!("UTC{sign}{}:{odd:02}", minutes / 60),
    }
}

fn skipped_window(skipped: Skipped) -> SkippedWindow {
    let start = skipped.day.at(0, 0, 0, 0).saturating_add(SignedDuration::from_mins(i64::from(skipped.start)));
    SkippedWindow { local_open: face(start), timezone: skipped.zone_name }
}

/// `Wed 2026-01-07 02:00`.
fn face(local: DateTime) -> String {
    local.strftime("%a %Y-%m-%d %H:%M").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::zone::zone;

    #[test]
    fn an_offset_stands_beside_a_time_where_its_face_alone_misleads() {
        let rows = [
            ("America/New_York", "2026-11-01T05:30:00Z", "2026-11-01T06:00:00Z", "01:30 UTC-4 to 01:00 UTC-5", "the first of two"),
            ("America/New_York", "2026-11-01T06:30:00Z", "2026-11-01T08:30:00Z", "01:30 UTC-5 to 03:30 UTC-5", "the second"),
            ("America/New_York", "2026-11-08T06:30:00Z", "2026-11-08T08:30:00Z", "01:30 to 03:30", "a week later"),
            ("Europe/Berlin", "2027-03-28T00:30:00Z", "2027-03-28T02:00:00Z", "01:30 UTC+1 to 04:00 UTC+2", "an hour is missing"),
            ("Australia/Lord_Howe", "2027-04-03T14:00:00Z", "2027-04-03T16:00:00Z", "01:00 UTC+11 to 02:30 UTC+10:30", "half an hour"),
            ("Asia/Kolkata", "2027-03-28T00:30:00Z", "2027-03-28T02:00:00Z", "06:00 to 07:30", "a clock that is never set"),
        ];
        for (name, open, close, expected, why) in rows {
            let edges = [open, close].map(|at| at.parse().unwrap());
            let times = faces(edges, &zone(name).unwrap()).map(|face| face.splitn(3, ' ').nth(2).unwrap().to_owned());
            assert_eq!(times.join(" to "), expected, "{name}: {why}");
        }
    }
}
