//! What no rotation owns is put right before the first rotation, and what people have set is left alone.

use anyhow::{Context as _, Result, ensure};
use e2e::chart;
use e2e::cluster::Cluster;
use e2e::fleet::Fleet;
use e2e::sight::Sight;
use e2e::story;
use libtest_mimic::Trial;
use serde_json::json;

use crate::bed::{Bed, counted, finish, operator, see};
use crate::scene::{Old, annotate, mark_node, placeholder, told};

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    vec![
        bed.trial("rotate_sweeps::every_kind_of_orphan_at_the_start", every_kind_of_orphan_at_the_start),
        bed.trial("rotate_sweeps::an_orphan_that_comes_later", an_orphan_that_comes_later),
    ]
}

async fn every_kind_of_orphan_at_the_start(cluster: &Cluster) -> Result<()> {
    let fleet = Fleet::new("orphans");
    let before = fleet.raise(cluster).await?;
    let old = Old::of(&before)?;
    let other = before.nodes.iter().find(|node| node.name != old.node).context("there is one node")?;
    for claim in [old.claim.as_str(), "orphans-gone"] {
        cluster.apply(&placeholder(chart::NAMESPACE, &fleet, claim).to_string()).await?.accepted()?;
    }
    mark_node(cluster, &old).await?;
    let pending = json!({
        "noderotation.io/state": "pending",
        "noderotation.io/started-at": "2026-01-01T00:00:00Z",
        "noderotation.io/surge-claim": "orphans-gone",
    });
    annotate(cluster, "nodeclaim", &old.claim, &pending).await?;
    let companions = json!({
        "noderotation.io/active-rotation-state": "draining",
        "noderotation.io/draining-at": "2026-01-01T00:00:00Z",
        "noderotation.io/surge-wait": "5s",
        "noderotation.io/surge-path": "provisioned",
        "noderotation.io/rotation-mode": "forceful-fallback",
    });
    annotate(cluster, "nodepool", &fleet.name, &companions).await?;
    // And what a person has set on the other node.
    annotate(cluster, "node", &other.name, &json!({"karpenter.sh/do-not-disrupt": "true"})).await?;
    cluster.kubectl(&["cordon", &other.name]).await?.accepted()?;

    let operator = operator(cluster).await?;
    let kept = [format!("Node {}: karpenter.sh/do-not-disrupt=true", other.name), format!("Node {}: unschedulable", other.name)];
    let swept = |sight: &Sight| sight.marks(&["state", "failed-at"]) == kept;
    let after = see(cluster, &fleet, "the end of the sweep", swept).await?;
    ensure!(after.written(&old.claim, "state") == Some("failed"), "the claim is {:?}", after.claim(&old.claim));
    ensure!(after.written(&old.claim, "failed-at").is_some(), "no time is recorded: {:?}", after.claim(&old.claim));
    ensure!(after.claim(&old.claim).is_some_and(|claim| !claim.deleting), "{} was deleted", old.claim);
    let failed = told(cluster, &old.claim, "RotationFailed").await?;
    ensure!(failed.note.contains("no longer names it"), "{failed}");
    counted(&operator, &fleet, "failure", 1.0).await?;
    finish(cluster, &fleet, operator).await
}

/// While the operator leads, found by its state.
async fn an_orphan_that_comes_later(cluster: &Cluster) -> Result<()> {
    let (operator, fleet) = (operator(cluster).await?, Fleet { size: 1, age_threshold: "1h".to_owned(), ..Fleet::new("later") });
    let old = Old::of(&fleet.raise(cluster).await?)?;
    // It looks after the pool, and nothing is due.
    fleet.govern(cluster).await?;
    mark_node(cluster, &old).await?;
    cluster.apply(&placeholder(chart::NAMESPACE, &fleet, "later-gone").to_string()).await?.accepted()?;
    let after = see(cluster, &fleet, "the end of the sweep", |sight| sight.marks(&[]).is_empty()).await?;
    ensure!(after.claim(&old.claim).is_some_and(|claim| !claim.deleting), "{} was deleted", old.claim);
    let events = story::events(cluster, &[&fleet.name, &old.claim]).await?;
    ensure!(!events.iter().any(|event| event.reason == "RotationStarted"), "a rotation has begun: {events:?}");
    finish(cluster, &fleet, operator).await
}
