//! kube-apiserver: admission, RBAC and storage, as in every cluster.

use std::fs;

use anyhow::{Context as _, Result};

use super::Site;
use crate::pki::Files;
use crate::process::Launch;

/// Who did what to which object, without the objects: enough to see which rights the operator uses. Of a policy's status also
/// what was written, since its conditions say more than can be asked for afterwards.
const AUDIT_POLICY: &str = r#"{
  "apiVersion": "audit.k8s.io/v1",
  "kind": "Policy",
  "omitStages": ["RequestReceived"],
  "rules": [
    {"level": "Request", "verbs": ["patch"], "resources": [{"group": "noderotation.io", "resources": ["rotationpolicies/status"]}]},
    {"level": "Metadata"}
  ]
}
"#;

/// What to start.
///
/// # Errors
/// When no recipe builds it, or the audit policy cannot be written.
pub fn launch(site: &Site) -> Result<Launch> {
    let policy = site.data.join("audit-policy.json");
    fs::write(&policy, AUDIT_POLICY).with_context(|| format!("writing {}", policy.display()))?;
    let (authority, server) = (Files::named(&site.keys, "ca"), Files::named(&site.keys, "server"));
    site.launch(
        "kube-apiserver",
        [
            format!("--etcd-servers=http://127.0.0.1:{}", site.ports.etcd),
            format!("--secure-port={}", site.ports.apiserver),
            "--bind-address=127.0.0.1".to_owned(),
            // There may be no default route to derive it from, and nothing asks for it.
            "--advertise-address=127.0.0.1".to_owned(),
            "--endpoint-reconciler-type=none".to_owned(),
            format!("--cert-dir={}", site.data.display()),
            format!("--tls-cert-file={}", server.certificate.display()),
            format!("--tls-private-key-file={}", server.key.display()),
            format!("--client-ca-file={}", authority.certificate.display()),
            "--authorization-mode=RBAC,Node".to_owned(),
            format!("--service-account-key-file={}", site.keys.join("accounts.pub").display()),
            format!("--service-account-signing-key-file={}", site.keys.join("accounts.key").display()),
            "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
            format!("--service-cluster-ip-range={}", site.services),
            // Longer than any run of the tests, which ask at their end what was told.
            "--event-ttl=24h".to_owned(),
            format!("--audit-policy-file={}", policy.display()),
            format!("--audit-log-path={}", site.logs.join("audit.log").display()),
            // One file for the whole run; by default another is begun after 100 MB.
            "--audit-log-maxsize=0".to_owned(),
        ],
    )
}
