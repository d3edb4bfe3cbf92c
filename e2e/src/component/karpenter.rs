//! Karpenter, with the provider whose machines are only Node objects.

use anyhow::Result;

use super::Site;
use crate::pki::ADMIN;
use crate::process::Launch;

/// The KWOKNodeClass that NodePools refer to. It has no field that matters.
pub const NODE_CLASS: &str = r"{apiVersion: karpenter.kwok.sh/v1alpha1, kind: KWOKNodeClass, metadata: {name: default}}";

/// What to start. The CRDs must be in the cluster before. It takes no flags, only its environment.
///
/// # Errors
/// When no recipe builds it.
pub fn launch(site: &Site) -> Result<Launch> {
    let mut launch = site.launch("karpenter", [])?;
    let text = |name: &str, value: &str| (name.to_owned(), value.into());
    launch.environment = vec![
        ("KUBECONFIG".to_owned(), site.kubeconfig(ADMIN.user).into()),
        text("SYSTEM_NAMESPACE", "kube-system"),
        text("DISABLE_LEADER_ELECTION", "true"),
        text("KARPENTER_SERVICE", "karpenter"),
        // NodePools with `spec.replicas`; without it they get no nodes.
        text("FEATURE_GATES", "StaticCapacity=true"),
        text("KUBERNETES_MIN_VERSION", "1.19.0-0"),
        text("METRICS_PORT", &site.ports.karpenter_metrics.to_string()),
        text("HEALTH_PROBE_PORT", &site.ports.karpenter_probe.to_string()),
    ];
    Ok(launch)
}
