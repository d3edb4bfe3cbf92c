//! Reads `spec.maintenanceWindows` (D3, D4).

use std::collections::BTreeSet;

use jiff::civil::Weekday;
use jiff::tz::TimeZone;

use super::fault::{Fault, FaultCode};
use super::reader::{Field, Reader};
use crate::window::zone::zone;
use crate::window::{Entry, MINUTES_OF_DAY, Windows};

/// More entries than anybody writes; bounds the work of every judgement.
pub(super) const MOST_ENTRIES: usize = 64;

/// Characters of a time zone, as the schema has it; to look for a name like a long text would take long.
const LONGEST_ZONE: usize = 64;

const DAYS: [(&str, Weekday); 7] = [
    ("Mon", Weekday::Monday),
    ("Tue", Weekday::Tuesday),
    ("Wed", Weekday::Wednesday),
    ("Thu", Weekday::Thursday),
    ("Fri", Weekday::Friday),
    ("Sat", Weekday::Saturday),
    ("Sun", Weekday::Sunday),
];

/// The windows; `None` when they are missing or have a fault.
pub(super) fn read(reader: &mut Reader, field: &Field<'_>) -> Option<Windows> {
    let before = reader.faults.len();
    if field.is_absent() {
        reader.faults.push(Fault::missing(&field.path, "write at least one window with timezone, days, start and end"));
    }
    let items = reader.list(field)?;
    if items.is_empty() {
        reader.fault(FaultCode::Required, field, "is empty; write at least one window with timezone, days, start and end");
    } else if items.len() > MOST_ENTRIES {
        reader.fault_without_value(FaultCode::Invalid, field, &format!("has {} windows; write at most {MOST_ENTRIES}", items.len()));
        return None;
    }
    let entries: Vec<Entry> = items.iter().filter_map(|item| entry(reader, item)).collect();
    (reader.faults.len() == before).then(|| Windows::new(entries))
}

fn entry(reader: &mut Reader, item: &Field<'_>) -> Option<Entry> {
    if item.is_absent() {
        reader.faults.push(Fault::missing(&item.path, "write timezone, days, start and end"));
        return None;
    }
    reader.object(item)?;
    let zone_field = item.child("timezone");
    let zone_name = required_text(reader, &zone_field, "an IANA name such as Europe/Berlin", "Europe/Berlin");
    let zone = zone_name.and_then(|name| known_zone(reader, &zone_field, name));
    let days = days(reader, &item.child("days"));
    let (start_field, end_field) = (item.child("start"), item.child("end"));
    let start = time_of_day(reader, &start_field, End::No);
    let end = time_of_day(reader, &end_field, End::Yes);
    if start.is_some() && start == end {
        reader.fault(FaultCode::Invalid, &end_field, "equals start, so the window has no length; for a whole day write 00:00 to 24:00");
    }
    Some(Entry { zone: zone?, zone_name: zone_name?.to_owned(), days: days?, start: start?, end: end? })
}

fn known_zone(reader: &mut Reader, field: &Field<'_>, name: &str) -> Option<TimeZone> {
    if name.chars().count() > LONGEST_ZONE {
        let words = format!("has more than {LONGEST_ZONE} characters; write an IANA name such as Europe/Berlin");
        reader.fault(FaultCode::Invalid, field, &words);
        return None;
    }
    zone(name).map_err(|fault| reader.fault(FaultCode::NotSupported, field, &fault.to_string())).ok()
}

fn required_text<'a>(reader: &mut Reader, field: &Field<'a>, what: &str, example: &str) -> Option<&'a str> {
    if field.is_absent() {
        reader.faults.push(Fault::missing(&field.path, &format!("write {what}")));
    }
    reader.text(field, example)
}

fn days(reader: &mut Reader, field: &Field<'_>) -> Option<Vec<Weekday>> {
    let before = reader.faults.len();
    if field.is_absent() {
        reader.faults.push(Fault::missing(&field.path, "write one or more of Mon, Tue, Wed, Thu, Fri, Sat, Sun"));
    }
    let items = reader.list(field)?;
    if items.is_empty() {
        reader.fault(FaultCode::Required, field, "is empty; write one or more of Mon, Tue, Wed, Thu, Fri, Sat, Sun");
    } else if items.len() > DAYS.len() {
        reader.fault_without_value(FaultCode::Invalid, field, &format!("has {} days; write each day once", items.len()));
        return None;
    }
    let mut days = Vec::new();
    let mut seen = BTreeSet::new();
    for item in items {
        let Some(text) = reader.item_text(&item, "Mon") else {
            continue;
        };
        match DAYS.iter().find(|(name, _)| *name == text) {
            None => reader.fault(FaultCode::NotSupported, &item, &format!("is not a day; {}", day_hint(text))),
            Some(_) if !seen.insert(text) => reader.fault(FaultCode::Duplicate, &item, "is there twice; write each day once"),
            Some((_, day)) => days.push(*day),
        }
    }
    (reader.faults.len() == before).then_some(days)
}

fn day_hint(text: &str) -> String {
    let text = text.trim().to_ascii_lowercase();
    let meant = DAYS.iter().find(|(name, _)| {
        text.len() >= 2 && (text.starts_with(&name.to_ascii_lowercase()) || name.to_ascii_lowercase().starts_with(&text))
    });
    meant.map_or_else(|| "write Mon, Tue, Wed, Thu, Fri, Sat or Sun".to_owned(), |(name, _)| format!("write {name}"))
}

/// Whether `24:00` can be meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Yes,
    No,
}

fn time_of_day(reader: &mut Reader, field: &Field<'_>, end: End) -> Option<u16> {
    let text = required_text(reader, field, "a time of day as HH:MM", "02:00")?;
    let minute = parse_time(text).filter(|minute| *minute < MINUTES_OF_DAY || end == End::Yes);
    if minute.is_none() {
        let latest = if end == End::Yes { "24:00" } else { "23:59" };
        reader.fault(FaultCode::Invalid, field, &format!("is not a time of day; write HH:MM, 00:00 to {latest}"));
    }
    minute
}

/// Minute of the day of `HH:MM`, `24:00` included.
fn parse_time(text: &str) -> Option<u16> {
    let (hours, minutes) = text.split_once(':')?;
    let two_digits = |part: &str| (part.len() == 2 && part.bytes().all(|b| b.is_ascii_digit())).then(|| part.parse::<u16>().ok()).flatten();
    let (hours, minutes) = (two_digits(hours)?, two_digits(minutes)?);
    let minute = hours * 60 + minutes;
    (minutes < 60 && minute <= MINUTES_OF_DAY).then_some(minute)
}
