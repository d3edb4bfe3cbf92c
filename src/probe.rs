//! `/healthz`, `/readyz` and `/metrics` over plain HTTP.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

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
        let ready = conditions.values().all(|condition| condition.holds || !condition.required);
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
pub(crate) async fn serve_health(listener: TcpListener, readiness: Readiness, stop: CancellationToken) -> std::io::Result<()> {
    let router = Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(|State(readiness): State<Readiness>| async move { readiness.answer() }))
        .with_state(readiness);
    axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned()).await
}

/// Serves the metrics until `stop` is cancelled.
pub(crate) async fn serve_metrics(listener: TcpListener, metrics: Metrics, stop: CancellationToken) -> std::io::Result<()> {
    let router = Router::new().route("/metrics", get(exposition)).with_state(metrics);
    axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned()).await
}

async fn exposition(State(metrics): State<Metrics>) -> Response {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], metrics.render()).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_required_conditions_keep_requests_away() {
        let readiness = Readiness::default();
        readiness.inform("preflight", false, "Karpenter is missing");
        readiness.require("admission", true, "");
        assert_eq!(readiness.answer(), (StatusCode::OK, "[+]admission\n[-]preflight: Karpenter is missing\nready\n".to_owned()));
        readiness.require("admission", false, "no certificate");
        assert_eq!(readiness.answer().0, StatusCode::SERVICE_UNAVAILABLE);
    }
}
