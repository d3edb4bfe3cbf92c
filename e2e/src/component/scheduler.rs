//! kube-scheduler: binds Pods, also placeholders.

use anyhow::Result;

use super::Site;
use crate::pki::{Files, SCHEDULER};
use crate::process::Launch;

/// What to start.
///
/// # Errors
/// When no recipe builds it.
pub fn launch(site: &Site) -> Result<Launch> {
    let server = Files::named(&site.keys, "server");
    let kubeconfig = site.kubeconfig(SCHEDULER.user);
    site.launch(
        "kube-scheduler",
        [
            format!("--kubeconfig={}", kubeconfig.display()),
            format!("--authentication-kubeconfig={}", kubeconfig.display()),
            format!("--authorization-kubeconfig={}", kubeconfig.display()),
            "--leader-elect=false".to_owned(),
            // A Pod that preempts a placeholder twice, the second time too late, is not looked at again before something else
            // happens or this time is up (five minutes by default); in this quiet cluster nothing else happens.
            "--pod-max-in-unschedulable-pods-duration=15s".to_owned(),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--secure-port={}", site.ports.scheduler),
            format!("--tls-cert-file={}", server.certificate.display()),
            format!("--tls-private-key-file={}", server.key.display()),
        ],
    )
}
