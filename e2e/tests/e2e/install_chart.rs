//! The chart: what it installs, and whether its rights are what the operator needs.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use e2e::audit::{self, Request, denied, operator_account};
use e2e::chart;
use e2e::cluster::Cluster;
use e2e::operator::Operator;
use e2e::wait::{Look, until};
use libtest_mimic::Trial;
use serde_json::Value;

use crate::bed::{Bed, SOON, operator};

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    vec![
        bed.trial("install_chart::its_pods_pass_restricted_pod_security", its_pods_pass_restricted_pod_security),
        bed.trial("install_chart::the_operator_starts_with_its_arguments", the_operator_starts_with_its_arguments),
        bed.trial("install_chart::both_webhooks_are_registered_with_a_bundle", both_webhooks_are_registered_with_a_bundle),
        bed.trial_of_all("install_chart::its_rights_are_enough", its_rights_are_enough),
    ]
}

async fn its_pods_pass_restricted_pod_security(cluster: &Cluster) -> Result<()> {
    until("the Deployment's Pods", SOON, async || {
        let arguments =
            ["get", "deployment", chart::RELEASE, "--namespace", chart::NAMESPACE, "--output", "jsonpath={.status.readyReplicas}"];
        let ready = cluster.kubectl(&arguments).await?.accepted()?;
        Ok(if ready == "2" { Look::Done(()) } else { Look::NotYet(format!("{ready:?} of 2 are ready")) })
    })
    .await
}

/// Without the shorter lease of the other tests: exactly what the chart says.
async fn the_operator_starts_with_its_arguments(cluster: &Cluster) -> Result<()> {
    let mut operator = Operator::start(cluster, &[]).await?;
    operator.wait_ready().await?;
    let status = operator.sigterm().await?;
    ensure!(status.success(), "it ended with {status} after SIGTERM");
    let arguments = ["get", "lease", "node-rotation-controller.noderotation.io", "--namespace", chart::NAMESPACE];
    let arguments = [&arguments[..], &["--output", "jsonpath={.spec.holderIdentity}"]].concat();
    let holder = cluster.kubectl(&arguments).await?.accepted()?;
    ensure!(holder.is_empty(), "it has ended, and the lease is still held by {holder}");
    Ok(())
}

async fn both_webhooks_are_registered_with_a_bundle(cluster: &Cluster) -> Result<()> {
    let operator = operator(cluster).await?;
    for kind in ["mutatingwebhookconfiguration", "validatingwebhookconfiguration"] {
        let configuration = cluster.kubectl(&["get", kind, chart::RELEASE, "--output", "json"]).await?.accepted()?;
        let configuration: Value = serde_json::from_str(&configuration).context("reading the configuration")?;
        let client = configuration.pointer("/webhooks/0/clientConfig").with_context(|| format!("{kind} has no entry"))?;
        let text = |path: &str| client.pointer(path).and_then(Value::as_str).unwrap_or_default();
        ensure!(text("/service/name") == chart::WEBHOOK_SERVICE && text("/service/namespace") == chart::NAMESPACE, "{kind}: {client}");
        ensure!(!text("/caBundle").is_empty(), "{kind} has no bundle");
    }
    operator.sigterm().await?;
    Ok(())
}

/// Looks at every request of every operator so far.
async fn its_rights_are_enough(clusters: &[Cluster], _: bool) -> Result<()> {
    for cluster in clusters {
        operator(cluster).await?.sigterm().await?;
        were_enough(cluster).await?;
    }
    Ok(())
}

async fn were_enough(cluster: &Cluster) -> Result<()> {
    let account = operator_account(cluster).await?;
    // All the operator has asked, who has taken something away from it, and whether others were denied their rights as well.
    let telling =
        |request: &Request| request.user == account || matches!(request.verb.as_str(), "delete" | "create") || request.code == 403;
    let all = audit::read(&audit::path(cluster), telling)?;
    ensure!(all.iter().any(|request| request.user == account), "the operator has asked for nothing");
    let denied: BTreeSet<String> = denied(&all, &account).into_iter().map(|request| format!("{} {}", request.verb, request.uri)).collect();
    ensure!(denied.is_empty(), "these requests were denied: {denied:?}");
    Ok(())
}
