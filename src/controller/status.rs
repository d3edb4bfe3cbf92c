//! Writes the status of policies: one writer, on change only, and a lost race is tried again quietly (D10).

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;
use kube::ResourceExt;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams};
use kube::runtime::reflector::Store;
use noderotation_core::annotation::stamp;
use noderotation_core::few::cut;
use noderotation_core::karpenter::NodePool;
use noderotation_core::policy::NextWindow;
use noderotation_core::status::{Aspect, Outlook, PoolFacts, Reason, Summary, Truth, summarize};
use serde_json::{Map, Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::controller::Context;
use crate::controller::caches::{Caches, GuardedPool, policy_resource};
use crate::telemetry::words;

/// Changes come in bursts; one look serves a burst.
const SETTLE: Duration = Duration::from_millis(500);
/// A look without a change, and the longest pause after a write that failed.
const PERIOD: Duration = Duration::from_secs(60);
/// Bytes of a condition's message that the schema admits.
const LONGEST_MESSAGE: usize = 32768;
/// The policy is valid and uncontested.
const READY: &str = "Ready";
/// The condition that is there only while it holds, as kstatus has it.
const STALLED: &str = "Stalled";
/// The schedule can work.
const FEASIBLE: &str = "Feasible";
/// A node is being rotated.
const PROGRESSING: &str = "Progressing";

/// A status that was written: as it was meant, and as the API server keeps it. One whose definition is older than this
/// program drops what it does not know.
struct Written {
    wanted: Map<String, Value>,
    kept: Value,
    /// The version that it was written over, where there is a newer one now.
    over: Option<String>,
}

/// Writes the status of every policy.
pub(super) struct Statuses<'a> {
    context: &'a Context,
    caches: &'a Caches,
    pools: &'a Store<GuardedPool>,
    written: HashMap<String, Written>,
}

impl<'a> Statuses<'a> {
    pub(super) fn new(context: &'a Context, caches: &'a Caches, pools: &'a Store<GuardedPool>) -> Self {
        Self { context, caches, pools, written: HashMap::new() }
    }

    /// Keeps every policy's status until `stop` is cancelled, and then waits for ever.
    pub(super) async fn keep(&mut self, changes: &Notify, stop: &CancellationToken) {
        let mut failures: u32 = 0;
        while !stop.is_cancelled() {
            let pause = failures.checked_sub(1).map_or(PERIOD, |doublings| PERIOD.min(SETTLE * 2_u32.pow(doublings.min(7))));
            tokio::select! {
                () = changes.notified() => tokio::time::sleep(SETTLE).await,
                () = self.context.board.changed() => tokio::time::sleep(SETTLE).await,
                () = tokio::time::sleep(pause) => {}
                () = stop.cancelled() => {}
            }
            if self.caches.filled().await.is_ok() && !stop.is_cancelled() {
                failures = if self.write_all().await { failures.saturating_add(1) } else { 0 };
            }
        }
        std::future::pending().await
    }

    /// Writes what differs; true if a write has failed.
    async fn write_all(&mut self) -> bool {
        let facts: Vec<PoolFacts> =
            self.pools.state().iter().filter_map(|pool| pool.0.as_ref().ok()).map(|pool| self.facts(pool)).collect();
        let mut failed = false;
        let summaries = summarize(&self.caches.policies(), &facts, self.context.clock.now());
        self.written.retain(|policy, _| summaries.contains_key(policy));
        for object in self.caches.policy_objects() {
            let Some(summary) = summaries.get(&object.name_any()) else {
                continue;
            };
            failed |= self.write(&object, summary).await;
        }
        failed
    }

    fn facts(&self, pool: &NodePool) -> PoolFacts {
        let (name, rotating) = (pool.name_any(), pool.marks(self.context.clock.now()).anchor.is_some());
        let report = self.context.board.of(&name);
        PoolFacts { name, labels: pool.labels().clone(), rotating, report }
    }

    /// Writes one status if it differs; true if that has failed. While the cache shows what was written over, it waits: the
    /// write would only lose against the one before it.
    async fn write(&mut self, object: &DynamicObject, summary: &Summary) -> bool {
        let status = object.data.get("status").cloned().unwrap_or(Value::Null);
        let wanted = wanted(&status, summary, self.context.clock.now());
        let is_done = |written: &Written| {
            let outdated = written.over.is_some() && written.over == object.resource_version();
            outdated || (written.wanted == wanted && written.kept == status)
        };
        if says(&status, &wanted) || self.written.get(&object.name_any()).is_some_and(is_done) || !self.context.lead.holds() {
            return false;
        }
        let body = json!({ "metadata": { "resourceVersion": object.resource_version(), "uid": object.uid() }, "status": wanted });
        let resource: ApiResource = policy_resource();
        let api: Api<DynamicObject> = Api::all_with(self.context.client.clone(), &resource);
        match api.patch_status(&object.name_any(), &PatchParams::default(), &Patch::Merge(&body)).await {
            Ok(answer) => {
                let kept = answer.data.get("status").cloned().unwrap_or(Value::Null);
                let over = object.resource_version().filter(|version| answer.resource_version().as_ref() != Some(version));
                self.written.insert(object.name_any(), Written { wanted, kept, over });
                false
            }
            Err(error) => {
                debug!(policy = object.name_any(), error = words(&error), "status not written, trying again");
                true
            }
        }
    }
}

/// The status says what it should.
fn says(status: &Value, wanted: &Map<String, Value>) -> bool {
    wanted.iter().all(|(key, value)| status.get(key).unwrap_or(&Value::Null) == value)
}

/// Our part of the status as it should be; null is what should not be there. What the passes have not seen since the start
/// stays as it is.
fn wanted(status: &Value, summary: &Summary, now: Timestamp) -> Map<String, Value> {
    let instant = |at: Timestamp| json!(stamp(at));
    let seen = |key: &str, value: &dyn Fn(&Outlook) -> Value| {
        summary.outlook.as_ref().map_or_else(|| status.get(key).cloned().unwrap_or_default(), value)
    };
    let fields = [
        ("observedGeneration", summary.observed_generation.into()),
        ("matchedNodePools", summary.matched.into()),
        ("rotatingNodePools", summary.rotating.into()),
        ("nextWindow", json!(summary.next_window.map(NextWindow::from))),
        ("eligibleNodeClaims", seen("eligibleNodeClaims", &|outlook| outlook.eligible.into())),
        ("inBackoffNodeClaims", seen("inBackoffNodeClaims", &|outlook| outlook.in_backoff.into())),
        ("failedNodeClaims", seen("failedNodeClaims", &|outlook| outlook.failed.into())),
        ("nextDeadline", seen("nextDeadline", &|outlook| outlook.next_deadline.map(instant).unwrap_or_default())),
        ("conditions", conditions(status, summary, now)),
    ];
    fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Conditions of others stay.
fn conditions(status: &Value, summary: &Summary, now: Timestamp) -> Value {
    let before = status.get("conditions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let judged = |status| Aspect { status, reason: summary.reason.text().to_owned(), message: summary.message.clone() };
    let mut ours = vec![(READY, judged(if summary.reason == Reason::Accepted { Truth::True } else { Truth::False }))];
    ours.extend(summary.reason.is_stalled().then(|| (STALLED, judged(Truth::True))));
    if let Some(outlook) = &summary.outlook {
        ours.extend([(FEASIBLE, outlook.feasible.clone()), (PROGRESSING, outlook.progressing.clone())]);
    }
    let is_ours = |condition: &&Value| {
        let type_ = text(condition, "type");
        type_ == STALLED || ours.iter().any(|(ours, _)| type_ == *ours)
    };
    let others: Vec<Value> = before.iter().filter(|condition| !is_ours(condition)).cloned().collect();
    let ours = ours.iter().map(|(type_, aspect)| condition(before, type_, aspect, summary.observed_generation, now));
    ours.chain(others).collect()
}

/// The time of a transition moves only with the status.
fn condition(before: &[Value], type_: &str, aspect: &Aspect, generation: i64, now: Timestamp) -> Value {
    let status = aspect.status.text();
    let same = before.iter().find(|condition| text(condition, "type") == type_ && text(condition, "status") == status);
    let since = same.and_then(|condition| condition.get("lastTransitionTime")).cloned();
    json!({
        "type": type_,
        "status": status,
        "reason": aspect.reason,
        "message": cut(&aspect.message, LONGEST_MESSAGE),
        "observedGeneration": generation,
        "lastTransitionTime": since.unwrap_or_else(|| json!(stamp(now))),
    })
}

fn text<'a>(condition: &'a Value, key: &str) -> &'a str {
    condition.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use noderotation_core::window::Occurrence;

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn aspect(reason: &str) -> Aspect {
        Aspect { status: Truth::True, reason: reason.to_owned(), message: "fine".to_owned() }
    }

    fn summary() -> Summary {
        let outlook = Outlook {
            eligible: 3,
            in_backoff: 0,
            failed: 1,
            next_deadline: Some(at("2026-02-01T00:00:00Z")),
            feasible: aspect("Feasible"),
            progressing: aspect("Rotating"),
        };
        let next_window = Some(Occurrence { open: at("2026-01-07T02:00:00Z"), close: at("2026-01-07T06:00:00Z") });
        let (reason, message) = (Reason::Accepted, "fine".to_owned());
        Summary { observed_generation: 1, matched: 2, rotating: 0, reason, message, next_window, outlook: Some(outlook) }
    }

    /// The status once it is written.
    fn written(before: &Value, summary: &Summary, now: &str) -> Value {
        wanted(before, summary, at(now)).into_iter().filter(|(_, value)| !value.is_null()).collect()
    }

    fn types(status: &Value) -> Vec<&str> {
        status["conditions"].as_array().unwrap().iter().map(|condition| condition["type"].as_str().unwrap()).collect()
    }

    #[test]
    fn a_status_that_says_the_same_is_the_same_and_the_transition_keeps_its_time() {
        let mut summary = summary();
        let first = written(&Value::Null, &summary, "2026-01-01T00:00:00Z");
        assert!(says(&first, &wanted(&first, &summary, at("2026-01-02T00:00:00Z"))));
        summary.matched = 3;
        assert!(!says(&first, &wanted(&first, &summary, at("2026-01-02T00:00:00Z"))));
        let second = written(&first, &summary, "2026-01-02T00:00:00Z");
        assert_eq!(second["conditions"][0]["lastTransitionTime"], "2026-01-01T00:00:00Z");
        summary.reason = Reason::Conflict;
        let third = written(&second, &summary, "2026-01-03T00:00:00Z");
        assert_eq!(third["conditions"][0]["lastTransitionTime"], "2026-01-03T00:00:00Z");
        assert_eq!(third["conditions"][2]["lastTransitionTime"], "2026-01-01T00:00:00Z");
    }

    #[test]
    fn what_others_write_stays() {
        let status = json!({"audits": 1, "conditions": [{"type": "Audited", "status": "True"}]});
        let wanted = wanted(&status, &summary(), at("2026-01-01T00:00:00Z"));
        assert_eq!(types(&json!(wanted)), ["Ready", "Feasible", "Progressing", "Audited"]);
        assert_eq!(wanted["conditions"][3], status["conditions"][0]);
        assert!(!wanted.contains_key("audits"));
    }

    #[test]
    fn what_is_over_is_taken_out() {
        let before = written(&Value::Null, &summary(), "2026-01-01T00:00:00Z");
        let (reason, next_window) = (Reason::Invalid, None);
        let invalid = Summary { reason, next_window, ..summary() };
        assert_eq!(wanted(&before, &invalid, at("2026-01-02T00:00:00Z"))["nextWindow"], Value::Null);
    }

    #[test]
    fn what_was_not_seen_since_the_start_stays_as_it_was() {
        let before = written(&Value::Null, &summary(), "2026-01-01T00:00:00Z");
        let blind = Summary { outlook: None, ..summary() };
        assert!(says(&before, &wanted(&before, &blind, at("2026-01-02T00:00:00Z"))));
        assert_eq!(types(&written(&Value::Null, &blind, "2026-01-02T00:00:00Z")), ["Ready"]);
    }

    #[test]
    fn no_message_is_longer_than_the_schema_admits() {
        let long = Summary { message: "é".repeat(LONGEST_MESSAGE), ..summary() };
        let wanted = wanted(&Value::Null, &long, at("2026-01-01T00:00:00Z"));
        assert_eq!(wanted["conditions"][0]["message"].as_str().unwrap().len(), LONGEST_MESSAGE);
    }

    #[test]
    fn an_invalid_policy_is_stalled_until_it_is_changed() {
        let mut summary = Summary { reason: Reason::Invalid, message: "no".to_owned(), ..summary() };
        let first = written(&json!({"observedGeneration": -1}), &summary, "2026-01-01T00:00:00Z");
        assert_eq!(types(&first), ["Ready", STALLED, "Feasible", "Progressing"]);
        assert_eq!((&first["conditions"][1]["status"], &first["conditions"][1]["message"]), (&json!("True"), &json!("no")));
        assert!(says(&first, &wanted(&first, &summary, at("2026-01-02T00:00:00Z"))));
        for reason in [Reason::Conflict, Reason::Accepted] {
            summary.reason = reason;
            assert_eq!(types(&written(&first, &summary, "2026-01-03T00:00:00Z")), ["Ready", "Feasible", "Progressing"], "{reason:?}");
        }
    }
}
