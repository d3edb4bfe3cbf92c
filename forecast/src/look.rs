//! What a step asks to see, served from the cluster that is played.

use jiff::Timestamp;
use kube::ResourceExt;
use noderotation_core::karpenter::NodeClaim;
use noderotation_core::placeholder;
use noderotation_core::rotation::observation::{CloseUp, Look, Observation};
use noderotation_core::sweep::{Leftovers, Marked};

use crate::play::Play;

impl Play<'_> {
    /// Serves a look.
    pub(crate) fn serve(&mut self, look: &Look) {
        match look {
            Look::CloseUp { claim } => {
                self.put_back();
                self.observation.close_up = Some(close_up(&self.observation, claim, self.now));
            }
            Look::PodsOnCandidate => {
                let node = self.candidate_node();
                let pods = node.and_then(|node| self.stations.get_mut(&node)).map(|station| std::mem::take(&mut station.pods));
                self.set(|close_up| close_up.pods_on_candidate = Some(pods.unwrap_or_default()));
            }
            Look::PodsOnSurgeNode => {
                let node = self.observation.close_up.as_ref().and_then(|close_up| close_up.surge_node.as_ref()).map(ResourceExt::name_any);
                let pods = node.and_then(|node| self.stations.get(&node)).map(|station| station.pods.clone());
                self.set(|close_up| close_up.pods_on_surge_node = Some(pods.unwrap_or_default()));
            }
            Look::Budgets => self.set(|close_up| close_up.budgets = Some(Vec::new())),
            Look::PoolNodes => {
                let nodes = self.observation.nodes.clone();
                self.set(|close_up| close_up.pool_nodes = Some(nodes));
            }
            Look::Leftovers => {
                let observation = &self.observation;
                let marked = Marked {
                    placeholders: observation.placeholders.clone(),
                    nodes: observation.nodes.clone(),
                    claims: observation.claims.clone(),
                };
                self.observation.leftovers = Some(Leftovers { marked, anchored: self.surroundings.anchored.clone() });
            }
        }
    }

    fn set(&mut self, change: impl FnOnce(&mut CloseUp)) {
        if let Some(close_up) = &mut self.observation.close_up {
            change(close_up);
        }
    }
}

/// The close-up of a claim, from the objects of the observation itself.
#[must_use]
pub fn close_up(observation: &Observation, name: &str, now: Timestamp) -> CloseUp {
    let claim = observation.claims.iter().find(|claim| claim.metadata.name.as_deref() == Some(name)).cloned();
    let expected = placeholder::name(name);
    let placeholder = observation.placeholders.iter().find(|pod| pod.metadata.name.as_deref() == Some(&expected)).cloned();
    let mut close_up = CloseUp { name: name.to_owned(), placeholder, ..CloseUp::default() };
    let host = close_up.bound_to().map(str::to_owned);
    let persisted = claim.as_ref().and_then(|claim| claim.marks(now).surge_claim);
    let is_surge = |other: &&NodeClaim| match &host {
        Some(host) => other.node_name() == Some(host),
        None => persisted.is_some() && other.metadata.name == persisted,
    };
    let node = |name: Option<&str>| observation.nodes.iter().find(|node| name.is_some() && node.metadata.name.as_deref() == name).cloned();
    close_up.surge_claim = observation.claims.iter().find(is_surge).cloned();
    close_up.surge_node = node(host.as_deref().or_else(|| close_up.surge_claim.as_ref().and_then(NodeClaim::node_name)));
    close_up.node = node(claim.as_ref().and_then(NodeClaim::node_name));
    close_up.claim = claim;
    close_up
}
