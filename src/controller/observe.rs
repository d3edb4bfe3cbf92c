//! Reads: the first look from the watch caches, every further one live.
//!
//! An object is asked for by a list of its name, not by a GET: that many of them are not there is the ordinary course of a
//! rotation, and a list says so without a failed request in the API server's metrics and audit log.

use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{Api, ListParams};
use kube::{Resource, ResourceExt};
use noderotation_core::karpenter::{NodeClaim, NodePool};
use noderotation_core::name::is_subdomain;
use noderotation_core::placeholder;
use noderotation_core::resolve;
use noderotation_core::rotation::observation::{CloseUp, Look, Observation};
use noderotation_core::sweep::{self, Leftovers};
use serde::de::DeserializeOwned;

use crate::controller::Context;
use crate::controller::caches::Caches;
use crate::controller::markers;

/// A read that failed.
#[derive(Debug, thiserror::Error)]
#[error("reading {what}")]
pub(crate) struct Error {
    what: String,
    #[source]
    source: Box<kube::Error>,
}

impl Error {
    /// The API server does not know the kind: its CustomResourceDefinition is gone.
    pub(super) fn not_served(&self) -> bool {
        matches!(&*self.source, kube::Error::Api(status) if status.is_not_found())
    }
}

pub(super) fn reading(what: impl Into<String>) -> impl FnOnce(kube::Error) -> Error {
    let what = what.into();
    move |source| Error { what, source: Box::new(source) }
}

/// The pool as the caches show it.
pub(crate) fn from_caches(context: &Context, caches: &Caches, pool: NodePool) -> Observation {
    let name = pool.name_any();
    Observation {
        governing: resolve::resolve(pool.labels(), &caches.policies()),
        claims: caches.claims_of(&name),
        nodes: caches.nodes_of(&name),
        placeholders: caches.placeholders_of(&name),
        settings: context.settings.clone(),
        close_up: None,
        leftovers: None,
        pool,
    }
}

/// The pool as it is now, for the step after a write of our own; `None` when it is gone.
pub(crate) async fn live_pool(context: &Context, name: &str) -> Result<Option<NodePool>, Error> {
    get(context, name).await
}

/// Serves one look.
pub(crate) async fn look(context: &Context, observation: &mut Observation, look: Look) -> Result<(), Error> {
    match look {
        Look::CloseUp { claim } => {
            let pool = observation.pool.name_any();
            let (live_pool, close_up) = tokio::try_join!(get::<NodePool>(context, &pool), close_up(context, observation, &claim))?;
            if let Some(live_pool) = live_pool {
                observation.pool = live_pool;
            }
            observation.close_up = Some(close_up);
        }
        Look::PodsOnCandidate => {
            let pods = pods_on(context, observation, |c| c.node.as_ref().map(ResourceExt::name_any)).await?;
            set(observation, |close_up| close_up.pods_on_candidate = Some(pods));
        }
        Look::PodsOnSurgeNode => {
            let pods = pods_on(context, observation, |c| c.surge_node.as_ref().map(ResourceExt::name_any)).await?;
            set(observation, |close_up| close_up.pods_on_surge_node = Some(pods));
        }
        Look::Budgets => {
            let budgets = budgets(context).await?;
            set(observation, |close_up| close_up.budgets = Some(budgets));
        }
        Look::PoolNodes => {
            let nodes = markers::nodes(context, Some(&observation.pool.name_any())).await?;
            set(observation, |close_up| close_up.pool_nodes = Some(nodes));
        }
        Look::Leftovers => {
            let name = observation.pool.name_any();
            let marked = markers::marked(context, &name).await?;
            let anchored = sweep::anchored(&markers::pools(context).await?, context.clock.now());
            if let Some(pool) = get::<NodePool>(context, &name).await? {
                observation.pool = pool;
            }
            observation.leftovers = Some(Leftovers { marked, anchored });
        }
    }
    Ok(())
}

fn set(observation: &mut Observation, change: impl FnOnce(&mut CloseUp)) {
    if let Some(close_up) = &mut observation.close_up {
        change(close_up);
    }
}

async fn close_up(context: &Context, observation: &Observation, name: &str) -> Result<CloseUp, Error> {
    let pods: Api<Pod> = Api::namespaced(context.client.clone(), &context.settings.namespace);
    let placeholder_name = placeholder::name(name);
    let (claim, placeholder) = tokio::try_join!(get::<NodeClaim>(context, name), named(pods, &placeholder_name))?;
    let mut close_up = CloseUp { name: name.to_owned(), claim, placeholder, ..CloseUp::default() };
    let host = close_up.bound_to().map(str::to_owned);
    let surge_claim = surge_claim_name(context, observation, &close_up, host.as_deref());
    let candidate_node = close_up.claim.as_ref().and_then(NodeClaim::node_name).map(str::to_owned);
    let (node, surge_claim) = tokio::try_join!(get_named::<Node>(context, candidate_node), get_named::<NodeClaim>(context, surge_claim))?;
    let surge_node = host.or_else(|| surge_claim.as_ref().and_then(NodeClaim::node_name).map(str::to_owned));
    close_up.node = node;
    close_up.surge_claim = surge_claim;
    close_up.surge_node = get_named::<Node>(context, surge_node).await?;
    Ok(close_up)
}

/// The claim of the placeholder's host; without a bind the claim that an earlier bind persisted.
fn surge_claim_name(context: &Context, observation: &Observation, close_up: &CloseUp, host: Option<&str>) -> Option<String> {
    match host {
        Some(host) => observation.claims.iter().find(|claim| claim.node_name() == Some(host)).map(ResourceExt::name_any),
        None => close_up.claim.as_ref()?.marks(context.clock.now()).surge_claim,
    }
}

async fn pods_on(context: &Context, observation: &Observation, node: impl Fn(&CloseUp) -> Option<String>) -> Result<Vec<Pod>, Error> {
    let Some(node) = observation.close_up.as_ref().and_then(node) else {
        return Ok(Vec::new());
    };
    let api: Api<Pod> = Api::all(context.client.clone());
    let params = ListParams::default().fields(&format!("spec.nodeName={node}"));
    Ok(api.list(&params).await.map_err(reading(format!("the pods on node {node}")))?.items)
}

/// All budgets. They are for people to read, so a missing right to list them stops nothing.
async fn budgets(context: &Context) -> Result<Vec<PodDisruptionBudget>, Error> {
    let api: Api<PodDisruptionBudget> = Api::all(context.client.clone());
    match api.list(&ListParams::default()).await {
        Ok(budgets) => Ok(budgets.items),
        Err(kube::Error::Api(status)) if status.is_forbidden() => Ok(Vec::new()),
        Err(error) => Err(reading("the PodDisruptionBudgets")(error)),
    }
}

async fn get_named<K>(context: &Context, name: Option<String>) -> Result<Option<K>, Error>
where
    K: Resource<DynamicType = (), Scope = k8s_openapi::ClusterResourceScope> + Clone + DeserializeOwned + std::fmt::Debug,
{
    match name {
        Some(name) => get(context, &name).await,
        None => Ok(None),
    }
}

async fn get<K>(context: &Context, name: &str) -> Result<Option<K>, Error>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug,
{
    named(Api::all(context.client.clone()), name).await
}

/// A quorum read; `None` when the object does not exist. The name may come from an annotation, so that it can be any text.
async fn named<K>(api: Api<K>, name: &str) -> Result<Option<K>, Error>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug,
{
    if !is_subdomain(name) {
        return Ok(None);
    }
    let params = ListParams::default().fields(&format!("metadata.name={name}"));
    let found = api.list(&params).await.map_err(reading(format!("{} {name}", K::kind(&()))))?;
    Ok(found.items.into_iter().next())
}
