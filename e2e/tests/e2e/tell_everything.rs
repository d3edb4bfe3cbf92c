//! Every event and every condition of the documentation is told in one of the tests, on a real cluster.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use e2e::audit::{self, Request};
use e2e::cluster::Cluster;
use e2e::repository;
use e2e::terminal::progress;
use libtest_mimic::Trial;
use serde_json::Value;

use crate::bed::Bed;

/// The name of the operator in every event.
const REPORTER: &str = "noderotation.io/node-rotation-controller";

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    vec![
        bed.trial_of_all("tell_everything::each_documented_event_was_told", each_documented_event_was_told),
        bed.trial_of_all("tell_everything::each_documented_condition_was_written", each_documented_condition_was_written),
    ]
}

async fn each_documented_event_was_told(clusters: &[Cluster], all: bool) -> Result<()> {
    let told = told(clusters).await?;
    let mut documented = first_cells("docs/events.md", |_| true)?;
    // What keeps a NodePool from being rotated is told as well; some of it no schema lets in.
    let findings = first_cells("docs/findings.md", |_| true)?;
    let unknown: Vec<&String> = told.iter().filter(|reason| !documented.contains(*reason) && !findings.contains(*reason)).collect();
    ensure!(unknown.is_empty(), "docs/events.md and docs/findings.md do not name {unknown:?}");
    if !all {
        progress("Not all tests were run, or not all went well, so it was not asked whether every event was told.");
        return Ok(());
    }
    documented.extend(first_cells("docs/findings.md", |row| row.contains("| warning |"))?);
    let untold: Vec<&String> = documented.difference(&told).collect();
    ensure!(untold.is_empty(), "no test brings {untold:?} about");
    progress(&format!("Each of {} documented events was told.", documented.len()));
    Ok(())
}

/// Reasons that no test has to bring about.
const UNPROVOKED: [(&str, &str, &str); 6] = [
    ("Feasible", "NoWindows", "the schema asks for a window, and any that opens on a day of the week opens some day"),
    ("Feasible", "KBelowOne", "the schema refuses it"),
    ("Feasible", "OverrideNonPositive", "the schema refuses it"),
    ("Progressing", "Sweeping", "it lasts until the next pass, which may come before the status is written"),
    ("Progressing", "PolicyConflict", "only in /debug/state"),
    ("Progressing", "Ungoverned", "only in /debug/state"),
];

/// A type of a condition and a reason of it.
type Said = BTreeSet<(String, String)>;

async fn each_documented_condition_was_written(clusters: &[Cluster], all: bool) -> Result<()> {
    let (written, documented) = (written(clusters)?, documented_conditions()?);
    let unknown: Vec<_> = written.difference(&documented).collect();
    ensure!(unknown.is_empty(), "docs/status.md does not name {unknown:?}");
    let excused: Said = UNPROVOKED.iter().map(|(kind, reason, _)| ((*kind).to_owned(), (*reason).to_owned())).collect();
    let strange: Vec<_> = excused.difference(&documented).collect();
    ensure!(strange.is_empty(), "docs/status.md no longer names {strange:?}");
    let unwritten: Vec<_> = documented.difference(&written).filter(|said| !excused.contains(said)).collect();
    if !all {
        progress(&format!("Not all tests were run, or not all went well; of the documented conditions these were not seen: {unwritten:?}"));
        return Ok(());
    }
    ensure!(unwritten.is_empty(), "no test brings {unwritten:?} about");
    progress(&format!("Each of {} documented reasons of conditions was written, but {excused:?}.", documented.len()));
    Ok(())
}

/// What stands in the conditions that any operator has written, from the audit log: whoever asks later sees only the last.
fn written(clusters: &[Cluster]) -> Result<Said> {
    let of_a_status = |request: &Request| request.resource == "rotationpolicies/status" && (200..300).contains(&request.code);
    let mut writes = Vec::new();
    for cluster in clusters {
        writes.extend(audit::read(&audit::path(cluster), of_a_status)?);
    }
    let conditions = writes.iter().filter_map(|write| write.body.pointer("/status/conditions")?.as_array()).flatten();
    let text = |condition: &Value, key: &str| condition.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    Ok(conditions.map(|condition| (text(condition, "type"), text(condition, "reason"))).collect())
}

/// The reasons in the tables of docs/status.md, each under the heading that names its condition; those of `Stalled`, which has
/// none, are those of an invalid policy.
fn documented_conditions() -> Result<Said> {
    let page = "docs/status.md";
    let text = std::fs::read_to_string(repository::path(page)).with_context(|| format!("reading {page}"))?;
    let (mut kind, mut found) = (None, Said::from([("Stalled".to_owned(), "Invalid".to_owned())]));
    for line in text.lines() {
        if line.starts_with('#') {
            kind = line.strip_prefix("### ");
        } else if let (Some(kind), Some(row)) = (kind, line.strip_prefix("| `")) {
            let first = row.split('|').next().unwrap_or_default();
            found.extend(first.split(['`', ' ']).filter(|word| !word.is_empty()).map(|reason| (kind.to_owned(), reason.to_owned())));
        }
    }
    ensure!(found.len() > 20, "{page} names only {found:?}");
    Ok(found)
}

/// The words in the first column of a page's tables, of the rows that count.
fn first_cells(page: &str, counts: impl Fn(&str) -> bool) -> Result<BTreeSet<String>> {
    let text = std::fs::read_to_string(repository::path(page)).with_context(|| format!("reading {page}"))?;
    let rows = text.lines().filter(|line| counts(line));
    let words: BTreeSet<String> = rows.filter_map(|row| Some(row.strip_prefix("| `")?.split_once('`')?.0.to_owned())).collect();
    ensure!(words.len() > 10, "{page} names only {words:?}");
    Ok(words)
}

/// The reasons of all events of any operator.
async fn told(clusters: &[Cluster]) -> Result<BTreeSet<String>> {
    let mut all = BTreeSet::new();
    for cluster in clusters {
        all.extend(told_in(cluster).await?);
    }
    Ok(all)
}

async fn told_in(cluster: &Cluster) -> Result<BTreeSet<String>> {
    let text = cluster.kubectl(&["get", "events.events.k8s.io", "--all-namespaces", "--output", "json"]).await?.accepted()?;
    let list: Value = serde_json::from_str(&text).context("reading the events")?;
    let events = list.get("items").and_then(Value::as_array).into_iter().flatten();
    let ours = events.filter(|event| event.get("reportingController").and_then(Value::as_str) == Some(REPORTER));
    Ok(ours.filter_map(|event| event.get("reason")?.as_str().map(str::to_owned)).collect())
}
