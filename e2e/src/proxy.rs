//! A way between an operator and the API server with something of ours in it.

use std::error::Error;
use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::{Bytes, Incoming};
use hyper::header::HOST;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::chart;
use crate::cluster::Cluster;
use crate::kubeconfig::{self, Caller};
use crate::pki::Files;

/// The body of an answer.
pub type Body = UnsyncBoxBody<Bytes, Box<dyn Error + Send + Sync>>;

/// The way. It ends when dropped.
#[derive(Debug)]
pub struct Proxy {
    kubeconfig: PathBuf,
    server: JoinHandle<()>,
}

/// The API server behind it.
#[derive(Clone)]
pub struct Upstream(kube::Client);

impl Proxy {
    /// Opens a way for operators with the rights of the chart's ServiceAccount. `pass` answers each request, read whole; where
    /// it fails, the connection is closed without an answer. `name` is part of the names of files.
    ///
    /// # Errors
    /// When there is no port, or the chart is not installed.
    pub async fn open<F>(
        cluster: &Cluster,
        name: &str,
        pass: impl Fn(Upstream, Request<Bytes>) -> F + Clone + Send + 'static,
    ) -> Result<Self>
    where
        F: Future<Output = Result<Response<Body>>> + Send + 'static,
    {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.with_context(|| format!("binding a port for the {name}"))?;
        let port = listener.local_addr().with_context(|| format!("reading the port of the {name}"))?.port();
        let account = chart::service_account(cluster).await?;
        let direct = cluster.service_account_kubeconfig(chart::NAMESPACE, &account).await?;
        let kubeconfig = through(&direct, name, port)?;
        // The operator's own token goes through, so nothing of ours may identify it.
        let nobody = direct.with_extension("nobody.kubeconfig");
        let site = cluster.site();
        let authority = Files::named(&site.keys, "ca").certificate;
        fs::write(&nobody, kubeconfig::text(site.ports.apiserver, &authority, &Caller::Nobody)).context("writing nobody's kubeconfig")?;
        let upstream = Upstream(Cluster::client_from(&nobody).await?);
        Ok(Self { kubeconfig, server: tokio::spawn(serve(listener, upstream, pass)) })
    }

    /// The argument that leads an operator this way.
    #[must_use]
    pub fn argument(&self) -> String {
        format!("--kubeconfig={}", self.kubeconfig.display())
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Upstream {
    /// Passes a request on.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn send(&self, request: Request<Bytes>) -> Result<Response<Body>> {
        let (mut parts, body) = request.into_parts();
        parts.headers.remove(HOST);
        let answer = self.0.send(Request::from_parts(parts, kube::client::Body::from(body.to_vec()))).await;
        Ok(answer.context("passing a request on")?.map(|body| body.map_err(Into::into).boxed_unsync()))
    }
}

/// Whether it asks for a watch.
#[must_use]
pub fn is_watch<B>(request: &Request<B>) -> bool {
    request.uri().query().is_some_and(|query| query.split('&').any(|part| part == "watch=true"))
}

/// A kubeconfig that leads to a port of ours.
fn through(direct: &Path, name: &str, port: u16) -> Result<PathBuf> {
    let text = fs::read_to_string(direct).with_context(|| format!("reading {}", direct.display()))?;
    let mut config: Value = serde_json::from_str(&text).context("a kubeconfig of this program is JSON")?;
    let Some(cluster) = config.pointer_mut("/clusters/0/cluster") else { bail!("{} names no cluster", direct.display()) };
    *cluster = json!({"server": format!("http://127.0.0.1:{port}")});
    let path = direct.with_extension(format!("{name}.kubeconfig"));
    fs::write(&path, format!("{config:#}\n")).with_context(|| format!("writing {}", path.display()))?;
    Ok(path)
}

async fn serve<F>(listener: TcpListener, upstream: Upstream, pass: impl Fn(Upstream, Request<Bytes>) -> F + Clone + Send + 'static)
where
    F: Future<Output = Result<Response<Body>>> + Send + 'static,
{
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let (upstream, pass) = (upstream.clone(), pass.clone());
        tokio::spawn(async move {
            let service = service_fn(move |request: Request<Incoming>| {
                let (upstream, pass) = (upstream.clone(), pass.clone());
                async move {
                    let (parts, body) = request.into_parts();
                    let body = body.collect().await.context("reading a request")?.to_bytes();
                    pass(upstream, Request::from_parts(parts, body)).await
                }
            });
            // A client that hangs up is no concern of ours.
            drop(http1::Builder::new().serve_connection(TokioIo::new(stream), service).await);
        });
    }
}
