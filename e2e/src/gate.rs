//! A door between an operator and the API server: it lists what the operator writes, and can shut after a write.
//!
//! When it shuts, the API server has carried the write out, and the operator does not learn of it or of anything after it:
//! as if its machine were lost just then.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use hyper::body::Bytes;
use hyper::{Method, Request, Response};
use tokio::sync::watch;

use crate::cluster::Cluster;
use crate::proxy::{Body, Proxy, Upstream};

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
    proxy: Proxy,
    state: Arc<State>,
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
        let state = Arc::new(State { writes: Mutex::default(), last: Mutex::default(), shut: watch::Sender::new(false) });
        let within = Arc::clone(&state);
        let proxy = Proxy::open(cluster, "gate", move |upstream, request| pass(upstream, Arc::clone(&within), request)).await?;
        Ok(Self { proxy, state })
    }

    /// The argument that leads an operator through this door.
    #[must_use]
    pub fn argument(&self) -> String {
        self.proxy.argument()
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

async fn pass(upstream: Upstream, state: Arc<State>, request: Request<Bytes>) -> Result<Response<Body>> {
    if *state.shut.borrow() {
        return std::future::pending().await;
    }
    let (verb, path) = (request.method().clone(), request.uri().path().to_owned());
    let answer = upstream.send(request).await?;
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
