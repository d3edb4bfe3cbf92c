//! What is answered, to whom, and with which headers.

use std::sync::Arc;

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Path, Request, State};
use axum::http::header::{self, HeaderName};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use serde_json::{Value, json};

use super::assets::Asset;
use super::{Calculation, Desk, Fault, Hosts, Look, Subject, Texts};

/// Bytes of what is sent in.
pub(super) const LARGEST: usize = 8 << 20;

/// The page asks this server and nobody else, and nothing that a cluster says can become code in it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

/// On every answer.
const HEADERS: [(HeaderName, &str); 5] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// The page that only tells, at `/ui/`.
pub(crate) fn viewer(look: Look, desk: Desk) -> Router {
    let plan = {
        let (look, desk) = (Arc::clone(&look), desk);
        move || async move { told(&desk, move || look()).await }
    };
    let start = || async { of_json(StatusCode::OK, &json!({"edit": false, "subject": Subject::Plan})) };
    with_files(Router::new().route("/ui/plan.json", get(plan)).route("/ui/start.json", get(start)))
}

/// The page in which `texts` are edited and drawn anew, at `/ui/`, for whoever asks by one of `hosts`.
pub(crate) fn editor(subject: Subject, texts: Texts, calculation: Calculation, desk: Desk, hosts: Hosts) -> Router {
    let start = json!({"edit": true, "subject": subject, "policy": texts.policy, "fleet": texts.fleet});
    let (first, first_desk, again) = (Arc::clone(&calculation), desk.clone(), calculation);
    let plan = move || async move { told(&first_desk, move || first(&texts)).await };
    let calculate = move |request: Request| async move {
        match read(request, &desk).await {
            Ok(texts) => told(&desk, move || again(&texts)).await,
            Err((code, words)) => faults(code, &[Fault::new(words)]),
        }
    };
    let router = Router::new()
        .route("/", get(|| async { moved("/ui/") }))
        .route("/ui/plan.json", get(plan).post(calculate))
        .route("/ui/start.json", get(move || async move { of_json(StatusCode::OK, &start) }));
    with_files(router).layer(middleware::from_fn_with_state(Arc::new(hosts), of_ours))
}

fn with_files(router: Router) -> Router {
    let page = |headers: HeaderMap| async move { file("", &headers) };
    let named = |Path(name): Path<String>, headers: HeaderMap| async move { file(&name, &headers) };
    // A relative way keeps what a proxy puts before it.
    let router = router.route("/ui", get(|| async { moved("ui/") })).route("/ui/", get(page)).route("/ui/{name}", get(named));
    router.layer(middleware::map_response(with_headers))
}

async fn of_ours(State(hosts): State<Arc<Hosts>>, request: Request, next: Next) -> Response {
    match hosts.refusal(request.headers()) {
        Some((code, words)) => with_headers(faults(code, &[Fault::new(words)])).await,
        None => next.run(request).await,
    }
}

async fn with_headers(mut response: Response) -> Response {
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

fn moved(to: &'static str) -> Response {
    (StatusCode::PERMANENT_REDIRECT, [(header::LOCATION, to)]).into_response()
}

/// A file of the page; whoever has it already is told so.
fn file(name: &str, headers: &HeaderMap) -> Response {
    let Some(asset) = Asset::named(name) else {
        return (StatusCode::NOT_FOUND, "the page has no such file; open /ui/\n").into_response();
    };
    let tag = asset.tag();
    let known = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok()).is_some_and(|tags| tags.contains(&tag));
    let head = [(header::ETAG, tag), (header::CACHE_CONTROL, "no-cache".to_owned()), (header::CONTENT_TYPE, asset.kind.to_owned())];
    if known { (StatusCode::NOT_MODIFIED, head).into_response() } else { (head, asset.text).into_response() }
}

/// The texts in a request.
async fn read(request: Request, desk: &Desk) -> Result<Texts, (StatusCode, String)> {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    // A form of another page can be sent without asking first; this kind cannot.
    if kind.split(';').next() != Some("application/json") {
        let words = "the texts must come as application/json: {\"policy\": \"…\", \"fleet\": \"…\"}";
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, words.to_owned()));
    }
    let bytes = match tokio::time::timeout(desk.patience(), to_bytes(request.into_body(), LARGEST)).await {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(_)) => {
            let words = format!("the texts could not be read, or have more than {} MiB; leave objects out of them", LARGEST >> 20);
            return Err((StatusCode::PAYLOAD_TOO_LARGE, words));
        }
        Err(_) => return Err((StatusCode::REQUEST_TIMEOUT, "the texts did not come in time; send them again".to_owned())),
    };
    let texts = serde_json::from_slice(&bytes);
    texts.map_err(|error| (StatusCode::BAD_REQUEST, format!("the texts must be {{\"policy\": \"…\", \"fleet\": \"…\"}}: {error}")))
}

/// What comes of a calculation.
async fn told(desk: &Desk, work: impl FnOnce() -> Result<Value, Vec<Fault>> + Send + 'static) -> Response {
    // Writing many claims takes its time too.
    let done = desk.work(move || work().map(|value| serde_json::to_vec(&value))).await;
    match done {
        Ok(Ok(Ok(bytes))) => json_head(StatusCode::OK, bytes),
        Ok(Ok(Err(error))) => faults(StatusCode::INTERNAL_SERVER_ERROR, &[Fault::new(error.to_string())]),
        Ok(Err(found)) => faults(StatusCode::UNPROCESSABLE_ENTITY, &found),
        Err(unfinished) => faults(StatusCode::SERVICE_UNAVAILABLE, &[Fault::new(unfinished.to_string())]),
    }
}

fn faults(code: StatusCode, faults: &[Fault]) -> Response {
    of_json(code, &json!({"faults": faults}))
}

fn of_json(code: StatusCode, value: &Value) -> Response {
    json_head(code, value.to_string().into_bytes())
}

fn json_head(code: StatusCode, bytes: Vec<u8>) -> Response {
    (code, [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")], bytes).into_response()
}
