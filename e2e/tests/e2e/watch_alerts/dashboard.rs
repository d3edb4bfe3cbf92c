//! The dashboard as the chart renders it: unchanged, and each of its queries gives numbers on what was recorded.

use anyhow::{Context as _, Result, ensure};
use e2e::chart;
use e2e::cluster::Cluster;
use e2e::replay;
use serde_json::Value;

/// What Grafana puts in the place of its variables: all NodePools, and a range of several scrapes.
const VARIABLES: [(&str, &str); 2] = [("$nodepool", ".*"), ("$__rate_interval", "30m")];
const FILE: &str = "node-rotation-controller.json";

pub(super) async fn every_query_gives_numbers(cluster: &Cluster) -> Result<()> {
    let rendered = chart::template(&cluster.tool("helm")?, &["dashboard.enabled=true"]).await?;
    let objects = chart::documents(&rendered)?;
    let place = format!("/data/{FILE}");
    let text = objects.iter().find_map(|object| object.pointer(&place)?.as_str()).context("the chart renders no dashboard")?;
    let path = chart::folder().join("dashboards").join(FILE);
    let file = std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    ensure!(text == file, "the dashboard is not rendered as it is in {}", path.display());
    let dashboard: Value = serde_json::from_str(text).context("reading the dashboard")?;
    let queries = queries(&dashboard)?;
    ensure!(queries.len() > 40, "only {} queries were found", queries.len());
    let test = replay::queries(&super::recordings()?, &queries)?;
    let answer = super::promtool(cluster)?.test(&super::rules(cluster).await?, &[("dashboard", test)]).await?;
    ensure!(answer.success, "{}", answer.errors);
    // And one that asks for what nobody exposes does not.
    let renamed: Vec<String> = queries.iter().map(|query| query.replace("noderotation_leader", "noderotation_leads")).collect();
    let test = replay::queries(&super::recordings()?, &renamed)?;
    let answer = super::promtool(cluster)?.test(&super::rules(cluster).await?, &[("renamed", test)]).await?;
    ensure!(answer.errors.matches("expr:").count() == 1 && answer.errors.contains("noderotation_leads"), "{}", answer.errors);
    Ok(())
}

/// The queries of all panels, and of the variable that names the NodePools.
fn queries(dashboard: &Value) -> Result<Vec<String>> {
    let list = |value: &Value, key: &str| value.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let mut found = Vec::new();
    for panel in list(dashboard, "panels") {
        for target in list(&panel, "targets") {
            found.push(text(&target, "expr").with_context(|| format!("{target} has no query"))?);
        }
    }
    let variables = dashboard.pointer("/templating/list").and_then(Value::as_array).context("there are no variables")?;
    for values in variables.iter().filter_map(|variable| text(variable, "query")?.strip_prefix("label_values(").map(str::to_owned)) {
        let (series, label) = values.split_once(", ").context("label_values takes a series and a label")?;
        found.push(format!("count by ({}) ({series})", label.trim_end_matches(')')));
    }
    let filled = |query: &String| VARIABLES.iter().fold(query.clone(), |query, (name, value)| query.replace(name, value));
    let filled: Vec<String> = found.iter().map(filled).collect();
    ensure!(!filled.iter().any(|query| query.contains('$')), "a variable is not known: {filled:?}");
    Ok(filled)
}
