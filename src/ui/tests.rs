//! What the server of the page answers: to whom, to what, and with which headers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, header};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::routes::LARGEST;
use super::{Desk, Fault, Hosts, Subject, Texts, editor, viewer};

const HOST: &str = "127.0.0.1:8080";

fn desk() -> Desk {
    Desk::new(Duration::from_secs(60))
}

/// Draws the texts themselves, unless the policy is a fault.
fn page() -> Router {
    let given = Texts { policy: "p".to_owned(), fleet: "f".to_owned() };
    let calculation = Arc::new(|texts: &Texts| match texts.policy.as_str() {
        "bad" => Err(vec![Fault::new("one"), Fault { at: Some("policy:1:1".to_owned()), ..Fault::new("two") }]),
        _ => Ok(json!({"drawn": texts})),
    });
    editor(Subject::Plan, given, calculation, desk(), Hosts::of(HOST.parse().unwrap()))
}

fn request(method: &str, path: &str) -> axum::http::request::Builder {
    Request::builder().method(method).uri(path).header(header::HOST, HOST)
}

fn post(body: impl Into<Body>) -> Request<Body> {
    request("POST", "/ui/plan.json").header(header::CONTENT_TYPE, "application/json").body(body.into()).unwrap()
}

async fn ask(router: Router, request: Request<Body>) -> (u16, HeaderMap, String) {
    let response = router.oneshot(request).await.unwrap();
    let (code, headers) = (response.status().as_u16(), response.headers().clone());
    let body = to_bytes(response.into_body(), 1 << 20).await.unwrap();
    (code, headers, String::from_utf8(body.to_vec()).unwrap())
}

async fn get(router: Router, path: &str) -> (u16, HeaderMap, String) {
    ask(router, request("GET", path).body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn each_file_has_its_kind_and_every_answer_the_headers() {
    let rows = [
        ("/ui/", "text/html; charset=utf-8"),
        ("/ui/page.js", "text/javascript; charset=utf-8"),
        ("/ui/page.css", "text/css; charset=utf-8"),
        ("/ui/icon.svg", "image/svg+xml"),
        ("/ui/plan.json", "application/json"),
        ("/ui/start.json", "application/json"),
    ];
    for (path, kind) in rows {
        let (code, headers, _) = get(page(), path).await;
        assert_eq!((code, headers[header::CONTENT_TYPE].to_str().unwrap()), (200, kind), "{path}");
    }
    for path in ["/ui/", "/ui/plan.json", "/ui/none.js", "/"] {
        let (_, headers, _) = get(page(), path).await;
        let policy = headers[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'"), "{path} {policy}");
        assert_eq!(headers[header::X_CONTENT_TYPE_OPTIONS], "nosniff", "{path}");
    }
}

#[tokio::test]
async fn a_file_is_sent_once_and_a_plan_is_never_kept() {
    let (_, headers, _) = get(page(), "/ui/page.js").await;
    let tag = headers[header::ETAG].clone();
    assert_eq!(headers[header::CACHE_CONTROL], "no-cache");
    let known = request("GET", "/ui/page.js").header(header::IF_NONE_MATCH, tag.clone()).body(Body::empty()).unwrap();
    let (code, _, body) = ask(page(), known).await;
    assert_eq!((code, body.as_str()), (304, ""));
    let other = request("GET", "/ui/page.css").header(header::IF_NONE_MATCH, tag).body(Body::empty()).unwrap();
    assert_eq!(ask(page(), other).await.0, 200);
    let (_, headers, _) = get(page(), "/ui/plan.json").await;
    assert_eq!(headers[header::CACHE_CONTROL], "no-store");
}

#[tokio::test]
async fn what_is_given_is_drawn_until_other_texts_come() {
    let (_, _, start) = get(page(), "/ui/start.json").await;
    assert_eq!(serde_json::from_str::<Value>(&start).unwrap(), json!({"edit": true, "subject": "plan", "policy": "p", "fleet": "f"}));
    let (code, _, body) = get(page(), "/ui/plan.json").await;
    assert_eq!((code, body.as_str()), (200, r#"{"drawn":{"fleet":"f","policy":"p"}}"#));
    let (code, _, body) = ask(page(), post(r#"{"policy":"other","fleet":""}"#)).await;
    assert_eq!((code, body.as_str()), (200, r#"{"drawn":{"fleet":"","policy":"other"}}"#));
}

#[tokio::test]
async fn all_faults_come_at_once() {
    let (code, _, body) = ask(page(), post(r#"{"policy":"bad","fleet":""}"#)).await;
    let faults: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((code, faults), (422, json!({"faults": [{"message": "one"}, {"at": "policy:1:1", "message": "two"}]})));
}

#[tokio::test]
async fn what_is_sent_has_bounds_and_a_shape() {
    let of_kind = |kind: &str| {
        let text = r#"{"policy":"","fleet":""}"#;
        request("POST", "/ui/plan.json").header(header::CONTENT_TYPE, kind).body(Body::from(text)).unwrap()
    };
    let long = format!(r#"{{"policy":"{}","fleet":""}}"#, "x".repeat(LARGEST));
    let rows = [
        (post(long), 413, "more than 8 MiB"),
        (post(r#"{"policy":""}"#), 400, "missing field `fleet`"),
        (post(r#"{"policy":"","fleet":"","more":1}"#), 400, "unknown field `more`"),
        (post("no"), 400, "the texts must be"),
        (of_kind("text/plain"), 415, "application/json"),
        (of_kind("application/x-www-form-urlencoded"), 415, "application/json"),
        (of_kind("application/json; charset=utf-8"), 200, "drawn"),
    ];
    for (request, expected, words) in rows {
        let (code, _, body) = ask(page(), request).await;
        assert!(code == expected && body.contains(words), "{code} {body}");
    }
}

#[tokio::test]
async fn a_page_of_another_host_is_refused_in_words() {
    let of = |host: &str, origin: Option<&str>| {
        let mut request = Request::builder().uri("/ui/plan.json").header(header::HOST, host);
        if let Some(origin) = origin {
            request = request.header(header::ORIGIN, origin);
        }
        request.body(Body::empty()).unwrap()
    };
    let (code, _, body) = ask(page(), of("evil.example:8080", None)).await;
    assert!(code == 421 && body.contains("open http://127.0.0.1:8080/ui/"), "{code} {body}");
    let (code, headers, body) = ask(page(), of(HOST, Some("http://evil.example"))).await;
    assert!(code == 403 && body.contains("may not ask here"), "{code} {body}");
    assert!(headers.contains_key(header::CONTENT_SECURITY_POLICY) && !headers.contains_key("access-control-allow-origin"));
    assert_eq!(ask(page(), of(HOST, Some("http://127.0.0.1:8080"))).await.0, 200);
}

#[tokio::test]
async fn the_viewer_only_tells() {
    let looks = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&looks);
    let look = Arc::new(move || match counted.fetch_add(1, Ordering::Relaxed) {
        0 => Ok(json!({"pools": []})),
        _ => Err(vec![Fault::new("this replica does not lead")]),
    });
    let router = viewer(look, desk());
    let (code, _, body) = get(router.clone(), "/ui/plan.json").await;
    assert_eq!((code, body.as_str()), (200, r#"{"pools":[]}"#));
    let (code, _, body) = get(router.clone(), "/ui/plan.json").await;
    assert_eq!((code, body.as_str()), (422, r#"{"faults":[{"message":"this replica does not lead"}]}"#));
    assert_eq!(get(router.clone(), "/ui/start.json").await.2, r#"{"edit":false,"subject":"plan"}"#);
    let moved = get(router.clone(), "/ui").await;
    assert_eq!((moved.0, moved.1[header::LOCATION].to_str().unwrap()), (308, "ui/"));
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"] {
        for path in ["/ui/plan.json", "/ui/", "/ui/page.js"] {
            let asked = request(method, path).body(Body::empty()).unwrap();
            assert_eq!(ask(router.clone(), asked).await.0, 405, "{method} {path}");
        }
    }
    let head = request("HEAD", "/ui/").body(Body::empty()).unwrap();
    let (code, _, body) = ask(router, head).await;
    assert_eq!((code, body.as_str()), (200, ""));
    assert_eq!(looks.load(Ordering::Relaxed), 2);
}
