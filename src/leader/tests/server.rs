//! An API server in memory that knows one Lease, and what can go wrong on the way to it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::http::{Method, Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

/// What happens to the requests of one replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// They do not arrive, and no answer comes.
    Silence,
    /// They are answered with an error.
    Refusal,
    /// They are carried out, and no answer comes.
    LostAnswer,
    /// They are carried out, and the answer takes this long.
    Delay(Duration),
}

#[derive(Clone, Default)]
pub(super) struct Server(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    lease: Option<Value>,
    version: u64,
    faults: BTreeMap<&'static str, Fault>,
    requests: Vec<String>,
}

type Answer = (u16, Value);

impl Server {
    /// The way of one replica to the server.
    pub(super) fn client(&self, replica: &'static str) -> Client {
        let server = self.clone();
        Client::new(tower::service_fn(move |request| server.clone().answer(replica, request)), "default")
    }

    pub(super) fn inflict(&self, replica: &'static str, fault: Fault) {
        self.0.lock().unwrap().faults.insert(replica, fault);
    }

    pub(super) fn heal(&self, replica: &str) {
        self.0.lock().unwrap().faults.remove(replica);
    }

    /// Who asked what, with the version that a write was conditional on.
    pub(super) fn requests(&self) -> Vec<String> {
        self.0.lock().unwrap().requests.clone()
    }

    pub(super) fn holder(&self) -> Option<String> {
        let state = self.0.lock().unwrap();
        Some(state.lease.as_ref()?["spec"]["holderIdentity"].as_str()?.to_owned())
    }

    pub(super) fn delete(&self) {
        self.0.lock().unwrap().lease = None;
    }

    /// A person's hand.
    pub(super) fn write(&self, holder: &str, seconds: u32) {
        let mut state = self.0.lock().unwrap();
        let lease = json!({"metadata": {"name": super::LEASE}, "spec": {"holderIdentity": holder, "leaseDurationSeconds": seconds}});
        state.store(lease);
    }

    async fn answer(self, replica: &'static str, request: Request<Body>) -> Result<Response<Body>, std::convert::Infallible> {
        let (parts, body) = request.into_parts();
        let body = body.collect_bytes().await.unwrap();
        let lease: Option<Value> = serde_json::from_slice(&body).ok();
        let fault = self.0.lock().unwrap().faults.get(replica).copied();
        let carried_out = || self.0.lock().unwrap().carry_out(replica, &parts.method, lease);
        let (code, answer) = match fault {
            None => carried_out(),
            Some(Fault::Refusal) => failure(503, "ServiceUnavailable"),
            Some(Fault::Silence) => std::future::pending().await,
            Some(Fault::LostAnswer) => {
                carried_out();
                std::future::pending().await
            }
            Some(Fault::Delay(delay)) => {
                let answer = carried_out();
                tokio::time::sleep(delay).await;
                answer
            }
        };
        Ok(Response::builder().status(code).body(Body::from(answer.to_string().into_bytes())).unwrap())
    }
}

impl State {
    fn carry_out(&mut self, replica: &str, method: &Method, lease: Option<Value>) -> Answer {
        let given = lease.as_ref().and_then(|lease| lease["metadata"]["resourceVersion"].as_str()).map(str::to_owned);
        let condition = if lease.is_some() { format!(" {}", given.as_deref().unwrap_or("-")) } else { String::new() };
        self.requests.push(format!("{replica} {method}{condition}"));
        let stored = self.lease.as_ref().map(|lease| lease["metadata"]["resourceVersion"].as_str().map(str::to_owned));
        match (method.as_str(), stored, lease) {
            ("GET", Some(_), _) => (200, self.lease.clone().unwrap()),
            ("GET" | "PUT", None, _) => failure(404, "NotFound"),
            ("POST", None, Some(lease)) => (201, self.store(lease)),
            ("POST", Some(_), _) => failure(409, "AlreadyExists"),
            ("PUT", Some(stored), Some(lease)) if stored == given => (200, self.store(lease)),
            ("PUT", Some(_), Some(_)) => failure(409, "Conflict"),
            _ => panic!("nobody asks this"),
        }
    }

    fn store(&mut self, mut lease: Value) -> Value {
        self.version += 1;
        lease["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.lease = Some(lease.clone());
        lease
    }
}

fn failure(code: u16, reason: &str) -> Answer {
    (code, json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": reason, "code": code}))
}
