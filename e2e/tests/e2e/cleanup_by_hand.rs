//! `cleanup` by hand, while nobody looks after the cluster: it lists, it removes what it has listed, and no more.

use anyhow::{Context as _, Result, ensure};
use e2e::chart;
use e2e::cluster::Cluster;
use e2e::fleet::Fleet;
use e2e::sight::Sight;
use libtest_mimic::Trial;
use serde_json::json;

use crate::bed::{self, Bed};
use crate::scene::{Old, annotate, mark_node, placeholder};

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    vec![bed.trial("cleanup_by_hand::every_kind_of_orphan_and_nothing_of_anybody_else", every_kind_of_orphan)]
}

async fn every_kind_of_orphan(cluster: &Cluster) -> Result<()> {
    let fleet = Fleet { size: 3, ..Fleet::new("by-hand") };
    let before = fleet.raise(cluster).await?;
    let [old, other, theirs] = before.claims.as_slice() else { anyhow::bail!("there are not three claims: {before:?}") };
    let (old, other, theirs) = (Old::named(old)?, Old::named(other)?, Old::named(theirs)?);
    orphan(cluster, &fleet, &old).await?;
    // What a person has set on one node, and what another installation has marked on the third.
    annotate(cluster, "node", &other.node, &json!({"karpenter.sh/do-not-disrupt": "true"})).await?;
    cluster.kubectl(&["cordon", &other.node]).await?.accepted()?;
    cluster.apply(&placeholder("default", &fleet, &theirs.claim).to_string()).await?.accepted()?;
    annotate(cluster, "node", &theirs.node, &json!({"noderotation.io/surge-for": theirs.claim})).await?;
    let marked = Sight::of(cluster, &fleet.name).await?.marks(&[]);
    ensure!(marked.len() > 12, "too little is marked: {marked:?}");

    let listed = cluster.command(&["cleanup", "--namespace", chart::NAMESPACE]).await?;
    ensure!(listed.code == Some(1), "{:?}: {}{}", listed.code, listed.output, listed.errors);
    for expected in [
        format!("NodeClaim {}", old.claim),
        format!("Node {}", old.node),
        "noderotation-surge-by-hand-gone".to_owned(),
        format!("NodePool {}", fleet.name),
        "5 writes are due; nothing has been changed. --apply carries them out.".to_owned(),
        format!("stays: Node {} may be marked by another installation", theirs.node),
    ] {
        ensure!(listed.output.contains(&expected), "{expected} is not in: {}", listed.output);
    }
    ensure!(!listed.output.contains(&other.node), "{} is a person's: {}", other.node, listed.output);
    let now = Sight::of(cluster, &fleet.name).await?.marks(&[]);
    ensure!(now == marked, "listing has changed something: {marked:?}, then {now:?}");

    let applied = cluster.command(&["cleanup", "--apply", "--namespace", chart::NAMESPACE]).await?;
    ensure!(applied.code == Some(0), "{:?}: {}{}", applied.code, applied.output, applied.errors);
    ensure!(applied.output.ends_with("5 writes were carried out; nothing is left to be removed.\n"), "{}", applied.output);
    let mut kept = [
        format!("Node {}: karpenter.sh/do-not-disrupt=true", other.node),
        format!("Node {}: noderotation.io/surge-for={}", theirs.node, theirs.claim),
        format!("Node {}: unschedulable", other.node),
    ];
    kept.sort();
    let sight = Sight::of(cluster, &fleet.name).await?;
    let mut left = sight.marks(&["state", "failed-at"]);
    left.sort();
    ensure!(left == kept, "left: {left:?}, and not {kept:?}");
    ensure!(sight.written(&old.claim, "state") == Some("failed"), "the claim is {:?}", sight.claim(&old.claim));
    let pod = cluster.kubectl(&["get", "pod", &format!("noderotation-surge-{}", theirs.claim), "--namespace", "default"]).await?;
    pod.accepted().context("the placeholder of the other installation")?;

    // Twice is once, and everything is everything but theirs.
    let again = cluster.command(&["cleanup", "--apply", "--namespace", chart::NAMESPACE]).await?.accepted()?;
    ensure!(again.ends_with("Nothing was written; nothing is left to be removed.\n"), "{again}");
    let all = cluster.command(&["cleanup", "--all", "--apply", "--namespace", chart::NAMESPACE]).await?.accepted()?;
    ensure!(all.contains("remove failed-at, state"), "{all}");
    let mut left = Sight::of(cluster, &fleet.name).await?.marks(&[]);
    left.sort();
    ensure!(left == kept, "left: {left:?}, and not {kept:?}");
    cluster.kubectl(&["delete", "pod", &format!("noderotation-surge-{}", theirs.claim), "--namespace", "default"]).await?.accepted()?;
    bed::free(cluster).await?;
    bed::forget(cluster, &fleet).await
}

/// Everything that a rotation may leave whose anchor is gone.
async fn orphan(cluster: &Cluster, fleet: &Fleet, old: &Old) -> Result<()> {
    for claim in [old.claim.as_str(), "by-hand-gone"] {
        cluster.apply(&placeholder(chart::NAMESPACE, fleet, claim).to_string()).await?.accepted()?;
    }
    mark_node(cluster, old).await?;
    let pending = json!({"noderotation.io/state": "pending", "noderotation.io/started-at": "2026-01-01T00:00:00Z"});
    annotate(cluster, "nodeclaim", &old.claim, &pending).await?;
    let companions = json!({"noderotation.io/active-rotation-state": "draining", "noderotation.io/surge-wait": "5s"});
    annotate(cluster, "nodepool", &fleet.name, &companions).await
}
