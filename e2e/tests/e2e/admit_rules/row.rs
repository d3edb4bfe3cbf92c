//! One policy that differs from a good one, and what a person is told about it.

use e2e::fleet::LABEL;
use serde_json::{Value, json};

/// The fleet of the good policy, and so the name of every policy that is judged.
pub(super) const NAME: &str = "rules";
/// A NodePool that another policy governs already.
pub(super) const CONTESTED: &str = "rules-contested";
/// A NodePool whose nodes expire before any weekly window.
pub(super) const SHORT: &str = "rules-short";
/// A value that no NodePool has and one other policy selects.
pub(super) const UNBORN: &str = "rules-unborn";

/// What becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is stored, and each text is in a warning.
    Warned,
    /// It is not stored, and each text is in the refusal.
    Refused,
}

/// One row.
pub(super) struct Row {
    pub(super) name: &'static str,
    /// Places in the good policy and their values, as JSON pointers.
    pub(super) changes: Vec<(&'static str, Value)>,
    pub(super) verdict: Verdict,
    pub(super) texts: Vec<&'static str>,
}

fn row(name: &'static str, verdict: Verdict, changes: Vec<(&'static str, Value)>, texts: Vec<&'static str>) -> Row {
    Row { name, changes, verdict, texts }
}

fn of_fleet(name: &str) -> (&'static str, Value) {
    ("/spec/nodePoolSelector/matchLabels", json!({LABEL: name}))
}

fn window(zone: &str, start: &str, end: &str) -> (&'static str, Value) {
    let days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
    ("/spec/maintenanceWindows", json!([{"timezone": zone, "days": days, "start": start, "end": end}]))
}

fn weekly() -> (&'static str, Value) {
    ("/spec/maintenanceWindows", json!([{"timezone": "UTC", "days": ["Wed"], "start": "02:00", "end": "06:00"}]))
}

const TIE: &str =
    "spec.nodePoolSelector: ties with rules-rival for NodePool rules-contested, which is not rotated; give one selector more entries";
const STUCK: &str = "spec: cannot rotate NodePool rules-short (ANonPositive): expireAfter 1d is not longer than the lead time";

/// What is told or refused whatever the flags.
pub(super) fn always() -> Vec<Row> {
    use Verdict::{Refused, Warned};
    let bad_surge = json!({"readyTimeout": "0s", "failurePause": "5 min"});
    vec![
        row("no pool", Warned, vec![of_fleet("rules-nobody")], vec!["spec.nodePoolSelector: selects none of the "]),
        row(
            "the selector of another policy",
            Warned,
            vec![of_fleet(UNBORN)],
            vec!["spec.nodePoolSelector: is that of RotationPolicy rules-twin as well, and a tie rotates nothing"],
        ),
        row(
            "midnight",
            Warned,
            vec![window("UTC", "22:00", "04:00")],
            vec!["spec.maintenanceWindows[0]: the window crosses midnight: from 22:00"],
        ),
        row(
            "a minute",
            Warned,
            vec![window("UTC", "00:00", "23:59")],
            vec!["spec.maintenanceWindows[0].end: 23:59 leaves the last minute"],
        ),
        row(
            "a fixed zone",
            Warned,
            vec![window("Etc/GMT+5", "00:00", "24:00")],
            vec!["spec.maintenanceWindows[0].timezone: Etc/GMT+5 is UTC-5 all year"],
        ),
        row(
            "two doubts",
            Warned,
            vec![window("Etc/GMT+5", "22:00", "04:00"), of_fleet("rules-nobody")],
            vec!["selects none of the ", "crosses midnight", "all year"],
        ),
        row(
            "a zone that there is not",
            Refused,
            vec![window("Asia/Tokio", "00:00", "24:00")],
            vec!["spec.maintenanceWindows[0].timezone: ", "\"Asia/Tokio\" is not an IANA time zone; did you mean Asia/Tokyo?"],
        ),
        row(
            "faults that the schema sees and one that only we see",
            Refused,
            vec![window("Mars/Olympus", "2:00", "24:00"), ("/spec/surge", bad_surge)],
            vec![
                "spec.maintenanceWindows[0].timezone",
                "spec.maintenanceWindows[0].start",
                "spec.surge.readyTimeout",
                "spec.surge.failurePause",
            ],
        ),
    ]
}

/// What is told, or with the flags refused.
pub(super) fn as_the_flags_say(verdict: Verdict) -> Vec<Row> {
    vec![
        row("a tie", verdict, vec![of_fleet(CONTESTED)], vec![TIE]),
        row("a pool that cannot be rotated", verdict, vec![of_fleet(SHORT), weekly()], vec![STUCK]),
    ]
}
