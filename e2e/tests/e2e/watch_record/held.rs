//! Rotations that do not come to an end, or do not begin.

use anyhow::Result;
use e2e::cluster::Cluster;
use e2e::fleet::Fleet;
use serde_json::json;

use super::tape::{Keep, Tape};
use crate::bed::{counted, finish, operator, see};
use crate::scene::{
    Old, annotate, change, closing_soon, counted_by_karpenter, hold, measured, release, replaced, told, went_by, withhold_nodes,
};

/// A Pod that does not go holds up the drain for longer than its bound.
pub(super) async fn stuck(cluster: &Cluster) -> Result<()> {
    let (operator, fleet) = (operator(cluster).await?, Fleet { size: 1, ..Fleet::new("stuck") });
    let mut tape = Tape::new("stuck", Keep::Alerts, "A drain does not end within its bound, and ends after all.");
    let before = fleet.raise(cluster).await?;
    let old = Old::of(&before)?;
    let pod = old.pod(&before)?;
    hold(cluster, &pod).await?;
    tape.before(cluster, &operator, &fleet, &fleet.policy().to_string()).await?;
    see(cluster, &fleet, "the drain", |sight| old.draining(sight)).await?;
    measured(&operator, &fleet, "noderotation_drain_stuck", |value| value == Some(0.0)).await?;
    tape.read("draining", &operator).await?;
    // As if Karpenter had said long ago that it would end the drain by force.
    annotate(cluster, "nodeclaim", &old.claim, &json!({"karpenter.sh/nodeclaim-termination-timestamp": "2026-01-01T00:00:00Z"})).await?;
    measured(&operator, &fleet, "noderotation_drain_stuck", |value| value == Some(1.0)).await?;
    tape.read("stuck", &operator).await?;
    release(cluster, &pod).await?;
    replaced(cluster, &fleet, &old, &[]).await?;
    counted(&operator, &fleet, "success", 1.0).await?;
    measured(&operator, &fleet, "noderotation_drain_stuck", |value| value == Some(0.0)).await?;
    tape.read("over", &operator).await?;
    tape.save()?;
    finish(cluster, &fleet, operator).await
}

/// A limit of the NodePool leaves no room for a surge.
pub(super) async fn stalled(cluster: &Cluster) -> Result<()> {
    let (operator, fleet) = (operator(cluster).await?, Fleet { size: 1, ..Fleet::new("stalled") });
    let mut tape = Tape::new("stalled", Keep::Alerts, "A node is due in an open window, and a limit leaves no room for its replacement.");
    fleet.raise(cluster).await?;
    counted_by_karpenter(cluster, &fleet, "cpu", "600m").await?;
    change(cluster, "nodepool", &fleet.name, &json!({"spec": {"limits": {"cpu": "1199m"}}})).await?;
    tape.before(cluster, &operator, &fleet, &fleet.policy().to_string()).await?;
    told(cluster, &fleet.name, "InsufficientHeadroom").await?;
    measured(&operator, &fleet, "noderotation_candidates", |value| value == Some(1.0)).await?;
    tape.read("stalled", &operator).await?;
    tape.save()?;
    finish(cluster, &fleet, operator).await
}

/// A window closes in which no node was to be had.
pub(super) async fn missed(cluster: &Cluster) -> Result<()> {
    let (operator, fleet) = (operator(cluster).await?, Fleet { size: 1, ready_timeout: "10s".to_owned(), ..Fleet::new("missed") });
    let mut tape = Tape::new("missed", Keep::Alerts, "A window closes without a success though a node was due.");
    let old = Old::of(&fleet.raise(cluster).await?)?;
    withhold_nodes(cluster, &fleet).await?;
    let policy = closing_soon(&fleet)?;
    tape.before(cluster, &operator, &fleet, &policy.to_string()).await?;
    see(cluster, &fleet, "the placeholder", |sight| old.pending(sight)).await?;
    went_by(&operator, &fleet).await?;
    tape.read("missed", &operator).await?;
    tape.save()?;
    finish(cluster, &fleet, operator).await
}
