//! NodePools and policies that do not go together.

use anyhow::{Context as _, Result};
use e2e::cluster::Cluster;
use e2e::fleet::{self, Fleet};
use serde_json::json;

use super::tape::{Keep, Tape};
use crate::bed::{finish, operator};
use crate::scene::{change, delete, far_off, measured};

/// A node whose own life is shorter than that which the NodePool gives by now, and that ends before the next window.
pub(super) async fn short(cluster: &Cluster) -> Result<()> {
    let operator = operator(cluster).await?;
    let fleet = Fleet { size: 1, expire_after: "3h".to_owned(), age_threshold: "auto".to_owned(), ..Fleet::new("short") };
    let mut tape = Tape::new("short", Keep::Alerts, "A node of three hours was made before the NodePool gave its nodes thirty days.");
    fleet.raise(cluster).await?;
    let template = json!({"spec": {"disruption": {"budgets": [{"nodes": "0"}]}, "template": {"spec": {"expireAfter": "720h"}}}});
    change(cluster, "nodepool", &fleet.name, &template).await?;
    let weekly = fleet.policy_with(&[("/spec/maintenanceWindows", json!([far_off("02:00", "06:00")?]))])?;
    cluster.apply(&weekly.to_string()).await?.accepted()?;
    measured(&operator, &fleet, "noderotation_short_lead_nodes", |value| value == Some(1.0)).await?;
    tape.read("short", &operator).await?;
    tape.save()?;
    finish(cluster, &fleet, operator).await
}

/// A day of life, and a window a week.
pub(super) async fn infeasible(cluster: &Cluster) -> Result<()> {
    let operator = operator(cluster).await?;
    let fleet = Fleet { size: 0, expire_after: "24h".to_owned(), age_threshold: "auto".to_owned(), ..Fleet::new("infeasible") };
    let mut tape = Tape::new("infeasible", Keep::Alerts, "Nodes live for a day, and a window opens once a week.");
    cluster.apply(&fleet.node_pool().to_string()).await?.accepted()?;
    let weekly = fleet.policy_with(&[("/spec/maintenanceWindows", json!([far_off("02:00", "06:00")?]))])?;
    cluster.apply(&weekly.to_string()).await?.accepted()?;
    measured(&operator, &fleet, "noderotation_schedule_infeasible", |value| value == Some(1.0)).await?;
    tape.read("infeasible", &operator).await?;
    tape.save()?;
    finish(cluster, &fleet, operator).await
}

/// Two policies select the NodePool with as many labels.
pub(super) async fn conflict(cluster: &Cluster) -> Result<()> {
    let operator = operator(cluster).await?;
    let fleet = Fleet { size: 0, ..Fleet::new("conflict") };
    let mut tape = Tape::new("conflict", Keep::Alerts, "A second policy ties with the first, and is deleted again.");
    cluster.apply(&fleet.node_pool().to_string()).await?.accepted()?;
    tape.before(cluster, &operator, &fleet, &fleet.policy().to_string()).await?;
    let mut rival = fleet.policy();
    *rival.pointer_mut("/metadata/name").context("the policy has no name")? = json!("conflict-rival");
    cluster.apply(&rival.to_string()).await?.accepted()?;
    measured(&operator, &fleet, "noderotation_policy_conflict", |value| value == Some(1.0)).await?;
    tape.read("tied", &operator).await?;
    delete(cluster, "rotationpolicy", "conflict-rival", fleet::NAMESPACE).await?;
    measured(&operator, &fleet, "noderotation_policy_conflict", |value| value == Some(0.0)).await?;
    tape.read("after", &operator).await?;
    tape.save()?;
    finish(cluster, &fleet, operator).await
}
