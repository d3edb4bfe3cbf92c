//! Odd envelopes, each with its exact outcome.

use serde_json::{Value, json};

use super::*;
use crate::registration::MUTATE;

/// What a body comes to.
#[derive(Debug, PartialEq)]
enum Outcome {
    /// HTTP 200 with `allowed: true`.
    Allowed,
    /// HTTP 200 with `allowed: false`, a code, and as many causes.
    Refused(u64, usize),
    /// This HTTP status, and a text that begins so.
    Unanswerable(u16, String),
}

use Outcome::{Allowed, Refused, Unanswerable};

async fn post(running: &Running, path: &str, body: &[u8]) -> (u16, Vec<u8>) {
    let mut stream = connect(running, &["http/1.1"]).await.unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {NAME}\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    // A body that is too large is not read to its end.
    let _cut = stream.write_all(body).await;
    let answer = read_all(&mut stream).await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.as_bytes().to_vec())
}

fn good() -> Value {
    let window = json!({"timezone": "UTC", "days": ["Wed"], "start": "02:00", "end": "06:00"});
    json!({"metadata": {"name": "api"}, "spec": {"nodePoolSelector": {}, "maintenanceWindows": [window]}})
}

/// A review of the creation of a good policy, with other fields in `request`; `null` removes one.
fn review(changes: &[(&str, Value)]) -> Value {
    let kind = json!({"group": "noderotation.io", "version": "v1alpha1", "kind": "RotationPolicy"});
    let mut request = json!({"uid": "abc", "operation": "CREATE", "kind": kind, "object": good()});
    for (field, value) in changes {
        request[*field] = value.clone();
    }
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
}

fn text(value: &Value) -> Vec<u8> {
    value.to_string().into_bytes()
}

/// A kind with so many lists in each other beside its name, and nothing to judge. The uid stands before it.
fn deep(levels: usize) -> Vec<u8> {
    let nested = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let kind = format!("{{\"kind\":\"RotationPolicy\",\"x\":{nested}}}");
    let request = format!("{{\"uid\":\"abc\",\"operation\":\"CREATE\",\"kind\":{kind}}}");
    format!("{{\"apiVersion\":\"admission.k8s.io/v1\",\"request\":{request}}}").into_bytes()
}

/// The outcome, and the uid of an answer.
async fn outcome(running: &Running, path: &str, body: &[u8], expected: &Outcome) -> (Outcome, Option<String>) {
    let (status, body) = post(running, path, body).await;
    if status != 200 {
        let told = String::from_utf8(body).unwrap();
        let length = if let Unanswerable(_, begin) = expected { begin.len() } else { told.len() };
        return (Unanswerable(status, told.chars().take(length).collect()), None);
    }
    let answer: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!((&answer["apiVersion"], &answer["kind"]), (&json!("admission.k8s.io/v1"), &json!("AdmissionReview")));
    let response = &answer["response"];
    let uid = response["uid"].as_str().map(str::to_owned);
    let causes = response["status"]["details"]["causes"].as_array().map_or(0, Vec::len);
    let code = response["status"]["code"].as_u64().unwrap_or_default();
    (if response["allowed"] == json!(true) { Allowed } else { Refused(code, causes) }, uid)
}

fn unanswerable(status: u16, begin: &str) -> Outcome {
    Unanswerable(status, begin.to_owned())
}

/// Name, body, outcome, and the uid of an answer.
type Row = (&'static str, Vec<u8>, Outcome, &'static str);

/// Bodies that are no review, and what is next to them.
fn of_bodies() -> Vec<Row> {
    let version = |version: Value| text(&json!({"apiVersion": version, "kind": "AdmissionReview", "request": {"uid": "abc"}}));
    let wrong = "the body is \"admission.k8s.io/v1beta1\", not an AdmissionReview of admission.k8s.io/v1";
    let large = |bytes: usize| json!({"metadata": {"annotations": {"x": "y".repeat(bytes)}}, "spec": good()["spec"]});
    let no_request = || unanswerable(400, "the AdmissionReview has no request");
    let list = json!({"apiVersion": "admission.k8s.io/v1", "request": []});
    let marked = [b"\xef\xbb\xbf", text(&review(&[])).as_slice()].concat();
    let followed = [text(&review(&[])).as_slice(), b"{}"].concat();
    let too_large = unanswerable(413, "the body is larger than 3145728 bytes");
    vec![
        ("as it should be", text(&review(&[])), Allowed, "abc"),
        ("c172 v1beta1", version(json!("admission.k8s.io/v1beta1")), unanswerable(400, wrong), ""),
        ("no version", version(Value::Null), unanswerable(400, "the body is \"\", not an AdmissionReview"), ""),
        ("another object", text(&json!({"apiVersion": "v1", "kind": "Pod"})), unanswerable(400, "the body is \"v1\", not an"), ""),
        ("no request", text(&json!({"apiVersion": "admission.k8s.io/v1"})), no_request(), ""),
        ("a request that is a list", text(&list), no_request(), ""),
        ("almost 3 MiB", text(&review(&[("object", large((3 << 20) - 1024))])), Allowed, "abc"),
        ("an object of 3 MiB", text(&review(&[("object", large(3 << 20))])), too_large, ""),
        ("20 levels where nothing is looked for", deep(20), Refused(422, 1), "abc"),
        ("10,000 levels", deep(10_000), unanswerable(400, "the body is not JSON: recursion limit exceeded"), ""),
        ("no body", Vec::new(), unanswerable(400, "the body is not JSON: EOF"), ""),
        ("a byte order mark", marked, unanswerable(400, "the body is not JSON"), ""),
        ("something behind it", followed, unanswerable(400, "the body is not JSON: trailing"), ""),
        ("no UTF-8", b"{\"apiVersion\":\"\xff\"}".to_vec(), unanswerable(400, "the body is not JSON: invalid unicode"), ""),
    ]
}

/// Reviews with something odd around the object.
fn of_requests() -> Vec<Row> {
    let [create, delete] = ["CREATE", "DELETE"].map(|operation| format!("\"operation\":\"{operation}\""));
    let twice = review(&[]).to_string().replace(&create, &format!("{create},{delete}"));
    let nothing = json!({"uid": null, "operation": null, "kind": null, "object": null, "oldObject": null, "userInfo": null});
    let nulls = text(&json!({"apiVersion": "admission.k8s.io/v1", "kind": null, "request": nothing}));
    // With an object that would be refused.
    let bad = |field: &str, value: Value| text(&review(&[("object", json!({})), (field, value)]));
    let deletion = text(&review(&[("operation", json!("DELETE")), ("object", Value::Null), ("oldObject", json!({}))]));
    vec![
        ("no uid", text(&review(&[("uid", Value::Null)])), Allowed, ""),
        ("a uid that is a number", text(&review(&[("uid", json!(7))])), Allowed, ""),
        ("an odd uid", text(&review(&[("uid", json!("\"\u{0}é"))])), Allowed, "\"\u{0}é"),
        ("nulls in the request", nulls, Allowed, ""),
        ("another kind", bad("kind", json!({"kind": "Pod"})), Allowed, "abc"),
        ("the kind of another group", bad("kind", json!({"group": "example.com", "kind": "RotationPolicy"})), Allowed, "abc"),
        ("a kind without a group", bad("kind", json!({"kind": "RotationPolicy"})), Refused(422, 1), "abc"),
        ("a subresource", bad("subResource", json!("status")), Allowed, "abc"),
        ("c167 a deletion", deletion, Allowed, "abc"),
        ("a deletion with an object", bad("operation", json!("DELETE")), Allowed, "abc"),
        ("an operation that there is not", bad("operation", json!("create")), Allowed, "abc"),
        ("an update of nothing", bad("operation", json!("UPDATE")), Refused(422, 1), "abc"),
        ("a key twice: the last counts", twice.into_bytes(), Allowed, "abc"),
    ]
}

/// Reviews of odd objects.
fn of_objects() -> Vec<Row> {
    let of = |object: Value| text(&review(&[("object", object)]));
    let hollow = json!({"metadata": null, "spec": {"nodePoolSelector": null, "maintenanceWindows": null, "surge": null}});
    let mut bad = good();
    bad["spec"]["surge"] = json!({"maxUnavailable": 2});
    let labels: serde_json::Map<String, Value> = (0..500).map(|n| (format!("bad key {n}"), json!("x"))).collect();
    let mut many = good();
    many["spec"]["nodePoolSelector"]["matchLabels"] = labels.into();
    vec![
        ("a fault", of(bad), Refused(422, 1), "abc"),
        ("nulls in the object", of(hollow), Refused(422, 2), "abc"),
        ("a creation of nothing", of(Value::Null), Refused(422, 1), "abc"),
        ("a creation of text", of(json!("text")), Refused(422, 1), "abc"),
        ("a creation of another kind's object", of(json!({"kind": "Pod", "spec": {}})), Refused(422, 2), "abc"),
        ("more faults than anybody reads", of(many), Refused(422, 101), "abc"),
    ]
}

#[tokio::test]
async fn c170_c171_each_odd_envelope_has_its_outcome_at_both_endpoints() {
    let running = start(Limits::default()).await;
    for path in [MUTATE, VALIDATE] {
        for (name, body, expected, uid) in of_bodies().into_iter().chain(of_requests()).chain(of_objects()) {
            let (outcome, echoed) = outcome(&running, path, &body, &expected).await;
            assert_eq!(outcome, expected, "{name} at {path}");
            let uid = if matches!(expected, Unanswerable(..)) { None } else { Some(uid.to_owned()) };
            assert_eq!(echoed, uid, "{name} at {path}");
        }
    }
    running.stop.cancel();
}
