//! The chart grants its accounts what they have used in all tests, and nothing else.

use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use e2e::audit;
use e2e::cluster::{Cluster, ServiceMode};
use e2e::rights::compare;
use e2e::rights::finding::{Finding, Seen};
use e2e::terminal::progress;
use libtest_mimic::Trial;

use crate::bed::Bed;

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    vec![bed.trial_of_all("rights::c210_what_is_granted_is_what_was_used", what_is_granted_is_what_was_used)]
}

async fn what_is_granted_is_what_was_used(clusters: &[Cluster], all: bool) -> Result<()> {
    let cluster = clusters.first().context("there is no cluster")?;
    let logs: Vec<PathBuf> = clusters.iter().map(audit::path).collect();
    // Without Services nothing is registered.
    let seen = if all && cluster.service_mode() == ServiceMode::Reachable { Seen::Everything } else { Seen::Part };
    let comparison = compare(&cluster.tool("helm")?, &logs, seen).await?;
    match seen {
        Seen::Everything => progress(&format!(
            "{} rights of the chart were compared with {} requests of its accounts.",
            comparison.granted, comparison.requests
        )),
        Seen::Part => {
            progress("Not all tests were run, or not all went well, so it was not asked which rights are granted and never used.")
        }
    }
    ensure!(comparison.requests > 0, "the chart's accounts have asked for nothing");
    let told: Vec<String> = comparison.findings.iter().map(Finding::to_string).collect();
    ensure!(told.is_empty(), "{}", told.join("\n"));
    Ok(())
}
