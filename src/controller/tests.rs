//! Whole passes against an API server in memory: which requests are sent, in which order, and what each answer leads to.

mod api;
mod faults;
mod idle;
pub(super) mod log;
mod races;
mod removal;
mod statuses;

use std::sync::Arc;
use std::time::Duration;

use kube::core::DeserializeGuard;
use kube::runtime::controller::{self, Action};
use kube::runtime::reflector;
use kube::runtime::watcher::Event;
use noderotation_core::annotation::{ACTIVE_ROTATION, ACTIVE_ROTATION_STATE, CORDONED, SURGE_FOR};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::caches::{Caches, GuardedPool, policy_resource};
use super::policies::Policies;
use super::reconcile::{Error, Shared, reconcile};
use super::*;
use crate::metrics::Metrics;
use api::{Api, NODECLAIMS, NODEPOOLS, NODES, PODS, POLICIES};

/// One replica that leads a cluster.
struct Bench {
    api: Api,
    context: Arc<Context>,
    metrics: Metrics,
}

impl Bench {
    /// A pool under a policy that is always open, with the claim `old` that is due.
    fn new() -> Self {
        let api = Api::default();
        let always =
            json!({"timezone": "UTC", "days": ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"], "start": "00:00", "end": "24:00"});
        api.put(POLICIES, &policy("24h", &always));
        api.put(NODEPOOLS, &json!({"metadata": {"name": "pool"}, "spec": {"template": {"spec": {}}}}));
        api.put(NODECLAIMS, &claim("old"));
        api.put(NODES, &node("old"));
        Self::with(api, Clock::of_the_machine())
    }

    /// Of this cluster, at the time of this clock.
    fn with(api: Api, clock: Clock) -> Self {
        let (client, metrics) = (api.client(), Metrics::new("0", "0").unwrap());
        let (events, _writer) = Recorder::new(client.clone(), "test".to_owned(), metrics.clone());
        let settings = Settings { namespace: "system".to_owned(), ..Settings::default() };
        let context = Context {
            client,
            metrics: metrics.clone(),
            events,
            settings,
            board: Board::default(),
            owner: None,
            lead: Lead::forever(),
            clock,
        };
        Self { api, context: Arc::new(context), metrics }
    }

    /// The same cluster, led anew; its caches show it as it is now.
    fn lead(&self) -> Arc<Shared> {
        Arc::new(Shared::new(Arc::clone(&self.context), self.caches()))
    }

    fn caches(&self) -> Caches {
        let (policy_store, writer) = (self.api.list(POLICIES), reflector::store::Writer::new(policy_resource()));
        let policies = Policies::default();
        let objects: Vec<_> = policy_store.into_iter().map(|object| Arc::new(serde_json::from_value(object).unwrap())).collect();
        policies.replace(&objects);
        Caches {
            claims: self.cache(NODECLAIMS),
            nodes: self.cache(NODES),
            placeholders: self.cache(PODS),
            policies,
            policy_store: filled(writer, Vec::new()),
        }
    }

    fn cache<K>(&self, collection: &str) -> reflector::Store<K>
    where
        K: kube::Resource<DynamicType = ()> + Clone + DeserializeOwned + Send + Sync + 'static,
    {
        let objects = self.api.list(collection).into_iter().map(|object| serde_json::from_value(object).unwrap());
        filled(reflector::store::Writer::default(), objects.collect())
    }

    /// One pass over the pool as `shared` sees it.
    async fn pass(&self, shared: &Arc<Shared>) -> Result<Action, Error> {
        let pool: DeserializeGuard<_> = serde_json::from_value(self.api.get(NODEPOOLS, "pool").unwrap()).unwrap();
        let pool: GuardedPool = pool;
        reconcile(Arc::new(pool), Arc::clone(shared)).await
    }

    fn annotation(&self, collection: &str, name: &str, key: &str) -> Option<String> {
        let object = self.api.get(collection, name)?;
        object["metadata"]["annotations"][key].as_str().map(str::to_owned)
    }

    fn counted(&self, series: &str) -> bool {
        self.metrics.render().lines().any(|line| line == series)
    }
}

fn filled<K>(mut writer: reflector::store::Writer<K>, objects: Vec<K>) -> reflector::Store<K>
where
    K: reflector::Lookup + Clone + 'static,
    K::DynamicType: Eq + std::hash::Hash + Clone,
{
    writer.apply_watcher_event(&Event::Init);
    objects.into_iter().for_each(|object| writer.apply_watcher_event(&Event::InitApply(object)));
    writer.apply_watcher_event(&Event::InitDone);
    writer.as_reader()
}

/// What the runtime says of a pool that its cache does not know.
fn gone() -> Result<(reflector::ObjectRef<GuardedPool>, Action), controller::Error<Error, Error>> {
    Err(controller::Error::ObjectNotFound(Box::new(reflector::ObjectRef::<GuardedPool>::new("pool").erase())))
}

fn policy(age_threshold: &str, window: &Value) -> Value {
    json!({"metadata": {"name": "policy"}, "spec": {"nodePoolSelector": {}, "ageThreshold": age_threshold, "maintenanceWindows": [window]}})
}

fn labels() -> Value {
    json!({"karpenter.sh/nodepool": "pool"})
}

fn claim(name: &str) -> Value {
    json!({
        "metadata": {"name": name, "labels": labels(), "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"expireAfter": "876000h"},
        "status": {"nodeName": name, "conditions": [{"type": "Ready", "status": "True"}, {"type": "Initialized", "status": "True"}]}
    })
}

fn node(name: &str) -> Value {
    json!({"metadata": {"name": name, "labels": labels()}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}})
}

fn marked(name: &str, claim: &str) -> Value {
    let mut node = node(name);
    node["metadata"]["annotations"] = json!({SURGE_FOR: claim, CORDONED: "true"});
    node["spec"] = json!({"unschedulable": true});
    node
}

fn placeholder(namespace: &str, claim: &str) -> Value {
    json!({"metadata": {
        "name": format!("noderotation-surge-{claim}"),
        "namespace": namespace,
        "labels": {SURGE_FOR: claim, "karpenter.sh/nodepool": "pool"}
    }})
}

#[tokio::test(start_paused = true)]
async fn each_lead_begins_with_one_sweep_that_reads_markers_first_and_anchors_last_and_metadata_only() {
    let bench = Bench::new();
    let shared = bench.lead();
    let (one, two) = tokio::join!(bench.pass(&shared), bench.pass(&shared));
    assert!(one.is_ok() && two.is_ok());
    let mut sweep = bench.api.asked();
    sweep.truncate(4);
    sweep[..3].sort();
    let expected = [
        "LIST nodeclaims karpenter.sh/nodepool (metadata)",
        "LIST nodes karpenter.sh/nodepool (metadata)",
        "LIST pods noderotation.io/surge-for (metadata)",
        "LIST nodepools  (metadata)",
    ];
    assert_eq!(sweep, expected);
    let lists = |asked: &[String]| asked.iter().filter(|line| line.contains("LIST nodepools")).count();
    assert_eq!(lists(&bench.api.asked()), 1);
    bench.pass(&bench.lead()).await.unwrap();
    assert_eq!(lists(&bench.api.asked()), 2);
}

#[tokio::test(start_paused = true)]
async fn t16_nothing_is_rotated_before_the_sweep_is_over() {
    let bench = Bench::new();
    bench.api.refuse_next("LIST nodepools", 500, "InternalError", 1);
    let shared = bench.lead();
    assert!(matches!(bench.pass(&shared).await, Err(Error::Observe(_))));
    assert!(bench.api.writes().is_empty());
    bench.pass(&shared).await.unwrap();
    assert_eq!(bench.annotation(NODEPOOLS, "pool", ACTIVE_ROTATION).as_deref(), Some("old"));
}

#[tokio::test(start_paused = true)]
async fn the_sweep_goes_item_by_item_and_looks_again_where_it_lost_a_race() {
    let bench = Bench::new();
    bench.api.put(NODES, &marked("n1", "gone-1"));
    bench.api.put(NODES, &marked("n2", "gone-2"));
    bench.api.put(NODES, &marked("n3", "gone-3"));
    bench.api.put(PODS, &placeholder("system", "gone-2"));
    bench.api.put(PODS, &placeholder("elsewhere", "gone-2"));
    bench.api.refuse_next("PATCH nodes/n1", 409, "Conflict", 1);
    bench.api.refuse_next("PATCH nodes/n2", 403, "Forbidden", 2);
    bench.pass(&bench.lead()).await.unwrap();
    for node in ["n1", "n2", "n3"] {
        assert_eq!(bench.annotation(NODES, node, SURGE_FOR), None, "{node}");
        assert_eq!(bench.api.get(NODES, node).unwrap()["spec"], json!({}), "{node}");
    }
    let writes = bench.api.writes();
    let swept = ["nodes/n1", "pods/noderotation-surge-gone-2", "nodes/n2", "nodes/n3", "nodes/n1", "nodes/n2"];
    let words: Vec<&str> = writes.iter().filter_map(|line| line.split(' ').nth(1)).take(swept.len()).collect();
    assert_eq!(words, swept, "once, and once more what did not go well; the rest is found by the pass");
    let pods = bench.api.list(PODS);
    assert!(pods.iter().any(|pod| pod["metadata"]["namespace"] == "elsewhere"), "what is not ours to delete stays");
    assert!(!pods.iter().any(|pod| pod["metadata"]["labels"][SURGE_FOR] == "gone-2" && pod["metadata"]["namespace"] == "system"));
}

#[tokio::test(start_paused = true)]
async fn what_a_deleted_pool_has_left_is_removed_once_it_is_really_gone() {
    for exists in [true, false] {
        let bench = Bench::new();
        bench.api.put(NODES, &marked("n1", "gone-1"));
        bench.api.put(PODS, &placeholder("system", "gone-1"));
        if !exists {
            bench.api.delete(NODEPOOLS, "pool");
        }
        bench.lead().tidy_up_if_gone(gone(), &CancellationToken::new()).await;
        assert_eq!(bench.annotation(NODES, "n1", SURGE_FOR).is_some(), exists, "exists: {exists}");
        assert_eq!(bench.api.list(PODS).len(), usize::from(exists), "exists: {exists}");
    }
    let bench = Bench::new();
    bench.api.delete(NODEPOOLS, "pool");
    bench.lead().tidy_up_if_gone(gone(), &CancellationToken::new()).await;
    assert!(bench.api.asked().is_empty(), "a pool that has left nothing costs no request");
}

#[tokio::test(start_paused = true)]
async fn a_lost_race_is_decided_anew_five_times_and_then_waits_without_a_word() {
    for (lost, starts) in [(5, true), (6, false)] {
        let bench = Bench::new();
        bench.api.refuse_next("PATCH nodepools/pool", 409, "Conflict", lost);
        let action = bench.pass(&bench.lead()).await.unwrap();
        assert_eq!(bench.annotation(NODEPOOLS, "pool", ACTIVE_ROTATION).is_some(), starts, "{lost} lost");
        assert_eq!(action, Action::requeue(Duration::from_secs(30)), "{lost} lost");
        let tries = bench.api.asked().iter().filter(|line| line.starts_with("PATCH nodepools/pool")).count();
        // Each try is decided from a pool that was read again.
        let reads = bench.api.asked().iter().filter(|line| *line == "READ nodepools/pool").count();
        assert!(reads >= tries, "{lost} lost: {reads} reads, {tries} tries");
        assert!(bench.counted("noderotation_reconcile_total{result=\"success\"} 1"));
    }
}

#[tokio::test(start_paused = true)]
async fn an_anchor_that_can_be_nobodys_name_is_not_asked_for_and_not_kept() {
    for absurd in ["a b", "?limit=1", "../pool", "a,metadata.name!=a", "A", "\u{e9}", " "] {
        let bench = Bench::new();
        let mut pool = bench.api.get(NODEPOOLS, "pool").unwrap();
        pool["metadata"]["annotations"] = json!({ACTIVE_ROTATION: absurd});
        bench.api.put(NODEPOOLS, &pool);
        let shared = bench.lead();
        for _ in 0..3 {
            bench.pass(&shared).await.unwrap();
        }
        assert_eq!(bench.annotation(NODEPOOLS, "pool", ACTIVE_ROTATION).as_deref(), Some("old"), "{absurd}");
        let asked = bench.api.asked();
        assert!(!asked.iter().any(|line| line.ends_with(&format!("/{absurd}"))), "{absurd}: {asked:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_race_that_somebody_else_has_won_leaves_nothing_to_do() {
    let bench = Bench::new();
    let shared = bench.lead();
    bench.api.before("PATCH nodepools/pool", |api| {
        let mut pool = api.get(NODEPOOLS, "pool").unwrap();
        pool["spec"]["replicas"] = json!(1);
        api.put(NODEPOOLS, &pool);
    });
    bench.pass(&shared).await.unwrap();
    assert_eq!(bench.annotation(NODEPOOLS, "pool", ACTIVE_ROTATION), None);
}

#[tokio::test(start_paused = true)]
async fn a_stuck_drain_asks_what_it_waits_for_and_goes_on_where_it_may_not_ask() {
    let bench = Bench::new();
    let mut pool = bench.api.get(NODEPOOLS, "pool").unwrap();
    pool["metadata"]["annotations"] = json!({ACTIVE_ROTATION: "old", ACTIVE_ROTATION_STATE: "draining"});
    bench.api.put(NODEPOOLS, &pool);
    let mut old = claim("old");
    old["metadata"]["deletionTimestamp"] = json!("2026-01-07T02:00:00Z");
    bench.api.put(NODECLAIMS, &old);
    bench.api.refuse_next("LIST poddisruptionbudgets", 403, "Forbidden", 1);
    bench.pass(&bench.lead()).await.unwrap();
    assert!(bench.api.asked().contains(&"LIST pods spec.nodeName=old".to_owned()));
    assert!(bench.counted("noderotation_drain_stuck{nodepool=\"pool\"} 1"));
    assert!(bench.api.writes().is_empty());
}
