//! Asks an endpoint for an answer, the way the API server does.
//!
//! The entries are registered only once an answer has come back through the Service: before that they would block every
//! policy.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use noderotation_cert::bundle::Bundle;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::registration::VALIDATE;

/// Why there was no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No connection.
    #[error("{0} does not accept connections")]
    Connect(SocketAddr, #[source] std::io::Error),
    /// The roots or the name cannot be used.
    #[error("TLS cannot be set up")]
    Tls(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The handshake or the exchange failed.
    #[error("{0} does not answer")]
    Exchange(SocketAddr, #[source] Box<dyn std::error::Error + Send + Sync>),
    /// Nothing came in time, as where a network policy is in the way.
    #[error("{0} does not answer within 5 s; is a network policy in the way?")]
    Silent(SocketAddr),
    /// It answers, but not as an admission endpoint.
    #[error("{0} answers with something that is no AdmissionReview")]
    Answer(SocketAddr),
}

/// As long as the API server would wait.
const PATIENCE: Duration = Duration::from_secs(5);

/// Connects to `address` as `server_name`, trusting `bundle`, and has one review answered.
///
/// # Errors
/// Why there was no answer.
pub async fn probe(address: SocketAddr, server_name: &str, bundle: &Bundle) -> Result<(), Error> {
    tokio::time::timeout(PATIENCE, ask(address, server_name, bundle)).await.unwrap_or(Err(Error::Silent(address)))
}

async fn ask(address: SocketAddr, server_name: &str, bundle: &Bundle) -> Result<(), Error> {
    let tls = |error: Box<dyn std::error::Error + Send + Sync>| Error::Tls(error);
    let mut roots = RootCertStore::empty();
    for root in bundle.certificates().map_err(|e| tls(e.into()))? {
        roots.add(root).map_err(|e| tls(e.into()))?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().map_err(|e| tls(e.into()))?;
    let config = builder.with_root_certificates(roots).with_no_client_auth();
    let name = ServerName::try_from(server_name.to_owned()).map_err(|e| tls(e.into()))?;
    let stream = TcpStream::connect(address).await.map_err(|error| Error::Connect(address, error))?;
    let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.map_err(|e| Error::Exchange(address, e.into()))?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(|e| Error::Exchange(address, e.into()))?;
    let exchange = async {
        let answer = sender.send_request(question(server_name)?).await?;
        let body = answer.into_body().collect().await?.to_bytes();
        drop(sender);
        Ok::<Bytes, Box<dyn std::error::Error + Send + Sync>>(body)
    };
    // The connection ends with the sender.
    let (body, _ended) = tokio::join!(exchange, connection);
    let body = body.map_err(|error| Error::Exchange(address, error))?;
    let answer: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    if answer.pointer("/response/uid").and_then(Value::as_str) == Some(UID) { Ok(()) } else { Err(Error::Answer(address)) }
}

const UID: &str = "probe";

/// A review of a deletion, which is always allowed and judged by nobody.
fn question(host: &str) -> hyper::http::Result<Request<Full<Bytes>>> {
    let review = json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": { "uid": UID, "operation": "DELETE", "kind": { "kind": "RotationPolicy" } },
    });
    let request = Request::builder().method(Method::POST).uri(VALIDATE).header(HOST, host).header(CONTENT_TYPE, "application/json");
    request.body(Full::new(Bytes::from(review.to_string())))
}
