//! A drain that takes too long, and what it waits for (§5.2, D9, faults.md 0.14).

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::ResourceExt;

use crate::annotation::{DO_NOT_DISRUPT, TERMINATION_TIMESTAMP};
use crate::karpenter::NodeClaim;
use crate::placeholder;
use crate::rotation::announcement::Notice;
use crate::rotation::observation::{CloseUp, Seen};
use crate::schedule::{self, BUFFER};

/// Names that are told; the rest is a number.
const NAMED: usize = 5;

/// The drain exceeds the claim's own grace period and the buffer (§5.2, stuck drain).
///
/// Where Karpenter has said when it ends the drain by force, its word counts: the repair of a node shortens it.
pub(super) fn is_stuck(claim: &NodeClaim, now: Timestamp) -> bool {
    let since = |at: Timestamp| -> Duration { now.duration_since(at).try_into().unwrap_or_default() };
    if let Some(end) = claim.annotations().get(TERMINATION_TIMESTAMP).and_then(|text| text.parse().ok()) {
        return since(end) > BUFFER;
    }
    let deleted = claim.metadata.deletion_timestamp.as_ref();
    deleted.is_some_and(|deleted| since(deleted.0) > schedule::drain_bound(claim.spec.termination_grace_period()))
}

/// What a drain waits for: Karpenter's phase, the Pods that are left, and the budgets that allow no eviction.
pub(super) fn notice(close_up: &CloseUp, claim: &NodeClaim) -> Seen<Notice> {
    let left: Vec<&Pod> = close_up.pods_on_candidate()?.iter().filter(|pod| placeholder::is_workload(pod)).collect();
    let budgets: Vec<&PodDisruptionBudget> =
        close_up.budgets()?.iter().filter(|budget| left.iter().any(|pod| forbids(budget, pod))).collect();
    let mut waits_for = Vec::from_iter(phase(claim).map(str::to_owned));
    if !budgets.is_empty() {
        waits_for.push(format!("PodDisruptionBudgets that allow no eviction: {}", some(&budgets, |budget| full_name(*budget))));
    }
    if !left.is_empty() {
        waits_for.push(format!("Pods left: {}", some(&left, |pod| described(pod))));
    }
    Seen::Continue(Notice::DrainStuck { claim: claim.name_any(), waits_for: waits_for.join("; ") })
}

/// What would hold up the drain of a node now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holds {
    /// PodDisruptionBudgets that cover a Pod of the node and allow no eviction, as `namespace/name`, sorted.
    pub budgets: Vec<String>,
    /// Pods that Karpenter does not evict, since they ask not to be disrupted, as `namespace/name`, sorted.
    pub pods: Vec<String>,
}

/// What would hold up the drain of the node that `pods` run on, as `budgets` are now.
#[must_use]
pub fn holds<'a>(pods: impl IntoIterator<Item = &'a Pod>, budgets: &[PodDisruptionBudget]) -> Holds {
    let work: Vec<&Pod> = pods.into_iter().filter(|pod| placeholder::is_workload(pod)).collect();
    let forbidding = budgets.iter().filter(|budget| work.iter().any(|pod| forbids(budget, pod)));
    let mut holds = Holds {
        budgets: forbidding.map(full_name).collect(),
        pods: work.iter().filter(|pod| is_protected(pod)).map(|pod| full_name(*pod)).collect(),
    };
    holds.budgets.sort();
    holds.pods.sort();
    holds
}

fn is_protected(pod: &Pod) -> bool {
    pod.annotations().get(DO_NOT_DISRUPT).map(String::as_str) == Some("true")
}

/// How far Karpenter has come, by the conditions that newer versions keep on the claim.
fn phase(claim: &NodeClaim) -> Option<&'static str> {
    let known = |type_: &str| claim.status.as_ref().is_some_and(|status| status.conditions.iter().any(|c| c.type_ == type_));
    if claim.is_true("InstanceTerminating") {
        return Some("the instance is terminating (condition InstanceTerminating)");
    }
    if claim.is_true("Drained") {
        return Some("the Pods are gone, their volumes are still attached (condition VolumesDetached)");
    }
    known("Drained").then_some("Pods are being evicted (condition Drained)")
}

/// The budget covers the Pod and lets none be evicted now.
fn forbids(budget: &PodDisruptionBudget, pod: &Pod) -> bool {
    let none_allowed = budget.status.as_ref().is_some_and(|status| status.disruptions_allowed <= 0);
    let selector = budget.spec.as_ref().and_then(|spec| spec.selector.as_ref());
    none_allowed && budget.namespace() == pod.namespace() && selector.is_some_and(|selector| selects(selector, pod))
}

/// As the API server reads a label selector; an unknown operator selects nothing.
fn selects(selector: &LabelSelector, pod: &Pod) -> bool {
    let labels = pod.labels();
    let equal = selector.match_labels.iter().flatten().all(|(key, value)| labels.get(key) == Some(value));
    let expressions = selector.match_expressions.iter().flatten();
    let mut holding = expressions.map(|expression| {
        let (value, values) = (labels.get(&expression.key), expression.values.as_deref().unwrap_or_default());
        match expression.operator.as_str() {
            "In" => value.is_some_and(|value| values.contains(value)),
            "NotIn" => value.is_none_or(|value| !values.contains(value)),
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            _ => false,
        }
    });
    equal && holding.all(|holds| holds)
}

fn full_name(object: &impl ResourceExt) -> String {
    format!("{}/{}", object.namespace().unwrap_or_default(), object.name_any())
}

fn described(pod: &Pod) -> String {
    let why = match (pod.metadata.deletion_timestamp.is_some(), is_protected(pod)) {
        (true, _) => " (terminating)",
        (false, true) => " (do-not-disrupt)",
        (false, false) => "",
    };
    format!("{}{why}", full_name(pod))
}

fn some<T>(all: &[T], name: impl Fn(&T) -> String) -> String {
    let mut names: Vec<String> = all.iter().map(name).collect();
    names.sort();
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{rest}", names.join(", "))
}
