//! A rotation that gets no new node in time is undone.

use anyhow::{Context as _, Result, ensure};
use e2e::cluster::Cluster;
use e2e::fleet::Fleet;
use e2e::sight::{Pod, Sight};
use libtest_mimic::Trial;
use serde_json::json;

use crate::bed::{Bed, counted, finish, operator, see};
use crate::scene::{Old, begun_and_completed, grant_nodes, replaced, told, withhold_nodes};

/// What stays on purpose: it says when and how often it failed.
const RECORD: [&str; 4] = ["last-failure-at", "state", "failed-at", "retry-count"];

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    vec![
        bed.trial("rotate_rolls_back::after_ready_timeout", after_ready_timeout),
        bed.trial("rotate_rolls_back::and_a_later_attempt_succeeds", and_a_later_attempt_succeeds),
        bed.trial("rotate_rolls_back::a_cordon_that_a_person_has_set_stays", a_cordon_that_a_person_has_set_stays),
    ]
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
    let failed = told(cluster, &claim, "RotationFailed").await?;
    ensure!(failed.kind == "Warning", "{failed}");
    finish(cluster, &fleet, operator).await
}

async fn and_a_later_attempt_succeeds(cluster: &Cluster) -> Result<()> {
    let (operator, fleet) = (operator(cluster).await?, Fleet { size: 1, ..Fleet::new("retried") });
    let old = Old::of(&fleet.raise(cluster).await?)?;
    withhold_nodes(cluster, &fleet).await?;
    let pauses = [("/spec/surge/retryBackoff", json!("10s")), ("/spec/surge/failurePause", json!("10s"))];
    let hasty = fleet.policy_with(&[&pauses[..], &[("/spec/surge/readyTimeout", json!("1s"))]].concat())?;
    cluster.apply(&hasty.to_string()).await?.accepted()?;
    counted(&operator, &fleet, "failure", 1.0).await?;
    // In the pause: the next attempt gets its node, however busy the machine is.
    cluster.apply(&fleet.policy_with(&pauses)?.to_string()).await?.accepted()?;
    grant_nodes(cluster, &fleet).await?;
    replaced(cluster, &fleet, &old, &["last-failure-at"]).await?;
    counted(&operator, &fleet, "success", 1.0).await?;
    counted(&operator, &fleet, "failure", 1.0).await?;
    let (begun, _) = begun_and_completed(cluster, &fleet).await?;
    ensure!(begun == 2, "{begun} rotations were told to begin");
    finish(cluster, &fleet, operator).await
}

async fn a_cordon_that_a_person_has_set_stays(cluster: &Cluster) -> Result<()> {
    let (operator, fleet) = (operator(cluster).await?, Fleet { size: 1, ready_timeout: "5s".to_owned(), ..Fleet::new("cordoned") });
    let old = Old::of(&fleet.raise(cluster).await?)?;
    withhold_nodes(cluster, &fleet).await?;
    cluster.kubectl(&["cordon", &old.node]).await?.accepted()?;
    fleet.govern(cluster).await?;
    let marked = |sight: &Sight| sight.node(&old.node).is_some_and(|node| node.annotations.contains_key("noderotation.io/surge-for"));
    let pending = see(cluster, &fleet, "the marks", marked).await?;
    let adopted = pending.node(&old.node).is_some_and(|node| node.annotations.contains_key("noderotation.io/cordoned"));
    ensure!(!adopted, "the cordon is marked as the operator's own");
    counted(&operator, &fleet, "failure", 1.0).await?;
    let cordon = [format!("Node {}: unschedulable", old.node)];
    see(cluster, &fleet, "the end of the rollback", |sight| sight.anchor().is_none() && sight.marks(&RECORD) == cordon).await?;
    finish(cluster, &fleet, operator).await
}
