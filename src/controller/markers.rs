//! Live reads of what may carry our marks, by metadata alone: a Node is large, its metadata is not.
//!
//! Whoever compares markers with anchors reads the markers first and the anchors last.

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Resource;
use kube::api::{Api, ListParams};
use kube::core::PartialObjectMeta;
use noderotation_core::annotation::{NODEPOOL_LABEL, SURGE_FOR};
use noderotation_core::karpenter::{NodeClaim, NodePool};
use noderotation_core::sweep::Marked;
use serde::de::DeserializeOwned;

use crate::controller::Context;
use crate::controller::observe::{Error, reading};

/// What may carry our marks in one pool.
pub(super) async fn marked(context: &Context, pool: &str) -> Result<Marked, Error> {
    let pods: Api<Pod> = Api::namespaced(context.client.clone(), &context.settings.namespace);
    let of_pool = format!("{SURGE_FOR},{NODEPOOL_LABEL}={pool}");
    let (placeholders, nodes, claims) =
        tokio::try_join!(list(&pods, &of_pool, placeholder), nodes(context, Some(pool)), claims(context, Some(pool)))?;
    Ok(Marked { placeholders, nodes, claims })
}

/// What may carry our marks anywhere: placeholders also in other namespaces, where an earlier installation may have left
/// some.
pub(super) async fn marked_anywhere(context: &Context) -> Result<Marked, Error> {
    let pods: Api<Pod> = Api::all(context.client.clone());
    let (placeholders, nodes, claims) = tokio::try_join!(list(&pods, SURGE_FOR, placeholder), nodes(context, None), claims(context, None))?;
    Ok(Marked { placeholders, nodes, claims })
}

/// What may carry our marks on any object whatsoever, for whoever removes the last of them: also where somebody took
/// Karpenter's label off, and without Karpenter's kinds where they are not served any more.
pub(super) async fn marked_in_cluster(context: &Context) -> Result<Marked, Error> {
    let pods: Api<Pod> = Api::all(context.client.clone());
    let nodes: Api<Node> = Api::all(context.client.clone());
    let claims: Api<NodeClaim> = Api::all(context.client.clone());
    let (placeholders, nodes, claims) = tokio::join!(list(&pods, SURGE_FOR, placeholder), list(&nodes, "", node), list(&claims, "", claim));
    Ok(Marked { placeholders: placeholders?, nodes: nodes?, claims: if_served(claims)? })
}

/// Nothing, where the kind is not served.
pub(super) fn if_served<K>(listed: Result<Vec<K>, Error>) -> Result<Vec<K>, Error> {
    match listed {
        Err(error) if error.not_served() => Ok(Vec::new()),
        listed => listed,
    }
}

/// All NodePools, for their anchors.
pub(super) async fn pools(context: &Context) -> Result<Vec<NodePool>, Error> {
    let api: Api<NodePool> = Api::all(context.client.clone());
    list(&api, "", |metadata| NodePool { metadata, ..NodePool::default() }).await
}

/// The Nodes of a pool, or those of all pools.
pub(super) async fn nodes(context: &Context, pool: Option<&str>) -> Result<Vec<Node>, Error> {
    let api: Api<Node> = Api::all(context.client.clone());
    list(&api, &selector(pool), node).await
}

async fn claims(context: &Context, pool: Option<&str>) -> Result<Vec<NodeClaim>, Error> {
    let api: Api<NodeClaim> = Api::all(context.client.clone());
    list(&api, &selector(pool), claim).await
}

fn placeholder(metadata: kube::core::ObjectMeta) -> Pod {
    Pod { metadata, ..Pod::default() }
}

fn node(metadata: kube::core::ObjectMeta) -> Node {
    Node { metadata, ..Node::default() }
}

fn claim(metadata: kube::core::ObjectMeta) -> NodeClaim {
    NodeClaim { metadata, ..NodeClaim::default() }
}

fn selector(pool: Option<&str>) -> String {
    pool.map_or_else(|| NODEPOOL_LABEL.to_owned(), |pool| format!("{NODEPOOL_LABEL}={pool}"))
}

/// A list as it is now, not as a cache of the API server has it.
async fn list<K>(api: &Api<K>, labels: &str, object: impl Fn(kube::core::ObjectMeta) -> K) -> Result<Vec<K>, Error>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug,
{
    let what = format!("the metadata of {} ({labels})", K::plural(&()));
    let found = api.list_metadata(&ListParams::default().labels(labels)).await.map_err(reading(what))?;
    Ok(found.items.into_iter().map(|PartialObjectMeta { metadata, .. }| object(metadata)).collect())
}
