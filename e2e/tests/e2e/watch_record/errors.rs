//! Operators that may not do their work, or are not there.

use anyhow::{Context as _, Result};
use e2e::chart;
use e2e::cluster::Cluster;
use e2e::fleet::Fleet;
use e2e::operator::Operator;
use e2e::wait::{Look, until};
use serde_json::{Value, json};

use super::tape::{Keep, Tape};
use crate::bed::{BRISK, SOON, finish, forget, operator};
use crate::scene::measured;

/// How many readings of passes that fail: each is held for less than the alert looks back, and together for longer than it
/// waits.
const READINGS: u32 = 7;

/// Somebody takes the right to write to NodePools away.
pub(super) async fn errors(cluster: &Cluster) -> Result<()> {
    let (operator, fleet) = (operator(cluster).await?, Fleet { size: 1, ..Fleet::new("errors") });
    let mut tape = Tape::new("errors", Keep::Alerts, "The operator may not write to NodePools any more, so passes fail.");
    fleet.raise(cluster).await?;
    let role = cluster.kubectl(&["get", "clusterrole", chart::RELEASE, "--output", "json"]).await?.accepted()?;
    let role: Value = serde_json::from_str(&role).context("reading the ClusterRole")?;
    tape.read("before", &operator).await?;
    let recorded = refused(cluster, &operator, &fleet, &role, &mut tape).await;
    let whole = json!([{"op": "replace", "path": "/rules", "value": role.get("rules")}]).to_string();
    cluster.kubectl(&["patch", "clusterrole", chart::RELEASE, "--type=json", "--patch", &whole]).await?.accepted()?;
    recorded?;
    tape.save()?;
    finish(cluster, &fleet, operator).await
}

async fn refused(cluster: &Cluster, operator: &Operator, fleet: &Fleet, role: &Value, tape: &mut Tape) -> Result<()> {
    let mut rules: Vec<Value> = role.get("rules").and_then(Value::as_array).cloned().context("the ClusterRole has no rules")?;
    for rule in &mut rules {
        let about_pools = rule.get("resources").is_some_and(|resources| resources == &json!(["nodepools"]));
        if let Some(verbs) = rule.get_mut("verbs").and_then(Value::as_array_mut).filter(|_| about_pools) {
            verbs.retain(|verb| verb != "patch");
        }
    }
    let fewer = json!([{"op": "replace", "path": "/rules", "value": rules}]).to_string();
    cluster.kubectl(&["patch", "clusterrole", chart::RELEASE, "--type=json", "--patch", &fewer]).await?.accepted()?;
    fleet.govern(cluster).await?;
    let mut last = 0.0;
    for reading in 1..=READINGS {
        last = until("one more pass to fail", SOON, async || {
            let failed = operator.metrics().await?.value("noderotation_reconcile_total", &[("result", "error")]);
            Ok(Look::from_option(failed.filter(|failed| *failed > last), &format!("{failed:?}")))
        })
        .await?;
        tape.read(&format!("failed-{reading}"), operator).await?;
    }
    Ok(())
}

/// The leader is killed while another replica waits, which takes over; then nobody is left.
pub(super) async fn leaderless(cluster: &Cluster) -> Result<()> {
    let fleet = Fleet { size: 0, ..Fleet::new("leaderless") };
    let mut tape = Tape::new("leaderless", Keep::Alerts, "The leader is killed, and the other replica waits for the lease and takes it.");
    let one = operator(cluster).await?;
    cluster.apply(&fleet.node_pool().to_string()).await?.accepted()?;
    fleet.govern(cluster).await?;
    measured(&one, &fleet, "noderotation_window_active", |value| value == Some(1.0)).await?;
    // Only one of the two can listen on the Service's address.
    let two = ["--webhook-bind-address=127.0.0.1:0", "--webhook-register=false"];
    let mut two = Operator::start(cluster, &[&two[..], &BRISK].concat()).await?;
    two.wait_serving().await?;
    tape.read_two("led", Some(&one), &two).await?;
    one.sigkill().await?;
    tape.read_two("leaderless", None, &two).await?;
    two.wait_ready().await?;
    measured(&two, &fleet, "noderotation_window_active", |value| value == Some(1.0)).await?;
    tape.read_two("led-again", None, &two).await?;
    tape.save()?;
    forget(cluster, &fleet).await?;
    two.sigterm().await?;
    Ok(())
}
