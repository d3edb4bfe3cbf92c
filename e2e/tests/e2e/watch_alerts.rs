//! Alerts and dashboard, judged by Prometheus' own engine on what was recorded from an operator at work.
//!
//! `watch_record` wrote the recordings on the real cluster; nothing in them is made up. How long a reading is held is chosen in
//! `plans`, so that alerts that look at hours and weeks can be seen to fire, and to be silent in weeks in which all goes well.

mod dashboard;
mod plans;
mod turned;

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use e2e::chart;
use e2e::cluster::Cluster;
use e2e::fleet::Fleet;
use e2e::promtool::Promtool;
use e2e::recording::Recording;
use e2e::replay::Rules;
use e2e::repository;
use libtest_mimic::Trial;

use crate::bed::{Bed, finish, operator, registered};
use crate::scene::measured;
use crate::watch_record::folder;

/// Where the alerts would link to.
const RUNBOOK: &str = "https://example.com/runbook.md";

/// What promtool says of a live scrape, and why it stays.
const COMPLAINTS: [(&str, &str); 1] = [(
    "noderotation_retry_count non-histogram and non-summary metrics should not have \"_count\" suffix",
    "the name is that of the Go controller, whose alerts and dashboards ask for it",
)];

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    vec![
        bed.trial("watch_alerts::a_scrape_has_no_lint_but_what_others_rely_on", a_scrape_has_no_lint_but_what_others_rely_on),
        bed.trial("watch_alerts::each_fires_in_its_situation_and_none_in_quiet_weeks", each_fires_in_its_situation),
        bed.trial("watch_alerts::each_that_is_turned_is_found_out", turned::each_that_is_turned_is_found_out),
        bed.trial("watch_alerts::every_query_of_the_dashboard_gives_numbers", dashboard::every_query_gives_numbers),
    ]
}

fn promtool(cluster: &Cluster) -> Result<Promtool> {
    Promtool::new(cluster.tool("promtool")?, cluster.site().data.join("promtool"))
}

/// The rules as the chart renders them.
async fn rules(cluster: &Cluster) -> Result<Rules> {
    let link = format!("prometheusRule.runbookUrl={RUNBOOK}");
    let rendered = chart::template(&cluster.tool("helm")?, &["prometheusRule.enabled=true", &link]).await?;
    Rules::of(&chart::documents(&rendered)?)
}

/// What was recorded of a situation.
fn recording(situation: &str) -> Result<Recording> {
    let path = folder().join(format!("{situation}.txt"));
    let text = std::fs::read_to_string(&path).with_context(|| format!("reading {}; `make record` writes it", path.display()))?;
    Recording::parse(&text).with_context(|| format!("reading {}", path.display()))
}

/// All that was recorded.
fn recordings() -> Result<Vec<Recording>> {
    let entries = std::fs::read_dir(folder()).with_context(|| format!("reading {}", folder().display()))?;
    let mut names = Vec::new();
    for entry in entries {
        let name = entry.context("reading an entry")?.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix(".txt").map(str::to_owned));
    }
    names.sort();
    names.iter().map(|name| recording(name)).collect()
}

async fn a_scrape_has_no_lint_but_what_others_rely_on(cluster: &Cluster) -> Result<()> {
    let (operator, fleet) = (operator(cluster).await?, Fleet { size: 0, ..Fleet::new("scraped") });
    registered(&operator).await?;
    cluster.apply(&fleet.node_pool().to_string()).await?.accepted()?;
    fleet.govern(cluster).await?;
    measured(&operator, &fleet, "noderotation_window_active", |value| value == Some(1.0)).await?;
    let scrape = operator.metrics().await?;
    let complaints: BTreeSet<String> = promtool(cluster)?.complaints(scrape.text()).await?.into_iter().collect();
    let known: BTreeSet<String> = COMPLAINTS.iter().map(|(complaint, _)| (*complaint).to_owned()).collect();
    ensure!(complaints == known, "promtool says {complaints:?}; {known:?} is known");
    // What was recorded is what is exposed still, or the alerts are judged by what is gone.
    let name = |series: &str| series.split('{').next().unwrap_or_default().to_owned();
    let exposed: BTreeSet<String> = scrape.samples().map(|(series, _)| name(series)).collect();
    for recording in recordings()? {
        let gone: Vec<String> = recording.series().map(name).filter(|name| !exposed.contains(name)).collect();
        ensure!(gone.is_empty(), "{:?} has series that nobody exposes any more: {gone:?}; run `make record`", recording.says);
    }
    finish(cluster, &fleet, operator).await
}

async fn each_fires_in_its_situation(cluster: &Cluster) -> Result<()> {
    let rules = rules(cluster).await?;
    let promtool = promtool(cluster)?;
    promtool.check(&rules).await?.accepted()?;
    let asked: Vec<&str> = rules.alerts().collect();
    let mut tests = Vec::new();
    for plan in plans::PLANS {
        tests.push((plan.name, plan.test(&rules, &asked)?));
    }
    let answer = promtool.test(&rules, &tests).await?;
    ensure!(answer.success, "{}\n{}", answer.output, answer.errors);
    let firing: BTreeSet<&str> = plans::PLANS.iter().flat_map(|plan| plan.fires.iter().map(|fire| fire.alert)).collect();
    ensure!(firing == asked.iter().copied().collect(), "left what fires in a situation, right all alerts: {firing:?} {asked:?}");
    let recorded = std::fs::read_dir(repository::path("e2e/recorded")).context("reading e2e/recorded")?.count();
    let played: BTreeSet<&str> = plans::PLANS.iter().map(|plan| plan.situation).collect();
    ensure!(recorded == played.len(), "{recorded} situations are recorded, and {} are played", played.len());
    Ok(())
}
