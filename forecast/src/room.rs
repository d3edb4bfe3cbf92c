//! Whether a surge finds room on a node that is there: what the scheduler would say of the placeholder.

use k8s_openapi::api::core::v1::{Node, NodeSelectorRequirement, Pod, Taint};
use kube::ResourceExt;
use noderotation_core::karpenter::{node_leaving, node_ready};
use noderotation_core::placeholder::Amount;
use noderotation_core::placeholder::size::{Amounts, Kind, effective_requests, kind};

/// The Pods of a node and what they request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Station {
    pub(crate) pods: Vec<Pod>,
    pub(crate) used: Amounts,
}

impl Station {
    /// The Pods of `node`.
    pub(crate) fn new(pods: Vec<Pod>, node: &Node) -> Self {
        let mut station = Self::default();
        pods.into_iter().for_each(|pod| station.add(pod, node));
        station
    }

    pub(crate) fn add(&mut self, pod: Pod, node: &Node) {
        if kind(&pod, node) != Kind::Completed {
            for (name, amount) in effective_requests(&pod) {
                let used = self.used.entry(name).or_default();
                *used = used.saturating_add(amount);
            }
        }
        self.pods.push(pod);
    }
}

/// The placeholder would be bound to `node`, on which `used` is requested already.
pub(crate) fn fits(placeholder: &Pod, node: &Node, used: Option<&Amounts>) -> bool {
    let spec = node.spec.as_ref();
    let open = node_ready(node) && !node_leaving(node) && !spec.and_then(|spec| spec.unschedulable).unwrap_or(false);
    let taints = spec.and_then(|spec| spec.taints.as_deref()).unwrap_or_default();
    open && taints.iter().all(|taint| tolerated(placeholder, taint)) && wanted(placeholder, node) && has_room(placeholder, node, used)
}

/// Among nodes that fit, those that the placeholder does not avoid come first, then those with the least in use.
pub(crate) fn preference(placeholder: &Pod, node: &Node, used: Option<&Amounts>) -> (bool, Amount, String) {
    let affinity = placeholder.spec.as_ref().and_then(|spec| spec.affinity.as_ref()?.node_affinity.as_ref());
    let preferred = affinity.and_then(|affinity| affinity.preferred_during_scheduling_ignored_during_execution.as_deref());
    let mut terms = preferred.unwrap_or_default().iter().flat_map(|term| term.preference.match_expressions.iter().flatten());
    let avoided = terms.any(|expression| expression.operator == "NotIn" && !holds(expression, node));
    (avoided, used.and_then(|used| used.get("cpu").copied()).unwrap_or_default(), node.name_any())
}

fn tolerated(pod: &Pod, taint: &Taint) -> bool {
    let tolerations = pod.spec.as_ref().and_then(|spec| spec.tolerations.as_deref()).unwrap_or_default();
    let same = |text: Option<&String>, other: Option<&String>| text.map_or("", String::as_str) == other.map_or("", String::as_str);
    taint.effect == "PreferNoSchedule"
        || tolerations.iter().any(|toleration| {
            toleration.key.as_ref() == Some(&taint.key)
                && toleration.effect.as_ref() == Some(&taint.effect)
                && same(toleration.value.as_ref(), taint.value.as_ref())
        })
}

/// The node has the labels that the placeholder requires.
fn wanted(pod: &Pod, node: &Node) -> bool {
    let affinity = pod.spec.as_ref().and_then(|spec| spec.affinity.as_ref()?.node_affinity.as_ref());
    let required = affinity.and_then(|affinity| affinity.required_during_scheduling_ignored_during_execution.as_ref());
    let terms = required.map(|required| required.node_selector_terms.as_slice()).unwrap_or_default();
    terms.is_empty() || terms.iter().any(|term| term.match_expressions.iter().flatten().all(|expression| holds(expression, node)))
}

/// Placeholders are made with no other operators.
fn holds(expression: &NodeSelectorRequirement, node: &Node) -> bool {
    let listed = node.labels().get(&expression.key).is_some_and(|value| expression.values.iter().flatten().any(|other| other == value));
    if expression.operator == "NotIn" { !listed } else { listed }
}

fn has_room(pod: &Pod, node: &Node, used: Option<&Amounts>) -> bool {
    let allocatable = node.status.as_ref().and_then(|status| status.allocatable.as_ref());
    let amount = |name: &str| allocatable.and_then(|all| Amount::parse(&all.get(name)?.0).ok()).unwrap_or_default();
    let in_use = |name: &str| used.and_then(|used| used.get(name).copied()).unwrap_or_default();
    effective_requests(pod).iter().all(|(name, asked)| in_use(name).saturating_add(*asked) <= amount(name))
}
