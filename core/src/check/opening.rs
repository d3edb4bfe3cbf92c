//! When a policy's windows open next, on the clocks of their zones and in UTC (D4).

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
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
    Opening { open, close, local_open: local(open, &zone), local_close: local(close, &zone), timezone }
}

fn local(at: Timestamp, zone: &TimeZone) -> String {
    face(zone.to_datetime(at))
}

fn skipped_window(skipped: Skipped) -> SkippedWindow {
    let start = skipped.day.at(0, 0, 0, 0).saturating_add(SignedDuration::from_mins(i64::from(skipped.start)));
    SkippedWindow { local_open: face(start), timezone: skipped.zone_name }
}

/// `Wed 2026-01-07 02:00`.
fn face(local: DateTime) -> String {
    local.strftime("%a %Y-%m-%d %H:%M").to_string()
}
