//! kwok: stands in for the kubelets. It marks Nodes Ready and Pods Running, and lets deleted Pods go.

use anyhow::Result;

use super::Site;
use crate::pki::ADMIN;
use crate::process::Launch;

/// What to start. The Stage objects must be in the cluster before.
///
/// # Errors
/// When no recipe builds it.
pub fn launch(site: &Site) -> Result<Launch> {
    site.launch(
        "kwok",
        [
            format!("--kubeconfig={}", site.kubeconfig(ADMIN.user).display()),
            "--manage-all-nodes=false".to_owned(),
            // Karpenter's provider marks the Nodes that it makes in this way.
            "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake".to_owned(),
            "--enable-crds=Stage".to_owned(),
            "--node-lease-duration-seconds=40".to_owned(),
            format!("--server-address=127.0.0.1:{}", site.ports.kwok),
        ],
    )
}
