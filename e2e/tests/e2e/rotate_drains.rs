//! The drain of the old node: what holds it up, and what is done without.

use anyhow::{Result, ensure};
use e2e::audit::Audit;
use e2e::cluster::Cluster;
use e2e::fleet::{self, Fleet};
use e2e::sight::Sight;
use e2e::wait::{Look, until};
use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::bed::{Bed, SOON, counted, finish, operator, see};
use crate::scene::{Old, annotate, change, delete, held_in_draining, hold, measured, release, replaced, told};

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    vec![
        bed.trial("rotate_drains::a_budget_holds_it_up_until_it_is_lifted", a_budget_holds_it_up_until_it_is_lifted),
        bed.trial("rotate_drains::a_stuck_one_says_what_it_waits_for", a_stuck_one_says_what_it_waits_for),
        bed.trial("rotate_drains::an_anchor_that_was_taken_away_comes_back", an_anchor_that_was_taken_away_comes_back),
        bed.trial("rotate_drains::near_the_deadline_without_a_surge", near_the_deadline_without_a_surge),
    ]
}

async fn a_budget_holds_it_up_until_it_is_lifted(cluster: &Cluster) -> Result<()> {
    let (operator, fleet) = (operator(cluster).await?, Fleet { size: 1, ..Fleet::new("budget") });
    let before = fleet.raise(cluster).await?;
    let old = Old::of(&before)?;
    let pod = old.pod(&before)?;
    cluster.apply(&budget(&fleet).to_string()).await?.accepted()?;
    let audit = Audit::from_now(cluster)?;
    fleet.govern(cluster).await?;
    until(&format!("the eviction of {pod} to be refused"), SOON, async || {
        let asked = audit.requests(cluster)?.into_iter().filter(|request| request.resource == "pods/eviction" && request.name == pod);
        let codes: Vec<u64> = asked.map(|request| request.code).collect();
        Ok(if codes.contains(&429) { Look::Done(()) } else { Look::NotYet(format!("{codes:?}")) })
    })
    .await?;
    let sight = Sight::of(cluster, &fleet.name).await?;
    ensure!(old.draining(&sight), "nothing drains: {sight:?}");
    ensure!(sight.pods.iter().any(|left| left.name == pod && left.running()), "{pod} was evicted");
    ensure!(sight.placeholders.iter().any(e2e::sight::Pod::running), "the reservation is gone");
    delete(cluster, "poddisruptionbudget", &fleet.name, fleet::NAMESPACE).await?;
    replaced(cluster, &fleet, &old, &[]).await?;
    counted(&operator, &fleet, "success", 1.0).await?;
    finish(cluster, &fleet, operator).await
}

/// Lets no Pod of the fleet be evicted.
fn budget(fleet: &Fleet) -> Value {
    json!({
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": fleet.name, "namespace": fleet::NAMESPACE},
        "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {fleet::LABEL: fleet.name}}},
    })
}

async fn a_stuck_one_says_what_it_waits_for(cluster: &Cluster) -> Result<()> {
    let (operator, fleet) = (operator(cluster).await?, Fleet { size: 1, ..Fleet::new("stuck") });
    let (old, pod) = held_in_draining(cluster, &fleet).await?;
    measured(&operator, &fleet, "noderotation_drain_stuck", |value| value == Some(0.0)).await?;
    cluster.apply(&budget(&fleet).to_string()).await?.accepted()?;
    until("the budget to be counted", SOON, async || {
        let path = "jsonpath={.status.observedGeneration} {.status.disruptionsAllowed}";
        let arguments = ["get", "poddisruptionbudget", &fleet.name, "--namespace", fleet::NAMESPACE, "--output", path];
        let status = cluster.kubectl(&arguments).await?.accepted()?;
        Ok(if status == "1 0" { Look::Done(()) } else { Look::NotYet(format!("{status:?}")) })
    })
    .await?;
    // As if Karpenter had said long ago that it would end the drain by force.
    annotate(cluster, "nodeclaim", &old.claim, &json!({"karpenter.sh/nodeclaim-termination-timestamp": "2026-01-01T00:00:00Z"})).await?;
    let stuck = told(cluster, &fleet.name, "DrainStuck").await?;
    for expected in [&old.claim, &format!("default/{pod}"), &format!("default/{}", fleet.name)] {
        ensure!(stuck.kind == "Warning" && stuck.note.contains(expected), "{expected} is not in {stuck}");
    }
    measured(&operator, &fleet, "noderotation_drain_stuck", |value| value == Some(1.0)).await?;
    ensure!(old.draining(&Sight::of(cluster, &fleet.name).await?), "the drain was given up");
    delete(cluster, "poddisruptionbudget", &fleet.name, fleet::NAMESPACE).await?;
    release(cluster, &pod).await?;
    replaced(cluster, &fleet, &old, &[]).await?;
    counted(&operator, &fleet, "success", 1.0).await?;
    measured(&operator, &fleet, "noderotation_drain_stuck", |value| value == Some(0.0)).await?;
    finish(cluster, &fleet, operator).await
}

/// As when somebody replaces the NodePool's annotations with those of a manifest.
async fn an_anchor_that_was_taken_away_comes_back(cluster: &Cluster) -> Result<()> {
    let (operator, fleet) = (operator(cluster).await?, Fleet { size: 1, ..Fleet::new("unanchored") });
    let (old, pod) = held_in_draining(cluster, &fleet).await?;
    let keys = ["active-rotation", "active-rotation-state", "draining-at", "surge-wait", "surge-path"];
    let gone: Value = keys.into_iter().map(|key| (format!("noderotation.io/{key}"), Value::Null)).collect();
    annotate(cluster, "nodepool", &fleet.name, &gone).await?;
    let anchored = |sight: &Sight| old.draining(sight) && sight.anchor() == Some(&old.claim);
    see(cluster, &fleet, "the anchor to be back", anchored).await?;
    told(cluster, &fleet.name, "AnchorRestored").await?;
    release(cluster, &pod).await?;
    replaced(cluster, &fleet, &old, &[]).await?;
    counted(&operator, &fleet, "success", 1.0).await?;
    counted(&operator, &fleet, "failure", 0.0).await?;
    finish(cluster, &fleet, operator).await
}

async fn near_the_deadline_without_a_surge(cluster: &Cluster) -> Result<()> {
    let fleet = Fleet { size: 1, expire_after: "3m".to_owned(), ..Fleet::new("deadline") };
    let operator = operator(cluster).await?;
    let before = fleet.raise(cluster).await?;
    let old = Old::of(&before)?;
    // Only this claim is short of time, not those to come; and the claim is not replaced for being unlike the template.
    let template = json!({"spec": {"disruption": {"budgets": [{"nodes": "0"}]}, "template": {"spec": {"expireAfter": "336h"}}}});
    change(cluster, "nodepool", &fleet.name, &template).await?;
    let pod = old.pod(&before)?;
    hold(cluster, &pod).await?;
    let audit = Audit::from_now(cluster)?;
    let policy = fleet.policy_with(&[("/spec/surge/forcefulFallback", json!({"enabled": true}))])?;
    cluster.apply(&policy.to_string()).await?.accepted()?;
    let drained = see(cluster, &fleet, "the drain", |sight| old.draining(sight)).await?;
    let mode = drained.pool.get("noderotation.io/rotation-mode").map(String::as_str);
    ensure!(mode == Some("forceful-fallback"), "the mode is {mode:?}");
    let event = told(cluster, &fleet.name, "ForcefulFallback").await?;
    ensure!(event.kind == "Warning" && event.note.contains(&old.claim) && event.note.contains("no time left"), "{event}");
    release(cluster, &pod).await?;
    replaced(cluster, &fleet, &old, &[]).await?;
    measured(&operator, &fleet, "noderotation_forceful_fallback_total", |value| value == Some(1.0)).await?;
    counted(&operator, &fleet, "success", 1.0).await?;
    let placeholder = format!("noderotation-surge-{}", old.claim);
    let asked = audit.of_the_operator(cluster).await?;
    let created = asked.iter().find(|request| request.verb == "create" && request.name == placeholder);
    ensure!(created.is_none(), "there was a placeholder: {created:?}");
    finish(cluster, &fleet, operator).await
}
