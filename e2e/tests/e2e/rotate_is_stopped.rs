//! A rotation that somebody stops: by taking its policy away, by a freeze, or by deleting its claim.

use anyhow::{Context as _, Result, ensure};
use e2e::cluster::Cluster;
use e2e::fleet::{self, Fleet};
use e2e::sight::Sight;
use e2e::story;
use libtest_mimic::Trial;
use serde_json::json;

use crate::bed::{Bed, counted, finish, operator, see};
use crate::scene::{
    annotate, change, count, delete, grant_nodes, held_in_draining, held_in_pending, hold, measured, release, replaced, told,
};

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    vec![
        bed.trial("rotate_is_stopped::without_a_policy_it_is_undone", without_a_policy_it_is_undone),
        bed.trial("rotate_is_stopped::by_a_tie_it_is_undone", by_a_tie_it_is_undone),
        bed.trial("rotate_is_stopped::without_a_policy_a_drain_goes_on", without_a_policy_a_drain_goes_on),
        bed.trial("rotate_is_stopped::a_freeze_holds_it_until_it_is_lifted", a_freeze_holds_it_until_it_is_lifted),
        bed.trial("rotate_is_stopped::a_claim_that_somebody_deletes_has_expired", a_claim_that_somebody_deletes_has_expired),
        bed.trial("rotate_is_stopped::a_claim_that_vanishes_unseen_has_expired", a_claim_that_vanishes_unseen_has_expired),
    ]
}

async fn without_a_policy_it_is_undone(cluster: &Cluster) -> Result<()> {
    let (operator, fleet) = (operator(cluster).await?, Fleet { size: 1, ..Fleet::new("ungoverned") });
    let old = held_in_pending(cluster, &fleet).await?;
    delete(cluster, "rotationpolicy", &fleet.name, fleet::NAMESPACE).await?;
    // Not even the claim keeps a word of it: nothing has failed.
    let undone = see(cluster, &fleet, "the end of the rollback", |sight| sight.marks(&[]).is_empty()).await?;
    ensure!(undone.claim(&old.claim).is_some_and(|claim| !claim.deleting), "{} is not as before", old.claim);
    let lost = told(cluster, &fleet.name, "GovernanceLost").await?;
    ensure!(lost.kind == "Warning" && lost.note.contains(&old.claim) && lost.note.contains("no RotationPolicy selects"), "{lost}");
    for outcome in ["success", "failure", "expired"] {
        let times = count(&operator, &fleet, outcome).await?;
        ensure!(times == 0.0, "{outcome} is counted {times} times");
    }
    // The claim is eligible at once when a policy governs the pool again.
    grant_nodes(cluster, &fleet).await?;
    fleet.govern(cluster).await?;
    replaced(cluster, &fleet, &old, &[]).await?;
    counted(&operator, &fleet, "success", 1.0).await?;
    finish(cluster, &fleet, operator).await
}

async fn by_a_tie_it_is_undone(cluster: &Cluster) -> Result<()> {
    let (operator, fleet) = (operator(cluster).await?, Fleet { size: 1, ..Fleet::new("tied") });
    let old = held_in_pending(cluster, &fleet).await?;
    let mut rival = fleet.policy();
    *rival.pointer_mut("/metadata/name").context("the policy has no name")? = json!("tied-rival");
    cluster.apply(&rival.to_string()).await?.accepted()?;
    let undone = see(cluster, &fleet, "the end of the rollback", |sight| sight.marks(&[]).is_empty()).await?;
    ensure!(undone.claim(&old.claim).is_some_and(|claim| !claim.deleting), "{} is not as before", old.claim);
    for reason in ["GovernanceLost", "PolicyConflict"] {
        let event = told(cluster, &fleet.name, reason).await?;
        ensure!(event.kind == "Warning" && event.note.contains("tied-rival"), "{event}");
    }
    measured(&operator, &fleet, "noderotation_policy_conflict", |value| value == Some(1.0)).await?;
    grant_nodes(cluster, &fleet).await?;
    delete(cluster, "rotationpolicy", "tied-rival", fleet::NAMESPACE).await?;
    replaced(cluster, &fleet, &old, &[]).await?;
    counted(&operator, &fleet, "success", 1.0).await?;
    counted(&operator, &fleet, "failure", 0.0).await?;
    finish(cluster, &fleet, operator).await
}

async fn without_a_policy_a_drain_goes_on(cluster: &Cluster) -> Result<()> {
    let (operator, fleet) = (operator(cluster).await?, Fleet { size: 1, ..Fleet::new("irrevocable") });
    let (old, pod) = held_in_draining(cluster, &fleet).await?;
    delete(cluster, "rotationpolicy", &fleet.name, fleet::NAMESPACE).await?;
    // The gauges of a pool go with its policy: by then the operator has looked at the pool without one.
    measured(&operator, &fleet, "noderotation_window_active", |value| value.is_none()).await?;
    let sight = Sight::of(cluster, &fleet.name).await?;
    ensure!(old.draining(&sight) && sight.anchor() == Some(&old.claim), "the drain was given up: {sight:?}");
    release(cluster, &pod).await?;
    replaced(cluster, &fleet, &old, &[]).await?;
    counted(&operator, &fleet, "success", 1.0).await?;
    let events = story::events(cluster, &[&fleet.name]).await?;
    ensure!(!events.iter().any(|event| event.reason == "GovernanceLost"), "the events are {events:?}");
    finish(cluster, &fleet, operator).await
}

async fn a_freeze_holds_it_until_it_is_lifted(cluster: &Cluster) -> Result<()> {
    let (operator, fleet) = (operator(cluster).await?, Fleet { size: 1, ..Fleet::new("frozen") });
    let old = held_in_pending(cluster, &fleet).await?;
    freeze(cluster, &fleet, Some("2100-01-01T00:00:00Z")).await?;
    measured(&operator, &fleet, "noderotation_freeze_until_timestamp", |value| value == Some(4_102_444_800.0)).await?;
    grant_nodes(cluster, &fleet).await?;
    let reserved = |sight: &Sight| {
        sight.surge().is_some_and(|claim| claim.initialized && sight.written(&old.claim, "surge-claim") == Some(&claim.name))
    };
    see(cluster, &fleet, "the reservation", reserved).await?;
    // Now it is sound. A pass after this moment has seen the later end of the freeze.
    freeze(cluster, &fleet, Some("2100-01-02T00:00:00Z")).await?;
    measured(&operator, &fleet, "noderotation_freeze_until_timestamp", |value| value == Some(4_102_531_200.0)).await?;
    let sight = Sight::of(cluster, &fleet.name).await?;
    ensure!(reserved(&sight) && old.pending(&sight) && !sight.mirrored(), "it is not held: {sight:?}");
    ensure!(sight.claim(&old.claim).is_some_and(|claim| !claim.deleting), "the drain has begun: {sight:?}");
    freeze(cluster, &fleet, None).await?;
    replaced(cluster, &fleet, &old, &[]).await?;
    counted(&operator, &fleet, "success", 1.0).await?;
    finish(cluster, &fleet, operator).await
}

async fn freeze(cluster: &Cluster, fleet: &Fleet, until: Option<&str>) -> Result<()> {
    annotate(cluster, "nodepool", &fleet.name, &json!({"noderotation.io/freeze": until})).await
}

async fn a_claim_that_somebody_deletes_has_expired(cluster: &Cluster) -> Result<()> {
    let (operator, fleet) = (operator(cluster).await?, Fleet { size: 1, ..Fleet::new("taken") });
    let old = held_in_pending(cluster, &fleet).await?;
    let pod = old.pod(&Sight::of(cluster, &fleet.name).await?)?;
    // It stays for a while as a claim that is being deleted, as with a long grace period.
    hold(cluster, &pod).await?;
    delete(cluster, "nodeclaim", &old.claim, fleet::NAMESPACE).await?;
    let ended = see(cluster, &fleet, "the end of the rotation", |sight| sight.marks(&["state"]).is_empty()).await?;
    ensure!(ended.written(&old.claim, "state") == Some("expired"), "the claim is {:?}", ended.claim(&old.claim));
    counted(&operator, &fleet, "expired", 1.0).await?;
    let expired = told(cluster, &old.claim, "RotationExpired").await?;
    ensure!(expired.note.contains("though its deadline had not come"), "{expired}");
    // Without a policy, or the node that comes would be next.
    delete(cluster, "rotationpolicy", &fleet.name, fleet::NAMESPACE).await?;
    measured(&operator, &fleet, "noderotation_window_active", |value| value.is_none()).await?;
    release(cluster, &pod).await?;
    let gone = |sight: &Sight| sight.claim(&old.claim).is_none() && sight.marks(&[]).is_empty();
    see(cluster, &fleet, "the end of the claim", gone).await?;
    for (outcome, expected) in [("expired", 1.0), ("success", 0.0), ("failure", 0.0)] {
        counted(&operator, &fleet, outcome, expected).await?;
    }
    finish(cluster, &fleet, operator).await
}

/// Nobody was there to see it deleted.
async fn a_claim_that_vanishes_unseen_has_expired(cluster: &Cluster) -> Result<()> {
    let (first, fleet) = (operator(cluster).await?, Fleet { size: 1, ..Fleet::new("vanished") });
    let old = held_in_pending(cluster, &fleet).await?;
    first.sigkill().await?;
    // Neither a Pod of the workload nor the placeholder gets a node that would be the next to be rotated.
    change(cluster, "nodepool", &fleet.name, &json!({"spec": {"limits": {"cpu": "1m"}}})).await?;
    delete(cluster, "deployment", &fleet.name, fleet::NAMESPACE).await?;
    delete(cluster, "nodeclaim", &old.claim, fleet::NAMESPACE).await?;
    let alone = |sight: &Sight| sight.claim(&old.claim).is_none() && sight.anchor() == Some(&old.claim) && !sight.placeholders.is_empty();
    see(cluster, &fleet, "the claim to be gone", alone).await?;
    let second = operator(cluster).await?;
    see(cluster, &fleet, "the end", |sight| sight.marks(&[]).is_empty()).await?;
    for (outcome, expected) in [("expired", 1.0), ("success", 0.0), ("failure", 0.0)] {
        counted(&second, &fleet, outcome, expected).await?;
    }
    told(cluster, &old.claim, "RotationExpired").await?;
    finish(cluster, &fleet, second).await
}
