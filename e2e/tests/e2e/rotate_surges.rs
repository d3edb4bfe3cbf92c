//! The reservation: where it is found, what happens when somebody takes it away, and what it asks for.

use anyhow::{Context as _, Result, ensure};
use e2e::audit::Audit;
use e2e::chart;
use e2e::cluster::Cluster;
use e2e::fleet::{CPU, Fleet};
use e2e::sight::Sight;
use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::bed::{Bed, counted, finish, operator, see};
use crate::scene::{
    Old, allocatable, annotate, change, delete, grant_nodes, guest, held_in_pending, hold, measured, release, replaced, told,
    withhold_nodes_beside,
};

/// A resource that no machine has of its own accord.
const DEVICE: &str = "e2e.noderotation.io/device";

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    vec![
        bed.trial("rotate_surges::a_spare_node_is_used_and_none_is_launched", a_spare_node_is_used_and_none_is_launched),
        bed.trial("rotate_surges::a_deleted_placeholder_is_made_again", a_deleted_placeholder_is_made_again),
        bed.trial("rotate_surges::a_preempted_placeholder_is_made_again", a_preempted_placeholder_is_made_again),
        bed.trial("rotate_surges::a_full_node_asks_for_no_more_than_a_new_one_has", a_full_node_asks_for_no_more_than_a_new_one_has),
        bed.trial("rotate_surges::a_device_is_reserved_as_well", a_device_is_reserved_as_well),
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
    let spare = Old::named(two.claims.iter().find(|claim| claim.name != old.claim).context("there is one claim")?)?;
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

/// A Pod of the fleet comes in between and takes the node that was reserved.
async fn a_preempted_placeholder_is_made_again(cluster: &Cluster) -> Result<()> {
    let (operator, fleet) = (operator(cluster).await?, Fleet { size: 1, ..Fleet::new("preempted") });
    let old = held_in_pending(cluster, &fleet).await?;
    // In a freeze the reservation may come, and the drain may not.
    annotate(cluster, "nodepool", &fleet.name, &json!({"noderotation.io/freeze": "2100-01-01T00:00:00Z"})).await?;
    measured(&operator, &fleet, "noderotation_freeze_until_timestamp", |value| value == Some(4_102_444_800.0)).await?;
    grant_nodes(cluster, &fleet).await?;
    let placed =
        |sight: &Sight| sight.placeholders.first().filter(|pod| pod.running()).and_then(|pod| Some((pod.uid.clone(), pod.node.clone()?)));
    let sight = see(cluster, &fleet, "the placeholder to run", |sight| placed(sight).is_some()).await?;
    let (uid, host) = placed(&sight).context("the placeholder does not run")?;
    // The old node is closed, so there is only the one room for it.
    change(cluster, "deployment", &fleet.name, &json!({"spec": {"replicas": 2}})).await?;
    let taken = |sight: &Sight| {
        sight.pods.iter().any(|pod| pod.running() && pod.node.as_ref() == Some(&host))
            && sight.placeholders.iter().all(|pod| pod.uid != uid)
    };
    see(cluster, &fleet, "the placeholder to give way", taken).await?;
    annotate(cluster, "nodepool", &fleet.name, &json!({"noderotation.io/freeze": null})).await?;
    let both = Fleet { size: 2, ..fleet.clone() };
    let after = replaced(cluster, &both, &old, &[]).await?;
    // Karpenter may have launched one node more: it does not know that the placeholder will give way (README).
    ensure!(after.has_node(&host), "the nodes are {:?}", after.nodes);
    counted(&operator, &fleet, "success", 1.0).await?;
    counted(&operator, &fleet, "failure", 0.0).await?;
    finish(cluster, &fleet, operator).await
}

/// The old node has room for two Pods, and a new one of its kind for one and a half.
async fn a_full_node_asks_for_no_more_than_a_new_one_has(cluster: &Cluster) -> Result<()> {
    let (operator, fleet) = (operator(cluster).await?, Fleet { size: 1, ..Fleet::new("full") });
    let old = Old::of(&fleet.raise(cluster).await?)?;
    allocatable(cluster, &old.node, "cpu", "2").await?;
    guest(cluster, &fleet, &json!({"requests": {"cpu": CPU}})).await?;
    withhold_nodes_beside(cluster, &fleet, "2", 2000).await?;
    let audit = Audit::from_now(cluster)?;
    fleet.govern(cluster).await?;
    let sight = see(cluster, &fleet, "the placeholder", |sight| old.pending(sight)).await?;
    let resources = resources_of_placeholder(cluster, &sight).await?;
    ensure!(resources.pointer("/requests/cpu") == Some(&json!("900m")), "the placeholder asks for {resources}");
    grant_nodes(cluster, &fleet).await?;
    replaced(cluster, &fleet, &old, &[]).await?;
    let clamped = told(cluster, &old.claim, "SurgeClamped").await?;
    ensure!(clamped.kind == "Normal" && clamped.note.contains("cpu from 1200m to 900m"), "{clamped}");
    let created =
        audit.of_the_operator(cluster).await?.into_iter().filter(|request| request.verb == "create" && request.resource == "pods");
    ensure!(created.count() == 1, "there was more than one placeholder");
    counted(&operator, &fleet, "success", 1.0).await?;
    finish(cluster, &fleet, operator).await
}

/// What is no CPU and no memory: the API server takes it only with a limit that equals the request.
async fn a_device_is_reserved_as_well(cluster: &Cluster) -> Result<()> {
    let (operator, fleet) = (operator(cluster).await?, Fleet { size: 1, ..Fleet::new("device") });
    let old = Old::of(&fleet.raise(cluster).await?)?;
    allocatable(cluster, &old.node, DEVICE, "1").await?;
    guest(cluster, &fleet, &json!({"limits": {DEVICE: "1"}})).await?;
    let spare = add_spare_node(cluster, &fleet, &old).await?;
    fleet.govern(cluster).await?;
    let sight = see(cluster, &fleet, "the placeholder", |sight| old.pending(sight)).await?;
    let resources = resources_of_placeholder(cluster, &sight).await?;
    for list in ["limits", "requests"] {
        let asked = resources.get(list).and_then(|list| list.get(DEVICE));
        ensure!(asked == Some(&json!("1")), "{list} are {resources}");
    }
    // Only now there is a second one. The node has had room for the rest all the time.
    ensure!(sight.placeholders.iter().all(|pod| pod.node.is_none()), "the placeholder has a node without a device: {sight:?}");
    allocatable(cluster, &spare.node, DEVICE, "1").await?;
    let after = replaced(cluster, &fleet, &old, &[]).await?;
    ensure!(after.nodes.len() == 1 && after.has_node(&spare.node), "the nodes are {:?}", after.nodes);
    counted(&operator, &fleet, "success", 1.0).await?;
    finish(cluster, &fleet, operator).await
}

/// What the container of the placeholder asks for.
async fn resources_of_placeholder(cluster: &Cluster, sight: &Sight) -> Result<Value> {
    let placeholder = sight.placeholders.first().context("there is no placeholder")?;
    let path = "jsonpath={.spec.containers[0].resources}";
    let arguments = ["get", "pod", &placeholder.name, "--namespace", chart::NAMESPACE, "--output", path];
    let resources = cluster.kubectl(&arguments).await?.accepted()?;
    serde_json::from_str(&resources).with_context(|| format!("reading {resources:?}"))
}
