//! What a cluster costs in which there is nothing to do: passes go on, and nothing is written or said.

use jiff::ToSpan as _;
use kube::api::DynamicObject;
use noderotation_core::schedule::LONG_REQUEUE;
use tokio::sync::Notify;

use super::log::Log;
use super::*;
use crate::controller::status::Statuses;

const POOLS: usize = 100;
/// A Thursday; the first windows are on Wednesday and Saturday, the other one is always open.
const BEGIN: &str = "2026-01-08T00:00:00Z";

fn name(pool: usize) -> String {
    format!("pool-{pool}")
}

/// Pools with a node each, none of which is due before the next week.
fn cluster(window: &Value) -> Api {
    let api = Api::default();
    api.put(POLICIES, &policy("auto", window));
    for pool in (0..POOLS).map(name) {
        let template = json!({"expireAfter": "480h", "terminationGracePeriod": "1h"});
        api.put(NODEPOOLS, &json!({"metadata": {"name": pool}, "spec": {"template": {"spec": template}}}));
        let labels = json!({"karpenter.sh/nodepool": pool});
        let [mut claim, mut node] = [claim(&pool), node(&pool)];
        claim["metadata"]["labels"] = labels.clone();
        claim["spec"] = json!({"expireAfter": "480h", "terminationGracePeriod": "1h"});
        node["metadata"]["labels"] = labels;
        api.put(NODECLAIMS, &claim);
        api.put(NODES, &node);
    }
    api
}

/// Between two passes over a pool: ten times as long as it asks for, since a test cannot wait for all of them.
const ROUND: Duration = Duration::from_secs(600);
/// From the passes to the look of the watch at the policy, by when its status is written.
const WATCH: Duration = Duration::from_secs(1);

/// The cluster, led, with the status kept, and the watch of its policy.
struct Idle {
    bench: Bench,
    shared: Arc<Shared>,
    policies: reflector::store::Writer<DynamicObject>,
}

impl Idle {
    fn new(window: &Value) -> Self {
        let bench = Bench::with(cluster(window), Clock::from(BEGIN.parse().unwrap()));
        let mut policies = reflector::store::Writer::new(policy_resource());
        policies.apply_watcher_event(&Event::Init);
        policies.apply_watcher_event(&Event::InitDone);
        let caches = Caches { policy_store: policies.as_reader(), ..bench.caches() };
        let (context, pools) = (Arc::clone(&bench.context), bench.cache::<GuardedPool>(NODEPOOLS));
        tokio::spawn(async move { Statuses::new(&context, &caches, &pools).keep(&Notify::new(), &CancellationToken::new()).await });
        Self { shared: bench.lead(), bench, policies }
    }

    fn watch(&mut self) {
        let policy = serde_json::from_value(self.bench.api.get(POLICIES, "policy").unwrap()).unwrap();
        self.policies.apply_watcher_event(&Event::Apply(policy));
    }

    /// Passes over every pool for so long.
    async fn let_pass(&mut self, time: jiff::Span) {
        let clock = self.bench.context.clock.clone();
        let (pools, end) = (self.bench.cache::<GuardedPool>(NODEPOOLS).state(), clock.now() + time);
        while clock.now() < end {
            self.watch();
            for pool in &pools {
                let action = reconcile(Arc::clone(pool), Arc::clone(&self.shared)).await.unwrap();
                assert_eq!(action, Action::requeue(LONG_REQUEUE));
            }
            tokio::time::sleep(WATCH).await;
            self.watch();
            tokio::time::sleep(ROUND - WATCH).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_day_without_anything_to_do_costs_no_request_and_no_word() {
    let days = json!(["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]);
    let windows = [
        json!({"timezone": "UTC", "days": ["Wed", "Sat"], "start": "02:00", "end": "06:00"}),
        json!({"timezone": "UTC", "days": days, "start": "00:00", "end": "24:00"}),
    ];
    for window in windows {
        costs_nothing(&window).await;
    }
}

async fn costs_nothing(window: &Value) {
    let (mut idle, log) = (Idle::new(window), Log::new());
    idle.let_pass(20.minutes()).await;
    let (asked, said) = (idle.bench.api.asked(), log.lines());
    assert_eq!(idle.bench.api.writes(), ["PATCH rotationpolicies/policy"], "its status");
    assert_eq!(said.len(), POOLS, "each pool says why nothing rotates: {said:?}");
    idle.let_pass(24.hours()).await;
    assert_eq!(idle.bench.api.asked(), asked, "something was read or written");
    assert_eq!(log.lines(), said, "something was said");
}
