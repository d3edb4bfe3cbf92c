//! Rotations that succeed, fail, come too late, or do without a surge.

use anyhow::Result;
use e2e::cluster::Cluster;
use e2e::fleet::{self, Fleet};
use serde_json::json;

use super::tape::{Keep, Tape};
use crate::bed::{counted, finish, operator, registered, see};
use crate::scene::{Old, change, delete, far_off, hold, measured, release, replaced, withhold_nodes};

/// Two windows, one rotation in each. The windows open and close by a change of the policy, since none can be waited for.
pub(super) async fn quiet(cluster: &Cluster) -> Result<()> {
    // Long enough for two windows of a week ahead of its end.
    let fleet = Fleet { size: 1, expire_after: "720h".to_owned(), ..Fleet::new("quiet") };
    let operator = operator(cluster).await?;
    registered(&operator).await?;
    let mut tape = Tape::new("quiet", Keep::All, "Two windows, and in each of them a rotation that succeeds.");
    fleet.raise(cluster).await?;
    let closed = fleet
        .policy_with(&[("/spec/maintenanceWindows", json!([far_off("02:00", "06:00")?])), ("/spec/ageThreshold", json!("100h"))])?
        .to_string();
    cluster.apply(&closed).await?.accepted()?;
    measured(&operator, &fleet, "noderotation_candidates", |value| value == Some(0.0)).await?;
    tape.read("closed", &operator).await?;
    for round in 1..=2 {
        let before = see(cluster, &fleet, "one claim", |sight| sight.claims.len() == 1 && sight.pods.len() == 1).await?;
        let old = Old::of(&before)?;
        let pod = old.pod(&before)?;
        hold(cluster, &pod).await?;
        // Without a pause, or the second would have to wait for an hour.
        cluster.apply(&fleet.policy_with(&[("/spec/surge/cooldownAfter", json!("1s"))])?.to_string()).await?.accepted()?;
        see(cluster, &fleet, "the drain", |sight| old.draining(sight)).await?;
        measured(&operator, &fleet, "noderotation_in_progress", |value| value == Some(1.0)).await?;
        tape.read(&format!("rotating-{round}"), &operator).await?;
        fleet.govern(cluster).await?;
        release(cluster, &pod).await?;
        replaced(cluster, &fleet, &old, &[]).await?;
        counted(&operator, &fleet, "success", f64::from(round)).await?;
        measured(&operator, &fleet, "noderotation_in_progress", |value| value == Some(0.0)).await?;
        tape.read(&format!("done-{round}"), &operator).await?;
        cluster.apply(&closed).await?.accepted()?;
        measured(&operator, &fleet, "noderotation_window_active", |value| value == Some(0.0)).await?;
        measured(&operator, &fleet, "noderotation_candidates", |value| value == Some(0.0)).await?;
        tape.read(&format!("closed-{round}"), &operator).await?;
    }
    tape.save()?;
    finish(cluster, &fleet, operator).await
}

/// No node is to be had, and the same claim is tried three times.
pub(super) async fn failing(cluster: &Cluster) -> Result<()> {
    let (operator, fleet) = (operator(cluster).await?, Fleet { size: 1, ready_timeout: "1s".to_owned(), ..Fleet::new("failing") });
    let mut tape = Tape::new("failing", Keep::Alerts, "No new node is to be had, and three attempts are rolled back.");
    fleet.raise(cluster).await?;
    withhold_nodes(cluster, &fleet).await?;
    let pauses = [("/spec/surge/retryBackoff", json!("5s")), ("/spec/surge/failurePause", json!("1s"))];
    tape.before(cluster, &operator, &fleet, &fleet.policy_with(&pauses)?.to_string()).await?;
    counted(&operator, &fleet, "failure", 1.0).await?;
    tape.read("once", &operator).await?;
    measured(&operator, &fleet, "noderotation_retry_count", |value| value == Some(3.0)).await?;
    tape.read("thrice", &operator).await?;
    tape.save()?;
    finish(cluster, &fleet, operator).await
}

/// Somebody else deletes the claim that waits for its surge.
pub(super) async fn expired(cluster: &Cluster) -> Result<()> {
    let (operator, fleet) = (operator(cluster).await?, Fleet { size: 1, ..Fleet::new("expired") });
    let mut tape = Tape::new("expired", Keep::Alerts, "Somebody deletes a NodeClaim while its rotation waits for the new node.");
    let before = fleet.raise(cluster).await?;
    let old = Old::of(&before)?;
    withhold_nodes(cluster, &fleet).await?;
    tape.before(cluster, &operator, &fleet, &fleet.policy().to_string()).await?;
    see(cluster, &fleet, "the placeholder", |sight| old.pending(sight)).await?;
    let pod = old.pod(&before)?;
    hold(cluster, &pod).await?;
    delete(cluster, "nodeclaim", &old.claim, fleet::NAMESPACE).await?;
    counted(&operator, &fleet, "expired", 1.0).await?;
    tape.read("expired", &operator).await?;
    release(cluster, &pod).await?;
    tape.save()?;
    finish(cluster, &fleet, operator).await
}

/// The deadline is so near that no surge fits before it.
pub(super) async fn fallback(cluster: &Cluster) -> Result<()> {
    let fleet = Fleet { size: 1, expire_after: "3m".to_owned(), ..Fleet::new("fallback") };
    let operator = operator(cluster).await?;
    let mut tape = Tape::new("fallback", Keep::Alerts, "A node is drained without a surge, since its deadline is near.");
    let before = fleet.raise(cluster).await?;
    let old = Old::of(&before)?;
    let template = json!({"spec": {"disruption": {"budgets": [{"nodes": "0"}]}, "template": {"spec": {"expireAfter": "336h"}}}});
    change(cluster, "nodepool", &fleet.name, &template).await?;
    let policy = fleet.policy_with(&[("/spec/surge/forcefulFallback", json!({"enabled": true}))])?;
    tape.before(cluster, &operator, &fleet, &policy.to_string()).await?;
    measured(&operator, &fleet, "noderotation_forceful_fallback_total", |value| value == Some(1.0)).await?;
    replaced(cluster, &fleet, &old, &[]).await?;
    counted(&operator, &fleet, "success", 1.0).await?;
    measured(&operator, &fleet, "noderotation_short_lead_nodes", |value| value == Some(0.0)).await?;
    tape.read("done", &operator).await?;
    tape.save()?;
    finish(cluster, &fleet, operator).await
}
