//! What the Pods of a node will need elsewhere (D7).

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{Container, Node, NodeSelectorTerm, Pod, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::ResourceExt;

use super::Amount;
use crate::annotation::HOSTNAME_LABEL;
use crate::selection::hostname;

/// Amounts by resource name.
pub type Amounts = BTreeMap<String, Amount>;

/// Why a Pod does or does not need a place elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Will be scheduled again.
    Reschedulable,
    /// A DaemonSet puts its own Pod on every node.
    DaemonSet,
    /// A static Pod of the kubelet.
    Mirror,
    /// Has run to its end.
    Completed,
    /// Can run on this node only.
    NodePinned,
}

/// The Pod is neither a DaemonSet's, nor a mirror, nor finished: deleting its node would hurt someone (I8).
#[must_use]
pub fn is_workload(pod: &Pod) -> bool {
    !(is_completed(pod) || is_mirror(pod) || is_daemon(pod))
}

/// What a Pod on `node` is for sizing.
#[must_use]
pub fn kind(pod: &Pod, node: &Node) -> Kind {
    if is_completed(pod) {
        Kind::Completed
    } else if is_mirror(pod) {
        Kind::Mirror
    } else if is_daemon(pod) {
        Kind::DaemonSet
    } else if is_pinned(pod, &hostname(node)) {
        Kind::NodePinned
    } else {
        Kind::Reschedulable
    }
}

fn is_completed(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}

fn is_mirror(pod: &Pod) -> bool {
    pod.annotations().contains_key("kubernetes.io/config.mirror")
}

fn is_daemon(pod: &Pod) -> bool {
    pod.owner_references().iter().any(|owner| owner.controller == Some(true) && owner.kind == "DaemonSet")
}

/// Its hostname terms admit exactly this host: by selector, or by every one of its required affinity terms.
fn is_pinned(pod: &Pod, host: &str) -> bool {
    let Some(spec) = &pod.spec else {
        return false;
    };
    let selected = spec.node_selector.as_ref().and_then(|selector| selector.get(HOSTNAME_LABEL));
    if let Some(selected) = selected {
        return selected == host;
    }
    let affinity = spec.affinity.as_ref().and_then(|a| a.node_affinity.as_ref());
    let required = affinity.and_then(|a| a.required_during_scheduling_ignored_during_execution.as_ref());
    let Some(terms) = required.map(|selector| &selector.node_selector_terms).filter(|terms| !terms.is_empty()) else {
        return false;
    };
    let hosts: Option<Vec<BTreeSet<&str>>> = terms.iter().map(hosts_of).collect();
    let union: Option<BTreeSet<&str>> = hosts.map(|sets| sets.into_iter().flatten().collect());
    union.is_some_and(|union| union.len() == 1 && union.contains(host))
}

/// The hosts that a term admits; `None` if it does not bound them.
fn hosts_of(term: &NodeSelectorTerm) -> Option<BTreeSet<&str>> {
    let expressions = term.match_expressions.as_deref().unwrap_or_default();
    let bound = expressions.iter().find(|e| e.key == HOSTNAME_LABEL && e.operator == "In")?;
    Some(bound.values.iter().flatten().map(String::as_str).collect())
}

/// The requests that the scheduler counts for a Pod: containers and sidecars, or the peak of its start if that is
/// higher; what the Pod itself requests instead of the sum; and its overhead.
#[must_use]
pub fn effective_requests(pod: &Pod) -> Amounts {
    let Some(spec) = &pod.spec else {
        return Amounts::new();
    };
    let mut sidecars = Amounts::new();
    let mut peak = Amounts::new();
    for container in spec.init_containers.iter().flatten() {
        let requests = of_container(container);
        let step = sum(&sidecars, &requests);
        peak = highest(&peak, &step);
        if container.restart_policy.as_deref() == Some("Always") {
            sidecars = step;
        }
    }
    let running = spec.containers.iter().map(of_container).fold(sidecars, |total, requests| sum(&total, &requests));
    let mut effective = highest(&running, &peak);
    effective.extend(of_requirements(spec.resources.as_ref()));
    sum(&effective, &amounts(spec.overhead.as_ref()))
}

fn of_container(container: &Container) -> Amounts {
    of_requirements(container.resources.as_ref())
}

fn of_requirements(requirements: Option<&ResourceRequirements>) -> Amounts {
    amounts(requirements.and_then(|requirements| requirements.requests.as_ref()))
}

/// The readable amounts; the API server admits no others.
pub(super) fn amounts(quantities: Option<&BTreeMap<String, Quantity>>) -> Amounts {
    let pairs = quantities.into_iter().flatten();
    pairs.filter_map(|(name, quantity)| Some((name.clone(), Amount::parse(&quantity.0).ok()?))).collect()
}

/// The sum, resource by resource.
pub(super) fn sum(a: &Amounts, b: &Amounts) -> Amounts {
    join(a, b, Amount::saturating_add)
}

fn highest(a: &Amounts, b: &Amounts) -> Amounts {
    join(a, b, Amount::max)
}

fn join(a: &Amounts, b: &Amounts, both: impl Fn(Amount, Amount) -> Amount) -> Amounts {
    let mut result = a.clone();
    for (name, amount) in b {
        let joined = result.get(name).map_or(*amount, |other| both(*other, *amount));
        result.insert(name.clone(), joined);
    }
    result
}
