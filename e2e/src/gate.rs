//! A door between an operator and the API server: it lists what the operator writes, and can shut after a write.
//!
//! When it shuts, the API server has carried the write out, and the operator does not learn of it or of anything after it:
//! as if its machine were lost just then.

use std::fs;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result, bail};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use kube::client::Body;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::chart;
use crate::cluster::Cluster;
use crate::kubeconfig::{self, Caller};

/// Resources whose writes are the rotation's own.
const ROTATION: [&str; 4] = ["/nodepools/", "/nodeclaims/", "/nodes/", "/pods"];

/// A write of the rotation, and how it was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// `PATCH`, `POST` or `DELETE`.
    pub verb: String,
    /// Path of the request, without its query.
    pub path: String,
    /// HTTP status of the answer.
    pub status: u16,
}

/// The door.
#[derive(Debug)]
pub struct Gate {
    kubeconfig: PathBuf,
    state: Arc<State>,
    server: JoinHandle<()>,
}

#[derive(Debug)]
struct State {
    writes: Mutex<Vec<Write>>,
    /// Shuts with this write, the first being 1.
    last: Mutex<Option<usize>>,
    shut: watch::Sender<bool>,
}

impl Gate {
    /// Opens a door for operators with the rights of the chart's ServiceAccount.
    ///
    /// # Errors
    /// When there is no port, or the chart is not installed.
    pub async fn open(cluster: &Cluster) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("binding a port for the gate")?;
        let port = listener.local_addr().context("reading the gate's port")?.port();
        let account = chart::service_account(cluster).await?;
        let direct = cluster.service_account_kubeconfig(chart::NAMESPACE, &account).await?;
        let kubeconfig = through(&direct, port)?;
        // The operator's own token goes through, so nothing of the gate's own may identify it.
        let nobody = direct.with_extension("nobody.kubeconfig");
        let site = cluster.site();
        let authority = crate::pki::Files::named(&site.keys, "ca").certificate;
        fs::write(&nobody, kubeconfig::text(site.ports.apiserver, &authority, &Caller::Nobody)).context("writing the gate's kubeconfig")?;
        let client = Cluster::client_from(&nobody).await?;
        let state = Arc::new(State { writes: Mutex::default(), last: Mutex::default(), shut: watch::Sender::new(false) });
        let server = tokio::spawn(serve(listener, client, Arc::clone(&state)));
        Ok(Self { kubeconfig, state, server })
    }

    /// The argument that leads an operator through this door.
    #[must_use]
    pub fn argument(&self) -> String {
        format!("--kubeconfig={}", self.kubeconfig.display())
    }

    /// Opens it, forgets what was written, and shuts it again with the `last` write from now on, if there is one.
    pub fn reopen(&self, last: Option<usize>) {
        self.state.writes.lock().unwrap_or_else(PoisonError::into_inner).clear();
        *self.state.last.lock().unwrap_or_else(PoisonError::into_inner) = last;
        self.state.shut.send_replace(false);
    }

    /// What was written since it was opened.
    #[must_use]
    pub fn writes(&self) -> Vec<Write> {
        self.state.writes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// It has shut.
    #[must_use]
    pub fn is_shut(&self) -> bool {
        *self.state.shut.borrow()
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// A kubeconfig that leads through the door.
fn through(direct: &PathBuf, port: u16) -> Result<PathBuf> {
    let text = fs::read_to_string(direct).with_context(|| format!("reading {}", direct.display()))?;
    let mut config: Value = serde_json::from_str(&text).context("a kubeconfig of this program is JSON")?;
    let Some(cluster) = config.pointer_mut("/clusters/0/cluster") else { bail!("{} names no cluster", direct.display()) };
    *cluster = serde_json::json!({"server": format!("http://127.0.0.1:{port}")});
    let path = direct.with_extension("gate.kubeconfig");
    fs::write(&path, format!("{config:#}\n")).with_context(|| format!("writing {}", path.display()))?;
    Ok(path)
}

async fn serve(listener: TcpListener, client: kube::Client, state: Arc<State>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let (client, state) = (client.clone(), Arc::clone(&state));
        tokio::spawn(async move {
            let service = service_fn(move |request| pass(client.clone(), Arc::clone(&state), request));
            // A client that hangs up is no concern of ours.
            drop(http1::Builder::new().serve_connection(TokioIo::new(stream), service).await);
        });
    }
}

async fn pass(client: kube::Client, state: Arc<State>, request: Request<Incoming>) -> Result<Response<Body>> {
    if *state.shut.borrow() {
        return std::future::pending().await;
    }
    let (verb, path) = (request.method().clone(), request.uri().path().to_owned());
    let (mut parts, body) = request.into_parts();
    parts.headers.remove(hyper::header::HOST);
    let body = body.collect().await.context("reading a request")?.to_bytes();
    let answer = client.send(Request::from_parts(parts, Body::from(body.to_vec()))).await.context("passing a request on")?;
    if state.ends_with(&verb, path, answer.status().as_u16()) {
        return std::future::pending().await;
    }
    Ok(answer)
}

impl State {
    /// Takes note of a write; true if the door shuts with it, or was shut while it was under way.
    fn ends_with(&self, verb: &Method, path: String, status: u16) -> bool {
        let dry = *verb == Method::GET || !ROTATION.iter().any(|part| path.contains(part));
        if dry {
            return *self.shut.borrow();
        }
        let mut writes = self.writes.lock().unwrap_or_else(PoisonError::into_inner);
        if *self.shut.borrow() {
            return true;
        }
        writes.push(Write { verb: verb.to_string(), path, status });
        let last = *self.last.lock().unwrap_or_else(PoisonError::into_inner) == Some(writes.len());
        if last {
            self.shut.send_replace(true);
        }
        last
    }
}
