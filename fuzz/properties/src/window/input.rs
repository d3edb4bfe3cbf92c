//! Windows and an instant from any bytes, in a form that people can read.
//!
//! The first line is an instant, each other line an entry: `Europe/Berlin Sat,Sun 02:00 06:00`. Whatever is not understood
//! stands for something all the same, by its hash, so that hardly any input is wasted.

use jiff::Timestamp;
use jiff::civil::Weekday;
use jiff::tz::TimeZoneDatabase;
use noderotation_core::window::zone::zone;
use noderotation_core::window::{Entry, MINUTES_OF_DAY};

/// More entries than these show nothing that fewer do not, and cost time.
const MOST_ENTRIES: usize = 4;

const DAYS: [(&str, Weekday); 7] = [
    ("Mon", Weekday::Monday),
    ("Tue", Weekday::Tuesday),
    ("Wed", Weekday::Wednesday),
    ("Thu", Weekday::Thursday),
    ("Fri", Weekday::Friday),
    ("Sat", Weekday::Saturday),
    ("Sun", Weekday::Sunday),
];

/// 1900 to 2100, for an instant that is not understood.
const SECONDS: std::ops::Range<i64> = -2_208_988_800..4_102_444_800;

pub(super) struct Input {
    pub(super) now: Timestamp,
    pub(super) entries: Vec<Entry>,
}

impl Input {
    pub(super) fn read(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let mut lines = text.lines();
        let now = instant(lines.next().unwrap_or_default());
        Self { now, entries: lines.filter_map(entry).take(MOST_ENTRIES).collect() }
    }
}

/// Before 1970, which no clock shows, a whole second: parts of one count towards 1970 there, and are not owed any sense.
fn instant(text: &str) -> Timestamp {
    let hashed = || SECONDS.start.saturating_add_unsigned(hash(text) % SECONDS.end.abs_diff(SECONDS.start));
    let whole = |seconds| Timestamp::from_second(seconds).unwrap_or_default();
    let written = text.parse().unwrap_or_else(|_| whole(hashed()));
    if written < Timestamp::UNIX_EPOCH { whole(written.as_second()) } else { written }
}

/// `None` only if there are no zones.
fn entry(line: &str) -> Option<Entry> {
    let mut words = line.split_whitespace();
    let mut word = || words.next().unwrap_or_default();
    let (zone_name, days, start, end) = (word(), days(word()), word(), word());
    let start = minute(start, MINUTES_OF_DAY);
    let end = Some(minute(end, MINUTES_OF_DAY + 1)).filter(|end| *end != start).unwrap_or(start + 1);
    let zone_name = known_zone(zone_name)?;
    Some(Entry { zone: zone(&zone_name).ok()?, zone_name, days, start, end })
}

/// The zone of that name, or one by the hash.
fn known_zone(text: &str) -> Option<String> {
    let database = TimeZoneDatabase::bundled();
    let names: Vec<String> = database.available().map(|name| name.as_str().to_owned()).filter(|name| name != "Factory").collect();
    names.iter().find(|name| *name == text).or_else(|| names.get(below(hash(text), names.len()))).cloned()
}

/// Named days, or those of the hash's bits; the latter may be none.
fn days(text: &str) -> Vec<Weekday> {
    let named: Vec<Weekday> = DAYS.iter().filter(|(name, _)| text.split(',').any(|word| word == *name)).map(|(_, day)| *day).collect();
    if named.is_empty() {
        DAYS.iter().enumerate().filter(|(bit, _)| hash(text) >> bit & 1 == 1).map(|(_, (_, day))| *day).collect()
    } else {
        named
    }
}

/// `HH:MM`, or a minute below `limit` by the hash.
fn minute(text: &str, limit: u16) -> u16 {
    let written = || {
        let (hours, minutes) = text.split_once(':')?;
        let minute = hours.parse::<u16>().ok()?.checked_mul(60)?.checked_add(minutes.parse().ok()?)?;
        (minute < limit).then_some(minute)
    };
    written().unwrap_or_else(|| u16::try_from(below(hash(text), limit.into())).unwrap_or_default())
}

fn below(number: u64, limit: usize) -> usize {
    u64::try_from(limit).ok().and_then(|limit| number.checked_rem(limit)).and_then(|rest| rest.try_into().ok()).unwrap_or_default()
}

/// Fowler, Noll and Vo's hash, which is the same on every machine.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
