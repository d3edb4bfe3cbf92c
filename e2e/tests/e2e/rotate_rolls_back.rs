//! A rotation that gets no new node in time is undone.

use anyhow::{Context as _, Result, ensure};
use e2e::cluster::Cluster;
use e2e::fleet::Fleet;
use e2e::sight::Pod;
use e2e::story;
use e2e::wait::{Look, until};
use libtest_mimic::Trial;

use crate::bed::{Bed, SOON, counted, finish, operator, see};
use crate::scene::withhold_nodes;

/// What stays on purpose: it says when and how often it failed.
const RECORD: [&str; 4] = ["last-failure-at", "state", "failed-at", "retry-count"];

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    vec![bed.trial("rotate_rolls_back::after_ready_timeout", after_ready_timeout)]
}

async fn after_ready_timeout(cluster: &Cluster) -> Result<()> {
    let (operator, fleet) = (operator(cluster).await?, Fleet { size: 1, ready_timeout: "5s".to_owned(), ..Fleet::new("timeout") });
    let before = fleet.raise(cluster).await?;
    let claim = before.claims.first().context("there is no claim")?.name.clone();
    withhold_nodes(cluster, &fleet).await?;
    fleet.govern(cluster).await?;
    counted(&operator, &fleet, "failure", 1.0).await?;
    let after =
        see(cluster, &fleet, "the end of the rollback", |sight| sight.anchor().is_none() && sight.marks(&RECORD).is_empty()).await?;
    let old = after.claim(&claim).context("the claim is gone")?;
    let written = |key: &str| old.annotations.get(&format!("noderotation.io/{key}")).map(String::as_str);
    ensure!(!old.deleting && (written("state"), written("retry-count")) == (Some("failed"), Some("1")), "the claim is {old:?}");
    ensure!(written("failed-at").is_some() && after.pool.contains_key("noderotation.io/last-failure-at"), "no time is recorded: {after:?}");
    let placed = |pods: &[Pod]| pods.iter().map(|pod| (pod.name.clone(), pod.node.clone())).collect::<Vec<_>>();
    ensure!(placed(&after.pods) == placed(&before.pods), "a Pod was moved");
    counted(&operator, &fleet, "success", 0.0).await?;
    until("the event RotationFailed", SOON, async || {
        let told = story::events(cluster, &[&claim]).await?;
        let failed = told.iter().any(|event| event.reason == "RotationFailed" && event.kind == "Warning");
        Ok(if failed { Look::Done(()) } else { Look::NotYet(format!("{told:?}")) })
    })
    .await?;
    finish(cluster, &fleet, operator).await
}
