//! The admission endpoint, reached by the API server through the chart's Service.

use anyhow::{Context as _, Result, ensure};
use e2e::cluster::Cluster;
use e2e::fleet::Fleet;
use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::bed::{Bed, finish, operator};

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    vec![
        bed.trial("admit_webhook::three_faults_are_told_in_one_refusal", three_faults_are_told_in_one_refusal),
        bed.trial("admit_webhook::a_change_to_a_bad_policy_is_refused", a_change_to_a_bad_policy_is_refused),
        bed.trial("admit_webhook::defaults_are_filled_in", defaults_are_filled_in),
    ]
}

async fn three_faults_are_told_in_one_refusal(cluster: &Cluster) -> Result<()> {
    let (operator, fleet) = (operator(cluster).await?, Fleet::new("faults"));
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
    // The same policy without the faults.
    fleet.govern(cluster).await?;
    finish(cluster, &fleet, operator).await
}

async fn a_change_to_a_bad_policy_is_refused(cluster: &Cluster) -> Result<()> {
    let (operator, fleet) = (operator(cluster).await?, Fleet::new("change"));
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
    let (operator, fleet) = (operator(cluster).await?, Fleet::new("defaults"));
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
