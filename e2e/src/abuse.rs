//! What callers can do to an HTTPS endpoint, other than ask it something.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Path of the mutating endpoint.
const PATH: &str = "/mutate-noderotation-io-v1alpha1-rotationpolicy";
/// Between two bytes of a slow caller.
const PAUSE: Duration = Duration::from_secs(1);
/// Between two calls of one that was sent away.
const REST: Duration = Duration::from_secs(10);

/// How a caller misbehaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Connects and says nothing.
    Silent,
    /// Shakes hands byte by byte.
    SlowHandshake,
    /// Shakes hands and asks nothing.
    Idle,
    /// Sends a head byte by byte.
    SlowHead,
    /// Announces a small body and sends it byte by byte.
    SlowBody,
    /// Sends what is no TLS.
    Garbage,
    /// Speaks HTTP/2 without having agreed on it.
    Preface,
    /// Announces a body of 100 MiB and sends it.
    Huge,
    /// Sends one of 100 MiB in chunks, without announcing it.
    HugeInChunks,
    /// Sends lists in lists, ten thousand deep.
    Deep,
    /// Sends three MiB of tiny objects.
    Many,
    /// Sends a review with every name twice.
    Twice,
    /// Sends what is no text.
    NoText,
}

/// All kinds, and how many callers of each there are.
pub const CALLERS: [(Kind, usize); 13] = [
    (Kind::Silent, 5000),
    (Kind::SlowHandshake, 100),
    (Kind::Idle, 100),
    (Kind::SlowHead, 100),
    (Kind::SlowBody, 100),
    (Kind::Garbage, 10),
    (Kind::Preface, 10),
    (Kind::Huge, 4),
    (Kind::HugeInChunks, 4),
    (Kind::Deep, 10),
    (Kind::Many, 10),
    (Kind::Twice, 10),
    (Kind::NoText, 10),
];

/// Whom the callers call.
#[derive(Clone)]
pub struct Target {
    address: SocketAddr,
    name: ServerName<'static>,
    tls: TlsConnector,
}

impl Target {
    /// An endpoint with that name, and a certificate from that bundle.
    ///
    /// # Errors
    /// When the bundle holds no certificate, or the name is none.
    pub fn new(address: SocketAddr, name: &str, bundle: &[u8]) -> Result<Self> {
        let mut roots = RootCertStore::empty();
        for root in CertificateDer::pem_slice_iter(bundle) {
            roots.add(root.context("reading the bundle")?).context("reading the bundle")?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().context("setting TLS up")?;
        let config = builder.with_root_certificates(roots).with_no_client_auth();
        Ok(Self { address, name: ServerName::try_from(name.to_owned())?, tls: TlsConnector::from(Arc::new(config)) })
    }

    async fn shake_hands(&self) -> Result<TlsStream<TcpStream>> {
        Ok(self.tls.connect(self.name.clone(), TcpStream::connect(self.address).await?).await?)
    }

    /// One call; it ends when the endpoint ends it, whatever that has answered.
    async fn call(&self, kind: Kind) -> Result<()> {
        match kind {
            Kind::Silent => until_closed(TcpStream::connect(self.address).await?).await,
            Kind::SlowHandshake => slowly(TcpStream::connect(self.address).await?, &[22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]).await,
            Kind::Garbage => {
                let mut stream = TcpStream::connect(self.address).await?;
                stream.write_all(&[0xff; 4096]).await?;
                until_closed(stream).await
            }
            Kind::Idle => until_closed(self.shake_hands().await?).await,
            Kind::SlowHead => slowly(self.shake_hands().await?, b"POST / HTTP/1.1\r\nHost: webhook\r\nX: ").await,
            Kind::SlowBody => {
                let mut stream = self.shake_hands().await?;
                stream.write_all(head("Content-Length: 4096").as_bytes()).await?;
                slowly(stream, b"{\"apiVersion\":").await
            }
            Kind::Preface => self.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0", &[], 0).await,
            Kind::Huge => self.send(head("Content-Length: 104857600").as_bytes(), &[b' '; 1 << 16], 1600).await,
            Kind::HugeInChunks => {
                let chunk = [&b"10000\r\n"[..], &[b' '; 1 << 16], b"\r\n"].concat();
                self.send(head("Transfer-Encoding: chunked").as_bytes(), &chunk, 1600).await
            }
            Kind::Deep => self.post(&"[".repeat(10_000).into_bytes()).await,
            Kind::Many => self.post(format!("[{}0]", "{\"\":0},".repeat(440_000)).as_bytes()).await,
            Kind::Twice => {
                let request = r#"{"uid":"a","uid":"b","operation":"CREATE","operation":"DELETE","object":{"spec":1,"spec":2}}"#;
                let review = format!(r#"{{"apiVersion":"admission.k8s.io/v1","request":{request},"request":{request}}}"#);
                self.post(review.as_bytes()).await
            }
            Kind::NoText => self.post(b"{\"apiVersion\":\"\xff\xfe\"}").await,
        }
    }

    async fn post(&self, body: &[u8]) -> Result<()> {
        self.send(head(&format!("Content-Length: {}", body.len())).as_bytes(), body, 1).await
    }

    /// A head, and so many times the same piece of a body.
    async fn send(&self, head: &[u8], piece: &[u8], times: usize) -> Result<()> {
        let mut stream = self.shake_hands().await?;
        stream.write_all(head).await?;
        for _ in 0..times {
            stream.write_all(piece).await?;
        }
        until_closed(stream).await
    }
}

fn head(length: &str) -> String {
    format!("POST {PATH} HTTP/1.1\r\nHost: webhook\r\nConnection: close\r\nContent-Type: application/json\r\n{length}\r\n\r\n")
}

async fn until_closed(mut stream: impl AsyncRead + Unpin) -> Result<()> {
    stream.read_to_end(&mut Vec::new()).await?;
    Ok(())
}

async fn slowly(stream: impl AsyncRead + AsyncWrite + Unpin, bytes: &[u8]) -> Result<()> {
    let (mut reader, mut writer) = tokio::io::split(stream);
    let writing = async {
        for byte in bytes.iter().cycle() {
            writer.write_all(&[*byte]).await?;
            tokio::time::sleep(PAUSE).await;
        }
        Ok(())
    };
    let mut answer = Vec::new();
    tokio::select! {
        read = reader.read_to_end(&mut answer) => read.map(drop).map_err(Into::into),
        written = writing => written,
    }
}

/// Callers of every kind. They end when dropped.
pub struct Crowd {
    _callers: JoinSet<()>,
}

impl Crowd {
    /// All of them call, again and again.
    #[must_use]
    pub fn gather(target: &Target) -> Self {
        let mut callers = JoinSet::new();
        for (kind, count) in CALLERS {
            for _ in 0..count {
                let target = target.clone();
                callers.spawn(async move {
                    loop {
                        // Being cut off is what such a call comes to.
                        drop(target.call(kind).await);
                        tokio::time::sleep(REST).await;
                    }
                });
            }
        }
        Self { _callers: callers }
    }
}
