//! Files that say how to reach the API server, and as whom.

use std::path::Path;

use serde_json::{Value, json};

use crate::pki::Files;

/// Who is calling.
#[derive(Debug)]
pub enum Caller<'a> {
    /// By a client certificate.
    Certificate(&'a Files),
    /// By the token of a ServiceAccount.
    Token(&'a str),
    /// By the token in a file, which may be another one later.
    TokenFile(&'a Path),
    /// Without saying who.
    Nobody,
}

/// The text of a kubeconfig. It is JSON, which every reader of YAML takes.
#[must_use]
pub fn text(port: u16, authority: &Path, caller: &Caller<'_>) -> String {
    let user: Value = match caller {
        Caller::Certificate(files) => json!({"client-certificate": files.certificate, "client-key": files.key}),
        Caller::Token(token) => json!({"token": token}),
        Caller::TokenFile(path) => json!({"tokenFile": path}),
        Caller::Nobody => json!({}),
    };
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "e2e",
        "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": "e2e"}}],
        "clusters": [{"name": "e2e", "cluster": {"server": format!("https://127.0.0.1:{port}"), "certificate-authority": authority}}],
        "users": [{"name": "e2e", "user": user}],
    });
    format!("{config:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::config::Kubeconfig;

    #[test]
    fn the_client_library_reads_both_kinds() {
        let files = Files::named(Path::new("/keys"), "admin");
        for (caller, token) in [(Caller::Certificate(&files), false), (Caller::Token("secret"), true)] {
            let config = Kubeconfig::from_yaml(&text(6443, Path::new("/keys/ca.crt"), &caller)).unwrap();
            let user = config.auth_infos[0].auth_info.as_ref().unwrap();
            assert_eq!(user.token.is_some(), token);
            assert_eq!(user.client_certificate.is_some(), !token);
            let cluster = config.clusters[0].cluster.as_ref().unwrap();
            assert_eq!(cluster.server.as_deref(), Some("https://127.0.0.1:6443"));
        }
    }
}
