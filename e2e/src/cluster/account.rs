//! ServiceAccounts, as who holds one of their tokens is seen by the API server.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, anyhow};
use k8s_openapi::api::authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::{Api, PostParams};

use crate::component::Site;
use crate::kubeconfig::{self, Caller};
use crate::pki::Files;

/// A token of a ServiceAccount is valid for this long: longer than any run.
const TOKEN_LIFETIME_SECONDS: i64 = 24 * 60 * 60;

/// Writes a kubeconfig with a fresh token of a ServiceAccount, and so with exactly its rights.
///
/// # Errors
/// When there is no such ServiceAccount.
pub(crate) async fn kubeconfig(client: &kube::Client, site: &Site, namespace: &str, name: &str) -> Result<PathBuf> {
    let token = token(client, namespace, name).await?;
    let path = site.keys.join(format!("{namespace}-{name}.kubeconfig"));
    let authority = Files::named(&site.keys, "ca").certificate;
    let text = kubeconfig::text(site.ports.apiserver, &authority, &Caller::Token(&token));
    fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
    Ok(path)
}

/// Writes a kubeconfig that takes the token of a ServiceAccount from a file, and returns both paths.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn kubeconfig_with_file(site: &Site, name: &str) -> Result<(PathBuf, PathBuf)> {
    let [path, token] = ["kubeconfig", "token"].map(|ending| site.keys.join(format!("{name}.{ending}")));
    let authority = Files::named(&site.keys, "ca").certificate;
    let text = kubeconfig::text(site.ports.apiserver, &authority, &Caller::TokenFile(&token));
    fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
    Ok((path, token))
}

/// A fresh token of a ServiceAccount.
///
/// # Errors
/// When there is no such ServiceAccount.
pub(crate) async fn token(client: &kube::Client, namespace: &str, name: &str) -> Result<String> {
    bound_token(client, namespace, name, None).await
}

/// The same, valid no longer than the Secret that it is bound to is there.
///
/// # Errors
/// When there is no such ServiceAccount or no such Secret.
pub(crate) async fn bound_token(client: &kube::Client, namespace: &str, name: &str, secret: Option<&str>) -> Result<String> {
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), namespace);
    let bound_object_ref = secret.map(|secret| BoundObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("Secret".to_owned()),
        name: Some(secret.to_owned()),
        uid: None,
    });
    let spec = TokenRequestSpec { expiration_seconds: Some(TOKEN_LIFETIME_SECONDS), bound_object_ref, ..TokenRequestSpec::default() };
    let request = TokenRequest { spec, ..TokenRequest::default() };
    let answer = accounts.create_token_request(name, &PostParams::default(), &request).await;
    let status = answer.with_context(|| format!("requesting a token of ServiceAccount {namespace}/{name}"))?.status;
    Ok(status.ok_or_else(|| anyhow!("the request for a token of {namespace}/{name} was not answered"))?.token)
}
