//! What the tests do around a rotation: hold it at a stage, let it go on, change an object as a person does, and ask what
//! was told.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use e2e::cluster::Cluster;
use e2e::fleet::{self, Fleet};
use e2e::operator::Operator;
use e2e::sight::{Claim, Sight};
use e2e::story::{self, Happening};
use e2e::wait::{Look, until};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use serde_json::{Value, json};

use crate::bed::{SOON, see};

/// Keeps a Pod that is evicted.
const FINALIZER: &str = "e2e.noderotation.io/hold";

/// The policy by which one rotation comes after the other, `pause` apart.
pub(crate) fn one_after_the_other(fleet: &Fleet, pause: &str) -> Result<Value> {
    let surge = json!({"readyTimeout": fleet.ready_timeout, "cooldownAfter": pause, "failurePause": pause, "retryBackoff": "1s"});
    fleet.policy_with(&[("/spec/surge", surge)])
}

/// Nothing is left of any rotation but its time.
pub(crate) async fn at_rest(cluster: &Cluster, fleet: &Fleet) -> Result<()> {
    let traces = ["last-rotation-at", "last-failure-at", "window-opened-at", "state", "failed-at", "retry-count"];
    see(cluster, fleet, "rest", |sight| sight.anchor().is_none() && sight.marks(&traces).is_empty()).await?;
    Ok(())
}

/// The claim that is rotated first, and its node.
pub(crate) struct Old {
    /// Name of the claim.
    pub(crate) claim: String,
    /// Name of its node.
    pub(crate) node: String,
}

impl Old {
    /// The oldest of those that are there.
    pub(crate) fn of(before: &Sight) -> Result<Self> {
        let oldest = before.claims.first().context("there is no claim")?;
        Self::named(oldest)
    }

    /// This claim.
    pub(crate) fn named(claim: &Claim) -> Result<Self> {
        Ok(Self { claim: claim.name.clone(), node: claim.node.clone().context("the claim has no node")? })
    }

    /// It waits for its surge, and the placeholder is there.
    pub(crate) fn pending(&self, sight: &Sight) -> bool {
        sight.written(&self.claim, "state") == Some("pending") && !sight.placeholders.is_empty()
    }

    /// Its drain has begun and cannot be undone.
    pub(crate) fn draining(&self, sight: &Sight) -> bool {
        sight.mirrored() && sight.claim(&self.claim).is_some_and(|claim| claim.deleting)
    }

    /// A Pod of the workload on its node.
    pub(crate) fn pod(&self, sight: &Sight) -> Result<String> {
        let pod = sight.pods.iter().find(|pod| pod.node.as_ref() == Some(&self.node));
        Ok(pod.with_context(|| format!("there is no Pod on {}", self.node))?.name.clone())
    }
}

/// Raises a fleet of one node and holds its rotation where the placeholder asks for a node and gets none.
pub(crate) async fn held_in_pending(cluster: &Cluster, fleet: &Fleet) -> Result<Old> {
    let old = Old::of(&fleet.raise(cluster).await?)?;
    withhold_nodes(cluster, fleet).await?;
    fleet.govern(cluster).await?;
    see(cluster, fleet, "the placeholder", |sight| old.pending(sight)).await?;
    Ok(old)
}

/// Raises a fleet of one node and holds its rotation in the drain; the Pod that holds it is to be released.
pub(crate) async fn held_in_draining(cluster: &Cluster, fleet: &Fleet) -> Result<(Old, String)> {
    let before = fleet.raise(cluster).await?;
    let old = Old::of(&before)?;
    let pod = old.pod(&before)?;
    hold(cluster, &pod).await?;
    fleet.govern(cluster).await?;
    see(cluster, fleet, "the drain", |sight| old.draining(sight)).await?;
    Ok((old, pod))
}

/// Leaves room for the placeholder under the limits, but not for any node, so that Karpenter launches none: of a node
/// that is there it counts what was asked for, and its smallest machine has a whole CPU.
pub(crate) async fn withhold_nodes(cluster: &Cluster, fleet: &Fleet) -> Result<()> {
    let used = fleet.size * 600;
    withhold_nodes_beside(cluster, fleet, &format!("{used}m"), used).await
}

/// The same where Karpenter counts something else to be in use, as it says and in thousandths of a CPU.
pub(crate) async fn withhold_nodes_beside(cluster: &Cluster, fleet: &Fleet, said: &str, used: u32) -> Result<()> {
    counted_by_karpenter(cluster, fleet, "cpu", said).await?;
    change(cluster, "nodepool", &fleet.name, &json!({"spec": {"limits": {"cpu": format!("{}m", used + 900)}}})).await
}

/// Takes all limits away.
pub(crate) async fn grant_nodes(cluster: &Cluster, fleet: &Fleet) -> Result<()> {
    change(cluster, "nodepool", &fleet.name, &json!({"spec": {"limits": null}})).await
}

/// Waits until Karpenter says that the NodePool uses so much: limits are compared with that.
pub(crate) async fn counted_by_karpenter(cluster: &Cluster, fleet: &Fleet, resource: &str, amount: &str) -> Result<()> {
    until(&format!("{amount} {resource} to be in use"), SOON, async || {
        let path = format!("jsonpath={{.status.resources.{resource}}}");
        let used = cluster.kubectl(&["get", "nodepool", &fleet.name, "--output", &path]).await?.accepted()?;
        Ok(if used == amount { Look::Done(()) } else { Look::NotYet(format!("{used:?}")) })
    })
    .await
}

/// Merges a patch into an object.
pub(crate) async fn change(cluster: &Cluster, kind: &str, name: &str, patch: &Value) -> Result<()> {
    let patch = patch.to_string();
    let arguments = ["patch", kind, name, "--namespace", fleet::NAMESPACE, "--type=merge", "--patch", &patch];
    cluster.kubectl(&arguments).await?.accepted()?;
    Ok(())
}

/// Sets annotations of an object, or removes those that are null.
pub(crate) async fn annotate(cluster: &Cluster, kind: &str, name: &str, annotations: &Value) -> Result<()> {
    change(cluster, kind, name, &json!({"metadata": {"annotations": annotations}})).await
}

/// Deletes an object without waiting for its end.
pub(crate) async fn delete(cluster: &Cluster, kind: &str, name: &str, namespace: &str) -> Result<()> {
    cluster.kubectl(&["delete", kind, name, "--namespace", namespace, "--wait=false"]).await?.accepted()?;
    Ok(())
}

/// Lets a Pod stay, even when it is evicted, and with it the drain of its node.
pub(crate) async fn hold(cluster: &Cluster, pod: &str) -> Result<()> {
    change(cluster, "pod", pod, &json!({"metadata": {"finalizers": [FINALIZER]}})).await
}

/// Lets a Pod go that was held.
pub(crate) async fn release(cluster: &Cluster, pod: &str) -> Result<()> {
    change(cluster, "pod", pod, &json!({"metadata": {"finalizers": []}})).await
}

/// Waits until an event with the reason is there, about an object of that name.
pub(crate) async fn told(cluster: &Cluster, about: &str, reason: &str) -> Result<Happening> {
    told_within(cluster, about, reason, SOON).await
}

/// The same for one that is told only after a time.
pub(crate) async fn told_within(cluster: &Cluster, about: &str, reason: &str, limit: Duration) -> Result<Happening> {
    until(&format!("the event {reason} about {about}"), limit, async || {
        let all = story::events(cluster, &[about]).await?;
        let found = all.iter().find(|event| event.reason == reason).cloned();
        Ok(Look::from_option(found, &format!("{all:?}")))
    })
    .await
}

/// Waits until a series of the fleet has a value that fits.
pub(crate) async fn measured(operator: &Operator, fleet: &Fleet, name: &str, fits: impl Fn(Option<f64>) -> bool) -> Result<()> {
    until(&format!("{name} of {}", fleet.name), SOON, async || {
        let value = operator.metrics().await?.value(name, &[("nodepool", &fleet.name)]);
        Ok(if fits(value) { Look::Done(()) } else { Look::NotYet(format!("{value:?}")) })
    })
    .await
}

/// How often rotations of the fleet have ended in that way so far.
pub(crate) async fn count(operator: &Operator, fleet: &Fleet, outcome: &str) -> Result<f64> {
    let labels = [("nodepool", fleet.name.as_str()), ("outcome", outcome)];
    Ok(operator.metrics().await?.value("noderotation_completed_total", &labels).unwrap_or_default())
}

/// The policy with a window that is open already, and long enough for an attempt: for one to two minutes.
pub(crate) fn closing_soon(fleet: &Fleet) -> Result<Value> {
    let now = Timestamp::now().to_zoned(TimeZone::UTC);
    let [start, end] = [now.clone(), now.checked_add(2.minutes())?].map(|time| time.strftime("%H:%M").to_string());
    let window = "/spec/maintenanceWindows/0";
    fleet.policy_with(&[(&format!("{window}/start"), json!(start)), (&format!("{window}/end"), json!(end))])
}

/// Waits until that window is counted as missed: it closes within two minutes, and within one more a pass sees it.
pub(crate) async fn went_by(operator: &Operator, fleet: &Fleet) -> Result<()> {
    until("the window to have gone by", SOON + SOON + SOON, async || {
        let missed = operator.metrics().await?.value("noderotation_window_missed_total", &[("nodepool", &fleet.name)]);
        Ok(if missed == Some(1.0) { Look::Done(()) } else { Look::NotYet(format!("{missed:?}")) })
    })
    .await
}

/// How many rotations of the fleet were told to begin, and to be completed.
pub(crate) async fn begun_and_completed(cluster: &Cluster, fleet: &Fleet) -> Result<(usize, usize)> {
    let told = story::events(cluster, &[&fleet.name]).await?;
    let times = |reason: &str| told.iter().filter(|event| event.reason == reason).count();
    Ok((times("RotationStarted"), times("RotationCompleted")))
}

/// A rotation has ended well, and nothing is left of it but its time.
pub(crate) fn over(sight: &Sight) -> bool {
    sight.last_rotation_at().is_some() && sight.marks(&["last-rotation-at"]).is_empty()
}

/// Waits until the rotation is over: the old claim is gone, and no other of those that were there before is touched.
pub(crate) async fn replaced_alone(cluster: &Cluster, fleet: &Fleet, old: &Old, before: &Sight) -> Result<Sight> {
    let after = see(cluster, fleet, "the end", over).await?;
    ensure!(after.claim(&old.claim).is_none(), "{} is still there", old.claim);
    for claim in before.claims.iter().filter(|claim| claim.name != old.claim) {
        ensure!(after.claim(&claim.name).is_some_and(|claim| !claim.deleting), "{} was touched", claim.name);
    }
    Ok(after)
}

/// Waits until the old claim is replaced and nothing is left of the rotation but its time and `except`.
pub(crate) async fn replaced(cluster: &Cluster, fleet: &Fleet, old: &Old, except: &[&str]) -> Result<Sight> {
    let except = [&["last-rotation-at"], except].concat();
    let over = |sight: &Sight| {
        let moved = sight.pods.len() == fleet.size as usize && sight.pods.iter().all(e2e::sight::Pod::running);
        sight.last_rotation_at().is_some() && sight.marks(&except).is_empty() && !sight.has_node(&old.node) && moved
    };
    let after = see(cluster, fleet, "the end", over).await?;
    ensure!(after.claim(&old.claim).is_none(), "{} is still there", old.claim);
    Ok(after)
}

/// The marks of the old node of a rotation.
pub(crate) async fn mark_node(cluster: &Cluster, old: &Old) -> Result<()> {
    let marks = json!({
        "noderotation.io/surge-for": old.claim,
        "noderotation.io/do-not-disrupt-owned": "true",
        "karpenter.sh/do-not-disrupt": "true",
        "noderotation.io/cordoned": "true",
    });
    cluster.kubectl(&["cordon", &old.node]).await?.accepted()?;
    annotate(cluster, "node", &old.node, &marks).await
}

/// A Pod that passes for a placeholder of the claim. It runs wherever there is room.
pub(crate) fn placeholder(namespace: &str, fleet: &Fleet, claim: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": format!("noderotation-surge-{claim}"),
            "namespace": namespace,
            "labels": {"noderotation.io/surge-for": claim, "karpenter.sh/nodepool": fleet.name},
            "annotations": {"noderotation.io/surge-for": claim},
        },
        "spec": {
            "terminationGracePeriodSeconds": 0,
            "securityContext": {"runAsNonRoot": true, "runAsUser": 65535, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [{
                "name": "pause",
                "image": "registry.k8s.io/pause:3.10",
                "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
            }],
        },
    })
}

/// Lets a node have so much of a resource, as a device plugin does.
pub(crate) async fn allocatable(cluster: &Cluster, node: &str, resource: &str, amount: &str) -> Result<()> {
    let patch = json!({"status": {"allocatable": {resource: amount}, "capacity": {resource: amount}}}).to_string();
    cluster.kubectl(&["patch", "node", node, "--subresource=status", "--type=merge", "--patch", &patch]).await?.accepted()?;
    Ok(())
}

/// A Pod on the one node of the fleet that nobody makes again once it is evicted.
pub(crate) async fn guest(cluster: &Cluster, fleet: &Fleet, resources: &Value) -> Result<()> {
    let name = format!("{}-guest", fleet.name);
    let pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": fleet::NAMESPACE},
        "spec": {
            "terminationGracePeriodSeconds": 1,
            "nodeSelector": {"karpenter.sh/nodepool": fleet.name},
            "tolerations": [{"key": fleet::LABEL, "operator": "Equal", "value": fleet.name, "effect": "NoSchedule"}],
            "containers": [{"name": "work", "image": "registry.k8s.io/pause:3.10", "resources": resources}],
        },
    });
    cluster.apply(&pod.to_string()).await?.accepted()?;
    cluster
        .kubectl(&["wait", "pod", &name, "--namespace", fleet::NAMESPACE, "--for=jsonpath={.status.phase}=Running", "--timeout=90s"])
        .await?
        .accepted()?;
    Ok(())
}

/// A window of every week that does not open before a test is over.
pub(crate) fn far_off(start: &str, end: &str) -> Result<Value> {
    let day = far_off_day()?.weekday().to_monday_zero_offset();
    let day =
        usize::try_from(day).ok().and_then(|day| ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"].get(day)).context("no such day")?;
    Ok(json!({"timezone": "UTC", "days": [day], "start": start, "end": end}))
}

/// The day on which it opens next.
pub(crate) fn far_off_day() -> Result<Date> {
    Ok(Timestamp::now().to_zoned(TimeZone::UTC).date().checked_add(3.days())?)
}
