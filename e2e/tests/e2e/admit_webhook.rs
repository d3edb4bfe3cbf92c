//! The admission endpoint, reached by the API server through the chart's Service.

use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use e2e::cluster::Cluster;
use e2e::fleet::Fleet;
use e2e::operator;
use libtest_mimic::Trial;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use crate::bed::{self, Bed, finish};

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    vec![
        bed.trial("admit_webhook::three_faults_are_told_in_one_refusal", three_faults_are_told_in_one_refusal),
        bed.trial("admit_webhook::a_change_to_a_bad_policy_is_refused", a_change_to_a_bad_policy_is_refused),
        bed.trial("admit_webhook::defaults_are_filled_in", defaults_are_filled_in),
    ]
}

async fn three_faults_are_told_in_one_refusal(cluster: &Cluster) -> Result<()> {
    let (operator, fleet) = (bed::operator(cluster).await?, Fleet::new("faults"));
    let policy = fleet.policy_with(&[
        ("/spec/surge/maxUnavailable", json!(2)),
        ("/spec/surge/readyTimeout", json!("0s")),
        ("/spec/maintenanceWindows/0/timezone", json!("Asia/Tokio")),
    ])?;
    let refusal = cluster.apply(&policy.to_string()).await?.refused()?;
    for expected in [
        "spec.surge.maxUnavailable: 2",
        "spec.surge.readyTimeout: \"0s\"",
        "spec.maintenanceWindows[0].timezone: \"Asia/Tokio\"",
        "Asia/Tokyo",
    ] {
        ensure!(refusal.contains(expected), "{expected} is not in the refusal: {refusal}");
    }
    // The same faults in the same words, without a cluster.
    let offline = offline(&policy).await?;
    ensure!(offline.len() == 3, "check tells {offline:?}");
    for fault in offline {
        ensure!(refusal.contains(&fault), "check says {fault:?}, the refusal is: {refusal}");
    }
    // The same policy without the faults.
    fleet.govern(cluster).await?;
    finish(cluster, &fleet, operator).await
}

/// The faults that `check` tells of a policy on standard input.
async fn offline(policy: &Value) -> Result<Vec<String>> {
    let mut check = Command::new(operator::binary()?)
        .args(["check", "--filename", "-", "--output", "json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("starting check")?;
    let mut input = check.stdin.take().context("no standard input")?;
    input.write_all(policy.to_string().as_bytes()).await?;
    drop(input);
    let output = check.wait_with_output().await?;
    ensure!(output.status.code() == Some(1), "check ended with {}", output.status);
    let verdict: Value = serde_json::from_slice(&output.stdout).context("reading the verdict")?;
    let text = |fault: &Value, key: &str| fault.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let faults = verdict.pointer("/policies/0/faults").and_then(Value::as_array).context("no faults in the verdict")?;
    Ok(faults.iter().map(|fault| format!("{}: {}", text(fault, "field"), text(fault, "message"))).collect())
}

async fn a_change_to_a_bad_policy_is_refused(cluster: &Cluster) -> Result<()> {
    let (operator, fleet) = (bed::operator(cluster).await?, Fleet::new("change"));
    fleet.govern(cluster).await?;
    let patch = |zone: &str| json!([{"op": "replace", "path": "/spec/maintenanceWindows/0/timezone", "value": zone}]).to_string();
    let (bad, good) = (patch("Mars/Olympus"), patch("Europe/Berlin"));
    let arguments = |patch| ["patch", "rotationpolicy", "change", "--type=json", "--patch", patch];
    let refusal = cluster.kubectl(&arguments(&bad)).await?.refused()?;
    ensure!(refusal.contains("spec.maintenanceWindows[0].timezone") && refusal.contains("Mars/Olympus"), "{refusal}");
    cluster.kubectl(&arguments(&good)).await?.accepted()?;
    finish(cluster, &fleet, operator).await
}

async fn defaults_are_filled_in(cluster: &Cluster) -> Result<()> {
    let (operator, fleet) = (bed::operator(cluster).await?, Fleet::new("defaults"));
    fleet.govern(cluster).await?;
    let stored = cluster.kubectl(&["get", "rotationpolicy", &fleet.name, "--output", "json"]).await?.accepted()?;
    let stored: Value = serde_json::from_str(&stored).context("reading the stored policy")?;
    let expected = [
        // By the schema.
        ("/spec/minRotationChances", json!(2)),
        ("/spec/surge/maxUnavailable", json!(1)),
        ("/spec/surge/retryBackoff", json!("30m")),
        // Derived from other fields, which only the endpoint can do.
        ("/spec/surge/failurePause", json!("1h")),
        ("/spec/surge/provisioningEstimate", json!("2m")),
        // As given.
        ("/spec/surge/cooldownAfter", json!("1h")),
    ];
    for (field, value) in expected {
        ensure!(stored.pointer(field) == Some(&value), "{field} is {:?}, not {value}", stored.pointer(field));
    }
    finish(cluster, &fleet, operator).await
}
