//! The cluster as the watches of the leader show it, for whoever plans beside the passes. Nothing is asked of the API server.

use std::sync::Arc;

use futures::FutureExt as _;
use k8s_openapi::api::core::v1::Node;
use kube::runtime::reflector::Store;
use noderotation_core::karpenter::{NodeClaim, NodePool};
use serde_json::Value;

use crate::controller::caches::{Caches, GuardedPool};

/// What a plan can be made of.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    /// RotationPolicies as the API server holds them.
    pub(crate) policies: Vec<Value>,
    /// NodePools that can be read.
    pub(crate) pools: Vec<NodePool>,
    /// NodeClaims that can be read.
    pub(crate) claims: Vec<NodeClaim>,
    /// Nodes of Karpenter.
    pub(crate) nodes: Vec<Node>,
}

/// The caches of one term.
#[derive(Clone)]
pub(crate) struct View {
    caches: Caches,
    pools: Store<GuardedPool>,
}

impl View {
    /// Of caches that the watches keep.
    pub(super) fn new(caches: Caches, pools: Store<GuardedPool>) -> Self {
        Self { caches, pools }
    }

    /// All objects as they are now; `None` until every watch has its first list.
    pub(crate) fn objects(&self) -> Option<Objects> {
        let pools_are_there = matches!(self.pools.wait_until_ready().now_or_never(), Some(Ok(())));
        if !pools_are_there || !self.caches.are_filled() {
            return None;
        }
        let pools = self.pools.state().iter().filter_map(|guard| guard.0.as_ref().ok().cloned()).collect();
        let claims = self.caches.claims.state().iter().filter_map(|guard| guard.0.as_ref().ok().cloned()).collect();
        let nodes = self.caches.nodes.state().into_iter().map(Arc::unwrap_or_clone).collect();
        let policies = self.caches.policy_objects().iter().filter_map(|policy| serde_json::to_value(&**policy).ok()).collect();
        Some(Objects { policies, pools, claims, nodes })
    }
}
