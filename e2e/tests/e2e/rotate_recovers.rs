//! A rotation whose operator is killed in the middle, and goes on under the next one.

use anyhow::{Context as _, Result, ensure};
use e2e::cluster::Cluster;
use e2e::fleet::Fleet;
use e2e::operator::Operator;
use e2e::sight::Sight;
use e2e::story;
use libtest_mimic::Trial;

use crate::bed::{Bed, counted, finish, operator, see};
use crate::scene::{hold, release};

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    vec![
        bed.trial("rotate_recovers::killed_in_pending", killed_in_pending),
        bed.trial("rotate_recovers::killed_in_draining", killed_in_draining),
    ]
}

async fn killed_in_pending(cluster: &Cluster) -> Result<()> {
    let (first, fleet) = (operator(cluster).await?, Fleet::new("pending"));
    let before = fleet.raise(cluster).await?;
    let oldest = before.claims.first().context("there is no claim")?.name.clone();
    fleet.govern(cluster).await?;
    see(cluster, &fleet, "the placeholder", |sight| sight.written(&oldest, "state") == Some("pending") && !sight.placeholders.is_empty())
        .await?;
    first.sigkill().await?;
    let halted = Sight::of(cluster, &fleet.name).await?;
    ensure!(!halted.mirrored() && halted.claim(&oldest).is_some_and(|claim| !claim.deleting), "it was killed too late: {halted:?}");
    let second = operator(cluster).await?;
    completed_once(cluster, &fleet, &oldest, &before, &second).await?;
    finish(cluster, &fleet, second).await
}

async fn killed_in_draining(cluster: &Cluster) -> Result<()> {
    let (first, fleet) = (operator(cluster).await?, Fleet::new("draining"));
    let before = fleet.raise(cluster).await?;
    let oldest = before.claims.first().context("there is no claim")?.name.clone();
    let node = before.claims.first().and_then(|claim| claim.node.clone());
    let pod = before.pods.iter().find(|pod| pod.node == node).context("there is no Pod on the oldest node")?;
    // The drain cannot end before the second operator is there. A budget would do as well, but while one relents Karpenter
    // may launch a node for the Pod, and the count of nodes proves nothing.
    hold(cluster, &pod.name).await?;
    fleet.govern(cluster).await?;
    let draining = |sight: &Sight| sight.mirrored() && sight.claim(&oldest).is_some_and(|claim| claim.deleting);
    see(cluster, &fleet, "the drain", draining).await?;
    first.sigkill().await?;
    let second = operator(cluster).await?;
    let halted = Sight::of(cluster, &fleet.name).await?;
    ensure!(draining(&halted) && halted.last_rotation_at().is_none(), "the drain did not last: {halted:?}");
    release(cluster, &pod.name).await?;
    completed_once(cluster, &fleet, &oldest, &before, &second).await?;
    finish(cluster, &fleet, second).await
}

/// The old claim is gone, no other was touched, one success was counted and told, and nothing else is left.
async fn completed_once(cluster: &Cluster, fleet: &Fleet, oldest: &str, before: &Sight, operator: &Operator) -> Result<()> {
    let over = |sight: &Sight| sight.last_rotation_at().is_some() && sight.marks(&["last-rotation-at"]).is_empty();
    let after = see(cluster, fleet, "the end", over).await?;
    ensure!(after.claim(oldest).is_none(), "{oldest} is still there");
    for claim in before.claims.iter().filter(|claim| claim.name != oldest) {
        ensure!(after.claim(&claim.name).is_some_and(|claim| !claim.deleting), "{} was touched", claim.name);
    }
    ensure!(after.nodes.len() == before.nodes.len(), "there are {} nodes", after.nodes.len());
    counted(operator, fleet, "success", 1.0).await?;
    let told = story::events(cluster, &[&fleet.name]).await?;
    let count = |reason: &str| told.iter().filter(|event| event.reason == reason).count();
    ensure!((count("RotationStarted"), count("RotationCompleted")) == (1, 1), "the events are {told:?}");
    Ok(())
}
