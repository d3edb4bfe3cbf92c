//! What the client sends over a real connection, what it does not repeat, and how long it waits.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::http::{HeaderMap, StatusCode};
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, WatchParams};
use tokio::net::TcpListener;
use tower::ServiceExt as _;

use super::*;

fn metrics() -> Metrics {
    Metrics::new("0", "0").unwrap()
}

fn requests(metrics: &Metrics) -> Vec<String> {
    let text = metrics.render();
    text.lines().filter_map(|line| line.strip_prefix("noderotation_api_requests_total")).map(str::to_owned).collect()
}

/// A server that is always busy, and the user agents of those who asked.
async fn busy_server() -> (Config, Arc<Mutex<Vec<String>>>) {
    let agents = Arc::<Mutex<Vec<String>>>::default();
    let seen = Arc::clone(&agents);
    let router = Router::new().fallback(move |headers: HeaderMap| {
        seen.lock().unwrap().push(headers[USER_AGENT].to_str().unwrap().to_owned());
        async { StatusCode::SERVICE_UNAVAILABLE }
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let config = Config::new(format!("http://{}", listener.local_addr().unwrap()).parse().unwrap());
    tokio::spawn(async { axum::serve(listener, router).await });
    (config, agents)
}

#[tokio::test]
async fn requests_say_who_sent_them_are_counted_and_are_not_repeated() {
    // Another test may have installed it.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    let (config, agents) = busy_server().await;
    let metrics = metrics();
    let client = build(config, "pod-1_2a", metrics.clone()).unwrap();
    let nodes: Api<Node> = Api::all(client);
    assert!(nodes.get("n").await.is_err());
    assert!(nodes.watch(&WatchParams::default(), "0").await.is_err());
    let agent = format!("node-rotation-controller/{} (pod-1_2a)", env!("CARGO_PKG_VERSION"));
    assert_eq!(*agents.lock().unwrap(), [agent.clone(), agent]);
    assert_eq!(requests(&metrics), [r#"{code="503",verb="get"} 1"#, r#"{code="503",verb="watch"} 1"#]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_come_is_waited_for_fifteen_seconds() {
    let metrics = metrics();
    let silent = tower::service_fn(|_: Request<()>| std::future::pending::<Result<Response<()>, Infallible>>());
    let service = CountLayer(metrics.clone()).layer(TimeoutLayer::new(ANSWER_TIMEOUT).layer(silent));
    let start = tokio::time::Instant::now();
    assert!(service.oneshot(Request::new(())).await.is_err());
    assert!((ANSWER_TIMEOUT..ANSWER_TIMEOUT + Duration::from_secs(1)).contains(&start.elapsed()));
    assert_eq!(requests(&metrics), [r#"{code="error",verb="get"} 1"#]);
}
