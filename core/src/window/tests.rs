//! Builders of windows for the tests: the public cases, the measures, and the agreement of all views with two oracles.

mod agreement;
mod cases;
mod measures;
mod newer;
mod oracle;
mod walk;
mod zones;

use jiff::Timestamp;
use jiff::civil::Weekday::{self, Friday, Monday, Saturday, Sunday, Thursday, Tuesday, Wednesday};

use super::{Entry, Windows, zone};

const ALL: [Weekday; 7] = [Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday];

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// Every name of the bundled database that a policy may write.
fn zones() -> Vec<String> {
    let names = jiff::tz::TimeZoneDatabase::bundled();
    names.available().map(|name| name.as_str().to_owned()).filter(|name| name != "Factory").collect()
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

/// The open times that overlap a UTC day, as `open/close`.
fn open_times(windows: &Windows, day: &str) -> Vec<String> {
    let from = at(&format!("{day}T00:00:00Z"));
    let until = from + jiff::SignedDuration::from_hours(24);
    windows.occurrences(from, until).iter().map(|o| format!("{}/{}", o.open, o.close)).collect()
}
