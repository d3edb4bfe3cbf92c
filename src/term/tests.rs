//! What a replica does while it may not lead yet, and how its end comes.

use std::sync::{Arc, Mutex};

use axum::http::{Request, Response};
use kube::client::Body;
use serde_json::Value;

use super::*;
use crate::scripted::refusal;

/// How the API server answers everything.
#[derive(Clone, Copy)]
enum Cluster {
    Unfit,
    Silent,
}

/// A candidate, what it asks the cluster, and where it is seen.
struct Scene {
    candidate: Candidate,
    asked: Arc<Mutex<Vec<String>>>,
    metrics: Metrics,
    stop: CancellationToken,
}

fn scene(cluster: Cluster) -> Scene {
    let asked = Arc::<Mutex<Vec<String>>>::default();
    let notes = Arc::clone(&asked);
    let service = tower::service_fn(move |request: Request<Body>| {
        notes.lock().unwrap().push(request.uri().path().to_owned());
        async move {
            let (code, answer): (u16, Value) = match cluster {
                Cluster::Unfit => refusal(404, "NotFound"),
                Cluster::Silent => std::future::pending().await,
            };
            let body = Body::from(answer.to_string().into_bytes());
            Ok::<_, std::convert::Infallible>(Response::builder().status(code).body(body).unwrap())
        }
    });
    let (client, metrics, stop) = (kube::Client::new(service, "default"), Metrics::new("0", "0").unwrap(), CancellationToken::new());
    let (events, _writer) = Recorder::new(client.clone(), "a".to_owned(), metrics.clone());
    let timing =
        Timing { lease_duration: Duration::from_secs(15), renew_deadline: Duration::from_secs(10), retry_period: Duration::from_secs(2) };
    let candidate = Candidate {
        client,
        metrics: metrics.clone(),
        readiness: Readiness::default(),
        events,
        board: Board::default(),
        settings: Settings { namespace: "system".to_owned(), ..Settings::default() },
        identity: "a".to_owned(),
        timing: Some(timing),
        stop: stop.clone(),
    };
    Scene { candidate, asked, metrics, stop }
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_is_not_fit_is_looked_at_again_and_its_lease_is_not_touched() {
    let Scene { candidate, asked, metrics, stop } = scene(Cluster::Unfit);
    let running = tokio::spawn(candidate.run());
    tokio::time::sleep(2 * PREFLIGHT_PERIOD + PREFLIGHT_PERIOD / 2).await;
    stop.cancel();
    assert!(running.await.unwrap().is_ok());
    let asked = asked.lock().unwrap();
    let looks = asked.iter().filter(|path| path.as_str() == "/apis/karpenter.sh/v1").count();
    assert_eq!((looks, asked.iter().filter(|path| path.contains("/leases")).count()), (3, 0));
    let text = metrics.render();
    assert!(text.contains("noderotation_preflight_ok 0\n") && text.contains("noderotation_leader 0\n"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn the_stop_does_not_wait_for_an_api_server_that_is_silent() {
    let Scene { candidate, asked, metrics: _, stop } = scene(Cluster::Silent);
    let running = tokio::spawn(candidate.run());
    while asked.lock().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    stop.cancel();
    let ended = tokio::time::timeout(Duration::from_secs(1), running).await.expect("it waits for an answer");
    assert!(ended.unwrap().is_ok());
}

#[tokio::test]
async fn a_replica_that_no_longer_leads_tells_nothing_of_pools() {
    let Scene { candidate, metrics, .. } = scene(Cluster::Unfit);
    metrics.leader(true);
    metrics.gauges("p", &crate::metrics::PoolGauges::default());
    metrics.completed("p", "success");
    candidate.resign();
    let told = metrics.render();
    assert!(told.contains("noderotation_leader 0\n"), "{told}");
    let of_pools: Vec<&str> = told.lines().filter(|line| line.contains("nodepool=\"p\"")).collect();
    let counted = |line: &&str| line.contains("_total{") || line.starts_with("noderotation_duration_seconds_");
    assert!(!of_pools.is_empty() && of_pools.iter().all(counted), "{of_pools:?}");
}
