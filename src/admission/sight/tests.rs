//! What is seen through the two watches, and what is said while one of them does not work.

use std::time::Duration;

use axum::http::{Request, Response};
use kube::client::Body;
use noderotation_core::doubt::Strictness;
use noderotation_core::resolve::PolicyEntry;
use serde_json::json;

use super::*;
use crate::scripted::{Answer, refusal};

/// A cluster by what it answers: to lists of a kind, and to the first watch of policies.
#[derive(Clone)]
struct Cluster {
    pools: Answer,
    policies: Answer,
    changes: Arc<Mutex<Option<Value>>>,
}

fn list(kind: &str, items: &[Value]) -> Answer {
    (200, json!({"apiVersion": "v1", "kind": kind, "metadata": {"resourceVersion": "7"}, "items": items}))
}

fn pool(name: &str) -> Value {
    json!({
        "apiVersion": "karpenter.sh/v1", "kind": "NodePool",
        "metadata": {"name": name, "labels": {"team": "a"}},
        "spec": {"template": {"spec": {"expireAfter": "336h", "terminationGracePeriod": "1h"}}}
    })
}

fn policy(name: &str) -> Value {
    json!({
        "apiVersion": "noderotation.io/v1alpha1", "kind": "RotationPolicy",
        "metadata": {"name": name, "resourceVersion": "8"},
        "spec": {
            "nodePoolSelector": {"matchLabels": {"team": "a"}},
            "maintenanceWindows": [{"timezone": "UTC", "days": ["Wed", "Sat"], "start": "02:00", "end": "06:00"}]
        }
    })
}

impl Default for Cluster {
    fn default() -> Self {
        let unreadable = json!({"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "odd"}, "spec": {"template": 3}});
        Self {
            pools: list("NodePoolList", &[pool("x"), unreadable]),
            policies: list("RotationPolicyList", &[policy("rival")]),
            changes: Arc::default(),
        }
    }
}

impl Cluster {
    fn client(&self) -> Client {
        let cluster = self.clone();
        Client::new(tower::service_fn(move |request| cluster.clone().answer(request)), "default")
    }

    async fn answer(self, request: Request<Body>) -> Result<Response<Body>, std::convert::Infallible> {
        let of_pools = request.uri().path() == "/apis/karpenter.sh/v1/nodepools";
        let watch = request.uri().query().unwrap_or_default().contains("watch=true");
        let change = if watch && !of_pools { self.changes.lock().unwrap().take() } else { None };
        if change.is_some() {
            // Somebody has looked before.
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        let (code, body) = match (watch, change) {
            (false, _) if of_pools => self.pools,
            (false, _) => self.policies,
            (true, Some(change)) => (200, change),
            (true, None) => std::future::pending().await,
        };
        Ok(Response::builder().status(code).body(Body::from(format!("{body}\n").into_bytes())).unwrap())
    }

    /// What is seen as soon as it is `so`, in the time that the paused clock makes pass at once.
    async fn sees(&self, so: impl Fn(&Result<Vec<String>, String>) -> bool) -> Result<Vec<String>, String> {
        let sight = Sight::default();
        let seen = async {
            loop {
                let seen = sight.look().map(|surroundings| told(&surroundings));
                if so(&seen) {
                    return seen;
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        tokio::select! {
            seen = seen => seen,
            () = sight.keep(self.client()) => panic!("the watches have ended"),
            () = tokio::time::sleep(Duration::from_secs(600)) => panic!("{:?}", sight.look().map(|surroundings| told(&surroundings))),
        }
    }
}

/// What the policy `new`, which is like the others, is told.
fn told(surroundings: &Surroundings) -> Vec<String> {
    let now = "2026-01-06T12:00:00Z".parse().unwrap();
    surroundings.judge(None, &PolicyEntry::from_object(&policy("new")), Strictness::default(), now).1
}

#[tokio::test(start_paused = true)]
async fn what_is_listed_is_seen_and_what_cannot_be_read_is_left_out() {
    let told = Cluster::default().sees(Result::is_ok).await.unwrap();
    assert!(matches!(told.as_slice(), [tie] if tie.contains("ties with rival for NodePool x,")), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_said_of_a_cluster_that_was_not_seen_yet() {
    let problem = Sight::default().look().unwrap_err();
    assert_eq!(problem, "RotationPolicies cannot be seen: they are not listed yet");
}

#[tokio::test(start_paused = true)]
async fn a_change_is_seen() {
    let cluster = Cluster::default();
    *cluster.changes.lock().unwrap() = Some(json!({"type": "DELETED", "object": policy("rival")}));
    let told = cluster.sees(|seen| seen.as_ref().is_ok_and(Vec::is_empty)).await.unwrap();
    assert_eq!(told, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn what_is_in_the_way_is_said() {
    let ready = "RotationPolicies cannot be seen: they are not listed yet";
    let blind = async |cluster: Cluster| cluster.sees(|seen| seen.as_ref().is_err_and(|problem| problem != ready)).await.unwrap_err();
    let without_karpenter = Cluster { pools: refusal(404, "NotFound"), ..Cluster::default() };
    assert_eq!(
        blind(without_karpenter).await,
        "NodePools cannot be seen: the cluster does not serve them; is their CustomResourceDefinition installed?"
    );
    let without_right = Cluster { policies: refusal(403, "Forbidden"), ..Cluster::default() };
    let problem = blind(without_right).await;
    assert!(problem.starts_with("RotationPolicies cannot be seen: ") && problem.contains("Forbidden"), "{problem}");
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_breaks_off_is_not_relied_on_until_everything_is_listed_anew() {
    let cluster = Cluster::default();
    let sight = Sight::default();
    let expired =
        json!({"type": "ERROR", "object": {"kind": "Status", "status": "Failure", "message": "too old", "reason": "Expired", "code": 410}});
    *cluster.changes.lock().unwrap() = Some(expired);
    let until = async |so: fn(&Result<Arc<Surroundings>, String>) -> bool| {
        while !so(&sight.look()) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let course = async {
        until(|seen| seen.as_ref().is_err_and(|problem| problem.contains("too old"))).await;
        until(Result::is_ok).await;
    };
    tokio::select! {
        () = course => {}
        () = sight.keep(cluster.client()) => panic!("the watches have ended"),
        () = tokio::time::sleep(Duration::from_secs(600)) => panic!("{:?}", sight.look().err()),
    }
}
