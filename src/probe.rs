//! `/healthz`, `/readyz`, `/metrics`, `/debug/state` and `/ui/` over plain HTTP (D13).
//!
//! Readiness says whether admission reviews may be sent here, on any replica; it does not say who leads. A condition that
//! keeps the controller from leading is told beside it, since taking the endpoint away would help nobody.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::routing::get;
use axum::{Json, Router};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::controller::Board;
use crate::metrics::Metrics;

/// What readiness consists of: named conditions, each with a sentence while it does not hold.
#[derive(Clone, Default)]
pub(crate) struct Readiness(Arc<Mutex<BTreeMap<&'static str, Condition>>>);

#[derive(Clone)]
struct Condition {
    holds: bool,
    /// Whether Pods without it get no requests.
    required: bool,
    detail: String,
}

impl Readiness {
    /// A condition without which the Pod takes no requests.
    pub(crate) fn require(&self, name: &'static str, holds: bool, detail: impl Into<String>) {
        self.set(name, Condition { holds, required: true, detail: detail.into() });
    }

    /// A condition that is told but keeps no requests away.
    pub(crate) fn inform(&self, name: &'static str, holds: bool, detail: impl Into<String>) {
        self.set(name, Condition { holds, required: false, detail: detail.into() });
    }

    fn set(&self, name: &'static str, condition: Condition) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(name, condition);
    }

    fn answer(&self) -> (StatusCode, String) {
        let conditions = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut required = conditions.values().filter(|condition| condition.required).peekable();
        // The listener comes before the parts that have conditions: nothing known is not ready.
        let ready = required.peek().is_some() && required.all(|condition| condition.holds);
        let lines = conditions.iter().map(|(name, condition)| {
            let sign = if condition.holds { "+" } else { "-" };
            let detail = if condition.detail.is_empty() { String::new() } else { format!(": {}", condition.detail) };
            format!("[{sign}]{name}{detail}\n")
        });
        let text = lines.collect::<String>() + if ready { "ready\n" } else { "not ready\n" };
        (if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }, text)
    }
}

/// Serves health and readiness until `stop` is cancelled.
///
/// # Errors
/// When the listener fails.
pub(crate) async fn serve_health(listener: TcpListener, readiness: Readiness, stop: CancellationToken) -> std::io::Result<()> {
    axum::serve(listener, health(readiness)).with_graceful_shutdown(stop.cancelled_owned()).await
}

/// What is to be seen at the address of the metrics.
pub(crate) struct Exposed {
    /// `/metrics`.
    pub(crate) metrics: Metrics,
    /// `/debug/state`, where it is asked for.
    pub(crate) board: Option<Board>,
    /// `/ui/`, likewise.
    pub(crate) page: Option<Router>,
}

/// Serves the metrics and what else is exposed until `stop` is cancelled.
///
/// # Errors
/// When the listener fails.
pub(crate) async fn serve_metrics(listener: TcpListener, exposed: Exposed, stop: CancellationToken) -> std::io::Result<()> {
    axum::serve(listener, exposition(exposed)).with_graceful_shutdown(stop.cancelled_owned()).await
}

fn health(readiness: Readiness) -> Router {
    let ready = |State(readiness): State<Readiness>| async move { readiness.answer() };
    Router::new().route("/healthz", get(|| async { "ok\n" })).route("/readyz", get(ready)).with_state(readiness)
}

fn exposition(Exposed { metrics, board, page }: Exposed) -> Router {
    let render = |State(metrics): State<Metrics>| async move {
        let kind = (header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8");
        ([kind], metrics.render())
    };
    let router = Router::new().route("/metrics", get(render)).with_state(metrics);
    let router = match board {
        Some(board) => router.route("/debug/state", get(|| async move { Json(board.to_json()) })),
        None => router,
    };
    router.merge(page.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use tower::ServiceExt as _;

    use super::*;

    /// Status code, type and text of what a path answers.
    async fn get(router: Router, path: &str) -> (u16, String, String) {
        let request = axum::http::Request::get(path).body(axum::body::Body::empty()).unwrap();
        let response = router.oneshot(request).await.unwrap();
        let kind = response.headers().get(header::CONTENT_TYPE).map(|kind| kind.to_str().unwrap().to_owned()).unwrap_or_default();
        let code = response.status().as_u16();
        let body = axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap();
        (code, kind, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn requests_wait_for_what_is_required_and_for_nothing_else() {
        let readiness = Readiness::default();
        let text = "text/plain; charset=utf-8".to_owned();
        assert_eq!(get(health(readiness.clone()), "/readyz").await, (503, text.clone(), "not ready\n".to_owned()));
        readiness.inform("preflight", false, "Karpenter is missing");
        readiness.require("admission", true, "");
        let body = "[+]admission\n[-]preflight: Karpenter is missing\nready\n".to_owned();
        assert_eq!(get(health(readiness.clone()), "/readyz").await, (200, text.clone(), body));
        readiness.require("admission", false, "no certificate");
        let body = "[-]admission: no certificate\n[-]preflight: Karpenter is missing\nnot ready\n".to_owned();
        assert_eq!(get(health(readiness.clone()), "/readyz").await, (503, text.clone(), body));
        // A Pod that is not ready is alive.
        assert_eq!(get(health(readiness), "/healthz").await, (200, text, "ok\n".to_owned()));
    }

    #[tokio::test]
    async fn each_address_serves_its_own_paths_and_no_other() {
        let metrics = Metrics::new("1.2.3", "0").unwrap();
        let bare = || exposition(Exposed { metrics: metrics.clone(), board: None, page: None });
        let (code, kind, body) = get(bare(), "/metrics").await;
        assert_eq!((code, kind.as_str()), (200, "text/plain; version=0.0.4; charset=utf-8"));
        assert!(body.contains("noderotation_build_info{tzdb=\"0\",version=\"1.2.3\"} 1\n"), "{body}");
        for path in ["/healthz", "/debug/state", "/ui", "/ui/", "/ui/plan.json"] {
            assert_eq!(get(bare(), path).await.0, 404, "{path}");
        }
        assert_eq!(get(health(Readiness::default()), "/metrics").await.0, 404);
        let board = Some(Board::default());
        let (code, kind, body) = get(exposition(Exposed { metrics: metrics.clone(), board, page: None }), "/debug/state").await;
        assert_eq!((code, kind.as_str(), body.as_str()), (200, "application/json", "{}"));
        let page = Some(Router::new().route("/ui/", axum::routing::get(|| async { "the page" })));
        let all = exposition(Exposed { metrics: metrics.clone(), board: None, page });
        assert_eq!(get(all, "/ui/").await.2, "the page");
    }
}
