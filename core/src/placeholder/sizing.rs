//! How the size of a placeholder came about, for the Pod and for people.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::clamp::{ClampOutcome, Lowered, clamp};
use super::requirement;
use super::size::{Amounts, Kind, amounts, effective_requests, kind, sum};
use super::{Amount, Request};

/// The requests of a placeholder and where they come from.
#[derive(Clone, Debug, PartialEq)]
pub struct Sizing {
    /// What the placeholder requests, as written into the Pod.
    pub requests: BTreeMap<String, Quantity>,
    /// How many Pods of the node are of which kind.
    pub pods: BTreeMap<Kind, usize>,
    /// What the clamp did.
    pub clamp: ClampOutcome,
    /// Keys of the policy that cannot be replicated, because no value of the node is one that the pool permits.
    pub skipped_keys: Vec<String>,
}

/// What even an empty node's placeholder asks for: the API server wants cpu or memory beside hugepages, and a Pod
/// that asks for nothing would be ready anywhere at once without anything being reserved.
const LEAST_CPU: u32 = 1;

/// Sizes the placeholder of a request.
pub(super) fn of(request: &Request<'_>) -> Sizing {
    let mut pods: BTreeMap<Kind, usize> = BTreeMap::new();
    let mut demand = Amounts::new();
    let mut daemons = Amounts::new();
    for pod in request.pods {
        let kind = kind(pod, request.node);
        *pods.entry(kind).or_insert(0) += 1;
        match kind {
            Kind::Reschedulable => demand = sum(&demand, &effective_requests(pod)),
            Kind::DaemonSet => daemons = sum(&daemons, &effective_requests(pod)),
            Kind::Mirror | Kind::Completed | Kind::NodePinned => {}
        }
    }
    demand.retain(|_, amount| *amount > Amount::ZERO);
    let allocatable = amounts(Some(request.claim_allocatable));
    if request.whole_node_reservation && pods.contains_key(&Kind::Reschedulable) {
        raise(&mut demand, &allocatable, &daemons);
    }
    demand.entry("cpu".to_owned()).or_insert_with(|| Amount::milli(LEAST_CPU));
    let node_allocatable = amounts(request.node.status.as_ref().and_then(|status| status.allocatable.as_ref()));
    let (requests, clamp) = clamp(&demand, &allocatable, &daemons, &node_allocatable);
    Sizing {
        requests: requests.into_iter().map(|(name, amount)| (name, Quantity(amount.to_string()))).collect(),
        pods,
        clamp,
        skipped_keys: requirement::skipped(request),
    }
}

/// cpu and memory to the whole of a node; other resources only where the Pods ask for them.
fn raise(demand: &mut Amounts, allocatable: &Amounts, daemons: &Amounts) {
    for (name, whole) in allocatable {
        let limit = whole.saturating_sub(daemons.get(name).copied().unwrap_or_default());
        if name == "cpu" || name == "memory" || demand.contains_key(name) {
            let amount = demand.entry(name.clone()).or_insert_with(|| Amount::milli(LEAST_CPU));
            *amount = (*amount).max(limit);
        }
    }
}

impl Sizing {
    /// How many Pods of the node are of this kind.
    #[must_use]
    pub fn count(&self, kind: Kind) -> usize {
        self.pods.get(&kind).copied().unwrap_or(0)
    }

    /// The requests in a line, `name=value` sorted by name.
    #[must_use]
    pub fn requests_line(&self) -> String {
        let list: Vec<String> = self.requests.iter().map(|(name, quantity)| format!("{name}={}", quantity.0)).collect();
        list.join(",")
    }

    /// What the clamp has lowered.
    #[must_use]
    pub fn lowered(&self) -> &[Lowered] {
        match &self.clamp {
            ClampOutcome::Lowered(lowered) => lowered,
            ClampOutcome::Fits | ClampOutcome::Refused { .. } => &[],
        }
    }

    /// The resources of which DaemonSets leave nothing.
    #[must_use]
    pub fn refused(&self) -> &[String] {
        match &self.clamp {
            ClampOutcome::Refused { resources } => resources,
            ClampOutcome::Fits | ClampOutcome::Lowered(_) => &[],
        }
    }
}
