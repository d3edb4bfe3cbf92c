//! A rotation from its start to its end, with everything going well.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use e2e::cluster::Cluster;
use e2e::fleet::Fleet;
use e2e::sight::Sight;
use e2e::story::{self, Progress};
use libtest_mimic::Trial;

use crate::bed::{Bed, SOON, counted, finish, operator, see};

/// Time between two looks: short, or a stage would be missed.
const PERIOD: Duration = Duration::from_millis(50);

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    vec![
        bed.trial("rotate_completes::stage_by_stage", stage_by_stage),
        bed.trial("rotate_completes::two_pools_at_once", two_pools_at_once),
        bed.trial("rotate_completes::nothing_begins_without_a_policy", nothing_begins_without_a_policy),
    ]
}

async fn stage_by_stage(cluster: &Cluster) -> Result<()> {
    let (operator, fleet) = (operator(cluster).await?, Fleet::new("complete"));
    let before = fleet.raise(cluster).await?;
    let oldest = before.claims.first().context("there is no claim")?;
    fleet.govern(cluster).await?;
    let (mut progress, begun) = (Progress::new(&before, oldest), Instant::now());
    while !progress.over() {
        let sight = Sight::of(cluster, &fleet.name).await?;
        progress.look(&sight);
        ensure!(begun.elapsed() < SOON, "the rotation stays at {progress:?}; last seen: {sight:?}");
        tokio::time::sleep(PERIOD).await;
    }
    let after = see(cluster, &fleet, "the end", |sight| sight.marks(&["last-rotation-at"]).is_empty()).await?;
    ensure!(after.nodes.len() == before.nodes.len(), "there are {} nodes", after.nodes.len());
    ensure!(after.claim(&oldest.name).is_none(), "{} is still there", oldest.name);
    counted(&operator, &fleet, "success", 1.0).await?;
    let told = story::events(cluster, &[&fleet.name]).await?;
    let reasons: Vec<&str> = told.iter().filter(|event| event.kind == "Normal").map(|event| event.reason.as_str()).collect();
    ensure!(reasons == ["RotationStarted", "RotationCompleted"], "the events are {told:?}");
    finish(cluster, &fleet, operator).await
}

async fn two_pools_at_once(cluster: &Cluster) -> Result<()> {
    let operator = operator(cluster).await?;
    let fleets = ["one", "other"].map(|name| Fleet { size: 1, ..Fleet::new(name) });
    for fleet in &fleets {
        fleet.raise(cluster).await?;
    }
    for fleet in &fleets {
        fleet.govern(cluster).await?;
    }
    for fleet in &fleets {
        see(cluster, fleet, "the end", |sight| sight.last_rotation_at().is_some() && sight.marks(&["last-rotation-at"]).is_empty()).await?;
        counted(&operator, fleet, "success", 1.0).await?;
    }
    let [one, other] = fleets;
    cluster.kubectl(&["delete", "rotationpolicy", &other.name]).await?.accepted()?;
    cluster.kubectl(&["delete", "nodepool", &other.name, "--wait=false"]).await?.accepted()?;
    finish(cluster, &one, operator).await
}

async fn nothing_begins_without_a_policy(cluster: &Cluster) -> Result<()> {
    let operator = operator(cluster).await?;
    let (free, governed) = (Fleet { size: 1, ..Fleet::new("free") }, Fleet { size: 1, ..Fleet::new("governed") });
    let before = free.raise(cluster).await?;
    // The other one begins, so that the operator has looked at both.
    governed.raise(cluster).await?;
    governed.govern(cluster).await?;
    see(cluster, &governed, "the end", |sight| sight.last_rotation_at().is_some()).await?;
    let after = Sight::of(cluster, &free.name).await?;
    ensure!(after.marks(&[]).is_empty(), "there are marks: {:?}", after.marks(&[]));
    let names = |sight: &Sight| sight.claims.iter().map(|claim| claim.name.clone()).collect::<Vec<_>>();
    ensure!(names(&before) == names(&after), "the claims were {:?} and are {:?}", names(&before), names(&after));
    cluster.kubectl(&["delete", "nodepool", &free.name, "--wait=false"]).await?.accepted()?;
    finish(cluster, &governed, operator).await
}
