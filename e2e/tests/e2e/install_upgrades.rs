//! From the release before to this one and back, each in the middle of a rotation, which ends once and well.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use e2e::chart;
use e2e::cluster::Cluster;
use e2e::fleet::Fleet;
use e2e::operator::Operator;
use e2e::release;
use libtest_mimic::Trial;

use crate::bed::{self, Bed};
use crate::definition::{self, Definition};
use crate::scene::{Old, begun_and_completed, grant_nodes, held_in_draining, held_in_pending, release as let_go, replaced};

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    vec![bed.trial("install_upgrades::from_the_release_before_and_back_in_mid_rotation", from_the_release_before_and_back)]
}

async fn from_the_release_before_and_back(cluster: &Cluster) -> Result<()> {
    let folder = cluster.logs().join("release-before");
    std::fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
    let (chart, commit) = release::before(&folder).await?;
    chart::uninstall(cluster).await?;
    definition::delete(cluster).await?;
    let outcome = upgrade_and_roll_back(cluster, &chart).await;
    // The other trials find this release, whatever has become of it.
    chart::uninstall(cluster).await?;
    definition::delete(cluster).await?;
    bed::free(cluster).await?;
    chart::install(cluster, &[]).await?;
    outcome.with_context(|| format!("from the chart of {commit}"))
}

async fn upgrade_and_roll_back(cluster: &Cluster, before: &Path) -> Result<()> {
    chart::install_from(cluster, before, &[]).await?;
    bed::free(cluster).await?;
    let old_definition = Definition::of(cluster).await?;
    let operator = bed::operator(cluster).await?;
    let pending = Fleet { size: 1, ..Fleet::new("upgrade-pending") };
    let waits = held_in_pending(cluster, &pending).await?;
    let draining = Fleet { size: 1, ..Fleet::new("upgrade-draining") };
    let (drains, pod) = held_in_draining(cluster, &draining).await?;

    chart::upgrade(cluster, &[]).await?;
    let new_definition = Definition::of(cluster).await?;
    ensure!(new_definition.version.is_some(), "the upgrade has left the definition of {:?}", old_definition.version);
    ensure!(new_definition.uid == old_definition.uid, "the definition was created anew, and the policies with it");
    ensure!(new_definition.owners_of_spec.is_empty(), "its schema is owned by {:?}", new_definition.owners_of_spec);
    let operator = replace(cluster, operator).await?;
    ended_once(cluster, &pending, &waits, grant_nodes(cluster, &pending)).await?;
    ended_once(cluster, &draining, &drains, let_go(cluster, &pod)).await?;

    let back = Fleet { size: 1, ..Fleet::new("rollback") };
    let waits = held_in_pending(cluster, &back).await?;
    chart::rollback(cluster, 1).await?;
    let after = Definition::of(cluster).await?;
    ensure!(after == new_definition, "the rollback has changed the definition: {new_definition:?}, then {after:?}");
    let operator = replace(cluster, operator).await?;
    ended_once(cluster, &back, &waits, grant_nodes(cluster, &back)).await?;
    for fleet in [&pending, &draining] {
        bed::forget(cluster, fleet).await?;
    }
    bed::finish(cluster, &back, operator).await
}

/// The process of the one release ends, and that of the other begins with what its chart says.
async fn replace(cluster: &Cluster, old: Operator) -> Result<Operator> {
    let status = old.sigterm().await?;
    ensure!(status.success(), "the operator ended with {status} after SIGTERM");
    bed::operator(cluster).await
}

async fn ended_once(cluster: &Cluster, fleet: &Fleet, old: &Old, go_on: impl Future<Output = Result<()>>) -> Result<()> {
    go_on.await?;
    replaced(cluster, fleet, old, &[]).await?;
    let told = begun_and_completed(cluster, fleet).await?;
    ensure!(told == (1, 1), "begun and completed {told:?} times");
    Ok(())
}
