//! The sweep: over the whole cluster before the first pass of each lead, and over what a deleted NodePool has left (D9).
//!
//! Item by item: what cannot be put right is logged and left to the passes, which find it by its state.

use std::time::Duration;

use kube::ResourceExt;
use noderotation_core::karpenter::NodePool;
use noderotation_core::sweep::{self, Leftovers, Marked, Repair};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use crate::controller::apply::{self, Executor};
use crate::controller::caches::Caches;
use crate::controller::reconcile::{Error, TRIES, step_aside};
use crate::controller::tell::Teller;
use crate::controller::{Context, markers};
use crate::telemetry::words;

/// Pauses between two looks at what a deleted pool has left, when one has failed.
const PAUSES: [Duration; 4] = [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(4), Duration::from_secs(8)];

/// Puts right what no rotation owns, wherever it is.
pub(super) async fn cluster(context: &Context, teller: &Teller) -> Result<(), Error> {
    for tries in 0..=TRIES {
        let mut marked = markers::marked_anywhere(context).await?;
        keep_ours(context, &mut marked);
        let pools = markers::pools(context).await?;
        let repairs = sweep::of_cluster(&marked, &pools, context.clock.now());
        if !put_right(context, teller, &pools, repairs).await? {
            break;
        }
        step_aside(tries).await;
    }
    Ok(())
}

/// Only placeholders in our own namespace may be deleted by us; the others are named.
fn keep_ours(context: &Context, marked: &mut Marked) {
    let ours = |namespace: Option<String>| namespace.as_deref() == Some(context.settings.namespace.as_str());
    for pod in marked.placeholders.iter().filter(|pod| !ours(pod.namespace())) {
        let (namespace, name) = (pod.namespace().unwrap_or_default(), pod.name_any());
        warn!(namespace, placeholder = name, "a placeholder of another installation; delete it if that is gone");
    }
    marked.placeholders.retain(|pod| ours(pod.namespace()));
}

/// Puts right what a pool has left that no longer exists, until nothing is left or `stop` is cancelled.
pub(super) async fn gone_pool(context: &Context, teller: &Teller, caches: &Caches, name: &str, stop: &CancellationToken) {
    let suspects = Marked { placeholders: caches.placeholders_of(name), nodes: caches.nodes_of(name), claims: caches.claims_of(name) };
    if !sweep::suspected(None, &suspects, context.clock.now()) {
        return;
    }
    for pause in PAUSES {
        match once_over_gone_pool(context, teller, name).await {
            Ok(false) => return,
            Ok(true) => {}
            Err(error) => warn!(nodepool = name, error = words(&error), "looking at what a deleted NodePool has left"),
        }
        if tokio::time::timeout(pause, stop.cancelled()).await.is_ok() {
            return;
        }
    }
}

/// True if something is left to be put right.
async fn once_over_gone_pool(context: &Context, teller: &Teller, name: &str) -> Result<bool, Error> {
    let marked = markers::marked(context, name).await?;
    let pools = markers::pools(context).await?;
    if pools.iter().any(|pool| pool.name_any() == name) {
        // Only the cache did not know it yet; its own passes look after it.
        return Ok(false);
    }
    let now = context.clock.now();
    let leftovers = Leftovers { marked, anchored: sweep::anchored(&pools, now) };
    let lists = sweep::of_pool(None, &leftovers, now).into_iter();
    let repairs = lists.map(|effects| Repair { pool: name.to_owned(), effects }).collect();
    put_right(context, teller, &pools, repairs).await
}

/// Carries each repair out by itself; true if a race was lost and a new look is due.
async fn put_right(context: &Context, teller: &Teller, pools: &[NodePool], repairs: Vec<Repair>) -> Result<bool, Error> {
    let mut again = false;
    for Repair { pool: name, effects } in repairs {
        let pool = pools.iter().find(|pool| pool.name_any() == name).cloned().unwrap_or_else(|| gone(&name));
        let result = Executor::new(context).carry_out(effects, |announcement| teller.announce(&pool, &announcement)).await;
        match result {
            Ok(()) => {}
            Err(apply::Error::Conflict(object)) => {
                debug!(nodepool = name, object, "lost a race, looking again");
                again = true;
            }
            Err(error @ apply::Error::NotLeading) => return Err(error.into()),
            Err(error) => warn!(nodepool = name, error = words(&error), "not put right"),
        }
    }
    Ok(again)
}

/// A pool that no longer exists, to speak of.
fn gone(name: &str) -> NodePool {
    let mut pool = NodePool::default();
    pool.metadata.name = Some(name.to_owned());
    pool
}
