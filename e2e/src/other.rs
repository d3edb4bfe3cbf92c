//! Another mutating webhook of the cluster: it puts a label on every policy, after ours has filled it in.

use std::net::Ipv4Addr;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use k8s_openapi::ByteString;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use crate::cluster::Cluster;
use crate::pki::Files;

/// Name of its configuration; webhooks are asked in the order of these names.
const NAME: &str = "zz-other";

/// The webhook. It ends when dropped; its configuration has to be withdrawn before.
pub struct Other {
    server: JoinHandle<()>,
}

impl Other {
    /// Serves, and has the API server ask.
    ///
    /// # Errors
    /// When the cluster refuses.
    pub async fn register(cluster: &Cluster) -> Result<Self> {
        let keys = &cluster.site().keys;
        let tls = TlsAcceptor::from(Arc::new(tls(&Files::named(keys, "server"))?));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("binding a port for the other webhook")?;
        let port = listener.local_addr().context("asking for the other webhook's port")?.port();
        let other = Self { server: tokio::spawn(serve(listener, tls)) };
        let authority = Files::named(keys, "ca").certificate;
        let authority = std::fs::read(&authority).with_context(|| format!("reading {}", authority.display()))?;
        let configuration = json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": NAME},
            "webhooks": [{
                "name": "other.e2e.noderotation.io",
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "failurePolicy": "Fail",
                "clientConfig": {"url": format!("https://127.0.0.1:{port}/"), "caBundle": ByteString(authority)},
                "rules": [{
                    "apiGroups": ["noderotation.io"],
                    "apiVersions": ["v1alpha1"],
                    "operations": ["CREATE"],
                    "resources": ["rotationpolicies"],
                }],
            }],
        });
        cluster.apply(&configuration.to_string()).await?.accepted()?;
        Ok(other)
    }

    /// Nobody is to ask it any more.
    ///
    /// # Errors
    /// When the cluster refuses.
    pub async fn withdraw(self, cluster: &Cluster) -> Result<()> {
        cluster.kubectl(&["delete", "mutatingwebhookconfiguration", NAME]).await?.accepted()?;
        Ok(())
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// With the certificate of the API server, which is for this machine.
fn tls(files: &Files) -> Result<ServerConfig> {
    let reading = || format!("reading {}", files.certificate.display());
    let chain = CertificateDer::pem_file_iter(&files.certificate).with_context(reading)?.collect::<Result<_, _>>().with_context(reading)?;
    let key = PrivateKeyDer::from_pem_file(&files.key).with_context(|| format!("reading {}", files.key.display()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().context("setting TLS up")?;
    builder.with_no_client_auth().with_single_cert(chain, key).context("setting TLS up")
}

async fn serve(listener: TcpListener, tls: TlsAcceptor) {
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let tls = tls.clone();
        tokio::spawn(async move {
            let Ok(stream) = tls.accept(stream).await else { return };
            // How a connection ends is for the API server to tell.
            drop(http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer)).await);
        });
    }
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>> {
    let body = request.into_body().collect().await.context("reading a review")?.to_bytes();
    let review: Value = serde_json::from_slice(&body).context("reading a review")?;
    Ok(Response::new(Full::new(Bytes::from(labelled(&review).to_string()))))
}

fn labelled(review: &Value) -> Value {
    let at = |pointer: &str| review.pointer(pointer).cloned().unwrap_or(Value::Null);
    let label = json!([{"op": "add", "path": "/metadata/labels", "value": {"e2e.noderotation.io/late": "yes"}}]);
    let patch = at("/request/object/metadata/labels").is_null().then(|| ByteString(label.to_string().into_bytes()));
    let mut response = json!({"uid": at("/request/uid"), "allowed": true});
    if let (Some(patch), Some(response)) = (patch, response.as_object_mut()) {
        response.insert("patchType".to_owned(), json!("JSONPatch"));
        response.insert("patch".to_owned(), json!(patch));
    }
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_labelled_once() {
        let review = |metadata: Value| labelled(&json!({"request": {"uid": "u", "object": {"metadata": metadata}}}));
        let first = review(json!({"name": "a"}));
        assert_eq!((&first["response"]["uid"], &first["response"]["patchType"]), (&json!("u"), &json!("JSONPatch")));
        assert_eq!(review(json!({"name": "a", "labels": {"x": "y"}}))["response"].get("patch"), None);
    }
}
