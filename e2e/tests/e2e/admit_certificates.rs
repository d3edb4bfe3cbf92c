//! The endpoint's certificate and registration, when somebody edits, breaks or removes them, or keeps them instead.

mod others;
mod traffic;

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use e2e::chart;
use e2e::cluster::Cluster;
use e2e::fleet::Fleet;
use e2e::operator::Operator;
use e2e::wait::{Look, until};
use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::authority::{Authority, Pair};
use crate::bed::{self, Bed, SOON, series};

/// Whatever is edited is repaired within this time.
const REPAIRED: Duration = Duration::from_secs(5);
/// So that what waits to be trusted does not wait for an hour.
const DWELL: &str = "--certificate-dwell=2s";
const SECRET: &str = "node-rotation-controller-webhook-tls";
const KINDS: [&str; 2] = ["mutatingwebhookconfiguration", "validatingwebhookconfiguration"];

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    let mut trials = vec![
        bed.trial("admit_certificates::an_edited_configuration_is_repaired", an_edited_configuration_is_repaired),
        bed.trial("admit_certificates::a_deleted_configuration_is_told", a_deleted_configuration_is_told),
        bed.trial("admit_certificates::a_broken_secret_is_repaired", a_broken_secret_is_repaired),
        bed.trial("admit_certificates::a_strangers_pair_is_followed_or_refused", a_strangers_pair_is_followed_or_refused),
        bed.trial("admit_certificates::c178_without_a_replica_only_specs_wait", c178_without_a_replica_only_specs_wait),
    ];
    trials.extend(others::trials(bed));
    trials
}

/// An operator whose pairs do not wait for long.
async fn operator(cluster: &Cluster) -> Result<Operator> {
    bed::operator_with(cluster, &[DWELL]).await
}

async fn object(cluster: &Cluster, kind: &str, name: &str) -> Result<Value> {
    let text = cluster.kubectl(&["get", kind, name, "--namespace", chart::NAMESPACE, "--output", "json"]).await?.accepted()?;
    serde_json::from_str(&text).with_context(|| format!("reading {kind} {name}"))
}

async fn patch(cluster: &Cluster, kind: &str, name: &str, type_: &str, patch: &Value) -> Result<()> {
    let (type_, patch) = (format!("--type={type_}"), patch.to_string());
    cluster.kubectl(&["patch", kind, name, "--namespace", chart::NAMESPACE, &type_, "--patch", &patch]).await?.accepted()?;
    Ok(())
}

/// Waits for an event of this reason about `object`, and gives its text.
async fn event(cluster: &Cluster, namespace: &str, reason: &str, object: &str) -> Result<String> {
    until(&format!("the event {reason} on {object}"), SOON, async || {
        let selector = format!("--field-selector=reason={reason},involvedObject.name={object}");
        let arguments = ["get", "events", "--namespace", namespace, &selector, "--output", "jsonpath={.items[*].message}"];
        let text = cluster.kubectl(&arguments).await?.accepted()?;
        Ok(Look::from_option(Some(text).filter(|text| !text.is_empty()), "none"))
    })
    .await
}

async fn ended(operator: Operator) -> Result<()> {
    let status = operator.sigterm().await?;
    ensure!(status.success(), "the operator ended with {status} after SIGTERM");
    Ok(())
}

async fn an_edited_configuration_is_repaired(cluster: &Cluster) -> Result<()> {
    let operator = operator(cluster).await?;
    let never = json!({"name": "never", "expression": "false"});
    let edits = [
        ("without entries", json!([{"op": "remove", "path": "/webhooks"}])),
        ("without a bundle", json!([{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}])),
        ("with other rules", json!([{"op": "replace", "path": "/webhooks/0/rules/0/operations", "value": ["DELETE"]}])),
        ("that lets failures pass", json!([{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Ignore"}])),
        ("with a condition that never holds", json!([{"op": "add", "path": "/webhooks/0/matchConditions/-", "value": never}])),
    ];
    for kind in KINDS {
        let before = object(cluster, kind, chart::RELEASE).await?;
        for (what, edit) in &edits {
            patch(cluster, kind, chart::RELEASE, "json", edit).await?;
            until(&format!("a {kind} {what} to be repaired"), REPAIRED, async || {
                let now = object(cluster, kind, chart::RELEASE).await?;
                let entries = |object: &Value| object.get("webhooks").cloned();
                Ok(if entries(&now) == entries(&before) { Look::Done(()) } else { Look::NotYet(now.to_string()) })
            })
            .await?;
        }
    }
    event(cluster, "default", "WebhookConfigurationRepaired", chart::RELEASE).await?;
    ended(operator).await
}

async fn a_deleted_configuration_is_told(cluster: &Cluster) -> Result<()> {
    let operator = operator(cluster).await?;
    let validating = [("configuration", "validating")];
    series(&operator, "noderotation_webhook_registered", &validating, 1.0).await?;
    cluster.kubectl(&["delete", KINDS[1], chart::RELEASE]).await?.accepted()?;
    series(&operator, "noderotation_webhook_registered", &validating, 0.0).await?;
    let note = event(cluster, chart::NAMESPACE, "WebhookConfigurationMissing", chart::WEBHOOK_SERVICE).await?;
    ensure!(note.contains("helm upgrade"), "{note}");
    let readiness = operator.readiness().await?;
    ensure!(readiness.status == 200 && readiness.body.contains("does not exist, so bad policies are not refused"), "{readiness:?}");
    chart::upgrade(cluster, &[]).await?;
    series(&operator, "noderotation_webhook_registered", &validating, 1.0).await?;
    let bad = Fleet::new("bad").policy_with(&[("/spec/maintenanceWindows/0/timezone", json!("Mars/Olympus"))])?;
    cluster.apply(&bad.to_string()).await?.refused()?;
    ended(operator).await
}

/// The operator's own Secret comes back as it was, and nobody notices.
async fn a_broken_secret_is_repaired(cluster: &Cluster) -> Result<()> {
    let operator = operator(cluster).await?;
    let before = object(cluster, "secret", SECRET).await?;
    let faults = [
        ("deleted", None),
        ("corrupted", Some(json!([{"op": "replace", "path": "/data/tls.key", "value": "bm9uZQ=="}]))),
        ("half-written", Some(json!([{"op": "remove", "path": "/data/ca.crt"}, {"op": "remove", "path": "/data/ca.key"}]))),
        ("of two halves", Some(json!([{"op": "copy", "path": "/data/ca.crt", "from": "/data/tls.crt"}]))),
    ];
    for (what, edit) in faults {
        let broken = async {
            match &edit {
                None => drop(cluster.kubectl(&["delete", "secret", SECRET, "--namespace", chart::NAMESPACE]).await?.accepted()?),
                Some(edit) => patch(cluster, "secret", SECRET, "json", edit).await?,
            }
            until(&format!("a Secret that was {what} to be repaired"), REPAIRED, async || {
                let now = object(cluster, "secret", SECRET).await?;
                let same = now.get("data") == before.get("data");
                Ok(if same { Look::Done(()) } else { Look::NotYet("it is another".to_owned()) })
            })
            .await
        };
        let ((), tally) = traffic::good(cluster, broken).await?;
        tally.all_accepted().with_context(|| what.to_owned())?;
    }
    event(cluster, chart::NAMESPACE, "CertificateReplaced", SECRET).await?;
    ended(operator).await
}

async fn a_strangers_pair_is_followed_or_refused(cluster: &Cluster) -> Result<()> {
    let operator = operator(cluster).await?;
    let (first, second) = (Authority::new("first")?.pair(2040)?, Authority::new("second")?.pair(2041)?);
    // In place of ours, still under our label: it waits until the API server trusts its root.
    let replaced = async {
        let data = first.secret(SECRET);
        patch(cluster, "secret", SECRET, "merge", &json!({"stringData": data.get("stringData")})).await?;
        series(&operator, "noderotation_certificate_not_after_timestamp", &[], first.not_after).await
    };
    let ((), tally) = traffic::good(cluster, replaced).await?;
    tally.all_accepted()?;
    event(cluster, chart::NAMESPACE, "CertificateWaits", SECRET).await?;
    // Under another's label, with halves that do not fit: it is refused and left alone.
    let torn = async {
        let torn = Pair { key: second.key.clone(), ..first.clone() }.secret(SECRET);
        let labels = json!({"labels": {"app.kubernetes.io/managed-by": "somebody"}});
        patch(cluster, "secret", SECRET, "merge", &json!({"metadata": labels, "stringData": torn.get("stringData")})).await?;
        let note = event(cluster, chart::NAMESPACE, "CertificateRefused", SECRET).await?;
        ensure!(note.contains("did not make it") && note.contains("the key does not belong to the certificate"), "{note}");
        Ok(())
    };
    let ((), tally) = traffic::good(cluster, torn).await?;
    tally.all_accepted()?;
    ensure!(operator.metrics().await?.value("noderotation_certificate_refused_total", &[]) >= Some(1.0), "the refusal is not counted");
    ended(operator).await?;
    // The next operator makes one of its own.
    cluster.kubectl(&["delete", "secret", SECRET, "--namespace", chart::NAMESPACE]).await?.accepted()?;
    Ok(())
}

async fn c178_without_a_replica_only_specs_wait(cluster: &Cluster) -> Result<()> {
    let (operator, fleet) = (operator(cluster).await?, Fleet::new("alone"));
    let held = fleet.policy_with(&[("/metadata/finalizers", json!(["example.com/held"]))])?;
    cluster.apply(&held.to_string()).await?.accepted()?;
    cluster.apply(&fleet.node_pool().to_string()).await?.accepted()?;
    operator.sigkill().await?;

    let policy = ["patch", "rotationpolicy", &fleet.name, "--type=merge", "--patch"];
    let change = |patch: Value| patch.to_string();
    let spec = change(json!({"spec": {"ageThreshold": "2s"}}));
    let refusal = cluster.kubectl(&[&policy[..], &[&spec]].concat()).await?.refused()?;
    ensure!(refusal.contains("failed calling webhook"), "{refusal}");
    let another = Fleet::new("another").policy();
    cluster.apply(&another.to_string()).await?.refused()?;

    let label = change(json!({"metadata": {"labels": {"a": "b"}}}));
    cluster.kubectl(&[&policy[..], &[&label]].concat()).await?.accepted()?;
    cluster.kubectl(&["delete", "rotationpolicy", &fleet.name, "--wait=false"]).await?.accepted()?;
    let release = change(json!({"metadata": {"finalizers": null}}));
    cluster.kubectl(&[&policy[..], &[&release]].concat()).await?.accepted()?;
    until("the policy to be gone", SOON, async || {
        let left = cluster.kubectl(&["get", "rotationpolicy", &fleet.name, "--ignore-not-found", "--output", "name"]).await?.accepted()?;
        Ok(if left.is_empty() { Look::Done(()) } else { Look::NotYet(left) })
    })
    .await?;

    for (kind, name, namespace) in [("nodepool", fleet.name.as_str(), "default"), ("namespace", "kube-system", "default")] {
        cluster
            .kubectl(&["annotate", kind, name, "--namespace", namespace, "--overwrite", "e2e.example.com/touched=yes"])
            .await?
            .accepted()?;
    }
    let metadata = json!({"name": "alone", "namespace": "kube-system"});
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": metadata,
        "spec": {"containers": [{"name": "c", "image": "registry.k8s.io/pause:3.10"}]},
    });
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "alone"}});
    for object in [pod, node] {
        cluster.apply(&object.to_string()).await?.accepted()?;
    }
    cluster.kubectl(&["delete", "pod", "alone", "--namespace", "kube-system", "--wait=false", "--grace-period=0"]).await?.accepted()?;
    cluster.kubectl(&["delete", "node/alone", &format!("nodepool/{}", fleet.name), "--wait=false"]).await?.accepted()?;
    Ok(())
}
