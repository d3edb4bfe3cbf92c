//! The schema of the CRD alone, without the operator: it must hold while the admission endpoint is down.

use anyhow::{Result, ensure};
use e2e::chart;
use e2e::cluster::Cluster;
use e2e::fleet::Fleet;
use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::bed::Bed;

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    vec![
        bed.trial("admit_schema::more_than_one_unavailable_node_is_refused", more_than_one_unavailable_node_is_refused),
        bed.trial("admit_schema::a_malformed_time_of_day_is_refused", a_malformed_time_of_day_is_refused),
        bed.trial("admit_schema::a_sound_policy_is_accepted", a_sound_policy_is_accepted),
    ]
}

async fn more_than_one_unavailable_node_is_refused(cluster: &Cluster) -> Result<()> {
    refused(cluster, "/spec/surge/maxUnavailable", json!(2), "spec.surge.maxUnavailable").await
}

async fn a_malformed_time_of_day_is_refused(cluster: &Cluster) -> Result<()> {
    refused(cluster, "/spec/maintenanceWindows/0/start", json!("2:60"), "spec.maintenanceWindows[0].start").await
}

async fn a_sound_policy_is_accepted(cluster: &Cluster) -> Result<()> {
    let fleet = Fleet::new("schema");
    without_webhooks(cluster).await?;
    cluster.apply(&fleet.policy().to_string()).await?.accepted()?;
    cluster.kubectl(&["delete", "rotationpolicy", &fleet.name]).await?.accepted()?;
    Ok(())
}

/// The policy that is accepted, but for one field, is refused and the field is named.
async fn refused(cluster: &Cluster, pointer: &str, value: Value, field: &str) -> Result<()> {
    without_webhooks(cluster).await?;
    let policy = Fleet::new("schema").policy_with(&[(pointer, value)])?;
    let refusal = cluster.apply(&policy.to_string()).await?.refused()?;
    ensure!(refusal.contains(field) && refusal.contains("is invalid"), "the refusal does not name {field}: {refusal}");
    Ok(())
}

/// An operator of another test may have left its entries, and nobody answers for them now.
async fn without_webhooks(cluster: &Cluster) -> Result<()> {
    for kind in ["mutatingwebhookconfiguration", "validatingwebhookconfiguration"] {
        let patch = ["patch", kind, chart::RELEASE, "--type=merge", "--patch", r#"{"webhooks":null}"#];
        cluster.kubectl(&patch).await?.accepted()?;
    }
    Ok(())
}
