//! Views of the cluster, filled by the watches.

use std::sync::Arc;
use std::time::Duration;

use futures::{FutureExt as _, future};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::ResourceExt;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use kube::core::DeserializeGuard;
use kube::runtime::reflector::{self, Store};
use noderotation_core::annotation::NODEPOOL_LABEL;
use noderotation_core::karpenter::{NodeClaim, NodePool};
use noderotation_core::resolve::PolicyEntry;

use crate::controller::policies::Policies;

/// A NodePool that may have been unreadable; the fault then stays with that one object (I11).
pub(crate) type GuardedPool = DeserializeGuard<NodePool>;
/// Likewise a NodeClaim.
pub(crate) type GuardedClaim = DeserializeGuard<NodeClaim>;

/// A cache that is not filled after this long is reported, and the pass is tried again.
const FILL_TIMEOUT: Duration = Duration::from_secs(30);

/// A cache could not be filled.
#[derive(Debug, thiserror::Error)]
#[error("the cache of {0} is not filled: is the API server reachable and does the role allow list and watch?")]
pub(crate) struct NotFilled(&'static str);

/// Views of the cluster, kept up to date by the watches.
#[derive(Clone)]
pub(crate) struct Caches {
    pub(super) claims: Store<GuardedClaim>,
    pub(super) nodes: Store<Node>,
    pub(super) placeholders: Store<Pod>,
    pub(super) policies: Policies,
    pub(super) policy_store: Store<DynamicObject>,
}

impl Caches {
    /// All policies, parsed.
    pub(crate) fn policies(&self) -> Arc<Vec<PolicyEntry>> {
        self.policies.current()
    }

    /// All policies as the API server holds them.
    pub(crate) fn policy_objects(&self) -> Vec<Arc<DynamicObject>> {
        self.policy_store.state()
    }

    /// The readable claims of a pool.
    pub(crate) fn claims_of(&self, pool: &str) -> Vec<NodeClaim> {
        let claims = self.claims.state();
        let readable = claims.iter().filter_map(|guard| guard.0.as_ref().ok());
        readable.filter(|claim| claim.pool() == Some(pool)).cloned().collect()
    }

    /// The nodes of a pool.
    pub(crate) fn nodes_of(&self, pool: &str) -> Vec<Node> {
        let nodes = self.nodes.state();
        let of_pool = nodes.iter().filter(|node| node.labels().get(NODEPOOL_LABEL).is_some_and(|label| label == pool));
        of_pool.map(|node| Node::clone(node)).collect()
    }

    /// The placeholders of a pool.
    pub(crate) fn placeholders_of(&self, pool: &str) -> Vec<Pod> {
        let pods = self.placeholders.state();
        let of_pool = pods.iter().filter(|pod| pod.labels().get(NODEPOOL_LABEL).is_some_and(|label| label == pool));
        of_pool.map(|pod| Pod::clone(pod)).collect()
    }

    /// Every cache has its first list.
    pub(crate) fn are_filled(&self) -> bool {
        [ready(&self.claims), ready(&self.nodes), ready(&self.placeholders), ready(&self.policy_store)]
            .into_iter()
            .all(|ready| ready.now_or_never() == Some(true))
    }

    /// Waits until every cache has its first list.
    pub(crate) async fn filled(&self) -> Result<(), NotFilled> {
        let wait = |ready, what| async move {
            match tokio::time::timeout(FILL_TIMEOUT, ready).await {
                Ok(true) => Ok(()),
                Ok(false) | Err(_) => Err(NotFilled(what)),
            }
        };
        wait(ready(&self.claims), "NodeClaims").await?;
        wait(ready(&self.nodes), "Nodes").await?;
        wait(ready(&self.placeholders), "placeholders").await?;
        wait(ready(&self.policy_store), "RotationPolicies").await
    }
}

fn ready<K>(store: &Store<K>) -> future::BoxFuture<'_, bool>
where
    K: reflector::Lookup + Clone + Send + Sync + 'static,
    K::DynamicType: Eq + std::hash::Hash + Clone + Send + Sync,
{
    Box::pin(async { store.wait_until_ready().await.is_ok() })
}

/// RotationPolicy as a resource of raw objects: none is too malformed to be read.
pub(crate) fn policy_resource() -> ApiResource {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("noderotation.io", "v1alpha1", "RotationPolicy"));
    ApiResource { plural: "rotationpolicies".to_owned(), ..resource }
}
