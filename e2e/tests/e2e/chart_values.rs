//! Values of the chart: many sets that a real API server accepts, and sets that are refused with a sentence.
//!
//! A set is a row of a file. Those with `golden: true` are compared with what was rendered before; `BLESS=1` records what is
//! rendered now.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use e2e::chart;
use e2e::cluster::Cluster;
use e2e::rights::{self, Right, rendered};
use e2e::stranger;
use e2e::tool::Answer;
use libtest_mimic::Trial;
use serde_yaml_ng::Value;

use crate::bed::{self, Bed};

/// A release beside the one that is installed, so that nothing that cannot be changed is in the way.
const RELEASE: &str = "values";

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    vec![
        bed.trial("chart_values::it_has_no_lint", it_has_no_lint),
        bed.trial("chart_values::every_good_set_is_accepted_by_the_api_server", every_good_set_is_accepted_by_the_api_server),
        bed.trial("chart_values::no_good_set_grants_what_is_not_compared", no_good_set_grants_what_is_not_compared),
        bed.trial("chart_values::every_bad_set_is_refused_with_a_sentence", every_bad_set_is_refused_with_a_sentence),
        bed.trial("chart_values::an_older_kubernetes_is_refused", an_older_kubernetes_is_refused),
        bed.trial("chart_values::a_removal_outlasts_the_lease", a_removal_outlasts_the_lease),
    ]
}

/// A set of values and what is expected of it.
struct Row {
    name: String,
    values: String,
    golden: bool,
    says: String,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/chart_values")
}

fn rows(file: &str) -> Result<Vec<Row>> {
    let path = folder().join(file);
    let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let rows: Vec<Value> = serde_yaml_ng::from_str(&text).with_context(|| format!("reading {}", path.display()))?;
    let text = |row: &Value, key: &str| row.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let row = |row: &Value| {
        let values = match row.get("file").and_then(Value::as_str) {
            Some(file) => fs::read_to_string(folder().join(file)).with_context(|| format!("reading {file}"))?,
            None => serde_yaml_ng::to_string(row.get("values").unwrap_or(&Value::Null)).context("writing values")?,
        };
        Ok(Row { name: text(row, "name"), values, golden: row.get("golden").is_some(), says: text(row, "says") })
    };
    rows.iter().map(row).collect()
}

async fn helm(cluster: &Cluster, command: &[&str], values: &str) -> Result<Answer> {
    let path = cluster.site().data.join("values.yaml");
    fs::write(&path, values).with_context(|| format!("writing {}", path.display()))?;
    let (folder, path) = (chart::folder().to_string_lossy().into_owned(), path.to_string_lossy().into_owned());
    let arguments = [command, &[&*folder, "--namespace", chart::NAMESPACE, "--values", &path]].concat();
    cluster.helm(&arguments).await
}

async fn it_has_no_lint(cluster: &Cluster) -> Result<()> {
    for row in rows("good.yaml")? {
        helm(cluster, &["lint", "--strict"], &row.values).await?.accepted().with_context(|| row.name.clone())?;
    }
    Ok(())
}

async fn every_good_set_is_accepted_by_the_api_server(cluster: &Cluster) -> Result<()> {
    stranger::cert_manager(cluster).await?;
    stranger::prometheus_operator(cluster).await?;
    // Policies are judged by the endpoint as well.
    let operator = bed::operator(cluster).await?;
    let rows = rows("good.yaml")?;
    ensure!(rows.len() >= 30, "only {} sets are left", rows.len());
    for row in &rows {
        let rendered = helm(cluster, &["template", RELEASE], &row.values).await?.accepted().with_context(|| row.name.clone())?;
        if row.golden {
            golden(&row.name, &rendered)?;
        }
        // The PriorityClass has one name in the whole cluster and belongs to the release that is installed.
        let apply = ["apply", "--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict", "--filename", "-"];
        let said = cluster.kubectl_with(&apply, &rendered).await?;
        // There are no NodePools here, of which the endpoint warns; else only what a row says is warned of.
        let mut warnings = said.errors.lines().filter(|line| line.contains("Warning") && !line.contains("selects no NodePool"));
        let as_told = if row.says.is_empty() { warnings.next().is_none() } else { warnings.any(|line| line.contains(&row.says)) };
        ensure!(as_told, "{}: {}", row.name, said.errors);
        said.accepted().with_context(|| row.name.clone())?;
    }
    let status = operator.sigterm().await?;
    ensure!(status.success(), "the operator ended with {status} after SIGTERM");
    Ok(())
}

/// What is compared with the rights that were used is all that can be granted, but for names.
async fn no_good_set_grants_what_is_not_compared(cluster: &Cluster) -> Result<()> {
    let compared: BTreeSet<String> = rights::granted(&cluster.tool("helm")?).await?.iter().map(Right::shape).collect();
    for row in rows("good.yaml")? {
        let rendered = helm(cluster, &["template", RELEASE], &row.values).await?.accepted().with_context(|| row.name.clone())?;
        let granted = rendered::rights(&rendered).with_context(|| row.name.clone())?;
        let others: Vec<String> = granted.iter().map(Right::shape).filter(|shape| !compared.contains(shape)).collect();
        ensure!(others.is_empty(), "{} grants what none of {:?} does: {others:?}", row.name, rights::VALUES);
    }
    Ok(())
}

fn golden(name: &str, rendered: &str) -> Result<()> {
    let path = folder().join("golden").join(format!("{}.yaml", name.replace(' ', "-")));
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, rendered).with_context(|| format!("writing {}", path.display()))?;
    }
    let before = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let different = before.lines().zip(rendered.lines()).position(|(before, now)| before != now);
    let different = different.or_else(|| (before != rendered).then(|| before.lines().count().min(rendered.lines().count())));
    if let Some(line) = different {
        let of = |text: &str| text.lines().nth(line).unwrap_or("(nothing)").to_owned();
        let (was, is) = (of(&before), of(rendered));
        anyhow::bail!("{name}, line {}: {was:?} became {is:?}; look at it and record it with BLESS=1", line + 1);
    }
    Ok(())
}

async fn every_bad_set_is_refused_with_a_sentence(cluster: &Cluster) -> Result<()> {
    for row in rows("bad.yaml")? {
        let refusal = helm(cluster, &["template", RELEASE], &row.values).await?.refused().with_context(|| row.name.clone())?;
        ensure!(!row.says.is_empty() && refusal.contains(&row.says), "{}: {:?} is not said: {refusal}", row.name, row.says);
    }
    Ok(())
}

async fn an_older_kubernetes_is_refused(cluster: &Cluster) -> Result<()> {
    helm(cluster, &["template", RELEASE, "--kube-version", "1.30.0"], "").await?.accepted()?;
    let refusal = helm(cluster, &["template", RELEASE, "--kube-version", "1.29.9"], "").await?.refused()?;
    ensure!(refusal.contains(">=1.30.0-0"), "{refusal}");
    Ok(())
}

/// The hook waits for the lease first, and has four minutes for its work after it.
async fn a_removal_outlasts_the_lease(cluster: &Cluster) -> Result<()> {
    let rows = [("15s", 255), ("4m", 480), ("1m30s", 330), ("1h2m3.5s", 3964), ("2500ms", 243), ("0.1s", 241)];
    for (lease, deadline) in rows {
        let values = format!("leaderElection: {{ leaseDuration: {lease} }}");
        let only = ["template", RELEASE, "--show-only", "templates/hooks/cleanup.yaml"];
        let rendered = helm(cluster, &only, &values).await?.accepted()?;
        ensure!(rendered.contains(&format!("activeDeadlineSeconds: {deadline}\n")), "{lease} leads to {rendered}");
    }
    Ok(())
}
