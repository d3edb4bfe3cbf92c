//! A rotation whose operator is killed in the middle, and goes on under the next one.

use anyhow::{Result, ensure};
use e2e::cluster::Cluster;
use e2e::fleet::Fleet;
use e2e::operator::Operator;
use e2e::sight::Sight;
use libtest_mimic::Trial;

use crate::bed::{Bed, counted, finish, operator, see};
use crate::scene::{Old, begun_and_completed, grant_nodes, hold, release, replaced_alone, withhold_nodes};

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    vec![
        bed.trial("rotate_recovers::killed_in_pending", killed_in_pending),
        bed.trial("rotate_recovers::killed_in_draining", killed_in_draining),
    ]
}

async fn killed_in_pending(cluster: &Cluster) -> Result<()> {
    let (first, fleet) = (operator(cluster).await?, Fleet::new("pending"));
    let before = fleet.raise(cluster).await?;
    let old = Old::of(&before)?;
    // Without a node to be had it cannot go on before it is killed.
    withhold_nodes(cluster, &fleet).await?;
    fleet.govern(cluster).await?;
    see(cluster, &fleet, "the placeholder", |sight| old.pending(sight)).await?;
    first.sigkill().await?;
    grant_nodes(cluster, &fleet).await?;
    let second = operator(cluster).await?;
    completed_once(cluster, &fleet, &old, &before, &second).await?;
    finish(cluster, &fleet, second).await
}

async fn killed_in_draining(cluster: &Cluster) -> Result<()> {
    let (first, fleet) = (operator(cluster).await?, Fleet::new("draining"));
    let before = fleet.raise(cluster).await?;
    let old = Old::of(&before)?;
    let pod = old.pod(&before)?;
    // The drain cannot end before the second operator is there. A budget would do as well, but while one relents Karpenter
    // may launch a node for the Pod, and the count of nodes proves nothing.
    hold(cluster, &pod).await?;
    fleet.govern(cluster).await?;
    see(cluster, &fleet, "the drain", |sight| old.draining(sight)).await?;
    first.sigkill().await?;
    let second = operator(cluster).await?;
    let halted = Sight::of(cluster, &fleet.name).await?;
    ensure!(old.draining(&halted) && halted.last_rotation_at().is_none(), "the drain did not last: {halted:?}");
    release(cluster, &pod).await?;
    completed_once(cluster, &fleet, &old, &before, &second).await?;
    finish(cluster, &fleet, second).await
}

/// The old claim is gone, no other was touched, one success was counted and told, and nothing else is left.
async fn completed_once(cluster: &Cluster, fleet: &Fleet, old: &Old, before: &Sight, operator: &Operator) -> Result<()> {
    let after = replaced_alone(cluster, fleet, old, before).await?;
    ensure!(after.nodes.len() == before.nodes.len(), "there are {} nodes", after.nodes.len());
    counted(operator, fleet, "success", 1.0).await?;
    let told = begun_and_completed(cluster, fleet).await?;
    ensure!(told == (1, 1), "begun and completed were told {told:?} times");
    Ok(())
}
