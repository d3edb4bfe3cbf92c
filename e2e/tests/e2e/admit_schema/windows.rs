//! Maintenance windows: zones, days, times of day, and how many there may be.

use serde_json::{Value, json};

use super::row::{Row, admits, endpoint_refuses, refuses};

const WINDOWS: &str = "/spec/maintenanceWindows";
const FIELD: &str = "spec.maintenanceWindows";

pub(crate) fn rows() -> Vec<Row> {
    [number(), zones(), days(), starts(), ends()].concat()
}

fn windows(count: usize) -> Value {
    json!(vec![json!({"timezone": "UTC", "days": ["Mon"], "start": "01:00", "end": "02:00"}); count])
}

fn number() -> Vec<Row> {
    vec![
        refuses("no list of windows", WINDOWS, None, FIELD, "Required value"),
        refuses("an empty list of windows", WINDOWS, json!([]), FIELD, "should have at least 1 items"),
        admits("one window", WINDOWS, windows(1)),
        admits("two windows that are alike", WINDOWS, windows(2)),
        admits("64 windows", WINDOWS, windows(64)),
        refuses("65 windows", WINDOWS, windows(65), FIELD, "must have at most 64 items"),
        refuses("c180 5000 windows", WINDOWS, windows(5000), FIELD, "Too many: 5000: must have at most 64 items"),
        refuses(
            "a window without a zone",
            "/spec/maintenanceWindows/0/timezone",
            None,
            "spec.maintenanceWindows[0].timezone",
            "Required value",
        ),
        refuses("a window without days", "/spec/maintenanceWindows/0/days", None, "spec.maintenanceWindows[0].days", "Required value"),
        refuses("a window without start", "/spec/maintenanceWindows/0/start", None, "spec.maintenanceWindows[0].start", "Required value"),
        refuses("a window without end", "/spec/maintenanceWindows/0/end", None, "spec.maintenanceWindows[0].end", "Required value"),
        refuses("a window without anything", "/spec/maintenanceWindows/0", json!({}), "spec.maintenanceWindows[0].end", "Required value"),
    ]
}

fn zones() -> Vec<Row> {
    let pointer = "/spec/maintenanceWindows/0/timezone";
    let field = "spec.maintenanceWindows[0].timezone";
    let good = |name: &str| admits(&format!("the zone {name}"), pointer, json!(name));
    let no_name = |name: &str| refuses(&format!("the zone {name:?}"), pointer, json!(name), field, "is not an IANA time zone");
    // Whether there is such a zone only the database knows, which the endpoint has and the schema has not.
    let unknown = |name: &str, words| endpoint_refuses(&format!("the zone {name}"), pointer, json!(name), field, words);
    let long = |count: usize| "a".repeat(count);
    vec![
        good("UTC"),
        good("Europe/Berlin"),
        good("Europe/Kyiv"),
        good("Asia/Calcutta"),
        good("America/Argentina/ComodRivadavia"),
        good("America/Port-au-Prince"),
        good("Etc/GMT+5"),
        good("Etc/GMT-14"),
        good("EST5EDT"),
        good("GMT0"),
        unknown("Local", "is the zone of a machine"),
        unknown("europe/berlin", "did you mean Europe/Berlin?"),
        unknown("Europe/Berln", "did you mean Europe/Berlin?"),
        unknown("Tokyo", "did you mean Asia/Tokyo?"),
        unknown("CEST", "is not an IANA time zone"),
        unknown("GMT+2", "an offset does not follow daylight saving time"),
        unknown("Factory", "is not an IANA time zone"),
        unknown("../etc/localtime".trim_start_matches("../"), "is not an IANA time zone"),
        unknown("/UTC", "is not an IANA time zone"),
        unknown(&long(64), "is not an IANA time zone"),
        refuses("a zone of 65 letters", pointer, json!(long(65)), field, "may not be more than 64 bytes"),
        refuses("the zone \"\"", pointer, json!(""), field, "should be at least 1 chars long"),
        no_name("America/New York"),
        no_name("+02:00"),
        no_name(" UTC"),
        no_name("UTC\n"),
        no_name("../etc/localtime"),
        no_name("Europe\\Berlin"),
        no_name("Europe/Berlin\u{0}"),
        no_name("Europe/Z\u{fc}rich"),
    ]
}

fn days() -> Vec<Row> {
    let pointer = "/spec/maintenanceWindows/0/days";
    let field = "spec.maintenanceWindows[0].days";
    let first = "spec.maintenanceWindows[0].days[0]";
    let good = |day: &str| admits(&format!("the day {day}"), pointer, json!([day]));
    let bad = |day: &str| refuses(&format!("the day {day:?}"), pointer, json!([day]), first, "Unsupported value");
    let all = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
    let mut rows: Vec<Row> = all.iter().map(|day| good(day)).collect();
    rows.extend(["mon", "MON", "Monday", "Mo", "", " Mon", "Funday", "Mon,Tue", "Mon-Fri", "1", "*"].map(bad));
    rows.extend([
        admits("all days", pointer, json!(all)),
        admits("days out of order", pointer, json!(["Sun", "Mon"])),
        refuses("no days", pointer, json!([]), field, "should have at least 1 items"),
        refuses("a day twice", pointer, json!(["Wed", "Sat", "Wed"]), "spec.maintenanceWindows[0].days[2]", "Duplicate value"),
        refuses("eight days", pointer, json!([&all[..], &["Mon"]].concat()), field, "must have at most 7 items"),
        refuses("a day that is null", pointer, json!([null]), first, "must be of type string"),
    ]);
    rows
}

fn starts() -> Vec<Row> {
    let pointer = "/spec/maintenanceWindows/0/start";
    let field = "spec.maintenanceWindows[0].start";
    let good = |time: &str| admits(&format!("the start {time}"), pointer, json!(time));
    let bad = |time: &str| refuses(&format!("the start {time:?}"), pointer, json!(time), field, "write HH:MM, 00:00 to 23:59");
    let mut rows: Vec<Row> = ["00:00", "05:59", "06:01", "09:30", "19:59", "20:00", "23:59"].map(good).into();
    rows.extend(
        ["24:00", "24:01", "23:60", "25:00", "30:00", "2:00", "02:0", "0200", "02:00:00", "02:00 ", " 02:00", "2am", "", "-2:00"].map(bad),
    );
    rows.extend(["02.00", "02:00\n", "\u{ff10}2:00", "0\u{662}:00", "99:99"].map(bad));
    rows.push(refuses("a start of nine letters", pointer, json!("02:00:00Z"), field, "may not be more than 8 bytes"));
    rows
}

fn ends() -> Vec<Row> {
    let pointer = "/spec/maintenanceWindows/0/end";
    let field = "spec.maintenanceWindows[0].end";
    let good = |time: &str| admits(&format!("the end {time}"), pointer, json!(time));
    let bad = |time: &str| refuses(&format!("the end {time:?}"), pointer, json!(time), field, "write HH:MM, 00:00 to 24:00");
    // Before the start is on the next day.
    let mut rows: Vec<Row> = ["00:00", "01:59", "02:01", "23:59", "24:00"].map(good).into();
    rows.extend(["24:01", "24:30", "25:00", "06:60", "6:00", "6pm", "", "0600", "06:00 ", "06:00:00"].map(bad));
    rows.extend([
        refuses("an end of nine letters", pointer, json!("06:00:00Z"), field, "may not be more than 8 bytes"),
        refuses("an end that equals the start", pointer, json!("02:00"), field, "equals start, so the window has no length"),
        admits("a whole day", "/spec/maintenanceWindows/0", json!({"timezone": "UTC", "days": ["Mon"], "start": "00:00", "end": "24:00"})),
        refuses(
            "a whole day as midnight to midnight",
            "/spec/maintenanceWindows/0",
            json!({"timezone": "UTC", "days": ["Mon"], "start": "00:00", "end": "00:00"}),
            field,
            "for a whole day write 00:00 to 24:00",
        ),
    ]);
    rows
}
