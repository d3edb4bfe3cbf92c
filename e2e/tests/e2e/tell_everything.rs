//! Every event of the documentation is told in one of the tests, on a real cluster.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use e2e::cluster::Cluster;
use e2e::repository;
use e2e::terminal::progress;
use libtest_mimic::Trial;
use serde_json::Value;

use crate::bed::Bed;

/// The name of the operator in every event.
const REPORTER: &str = "noderotation.io/node-rotation-controller";

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    vec![bed.trial_of_all("tell_everything::each_documented_event_was_told", each_documented_event_was_told)]
}

async fn each_documented_event_was_told(cluster: &Cluster, all: bool) -> Result<()> {
    let told = told(cluster).await?;
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

/// The words in the first column of a page's tables, of the rows that count.
fn first_cells(page: &str, counts: impl Fn(&str) -> bool) -> Result<BTreeSet<String>> {
    let text = std::fs::read_to_string(repository::path(page)).with_context(|| format!("reading {page}"))?;
    let rows = text.lines().filter(|line| counts(line));
    let words: BTreeSet<String> = rows.filter_map(|row| Some(row.strip_prefix("| `")?.split_once('`')?.0.to_owned())).collect();
    ensure!(words.len() > 10, "{page} names only {words:?}");
    Ok(words)
}

/// The reasons of all events of any operator.
async fn told(cluster: &Cluster) -> Result<BTreeSet<String>> {
    let text = cluster.kubectl(&["get", "events.events.k8s.io", "--all-namespaces", "--output", "json"]).await?.accepted()?;
    let list: Value = serde_json::from_str(&text).context("reading the events")?;
    let events = list.get("items").and_then(Value::as_array).into_iter().flatten();
    let ours = events.filter(|event| event.get("reportingController").and_then(Value::as_str) == Some(REPORTER));
    Ok(ours.filter_map(|event| event.get("reason")?.as_str().map(str::to_owned)).collect())
}
