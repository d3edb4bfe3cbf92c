//! The reservation: where it is found, what happens when somebody takes it away, and what it asks for.

use anyhow::{Result, ensure};
use e2e::chart;
use e2e::cluster::Cluster;
use e2e::fleet::Fleet;
use e2e::sight::Sight;
use libtest_mimic::Trial;
use serde_json::json;

use crate::bed::{Bed, counted, finish, operator, see};
use crate::scene::{Old, annotate, change, delete, grant_nodes, held_in_pending, hold, release, replaced, told};

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    vec![
        bed.trial("rotate_surges::a_spare_node_is_used_and_none_is_launched", a_spare_node_is_used_and_none_is_launched),
        bed.trial("rotate_surges::a_deleted_placeholder_is_made_again", a_deleted_placeholder_is_made_again),
    ]
}

async fn a_spare_node_is_used_and_none_is_launched(cluster: &Cluster) -> Result<()> {
    let (operator, fleet) = (operator(cluster).await?, Fleet { size: 1, ..Fleet::new("spare") });
    let old = Old::of(&fleet.raise(cluster).await?)?;
    let spare = add_spare_node(cluster, &fleet, &old).await?;
    let pod = old.pod(&Sight::of(cluster, &fleet.name).await?)?;
    // What is written about the path is gone at the end.
    hold(cluster, &pod).await?;
    fleet.govern(cluster).await?;
    let drained = see(cluster, &fleet, "the drain", |sight| old.draining(sight)).await?;
    let path = drained.pool.get("noderotation.io/surge-path").map(String::as_str);
    ensure!(path == Some("absorbed"), "the path is {path:?}");
    release(cluster, &pod).await?;
    let after = replaced(cluster, &fleet, &old, &[]).await?;
    let claims: Vec<&str> = after.claims.iter().map(|claim| claim.name.as_str()).collect();
    ensure!(claims == [spare.claim.as_str()], "the spare node has {}, and there are {claims:?}", spare.claim);
    let completed = told(cluster, &fleet.name, "RotationCompleted").await?;
    ensure!(completed.note.contains("The node was there already"), "{completed}");
    counted(&operator, &fleet, "success", 1.0).await?;
    finish(cluster, &fleet, operator).await
}

/// A node of the fleet that is younger than the old one and empty. Empty nodes stay: nothing is consolidated.
async fn add_spare_node(cluster: &Cluster, fleet: &Fleet, old: &Old) -> Result<Old> {
    let two = Fleet { size: 2, ..fleet.clone() }.raise(cluster).await?;
    let spare = two.claims.iter().find(|claim| claim.name != old.claim).map(Old::named);
    let spare = spare.unwrap_or_else(|| Err(anyhow::anyhow!("there is one claim")))?;
    // Of two Pods the cheaper one goes.
    annotate(cluster, "pod", &spare.pod(&two)?, &json!({"controller.kubernetes.io/pod-deletion-cost": "-1"})).await?;
    change(cluster, "deployment", &fleet.name, &json!({"spec": {"replicas": 1}})).await?;
    let one = |sight: &Sight| sight.pods.iter().map(|pod| pod.node.as_deref()).collect::<Vec<_>>() == [Some(old.node.as_str())];
    see(cluster, fleet, "the spare node to be empty", one).await?;
    Ok(spare)
}

async fn a_deleted_placeholder_is_made_again(cluster: &Cluster) -> Result<()> {
    let (operator, fleet) = (operator(cluster).await?, Fleet { size: 1, ..Fleet::new("deleted") });
    let old = held_in_pending(cluster, &fleet).await?;
    let sight = Sight::of(cluster, &fleet.name).await?;
    let first = sight.placeholders.first().map(|pod| (pod.name.clone(), pod.uid.clone()));
    let (name, uid) = first.unwrap_or_default();
    delete(cluster, "pod", &name, chart::NAMESPACE).await?;
    let again = |sight: &Sight| sight.placeholders.iter().any(|pod| pod.uid != uid && pod.name == name) && old.pending(sight);
    see(cluster, &fleet, "another placeholder of the same name", again).await?;
    grant_nodes(cluster, &fleet).await?;
    replaced(cluster, &fleet, &old, &[]).await?;
    counted(&operator, &fleet, "success", 1.0).await?;
    counted(&operator, &fleet, "failure", 0.0).await?;
    finish(cluster, &fleet, operator).await
}
