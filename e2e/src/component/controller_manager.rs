//! kube-controller-manager: ServiceAccounts, Deployments, evictions, garbage collection.

use anyhow::Result;

use super::Site;
use crate::pki::{CONTROLLER_MANAGER, Files};
use crate::process::Launch;

/// What to start.
///
/// # Errors
/// When no recipe builds it.
pub fn launch(site: &Site) -> Result<Launch> {
    let (authority, server) = (Files::named(&site.keys, "ca"), Files::named(&site.keys, "server"));
    site.launch(
        "kube-controller-manager",
        [
            format!("--kubeconfig={}", site.kubeconfig(CONTROLLER_MANAGER.user).display()),
            "--leader-elect=false".to_owned(),
            "--use-service-account-credentials".to_owned(),
            // Nodes get no addresses for Pods: nothing runs on them.
            "--controllers=*,-node-ipam-controller".to_owned(),
            format!("--service-account-private-key-file={}", site.keys.join("accounts.key").display()),
            format!("--root-ca-file={}", authority.certificate.display()),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--secure-port={}", site.ports.controller_manager),
            format!("--tls-cert-file={}", server.certificate.display()),
            format!("--tls-private-key-file={}", server.key.display()),
        ],
    )
}
