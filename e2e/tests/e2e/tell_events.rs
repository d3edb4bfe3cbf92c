//! Events that no other test brings about: doubts about a schedule, marks that nobody can have meant, a reservation that does
//! not come or does not last, and a window that went by.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use e2e::chart;
use e2e::cluster::Cluster;
use e2e::fleet::{self, CPU, Fleet};
use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::bed::{Bed, SOON, counted, finish, forget, operator, see};
use crate::scene::{
    Old, allocatable, annotate, change, closing_soon, delete, far_off, grant_nodes, guest, held_in_pending, measured, replaced, told,
    told_within, went_by, withhold_nodes,
};
use crate::tell_status::{is, waited};

/// More than Karpenter believes a node of the tests to have.
const DAEMON: &str = "1";

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    vec![
        bed.trial("tell_events::what_is_doubtful_about_a_schedule", what_is_doubtful_about_a_schedule),
        bed.trial("tell_events::what_nobody_can_have_meant", what_nobody_can_have_meant),
        bed.trial("tell_events::what_the_clamp_did", what_the_clamp_did),
        bed.trial("tell_events::what_became_of_a_reservation", what_became_of_a_reservation),
        bed.trial("tell_events::a_reservation_for_which_there_is_no_room", a_reservation_for_which_there_is_no_room),
        bed.trial("tell_events::a_window_that_went_by", a_window_that_went_by),
    ]
}

/// A NodePool, a policy for it, and what is told of them.
struct Doubt {
    name: &'static str,
    size: u32,
    /// Places in the NodePool's template.
    template: Value,
    /// Places in the policy, as JSON pointers.
    policy: Vec<(&'static str, Value)>,
    told: &'static [&'static str],
}

fn doubts() -> Result<Vec<Doubt>> {
    let weekly = || Ok::<_, anyhow::Error>(("/spec/maintenanceWindows", json!([far_off("02:00", "06:00")?])));
    let twice = ("/spec/maintenanceWindows", json!([far_off("02:00", "06:00")?, far_off("06:30", "10:00")?]));
    let short = ("/spec/maintenanceWindows", json!([far_off("02:00", "02:10")?]));
    let (auto, hour, once) = (json!("auto"), json!("1h"), ("/spec/minRotationChances", json!(1)));
    let estimates = json!({"readyTimeout": "15m", "retryBackoff": "1m", "drainEstimate": "1h", "provisioningEstimate": "1h"});
    let age = |age: &Value| ("/spec/ageThreshold", age.clone());
    let doubt = |name, size, template, policy, told| Doubt { name, size, template, policy, told };
    Ok(vec![
        doubt("doubt-chances", 0, json!({}), vec![weekly()?, age(&auto), once.clone()], &["KBelowTwo"]),
        doubt("doubt-age", 0, json!({}), vec![weekly()?, age(&hour)], &["OverrideGBelowK", "AVeryAggressive"]),
        doubt(
            "doubt-grace",
            0,
            json!({"expireAfter": "504h", "terminationGracePeriod": null}),
            vec![weekly()?, age(&auto)],
            &["TGPUnset", "HardCapExceeded"],
        ),
        doubt(
            "doubt-surge",
            0,
            json!({}),
            vec![weekly()?, age(&hour), ("/spec/surge", estimates)],
            &["RetryBackoffShort", "DrainEstimateAboveTGP", "ProvisioningEstimateAboveReadyTimeout"],
        ),
        doubt("doubt-gap", 0, json!({}), vec![twice, age(&hour)], &["RotationSpansNextWindow"]),
        doubt("doubt-many", 2, json!({}), vec![short, age(&hour), once], &["ThroughputBelowArrival", "ThroughputBurstShortfall"]),
    ])
}

async fn what_is_doubtful_about_a_schedule(cluster: &Cluster) -> Result<()> {
    let operator = operator(cluster).await?;
    let never = Fleet { size: 0, expire_after: "24h".to_owned(), age_threshold: "auto".to_owned(), ..Fleet::new("doubt-never") };
    cluster.apply(&never.node_pool().to_string()).await?.accepted()?;
    let weekly = never.policy_with(&[("/spec/maintenanceWindows", json!([far_off("02:00", "06:00")?]))])?;
    cluster.apply(&weekly.to_string()).await?.accepted()?;
    let doubts = doubts()?;
    for doubt in &doubts {
        let fleet = Fleet { size: doubt.size, ..Fleet::new(doubt.name) };
        fleet.raise(cluster).await?;
        change(cluster, "nodepool", doubt.name, &json!({"spec": {"template": {"spec": doubt.template}}})).await?;
        cluster.apply(&fleet.policy_with(&doubt.policy)?.to_string()).await?.accepted()?;
    }
    for doubt in &doubts {
        let fleet = Fleet::new(doubt.name);
        for reason in doubt.told {
            let event = told(cluster, doubt.name, reason).await?;
            ensure!(event.kind == "Warning", "{event}");
        }
        is(cluster, &fleet, "Feasible", "Doubtful").await?;
        waited(cluster, &fleet, "condition=Feasible").await?;
        forget(cluster, &fleet).await?;
    }
    is(cluster, &never, "Feasible", "ANonPositive").await?;
    is(cluster, &never, "Progressing", "InfeasibleSchedule").await?;
    finish(cluster, &never, operator).await
}

async fn what_nobody_can_have_meant(cluster: &Cluster) -> Result<()> {
    let operator = operator(cluster).await?;
    let odd = Fleet { size: 1, ..Fleet::new("odd") };
    let old = Old::of(&odd.raise(cluster).await?)?;

    // Two NodePools without nodes, of which one says that it rotates a node of the other.
    let absurd = Fleet { size: 0, ..Fleet::new("odd-marks") };
    absurd.raise(cluster).await?;
    let marks = json!({
        "noderotation.io/freeze": "soon",
        "noderotation.io/last-rotation-at": "2100-01-01T00:00:00Z",
        "noderotation.io/active-rotation": old.claim,
    });
    annotate(cluster, "nodepool", &absurd.name, &marks).await?;
    absurd.govern(cluster).await?;
    for reason in ["FreezeUnparsable", "StampInFuture", "ForeignAnchor"] {
        let event = told(cluster, &absurd.name, reason).await?;
        ensure!(event.kind == "Warning", "{event}");
    }
    let broken = Fleet { size: 0, ..Fleet::new("odd-class") };
    let mut pool = broken.node_pool();
    *pool.pointer_mut("/spec/template/spec/nodeClassRef/name").context("there is no class")? = json!("there-is-none");
    cluster.apply(&pool.to_string()).await?.accepted()?;
    broken.govern(cluster).await?;
    told(cluster, &broken.name, "NodePoolNotReady").await?;
    is(cluster, &broken, "Progressing", "NodePoolNotReady").await?;

    // Its own life is shorter than that which the NodePool gives by now.
    let brief = Fleet { size: 1, expire_after: "3h".to_owned(), age_threshold: "auto".to_owned(), ..Fleet::new("odd-brief") };
    let short = Old::of(&brief.raise(cluster).await?)?;
    change(cluster, "nodepool", &brief.name, &json!({"spec": {"template": {"spec": {"expireAfter": "720h"}}}})).await?;
    let weekly = brief.policy_with(&[("/spec/maintenanceWindows", json!([far_off("02:00", "06:00")?]))])?;
    cluster.apply(&weekly.to_string()).await?.accepted()?;
    told(cluster, &short.claim, "ShortLead").await?;
    measured(&operator, &brief, "noderotation_short_lead_nodes", |value| value == Some(1.0)).await?;

    annotate(cluster, "node", &old.node, &json!({"karpenter.sh/do-not-disrupt": "maybe"})).await?;
    odd.govern(cluster).await?;
    let event = told(cluster, &old.claim, "UnrecognisedOptOut").await?;
    ensure!(event.kind == "Warning" && event.note.contains("maybe"), "{event}");
    replaced(cluster, &odd, &old, &[]).await?;
    for fleet in [&absurd, &broken, &brief] {
        forget(cluster, fleet).await?;
    }
    finish(cluster, &odd, operator).await
}

async fn what_the_clamp_did(cluster: &Cluster) -> Result<()> {
    let operator = operator(cluster).await?;
    // Pods that came while the node had more than it has now.
    let shrunk = Fleet { size: 1, ..Fleet::new("shrunk") };
    let old = Old::of(&shrunk.raise(cluster).await?)?;
    allocatable(cluster, &old.node, "cpu", "2").await?;
    guest(cluster, &shrunk, &json!({"requests": {"cpu": CPU}})).await?;
    allocatable(cluster, &old.node, "cpu", "1").await?;
    shrunk.govern(cluster).await?;
    let event = told(cluster, &old.claim, "SurgeClampBandExceeded").await?;
    ensure!(event.kind == "Warning" && event.note.contains("cpu"), "{event}");
    counted(&operator, &shrunk, "success", 1.0).await?;

    // A DaemonSet that came later, and takes all that a node of this kind is said to have.
    let filled = Fleet { size: 1, ready_timeout: "20s".to_owned(), ..Fleet::new("filled") };
    let old = Old::of(&filled.raise(cluster).await?)?;
    allocatable(cluster, &old.node, "cpu", "4").await?;
    daemon(cluster, &filled).await?;
    filled.govern(cluster).await?;
    let event = told(cluster, &old.claim, "SurgeClampRefused").await?;
    ensure!(event.kind == "Warning" && event.note.contains("cpu"), "{event}");
    delete(cluster, "daemonset", &filled.name, fleet::NAMESPACE).await?;
    forget(cluster, &shrunk).await?;
    finish(cluster, &filled, operator).await
}

/// A DaemonSet on the nodes of the fleet, whose Pod runs.
async fn daemon(cluster: &Cluster, fleet: &Fleet) -> Result<()> {
    let labels = json!({"daemon-of": fleet.name});
    let set = json!({
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": fleet.name, "namespace": fleet::NAMESPACE},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "terminationGracePeriodSeconds": 1,
                    "nodeSelector": {"karpenter.sh/nodepool": fleet.name},
                    "tolerations": [{"key": fleet::LABEL, "operator": "Equal", "value": fleet.name, "effect": "NoSchedule"}],
                    "containers": [{"name": "work", "image": "registry.k8s.io/pause:3.10", "resources": {"requests": {"cpu": DAEMON}}}],
                },
            },
        },
    });
    cluster.apply(&set.to_string()).await?.accepted()?;
    let status = ["rollout", "status", "daemonset", &fleet.name, "--namespace", fleet::NAMESPACE, "--timeout=90s"];
    cluster.kubectl(&status).await?.accepted()?;
    Ok(())
}

async fn what_became_of_a_reservation(cluster: &Cluster) -> Result<()> {
    let operator = operator(cluster).await?;
    // The namespace admits no Pod of that size.
    let range = json!({
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "small", "namespace": chart::NAMESPACE},
        "spec": {"limits": [{"type": "Container", "max": {"cpu": "10m"}}]},
    });
    cluster.apply(&range.to_string()).await?.accepted()?;
    let refused = Fleet { size: 1, ..Fleet::new("refused") };
    let old = Old::of(&refused.raise(cluster).await?)?;
    refused.govern(cluster).await?;
    let event = told(cluster, &old.claim, "SurgeRejected").await;
    delete(cluster, "limitrange", "small", chart::NAMESPACE).await?;
    let event = event?;
    ensure!(event.kind == "Warning" && event.note.contains("limit of 10m"), "{event}");
    forget(cluster, &refused).await?;

    // The node that came for it is taken away again.
    let lost = Fleet { size: 1, ..Fleet::new("lost") };
    let old = held_in_pending(cluster, &lost).await?;
    annotate(cluster, "nodepool", &lost.name, &json!({"noderotation.io/freeze": "2100-01-01T00:00:00Z"})).await?;
    measured(&operator, &lost, "noderotation_freeze_until_timestamp", |value| value == Some(4_102_444_800.0)).await?;
    grant_nodes(cluster, &lost).await?;
    let sight = see(cluster, &lost, "the surge", |sight| sight.surge().is_some()).await?;
    let surge = sight.surge().context("there is no surge")?;
    delete(cluster, "nodeclaim", &surge.name, fleet::NAMESPACE).await?;
    let event = told(cluster, &old.claim, "ReservationLost").await?;
    ensure!(event.kind == "Warning", "{event}");
    annotate(cluster, "nodepool", &lost.name, &json!({"noderotation.io/freeze": null})).await?;
    replaced(cluster, &lost, &old, &[]).await?;
    counted(&operator, &lost, "success", 1.0).await?;
    finish(cluster, &lost, operator).await
}

/// For the first minute it is only said that Karpenter is at work.
async fn a_reservation_for_which_there_is_no_room(cluster: &Cluster) -> Result<()> {
    let operator = operator(cluster).await?;
    let fleet = Fleet { size: 1, ready_timeout: "15m".to_owned(), ..Fleet::new("roomless") };
    let old = held_in_pending(cluster, &fleet).await?;
    let event = told_within(cluster, &old.claim, "SurgeUnschedulable", Duration::from_secs(60) + SOON).await?;
    ensure!(event.kind == "Warning" && event.note.contains("nodes are available"), "{event}");
    grant_nodes(cluster, &fleet).await?;
    replaced(cluster, &fleet, &old, &[]).await?;
    counted(&operator, &fleet, "success", 1.0).await?;
    finish(cluster, &fleet, operator).await
}

/// No node is to be had until it is over.
async fn a_window_that_went_by(cluster: &Cluster) -> Result<()> {
    let operator = operator(cluster).await?;
    let fleet = Fleet { size: 1, ready_timeout: "10s".to_owned(), ..Fleet::new("missed") };
    let old = Old::of(&fleet.raise(cluster).await?)?;
    withhold_nodes(cluster, &fleet).await?;
    let policy = closing_soon(&fleet)?;
    cluster.apply(&policy.to_string()).await?.accepted()?;
    see(cluster, &fleet, "the placeholder", |sight| old.pending(sight)).await?;
    counted(&operator, &fleet, "failure", 1.0).await?;
    is(cluster, &fleet, "Progressing", "FailurePause").await?;
    went_by(&operator, &fleet).await?;
    let event = told(cluster, &fleet.name, "WindowMissed").await?;
    ensure!(event.kind == "Warning", "{event}");
    finish(cluster, &fleet, operator).await
}
