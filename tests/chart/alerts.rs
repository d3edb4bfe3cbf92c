//! What the alerts of the chart ask for.

use std::collections::BTreeSet;
use std::path::Path;

/// Names that other people's routes and silences know.
const KNOWN: [&str; 8] = [
    "NodeRotationCompletedFailureOrExpired",
    "NodeRotationCandidatesNotDraining",
    "NodeRotationStalledInWindow",
    "NodeRotationDrainStuck",
    "NodeRotationShortLeadNodes",
    "NodeRotationRetryCountHigh",
    "NodeRotationForcefulFallback",
    "NodeRotationWindowMissed",
];

pub(crate) fn ask_for_series_that_exist(rules: &str) {
    let tables: String = ["src/metrics/table.rs", "src/metrics/pool.rs"]
        .iter()
        .map(|file| std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap())
        .collect();
    let asked: BTreeSet<&str> =
        rules.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| word.starts_with("noderotation_")).collect();
    assert!(asked.len() >= 8, "only {asked:?} are asked for");
    for series in asked {
        assert!(tables.contains(&format!("\"{series}\"")), "an alert asks for {series}, which the operator does not expose");
    }
}

fn names(rules: &str) -> BTreeSet<&str> {
    rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect()
}

pub(crate) fn have_a_paragraph_each(rules: &str, runbook: &str) {
    let paragraphs: BTreeSet<&str> = runbook.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert_eq!(names(rules), paragraphs, "left the alerts, right the paragraphs of the runbook");
    // Where the link of an alert leads, which is made from its name.
    for alert in names(rules) {
        assert!(rules.contains(&format!("\"alert\" \"{alert}\"")), "{alert} links to another paragraph");
    }
}

pub(crate) fn are_those_that_others_route(rules: &str) {
    let named = names(rules);
    for alert in KNOWN {
        assert!(named.contains(alert), "the alert {alert} is gone");
    }
}
