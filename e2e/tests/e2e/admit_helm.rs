//! Policies that belong to a release: judged at the install and at each upgrade, and never fought over.

use anyhow::{Context as _, Result, ensure};
use e2e::chart;
use e2e::cluster::Cluster;
use e2e::fleet::Fleet;
use e2e::tool::Answer;
use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::bed::{self, Bed};

/// Name and namespace of a second release; the first one's operator judges its policies.
const SECOND: &str = "second-release";

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    vec![bed.trial("admit_helm::a_policy_of_a_release_is_judged_with_it", a_policy_of_a_release_is_judged_with_it)]
}

async fn a_policy_of_a_release_is_judged_with_it(cluster: &Cluster) -> Result<()> {
    let operator = bed::operator(cluster).await?;
    let outcome = install_upgrade_and_remove(cluster).await;
    // Whatever has become of it, nothing of it is to stay.
    cluster.helm(&["uninstall", SECOND, "--namespace", SECOND, "--ignore-not-found", "--wait"]).await?.accepted()?;
    outcome?;
    let left = cluster.kubectl(&["get", "rotationpolicy", SECOND, "--ignore-not-found", "--output", "name"]).await?.accepted()?;
    ensure!(left.is_empty(), "{left} is left after the release");
    let status = operator.sigterm().await?;
    ensure!(status.success(), "the operator ended with {status} after SIGTERM");
    Ok(())
}

async fn install_upgrade_and_remove(cluster: &Cluster) -> Result<()> {
    let bad = [("/spec/maintenanceWindows/0/timezone", json!("Asia/Tokio")), ("/spec/surge/readyTimeout", json!("0s"))];
    let refusal = helm(cluster, "install", &bad).await?.refused()?;
    told(&refusal)?;
    cluster.helm(&["uninstall", SECOND, "--namespace", SECOND]).await?.accepted()?;

    helm(cluster, "install", &[]).await?.accepted()?;
    let installed = stored(cluster).await?;
    let derived = installed.pointer("/spec/surge/failurePause");
    ensure!(derived == Some(&json!("1h")), "the derived default is {derived:?}");
    told(&helm(cluster, "upgrade", &bad).await?.refused()?)?;
    for _ in 0..3 {
        helm(cluster, "upgrade", &[]).await?.accepted()?;
    }
    let upgraded = stored(cluster).await?;
    for place in ["/metadata/generation", "/metadata/uid", "/spec"] {
        let (before, after) = (installed.pointer(place), upgraded.pointer(place));
        ensure!(before == after, "{place} was {before:?} and is {after:?}, though nothing has changed");
    }
    helm(cluster, "upgrade", &[("/spec/surge/readyTimeout", json!("3m"))]).await?.accepted()?;
    let changed = stored(cluster).await?;
    ensure!(changed.pointer("/spec/surge/readyTimeout") == Some(&json!("3m")), "the change has not arrived: {changed}");
    Ok(())
}

/// Both mistakes, where they are and what to write instead.
fn told(refusal: &str) -> Result<()> {
    for expected in ["spec.maintenanceWindows[0].timezone: \"Asia/Tokio\"", "Asia/Tokyo", "spec.surge.readyTimeout: \"0s\""] {
        ensure!(refusal.contains(expected), "{expected} is not in the refusal: {refusal}");
    }
    Ok(())
}

async fn stored(cluster: &Cluster) -> Result<Value> {
    let policy = cluster.kubectl(&["get", "rotationpolicy", SECOND, "--output", "json"]).await?.accepted()?;
    serde_json::from_str(&policy).context("reading the policy")
}

/// Installs or upgrades the second release, with one policy that differs so from a good one.
async fn helm(cluster: &Cluster, verb: &str, changes: &[(&str, Value)]) -> Result<Answer> {
    let policy = Fleet::new(SECOND).policy_with(changes)?;
    let policies = format!("rotationPolicies={}", json!([{"name": SECOND, "spec": policy.get("spec")}]));
    let chart = chart::folder();
    let chart = chart.to_string_lossy();
    // The placeholder's class is that of the first release.
    let class = "placeholder.priorityClass.create=false";
    let mut arguments = vec![verb, SECOND, &chart, "--namespace", SECOND, "--set", class, "--set-json", &policies];
    if verb == "install" {
        arguments.push("--create-namespace");
    }
    cluster.helm(&arguments).await
}
