//! The exact requests of each effect, and what each answer leads to.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::http::{Request, Response};
use kube::Client;
use kube::client::Body;
use noderotation_core::rotation::observation::Settings;
use serde_json::Value;

use super::*;
use crate::controller::{Board, Clock};
use crate::event::Recorder;
use crate::leader::Lead;
use crate::metrics::Metrics;

/// An API server that answers from a list and notes what it was asked.
#[derive(Clone, Default)]
struct Server {
    answers: Arc<Mutex<VecDeque<(u16, Value)>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn answering(answers: &[(u16, Value)]) -> Self {
        Self { answers: Arc::new(Mutex::new(answers.iter().cloned().collect())), ..Self::default() }
    }

    async fn answer(self, request: Request<Body>) -> Result<Response<Body>, std::convert::Infallible> {
        let (parts, body) = request.into_parts();
        let body = body.collect_bytes().await.unwrap();
        let path = parts.uri.path().to_owned();
        self.asked.lock().unwrap().push(format!("{} {path} {}", parts.method, String::from_utf8_lossy(&body)));
        let (code, answer) = self.answers.lock().unwrap().pop_front().expect("one request too many");
        Ok(Response::builder().status(code).body(Body::from(answer.to_string().into_bytes())).unwrap())
    }

    fn context(&self, lead: Lead) -> Context {
        let server = self.clone();
        let client = Client::new(tower::service_fn(move |request| server.clone().answer(request)), "default");
        let metrics = Metrics::new("0", "0").unwrap();
        let (events, _writer) = Recorder::new(client.clone(), "test".to_owned(), metrics.clone());
        Context {
            client,
            metrics,
            events,
            settings: Settings::default(),
            board: Board::default(),
            owner: None,
            lead,
            clock: Clock::of_the_machine(),
        }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn target(name: &str) -> Target {
    Target { name: name.to_owned(), uid: format!("uid-{name}"), version: "7".to_owned() }
}

fn failure(code: u16, reason: &str) -> (u16, Value) {
    (code, json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": "no", "code": code}))
}

fn claim(version: &str) -> (u16, Value) {
    (
        200,
        json!({"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": {"name": "old", "uid": "uid-old", "resourceVersion": version}, "spec": {}}),
    )
}

fn node(taint: Option<&str>) -> (u16, Value) {
    let taints: Vec<Value> = taint.iter().map(|key| json!({"key": key, "effect": "NoSchedule"})).collect();
    (200, json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "resourceVersion": "8"}, "spec": {"taints": taints}}))
}

fn told() -> Announcement {
    Announcement::DrainStarted { claim: "old".to_owned(), node: "n".to_owned(), forceful_fallback: false }
}

fn annotate() -> Effect {
    Effect::AnnotateClaim { claim: target("old"), change: [("noderotation.io/state", Some("draining".to_owned()))].into() }
}

fn cordon() -> Effect {
    let change = [("noderotation.io/cordoned", None)].into();
    Effect::MarkNode { node: target("n"), change, unschedulable: Some(false), proceed: Proceed::UnlessLeaving }
}

fn delete() -> Effect {
    Effect::DeleteClaim { claim: target("old") }
}

fn create() -> Effect {
    let mut pod = Pod::default();
    pod.metadata.name = Some("placeholder".to_owned());
    pod.metadata.namespace = Some("system".to_owned());
    Effect::CreatePlaceholder { pod: Box::new(pod) }
}

/// Carries the effects out; each announces itself.
async fn carry_out(server: &Server, lead: Lead, effects: Vec<Effect>) -> (Result<(), Error>, usize) {
    let context = server.context(lead);
    let mut announced = 0;
    let planned = effects.into_iter().map(|effect| effect.then(told())).collect();
    let result = Executor::new(&context).carry_out(planned, |_| announced += 1).await;
    (result, announced)
}

#[tokio::test]
async fn r5_every_write_is_conditional_and_the_second_one_on_the_answer_to_the_first() {
    let server = Server::answering(&[claim("9"), claim("10")]);
    let (result, announced) = carry_out(&server, Lead::forever(), vec![annotate(), delete()]).await;
    assert!(result.is_ok() && announced == 2);
    assert_eq!(
        server.asked(),
        [
            r#"PATCH /apis/karpenter.sh/v1/nodeclaims/old {"metadata":{"annotations":{"noderotation.io/state":"draining"},"resourceVersion":"7","uid":"uid-old"}}"#,
            r#"DELETE /apis/karpenter.sh/v1/nodeclaims/old {"preconditions":{"resourceVersion":"9","uid":"uid-old"}}"#,
        ]
    );
}

#[tokio::test]
async fn uncordoning_removes_the_field() {
    let server = Server::answering(&[node(None)]);
    assert!(carry_out(&server, Lead::forever(), vec![cordon()]).await.0.is_ok());
    assert_eq!(
        server.asked(),
        [
            r#"PATCH /api/v1/nodes/n {"metadata":{"annotations":{"noderotation.io/cordoned":null},"resourceVersion":"7","uid":"uid-n"},"spec":{"unschedulable":null}}"#
        ]
    );
}

#[tokio::test]
async fn t13_the_first_failure_ends_the_list_and_only_what_landed_is_told() {
    let rows = [
        (failure(409, "Conflict"), "NodeClaim old has changed since it was read"),
        (failure(404, "NotFound"), "NodeClaim old has changed since it was read"),
        (failure(500, "InternalError"), "patching NodeClaim old"),
    ];
    for (answer, words) in rows {
        let server = Server::answering(&[answer]);
        let (result, announced) = carry_out(&server, Lead::forever(), vec![annotate(), delete()]).await;
        assert_eq!((result.unwrap_err().to_string().as_str(), announced, server.asked().len()), (words, 0, 1));
    }
}

#[tokio::test]
async fn a_node_that_karpenter_takes_away_ends_the_list_before_the_delete() {
    let server = Server::answering(&[node(Some("karpenter.sh/disrupted"))]);
    let (result, announced) = carry_out(&server, Lead::forever(), vec![cordon(), delete()]).await;
    assert!(matches!(result, Err(Error::Leaving(node)) if node == "n"));
    assert_eq!((announced, server.asked().len()), (0, 1));
    let other = Server::answering(&[node(Some("someone/else")), claim("9")]);
    assert!(carry_out(&other, Lead::forever(), vec![cordon(), delete()]).await.0.is_ok());
}

#[tokio::test]
async fn t14_what_is_there_or_gone_already_is_as_good_and_not_told() {
    let server = Server::answering(&[failure(409, "AlreadyExists"), failure(404, "NotFound")]);
    let (result, announced) = carry_out(&server, Lead::forever(), vec![create(), delete()]).await;
    assert!(result.is_ok() && announced == 0);
}

#[tokio::test]
async fn a_placeholder_that_is_refused_says_by_whom() {
    for answer in [failure(403, "Forbidden"), failure(422, "Invalid")] {
        let server = Server::answering(&[answer]);
        let (result, _) = carry_out(&server, Lead::forever(), vec![create()]).await;
        assert!(matches!(result, Err(Error::Rejected { message }) if message == "no"));
    }
}

#[tokio::test]
async fn without_the_lead_nothing_is_sent() {
    let server = Server::default();
    let (result, _) = carry_out(&server, Lead::default(), vec![annotate()]).await;
    assert!(matches!(result, Err(Error::NotLeading)));
    assert!(server.asked().is_empty());
}

#[tokio::test]
async fn a_write_that_could_not_be_conditional_is_not_sent() {
    let server = Server::default();
    let unversioned = Effect::DeleteClaim { claim: Target { version: String::new(), ..target("old") } };
    let (result, _) = carry_out(&server, Lead::forever(), vec![unversioned]).await;
    assert!(matches!(result, Err(Error::Unversioned(object)) if object == "NodeClaim old"));
    assert!(server.asked().is_empty());
}
