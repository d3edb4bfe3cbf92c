//! Public fault reports about the names of time zones.

use jiff::tz;

use super::*;
use crate::policy::validate::validate;

fn fault(name: &str) -> String {
    zone::zone(name).unwrap_err().to_string()
}

#[test]
fn c044_every_name_of_utc_is_accepted_and_equal() {
    for name in ["Etc/UTC", "UTC", "Zulu", "GMT"] {
        let window = windows(name, &[Wednesday], "02:00", "06:00");
        assert_eq!(open_times(&window, "2026-07-01"), ["2026-07-01T02:00:00Z/2026-07-01T06:00:00Z"], "{name}");
    }
}

#[test]
fn c046_an_old_name_is_kept_as_it_is_spelled() {
    for (name, target) in [
        ("Europe/Kiev", "Europe/Kyiv"),
        ("Europe/Kyiv", "Europe/Kyiv"),
        ("Europe/Uzhgorod", "Europe/Kyiv"),
        ("Asia/Calcutta", "Asia/Kolkata"),
        ("US/Pacific", "America/Los_Angeles"),
        ("America/Nipigon", "America/Toronto"),
    ] {
        let policy = serde_json::json!({"spec": {
            "nodePoolSelector": {},
            "maintenanceWindows": [{"timezone": name, "days": ["Sun"], "start": "02:00", "end": "06:00"}]
        }});
        let read = validate(&policy).unwrap().windows;
        assert_eq!(read.entries()[0].zone_name, name);
        let twin = windows(target, &[Sunday], "02:00", "06:00");
        for day in ["2026-03-08", "2026-03-29", "2026-10-25", "2026-11-01"] {
            assert_eq!(open_times(&read, day), open_times(&twin, day), "{name} {day}");
        }
    }
}

#[test]
fn c048_an_offset_and_an_abbreviation_are_refused_and_a_fixed_zone_has_its_sign_told() {
    let offset =
        "is not an IANA time zone; an offset does not follow daylight saving time; write an IANA name such as Europe/Berlin or UTC";
    let abbreviation = "is not an IANA time zone; an abbreviation can stand for several zones; write an IANA name such as America/Los_Angeles or Europe/Berlin";
    for (name, sentence) in [("+01:00", offset), ("GMT+2", offset), ("PST", abbreviation)] {
        assert_eq!(fault(name), sentence, "{name}");
    }
    // One letter from EST, EET or CET, and hours away from what is meant.
    for name in ["CEST", "JST", "BST", "IST", "EDT", "CST"] {
        assert_eq!(fault(name), abbreviation, "{name}");
    }
    let at_noon = |name: &str| zone::zone(name).unwrap().to_offset(at("2026-07-01T12:00:00Z"));
    assert_eq!((at_noon("Etc/GMT+5"), at_noon("EST5EDT")), (tz::offset(-5), tz::offset(-4)));
    // Which a warning says, in words.
    assert_eq!((zone::fixed_offset("Etc/GMT+5").as_deref(), zone::fixed_offset("EST5EDT")), (Some("UTC-5"), None));
}

#[test]
fn c049_a_name_in_lower_case_is_refused_with_the_right_spelling() {
    assert_eq!(fault("europe/berlin"), "is not an IANA time zone; did you mean Europe/Berlin?");
    assert!(zone::zone("Europe/Berlin").is_ok());
}
