//! The chart, installed as people install it.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::serde::Deserialize as _;
use kube::api::Api;
use serde_json::{Value, json};

use crate::cluster::{Cluster, Helm};
use crate::repository;
use crate::tool::Tool;

/// Name of the release, and so of most of its objects.
pub const RELEASE: &str = "node-rotation-controller";
/// Namespace of the release.
pub const NAMESPACE: &str = "node-rotation-system";
/// Service of the admission endpoint.
pub const WEBHOOK_SERVICE: &str = "node-rotation-controller-webhook";

/// The chart's folder.
#[must_use]
pub fn folder() -> PathBuf {
    repository::path("charts").join(RELEASE)
}

/// The objects of rendered manifests; a document of comments alone is none.
///
/// # Errors
/// When one is not YAML.
pub fn documents(rendered: &str) -> Result<Vec<Value>> {
    let read =
        serde_yaml_ng::Deserializer::from_str(rendered).map(|document| Value::deserialize(document).context("reading the manifests"));
    Ok(read.collect::<Result<Vec<_>>>()?.into_iter().filter(Value::is_object).collect())
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

/// Runs a command of this Helm that takes the chart, with these values, and returns what it prints.
///
/// # Errors
/// When helm or the cluster refuses.
pub async fn run(cluster: &Cluster, helm: Helm, command: &str, values: &Value, flags: &[&str]) -> Result<String> {
    let path = cluster.site().data.join("chart-values.yaml");
    std::fs::write(&path, values.to_string()).with_context(|| format!("writing {}", path.display()))?;
    let (folder, path) = (folder().to_string_lossy().into_owned(), path.to_string_lossy().into_owned());
    let arguments = [&[command, RELEASE, &folder, "--namespace", NAMESPACE, "--values", &path], flags].concat();
    cluster.helm_of(helm, &arguments).await?.accepted()
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

/// The chart as it is rendered for these values, which takes no cluster.
///
/// # Errors
/// When helm refuses.
pub async fn template(helm: &Tool, values: &[&str]) -> Result<String> {
    let folder = folder();
    let folder = folder.to_string_lossy();
    let mut arguments = vec!["template", RELEASE, &folder, "--namespace", NAMESPACE];
    values.iter().for_each(|value| arguments.extend(["--set", value]));
    helm.run(&arguments, "").await?.accepted()
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
