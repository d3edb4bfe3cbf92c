//! Kinds of other operators: the API server knows them by name, so that what speaks of them can be applied.

use anyhow::Result;
use serde_json::json;

use crate::cluster::Cluster;

/// Has the API server know the kinds of cert-manager that the chart uses, without any rule.
///
/// # Errors
/// When the cluster refuses.
pub async fn cert_manager(cluster: &Cluster) -> Result<()> {
    know(cluster, "cert-manager.io", &[("Issuer", "issuers"), ("Certificate", "certificates")]).await
}

/// The same for the Prometheus operator.
///
/// # Errors
/// When the cluster refuses.
pub async fn prometheus_operator(cluster: &Cluster) -> Result<()> {
    know(cluster, "monitoring.coreos.com", &[("ServiceMonitor", "servicemonitors"), ("PrometheusRule", "prometheusrules")]).await
}

async fn know(cluster: &Cluster, group: &str, kinds: &[(&str, &str)]) -> Result<()> {
    for (kind, plural) in kinds {
        let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.{group}")},
            "spec": {
                "group": group,
                "scope": "Namespaced",
                "names": {"kind": kind, "plural": plural, "singular": plural.trim_end_matches('s')},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}],
            },
        });
        cluster.apply(&definition.to_string()).await?.accepted()?;
        cluster.kubectl(&["wait", "--for=condition=Established", &format!("crd/{plural}.{group}"), "--timeout=60s"]).await?.accepted()?;
    }
    Ok(())
}
