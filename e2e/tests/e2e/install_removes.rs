//! A release that is removed in the middle of a rotation leaves no mark, breaks nothing off, and can be installed again.
//!
//! The operator goes on running while Helm waits for the hook, as it does in a cluster: the Deployment is deleted after it.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use e2e::chart;
use e2e::cluster::Cluster;
use e2e::fleet::Fleet;
use e2e::sight::Sight;
use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::bed::{self, Bed, see};
use crate::scene::{Old, annotate, begun_and_completed, grant_nodes, held_in_draining, held_in_pending, release, replaced};

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    vec![
        bed.trial("install_removes::a_release_with_rotations_in_flight", a_release_with_rotations_in_flight),
        bed.trial("install_removes::without_its_hooks_and_by_hand_after_it", without_its_hooks_and_by_hand_after_it),
        bed.trial("install_removes::nothing_else_that_was_its_own", nothing_else_that_was_its_own),
    ]
}

async fn a_release_with_rotations_in_flight(cluster: &Cluster) -> Result<()> {
    let operator = bed::operator(cluster).await?;
    let pending = Fleet { size: 1, ready_timeout: "10m".to_owned(), ..Fleet::new("remove-pending") };
    let waits = held_in_pending(cluster, &pending).await?;
    let draining = Fleet { size: 1, ..Fleet::new("remove-draining") };
    let (drains, pod) = held_in_draining(cluster, &draining).await?;
    // What a person has set beside it.
    annotate(cluster, "nodepool", &pending.name, &json!({"noderotation.io/freeze": "2020-01-01T00:00:00Z"})).await?;

    chart::uninstall(cluster).await?;
    let outcome = removed(cluster, (&pending, &waits), (&draining, &drains)).await;
    // It ran all the time, with a token that is worth nothing any more. In a cluster Helm has ended it.
    let _no_lease_to_release = operator.sigterm().await?;
    let reinstalled = chart::install(cluster, &[]).await;
    outcome?;
    reinstalled?;

    release(cluster, &pod).await?;
    see(cluster, &draining, "the end of the drain", |sight| sight.claim(&drains.claim).is_none() && !sight.has_node(&drains.node)).await?;
    let operator = bed::operator_when_free(cluster).await?;
    see(cluster, &pending, "the rotation to begin anew", |sight| waits.pending(sight)).await?;
    grant_nodes(cluster, &pending).await?;
    replaced(cluster, &pending, &waits, &["freeze"]).await?;
    let told = begun_and_completed(cluster, &pending).await?;
    ensure!(told == (2, 1), "begun and completed {told:?} times");
    bed::forget(cluster, &draining).await?;
    bed::finish(cluster, &pending, operator).await
}

/// Nothing of the rotations is left but the drain, and no new one begins although the operator still runs.
async fn removed(cluster: &Cluster, (pending, waits): (&Fleet, &Old), (draining, drains): (&Fleet, &Old)) -> Result<()> {
    let sight = Sight::of(cluster, &pending.name).await?;
    let marks = sight.marks(&["freeze"]);
    ensure!(marks.is_empty(), "left behind: {marks:?}");
    ensure!(sight.pool.contains_key("noderotation.io/freeze"), "what a person had written is gone: {:?}", sight.pool);
    ensure!(sight.claim(&waits.claim).is_some_and(|claim| !claim.deleting), "{} was deleted", waits.claim);
    let sight = Sight::of(cluster, &draining.name).await?;
    // The node that is being taken away stays closed.
    let marks: Vec<String> = sight.marks(&[]).into_iter().filter(|mark| *mark != format!("Node {}: unschedulable", drains.node)).collect();
    ensure!(marks.is_empty(), "left behind: {marks:?}");
    ensure!(sight.claim(&drains.claim).is_some_and(|claim| claim.deleting), "the drain of {} was broken off", drains.claim);
    Ok(())
}

/// The placeholder goes with the account that owns it; the rest is for `cleanup`.
async fn without_its_hooks_and_by_hand_after_it(cluster: &Cluster) -> Result<()> {
    let operator = bed::operator(cluster).await?;
    let fleet = Fleet { size: 1, ready_timeout: "10m".to_owned(), ..Fleet::new("remove-bare") };
    let old = held_in_pending(cluster, &fleet).await?;
    operator.sigkill().await?;
    cluster.helm(&["uninstall", chart::RELEASE, "--namespace", chart::NAMESPACE, "--no-hooks", "--wait"]).await?.accepted()?;
    let outcome = by_hand(cluster, &fleet, &old).await;
    bed::free(cluster).await?;
    chart::install(cluster, &[]).await?;
    outcome?;
    bed::forget(cluster, &fleet).await
}

async fn by_hand(cluster: &Cluster, fleet: &Fleet, old: &Old) -> Result<()> {
    see(cluster, fleet, "the end of the placeholder", |sight| sight.placeholders.is_empty()).await?;
    let command = async |flags: &[&str]| cluster.command(&[&["cleanup", "--namespace", chart::NAMESPACE], flags].concat()).await;
    let owned = command(&[]).await?;
    let stays = format!("stays: the rotation of NodeClaim {} in NodePool {} is in flight", old.claim, fleet.name);
    ensure!(owned.code == Some(0) && owned.output.contains(&stays), "{:?}: {}{}", owned.code, owned.output, owned.errors);
    let listed = command(&["--all"]).await?;
    ensure!(listed.code == Some(1) && listed.output.contains("remove active-rotation"), "{:?}: {}", listed.code, listed.output);
    let removed = command(&["--all", "--apply"]).await?;
    ensure!(removed.code == Some(0), "{:?}: {}{}", removed.code, removed.output, removed.errors);
    // It was killed while it led, and might have been alive.
    ensure!(removed.errors.contains("which led, has stopped"), "nobody was waited for: {}", removed.errors);
    let marks = Sight::of(cluster, &fleet.name).await?.marks(&[]);
    ensure!(marks.is_empty(), "left behind: {marks:?}");
    Ok(())
}

async fn nothing_else_that_was_its_own(cluster: &Cluster) -> Result<()> {
    chart::uninstall(cluster).await?;
    let outcome = nothing_remains(cluster).await;
    bed::free(cluster).await?;
    chart::install(cluster, &[]).await?;
    outcome
}

/// The definition stays with the policies, and a Secret and a Lease that are used again.
pub(crate) async fn nothing_remains(cluster: &Cluster) -> Result<()> {
    let kept: BTreeSet<&str> = [
        "CustomResourceDefinition rotationpolicies.noderotation.io",
        "Lease node-rotation-controller.noderotation.io",
        "Secret node-rotation-controller-webhook-tls",
    ]
    .into();
    let left = remains(cluster).await?;
    let left: Vec<&String> = left.iter().filter(|name| !kept.contains(name.as_str())).collect();
    ensure!(left.is_empty(), "left after the release: {left:?}");
    Ok(())
}

/// What carries the release's name after it is removed, of every kind that can be listed.
async fn remains(cluster: &Cluster) -> Result<Vec<String>> {
    let kinds = "serviceaccounts,secrets,configmaps,services,pods,deployments,replicasets,jobs,leases,poddisruptionbudgets,roles,rolebindings,\
                 clusterroles,clusterrolebindings,priorityclasses,customresourcedefinitions,mutatingwebhookconfigurations,\
                 validatingwebhookconfigurations";
    let mut left = BTreeSet::new();
    // In the other one are the rights for events about what has no namespace.
    for namespace in [chart::NAMESPACE, "default"] {
        let text = cluster.kubectl(&["get", kinds, "--namespace", namespace, "--output", "json"]).await?.accepted()?;
        let list: Value = serde_json::from_str(&text)?;
        let items = list.get("items").and_then(Value::as_array).into_iter().flatten();
        let text = |object: &Value, path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
        let named = items.map(|item| (text(item, "/kind"), text(item, "/metadata/name"), text(item, "/metadata/deletionTimestamp")));
        let ours =
            named.filter(|(_, name, deleted)| deleted.is_empty() && (name.contains("node-rotation") || name.contains("noderotation")));
        left.extend(ours.map(|(kind, name, _)| format!("{kind} {name}")));
    }
    Ok(left.into_iter().collect())
}
