//! Writes the status of policies: one writer, on change only, and a lost race is tried again quietly (D10).

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::ResourceExt;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams};
use kube::runtime::reflector::Store;
use noderotation_core::annotation::stamp;
use noderotation_core::status::{PoolFacts, Reason, Summary, summarize};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::controller::Context;
use crate::controller::caches::{Caches, GuardedPool, policy_resource};

/// Changes come in bursts; one look serves a burst.
const SETTLE: Duration = Duration::from_millis(500);
/// A look without a change, so that a write that was lost is made up for.
const PERIOD: Duration = Duration::from_secs(60);

/// Keeps every policy's status until `stop` is cancelled, and then waits for ever.
pub(super) async fn keep(context: &Context, caches: &Caches, pools: &Store<GuardedPool>, changes: &Notify, stop: &CancellationToken) {
    while !stop.is_cancelled() {
        tokio::select! {
            () = changes.notified() => tokio::time::sleep(SETTLE).await,
            () = tokio::time::sleep(PERIOD) => {}
            () = stop.cancelled() => {}
        }
        if caches.filled().await.is_ok() && !stop.is_cancelled() && write_all(context, caches, pools).await {
            changes.notify_one();
        }
    }
    std::future::pending().await
}

/// Writes what differs; true if something has to be looked at again.
async fn write_all(context: &Context, caches: &Caches, pools: &Store<GuardedPool>) -> bool {
    let facts: Vec<PoolFacts> = pools.state().iter().filter_map(|pool| pool.0.as_ref().ok()).map(facts).collect();
    let mut again = false;
    let summaries = summarize(&caches.policies(), &facts);
    for object in caches.policy_objects() {
        let Some(summary) = summaries.get(&object.name_any()) else {
            continue;
        };
        again |= write(context, &object, summary).await;
    }
    again
}

fn facts(pool: &noderotation_core::karpenter::NodePool) -> PoolFacts {
    let rotating = pool.marks(Timestamp::now()).anchor.is_some();
    PoolFacts { name: pool.name_any(), labels: pool.labels().clone(), rotating }
}

/// Writes one status if it differs; true if the race for it was lost.
async fn write(context: &Context, object: &Arc<DynamicObject>, summary: &Summary) -> bool {
    let status = object.data.get("status").cloned().unwrap_or(Value::Null);
    let wanted = wanted(&status, summary, Timestamp::now());
    if status == wanted || !context.lead.holds() {
        return false;
    }
    let body = json!({ "metadata": { "resourceVersion": object.resource_version(), "uid": object.uid() }, "status": wanted });
    let resource: ApiResource = policy_resource();
    let api: Api<DynamicObject> = Api::all_with(context.client.clone(), &resource);
    match api.patch_status(&object.name_any(), &PatchParams::default(), &Patch::Merge(&body)).await {
        Ok(_) => false,
        Err(error) => {
            debug!(policy = object.name_any(), error = %error, "status not written, trying again");
            true
        }
    }
}

/// The status as it should be. Conditions of others stay, and the time of a transition moves only with the status.
fn wanted(status: &Value, summary: &Summary, now: Timestamp) -> Value {
    let conditions = status.get("conditions").and_then(Value::as_array).cloned().unwrap_or_default();
    let is_ready = |condition: &&Value| condition.get("type").and_then(Value::as_str) == Some("Ready");
    let before = conditions.iter().find(is_ready);
    let ready = if summary.reason == Reason::Accepted { "True" } else { "False" };
    let since = before.filter(|before| before.get("status").and_then(Value::as_str) == Some(ready));
    let since = since.and_then(|before| before.get("lastTransitionTime")).cloned();
    let condition = json!({
        "type": "Ready",
        "status": ready,
        "reason": summary.reason.text(),
        "message": summary.message,
        "observedGeneration": summary.observed_generation,
        "lastTransitionTime": since.unwrap_or_else(|| json!(stamp(now))),
    });
    let others = conditions.iter().filter(|condition| !is_ready(condition)).cloned();
    json!({
        "observedGeneration": summary.observed_generation,
        "matchedNodePools": summary.matched,
        "rotatingNodePools": summary.rotating,
        "conditions": std::iter::once(condition).chain(others).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn a_status_that_says_the_same_is_the_same_and_the_transition_keeps_its_time() {
        let mut summary = Summary { observed_generation: 1, matched: 2, rotating: 0, reason: Reason::Accepted, message: "fine".to_owned() };
        let first = wanted(&Value::Null, &summary, at("2026-01-01T00:00:00Z"));
        assert_eq!(wanted(&first, &summary, at("2026-01-02T00:00:00Z")), first);
        summary.matched = 3;
        let second = wanted(&first, &summary, at("2026-01-02T00:00:00Z"));
        assert_eq!(second["conditions"][0]["lastTransitionTime"], "2026-01-01T00:00:00Z");
        summary.reason = Reason::Conflict;
        let third = wanted(&second, &summary, at("2026-01-03T00:00:00Z"));
        assert_eq!(third["conditions"][0]["lastTransitionTime"], "2026-01-03T00:00:00Z");
    }

    #[test]
    fn conditions_of_others_stay() {
        let summary = Summary { observed_generation: 1, matched: 0, rotating: 0, reason: Reason::Invalid, message: "no".to_owned() };
        let status = json!({"conditions": [{"type": "Audited", "status": "True"}]});
        let wanted = wanted(&status, &summary, at("2026-01-01T00:00:00Z"));
        assert_eq!(wanted["conditions"][1], json!({"type": "Audited", "status": "True"}));
    }
}
