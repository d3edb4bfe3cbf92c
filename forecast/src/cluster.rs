//! The cluster as it is seen now, and its parts pool by pool.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::ResourceExt;
use noderotation_core::annotation::{NODEPOOL_LABEL, SURGE_FOR};
use noderotation_core::karpenter::{NodeClaim, NodePool};
use noderotation_core::resolve::PolicyEntry;

use crate::launch;

/// All that the operator would observe.
#[derive(Clone, Debug, Default)]
pub struct Cluster {
    /// RotationPolicies.
    pub policies: Vec<PolicyEntry>,
    /// NodePools.
    pub pools: Vec<NodePool>,
    /// NodeClaims. One without a status is taken to be Ready.
    pub claims: Vec<NodeClaim>,
    /// Nodes; without any, each claim is taken to have a Ready one.
    pub nodes: Vec<Node>,
    /// Pods; without any, each surge is taken to need a new node.
    pub pods: Vec<Pod>,
    /// PodDisruptionBudgets.
    pub budgets: Vec<PodDisruptionBudget>,
}

/// One pool and what is its own.
pub(crate) struct Site {
    pub(crate) pool: NodePool,
    pub(crate) claims: Vec<NodeClaim>,
    pub(crate) nodes: Vec<Node>,
    /// Placeholders for its nodes, bound or not.
    pub(crate) placeholders: Vec<Pod>,
    /// By the name of the node that they are bound to.
    pub(crate) pods: BTreeMap<String, Vec<Pod>>,
}

impl Cluster {
    pub(crate) fn sites(self) -> Vec<Site> {
        let nodes_known = !self.nodes.is_empty();
        let mut claims: BTreeMap<String, Vec<NodeClaim>> = BTreeMap::new();
        for claim in self.claims {
            claims.entry(claim.pool().unwrap_or_default().to_owned()).or_default().push(claim);
        }
        let mut nodes: BTreeMap<String, Vec<Node>> = BTreeMap::new();
        for node in self.nodes {
            nodes.entry(node.labels().get(NODEPOOL_LABEL).cloned().unwrap_or_default()).or_default().push(node);
        }
        let (mut placeholders, mut pods): (BTreeMap<String, Vec<Pod>>, BTreeMap<String, Vec<Pod>>) = Default::default();
        for pod in self.pods {
            if pod.labels().contains_key(SURGE_FOR) {
                placeholders.entry(pod.labels().get(NODEPOOL_LABEL).cloned().unwrap_or_default()).or_default().push(pod.clone());
            }
            if let Some(node) = pod.spec.as_ref().and_then(|spec| spec.node_name.clone()).filter(|node| !node.is_empty()) {
                pods.entry(node).or_default().push(pod);
            }
        }
        let site = |pool: NodePool| {
            let name = pool.name_any();
            let mut site = Site {
                claims: claims.remove(&name).unwrap_or_default(),
                nodes: nodes.remove(&name).unwrap_or_default(),
                placeholders: placeholders.remove(&name).unwrap_or_default(),
                pods: BTreeMap::new(),
                pool,
            };
            site.complete(nodes_known);
            let names = site.nodes.iter().map(ResourceExt::name_any);
            site.pods = names.filter_map(|node| pods.remove(&node).map(|pods| (node, pods))).collect();
            site
        };
        self.pools.into_iter().map(site).collect()
    }
}

impl Site {
    /// Fills in what a person who writes a claim down, or lists nothing but claims, leaves out.
    fn complete(&mut self, nodes_known: bool) {
        let known: std::collections::BTreeSet<String> = self.nodes.iter().map(ResourceExt::name_any).collect();
        for claim in &mut self.claims {
            let written = claim.status.is_none();
            if written {
                launch::make_ready(claim);
            }
            let name = claim.node_name().map(str::to_owned).filter(|name| (written || !nodes_known) && !known.contains(name));
            self.nodes.extend(name.map(|name| launch::node(claim, &name)));
        }
    }
}
