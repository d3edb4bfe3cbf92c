//! Policies in every state that the operator knows, as Argo CD shows them and as Flux and Helm 4 wait for them.

use anyhow::{Context as _, Result, ensure};
use e2e::cluster::Cluster;
use e2e::fleet::Fleet;
use e2e::gitops::{Pair, Verdict};
use e2e::wait::{Look, until};
use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::bed::{self, Bed, SOON};

const KINDS: [&str; 2] = ["mutatingwebhookconfiguration", "validatingwebhookconfiguration"];
/// Policies of the test, by what becomes of them.
const NAMES: [&str; 6] = ["health-fine", "health-idle", "health-invalid", "health-tie-a", "health-tie-b", "health-new"];

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    vec![bed.trial("gitops_health::each_state_is_told_as_it_is", each_state_is_told_as_it_is)]
}

async fn each_state_is_told_as_it_is(cluster: &Cluster) -> Result<()> {
    let outcome = states(cluster).await;
    let delete = [&["delete", "rotationpolicy", "--ignore-not-found", "--wait=false"], &NAMES[..]].concat();
    cluster.kubectl(&delete).await?.accepted()?;
    let nodepools = ["delete", "nodepool", "health-fine", "health-tie", "--ignore-not-found", "--wait=false"];
    cluster.kubectl(&nodepools).await?.accepted()?;
    outcome
}

async fn states(cluster: &Cluster) -> Result<()> {
    // Nobody judges, so that a policy can be invalid, as at the first install of a release that brings it.
    unregister(cluster).await?;
    for (name, pool) in [("health-fine", "health-fine"), ("health-tie-a", "health-tie")] {
        let pool = Fleet { name: pool.to_owned(), ..Fleet::new(name) };
        cluster.apply(&pool.node_pool().to_string()).await?.accepted()?;
    }
    for name in &NAMES[..5] {
        apply(cluster, name, &[]).await?;
    }
    judged(cluster, "health-invalid", "InProgress", "Progressing", "has not looked at it").await?;

    let operator = bed::operator(cluster).await?;
    for name in &NAMES[..5] {
        observed(cluster, name, 1).await?;
    }
    judged(cluster, "health-fine", "Current", "Healthy", "governs 1 NodePool").await?;
    judged(cluster, "health-idle", "Current", "Healthy", "selects no NodePool").await?;
    judged(cluster, "health-invalid", "Failed", "Degraded", "Mars/Olympus").await?;
    // One of the two may be about to be deleted.
    judged(cluster, "health-tie-a", "InProgress", "Degraded", "ties with health-tie-b").await?;
    let status = operator.sigterm().await?;
    ensure!(status.success(), "the operator ended with {status} after SIGTERM");

    // While the operator is away: what it said is about a spec that is gone, and of a new policy it has said nothing.
    unregister(cluster).await?;
    for name in ["health-fine", "health-invalid", "health-tie-a"] {
        apply(cluster, name, &[("/spec/minRotationChances", json!(3))]).await?;
        judged(cluster, name, "InProgress", "Progressing", "has not looked at it").await?;
    }
    apply(cluster, "health-new", &[]).await?;
    judged(cluster, "health-new", "InProgress", "Progressing", "has not looked at it").await?;

    // What was wrong is put right, and what was said of it goes.
    apply(cluster, "health-invalid", &[("/spec/maintenanceWindows/0/timezone", json!("UTC"))]).await?;
    cluster.kubectl(&["delete", "rotationpolicy", "health-tie-b"]).await?.accepted()?;
    let operator = bed::operator(cluster).await?;
    for name in ["health-fine", "health-invalid", "health-tie-a", "health-new"] {
        until(&format!("{name} to be fine"), SOON, async || {
            let policy = stored(cluster, name).await?;
            let fine = of(cluster, policy.clone()).await?.kstatus() == "Current";
            Ok(if fine { Look::Done(()) } else { Look::NotYet(policy.to_string()) })
        })
        .await?;
        judged(cluster, name, "Current", "Healthy", "").await?;
    }
    let status = operator.sigterm().await?;
    ensure!(status.success(), "the operator ended with {status} after SIGTERM");
    Ok(())
}

/// Takes the entries away that send policies to an operator that is not there; the next one puts them back.
async fn unregister(cluster: &Cluster) -> Result<()> {
    let none = json!({"webhooks": null}).to_string();
    for kind in KINDS {
        cluster.kubectl(&["patch", kind, e2e::chart::RELEASE, "--type=merge", "--patch", &none]).await?.accepted()?;
    }
    Ok(())
}

async fn apply(cluster: &Cluster, name: &str, changes: &[(&str, Value)]) -> Result<()> {
    let labels = |value: &str| ("/spec/nodePoolSelector/matchLabels", json!({e2e::fleet::LABEL: value}));
    let mut differs = match name {
        "health-invalid" => vec![("/spec/maintenanceWindows/0/timezone", json!("Mars/Olympus"))],
        "health-tie-a" | "health-tie-b" => vec![labels("health-tie")],
        _ => Vec::new(),
    };
    differs.extend(changes.iter().cloned());
    let policy = Fleet::new(name).policy_with(&differs)?;
    // A schema that does not know the zone lets it in.
    cluster.apply(&policy.to_string()).await?.accepted()?;
    Ok(())
}

async fn stored(cluster: &Cluster, name: &str) -> Result<Value> {
    let text = cluster.kubectl(&["get", "rotationpolicy", name, "--output", "json"]).await?.accepted()?;
    serde_json::from_str(&text).context("reading a policy")
}

async fn observed(cluster: &Cluster, name: &str, generation: i64) -> Result<()> {
    until(&format!("the status of {name}"), SOON, async || {
        let policy = stored(cluster, name).await?;
        let seen = policy.pointer("/status/observedGeneration").and_then(Value::as_i64);
        Ok(if seen == Some(generation) { Look::Done(()) } else { Look::NotYet(policy.to_string()) })
    })
    .await
}

async fn of(cluster: &Cluster, policy: Value) -> Result<Verdict> {
    let pair = Pair { wanted: Value::Null, live: policy };
    Verdict::of(cluster, &[pair]).await?.into_iter().next().context("there is no verdict")
}

async fn judged(cluster: &Cluster, name: &str, kstatus: &str, health: &str, message: &str) -> Result<()> {
    let policy = stored(cluster, name).await?;
    let verdict = of(cluster, policy.clone()).await?;
    let said = (verdict.kstatus(), verdict.health());
    ensure!(said == (kstatus, health) && verdict.message().contains(message), "{name} is {said:?}, {:?}: {policy}", verdict.message());
    Ok(())
}
