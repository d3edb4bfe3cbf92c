//! The chart, installed as people install it.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use kube::api::Api;
use serde_json::json;

use crate::cluster::Cluster;

/// Name of the release, and so of most of its objects.
pub const RELEASE: &str = "node-rotation-controller";
/// Namespace of the release.
pub const NAMESPACE: &str = "node-rotation-system";
/// Service of the admission endpoint.
pub const WEBHOOK_SERVICE: &str = "node-rotation-controller-webhook";

/// The chart's folder.
#[must_use]
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("charts").join(RELEASE)
}

/// Installs the chart into a namespace that admits only restricted Pods. `values` are `name=value` pairs.
///
/// # Errors
/// When helm or the cluster refuses.
pub async fn install(cluster: &Cluster, values: &[&str]) -> Result<()> {
    install_from(cluster, &folder(), values).await
}

/// The same with the chart in another folder.
///
/// # Errors
/// When helm or the cluster refuses.
pub async fn install_from(cluster: &Cluster, chart: &Path, values: &[&str]) -> Result<()> {
    let namespace = json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": NAMESPACE, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}},
    });
    cluster.apply(&namespace.to_string()).await?.accepted()?;
    helm(cluster, &["install"], chart, values).await
}

/// Upgrades the release to these values and the chart's own for all others.
///
/// # Errors
/// When helm or the cluster refuses.
pub async fn upgrade(cluster: &Cluster, values: &[&str]) -> Result<()> {
    helm(cluster, &["upgrade", "--reset-values"], &folder(), values).await
}

/// Goes back to an earlier revision of the release.
///
/// # Errors
/// When helm or the cluster refuses.
pub async fn rollback(cluster: &Cluster, revision: u32) -> Result<()> {
    let revision = revision.to_string();
    cluster.helm(&["rollback", RELEASE, &revision, "--namespace", NAMESPACE]).await?.accepted()?;
    Ok(())
}

/// Removes the release, if it is there, and waits until its objects are gone.
///
/// # Errors
/// When helm or the cluster refuses.
pub async fn uninstall(cluster: &Cluster) -> Result<()> {
    cluster.helm(&["uninstall", RELEASE, "--namespace", NAMESPACE, "--ignore-not-found", "--wait"]).await?.accepted()?;
    Ok(())
}

async fn helm(cluster: &Cluster, command: &[&str], chart: &Path, values: &[&str]) -> Result<()> {
    let chart = chart.to_string_lossy();
    let mut arguments = [command, &[RELEASE, &chart, "--namespace", NAMESPACE]].concat();
    for value in values {
        arguments.extend(["--set", value]);
    }
    cluster.helm(&arguments).await?.accepted()?;
    Ok(())
}

/// The arguments that the chart's Deployment gives the operator.
///
/// # Errors
/// When the chart is not installed.
pub async fn operator_arguments(cluster: &Cluster) -> Result<Vec<String>> {
    let deployments: Api<Deployment> = Api::namespaced(cluster.client(), NAMESPACE);
    let deployment = deployments.get(RELEASE).await.with_context(|| format!("getting Deployment {NAMESPACE}/{RELEASE}"))?;
    let pod = deployment.spec.and_then(|spec| spec.template.spec);
    let arguments = pod.and_then(|pod| pod.containers.into_iter().next()).and_then(|container| container.args);
    arguments.ok_or_else(|| anyhow!("Deployment {NAMESPACE}/{RELEASE} gives its container no arguments"))
}

/// The ServiceAccount of the operator's Pods.
///
/// # Errors
/// When the chart is not installed.
pub async fn service_account(cluster: &Cluster) -> Result<String> {
    let deployments: Api<Deployment> = Api::namespaced(cluster.client(), NAMESPACE);
    let deployment = deployments.get(RELEASE).await.with_context(|| format!("getting Deployment {NAMESPACE}/{RELEASE}"))?;
    let pod = deployment.spec.and_then(|spec| spec.template.spec);
    pod.and_then(|pod| pod.service_account_name).ok_or_else(|| anyhow!("Deployment {NAMESPACE}/{RELEASE} names no ServiceAccount"))
}

/// Address and port of the admission endpoint's Service.
///
/// # Errors
/// When the chart is not installed.
pub async fn webhook_address(cluster: &Cluster) -> Result<String> {
    let services: Api<Service> = Api::namespaced(cluster.client(), NAMESPACE);
    let service = services.get(WEBHOOK_SERVICE).await.with_context(|| format!("getting Service {NAMESPACE}/{WEBHOOK_SERVICE}"))?;
    let spec = service.spec.ok_or_else(|| anyhow!("Service {WEBHOOK_SERVICE} has no spec"))?;
    let address = spec.cluster_ip.ok_or_else(|| anyhow!("Service {WEBHOOK_SERVICE} has no address"))?;
    let port = spec.ports.and_then(|ports| ports.into_iter().next()).ok_or_else(|| anyhow!("Service {WEBHOOK_SERVICE} has no port"))?.port;
    Ok(format!("{address}:{port}"))
}
