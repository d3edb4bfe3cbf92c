//! For tests: an API server that answers from a list and notes what it was asked.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::http::{Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

/// The status code and body of an answer; with code 0 none comes.
pub(crate) type Answer = (u16, Value);

/// A server. Clones share what was asked.
#[derive(Clone, Default)]
pub(crate) struct Server {
    answers: Arc<Mutex<VecDeque<Answer>>>,
    asked: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Server {
    /// A server that answers the first request with the first answer, and so on.
    pub(crate) fn answering(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self { answers: Arc::new(Mutex::new(answers.into_iter().collect())), ..Self::default() }
    }

    /// A client of it.
    pub(crate) fn client(&self) -> Client {
        let server = self.clone();
        Client::new(tower::service_fn(move |request| server.clone().answer(request)), "default")
    }

    /// Method and path of each request, and its body.
    pub(crate) fn asked(&self) -> Vec<(String, Value)> {
        self.asked.lock().unwrap().clone()
    }

    async fn answer(self, request: Request<Body>) -> Result<Response<Body>, std::convert::Infallible> {
        let (parts, body) = request.into_parts();
        let body = serde_json::from_slice(&body.collect_bytes().await.unwrap()).unwrap_or(Value::Null);
        self.asked.lock().unwrap().push((format!("{} {}", parts.method, parts.uri.path()), body));
        let (code, answer) = self.answers.lock().unwrap().pop_front().expect("one request too many");
        if code == 0 {
            std::future::pending::<()>().await;
        }
        Ok(Response::builder().status(code).body(Body::from(answer.to_string().into_bytes())).unwrap())
    }
}

/// A refusal as the API server words it.
pub(crate) fn refusal(code: u16, reason: &str) -> Answer {
    (code, json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": reason, "code": code}))
}
