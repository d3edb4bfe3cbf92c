//! The status of policies: what an old cache and a lost race lead to.

use kube::api::DynamicObject;
use tokio::sync::Notify;

use super::log::Log;
use super::*;
use crate::controller::status::Statuses;

/// The status is kept, as the operator keeps it; the caches change only when a test says so.
struct Kept {
    bench: Bench,
    pools: reflector::store::Writer<GuardedPool>,
    policies: reflector::store::Writer<DynamicObject>,
}

impl Kept {
    /// Caches that show the policy, and no pool.
    fn new(bench: Bench) -> Self {
        let (pools, policies) = (reflector::store::Writer::default(), reflector::store::Writer::new(policy_resource()));
        let mut kept = Self { bench, pools, policies };
        kept.pools.apply_watcher_event(&Event::Init);
        kept.pools.apply_watcher_event(&Event::InitDone);
        kept.policies.apply_watcher_event(&Event::Init);
        kept.policies.apply_watcher_event(&Event::InitDone);
        kept.see_policy();
        let caches = Caches { policy_store: kept.policies.as_reader(), ..kept.bench.caches() };
        let (context, pools) = (Arc::clone(&kept.bench.context), kept.pools.as_reader());
        tokio::spawn(async move {
            Statuses::new(&context, &caches, &pools).keep(&Notify::new(), &CancellationToken::new()).await;
        });
        kept
    }

    fn see_policy(&mut self) {
        self.policies.apply_watcher_event(&Event::Apply(serde_json::from_value(self.bench.api.get(POLICIES, "policy").unwrap()).unwrap()));
    }

    fn see_pool(&mut self) {
        self.pools.apply_watcher_event(&Event::Apply(serde_json::from_value(self.bench.api.get(NODEPOOLS, "pool").unwrap()).unwrap()));
    }

    /// The number of pools that the status says after so long.
    async fn governs_after(&self, seconds: u64) -> Option<i64> {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        self.bench.api.get(POLICIES, "policy").unwrap()["status"]["matchedNodePools"].as_i64()
    }
}

#[tokio::test(start_paused = true)]
async fn t24_a_status_from_an_old_cache_is_put_right_without_a_change() {
    let mut kept = Kept::new(Bench::new());
    assert_eq!(kept.governs_after(61).await, Some(0));
    kept.see_policy();
    assert_eq!(kept.governs_after(61).await, Some(0));
    // Nobody says that the cache has caught up.
    kept.see_pool();
    assert_eq!(kept.governs_after(61).await, Some(1));
}

#[tokio::test(start_paused = true)]
async fn t25_a_lost_race_for_a_status_is_no_error_and_is_made_up_for_at_once() {
    let bench = Bench::new();
    bench.api.refuse_next("PATCH rotationpolicies/policy", 409, "Conflict", 1);
    let log = Log::new();
    let mut kept = Kept::new(bench);
    kept.see_pool();
    assert_eq!(kept.governs_after(60).await, None, "lost");
    assert_eq!(kept.governs_after(1).await, Some(1), "made up for");
    assert_eq!(log.lines(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn while_the_cache_does_not_show_a_write_the_next_one_waits() {
    let mut kept = Kept::new(Bench::new());
    assert_eq!(kept.governs_after(61).await, Some(0));
    kept.see_pool();
    assert_eq!(kept.governs_after(600).await, Some(0));
    let writes = |kept: &Kept| kept.bench.api.writes().iter().filter(|write| write.contains(POLICIES)).count();
    assert_eq!(writes(&kept), 1, "{:?}", kept.bench.api.writes());
    kept.see_policy();
    assert_eq!(kept.governs_after(61).await, Some(1));
    assert_eq!(writes(&kept), 2);
}

#[tokio::test(start_paused = true)]
async fn the_pause_after_a_failed_write_grows_to_a_minute() {
    let bench = Bench::new();
    bench.api.refuse_next("PATCH rotationpolicies/policy", 503, "ServiceUnavailable", 1000);
    let kept = Kept::new(bench);
    assert_eq!(kept.governs_after(600).await, None);
    let tries = kept.bench.api.writes().iter().filter(|request| request.starts_with("PATCH rotationpolicies/policy")).count();
    // After one minute, then seven times until a minute is reached, then one a minute.
    assert!((15..=18).contains(&tries), "{tries}");
}
