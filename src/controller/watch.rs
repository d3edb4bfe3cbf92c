//! What is watched, and which pool each change wakes.
//!
//! Every watch has a backoff of its own, and its errors end here: kube's controller would slow all triggers down for
//! one that fails (faults.md 0.3).

use std::sync::Arc;

use futures::{Stream, StreamExt, future, stream::BoxStream};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, DynamicObject};
use kube::runtime::controller::{self, Controller};
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::watcher::{self, watcher};
use kube::runtime::{WatchStreamExt, reflector::store::Writer};
use kube::{Resource, ResourceExt};
use noderotation_core::annotation::{NODEPOOL_LABEL, SURGE_FOR};
use serde::de::DeserializeOwned;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::controller::Context;
use crate::controller::caches::{Caches, GuardedClaim, GuardedPool, policy_resource};
use crate::controller::policies::Policies;
use crate::controller::reconcile::{self, Shared};
use crate::controller::status::Statuses;
use crate::controller::view::View;
use crate::telemetry::words;

/// Ends the silence of a dead connection after this long at the latest, and 5 s for the end to arrive. To begin a watch anew where
/// the last one ended costs the API server next to nothing.
pub(crate) const WATCH_TIMEOUT_SECONDS: u32 = 45;
/// Pools judged at the same time. No step blocks, so this bounds requests in flight, not progress.
const CONCURRENCY: u16 = 16;

/// All watches have ended although nobody asked for it.
#[derive(Debug, thiserror::Error)]
#[error("the watches have ended")]
pub(crate) struct Ended;

/// Watches until `stop` is cancelled.
pub(crate) async fn run(context: Arc<Context>, stop: CancellationToken) -> Result<(), Ended> {
    let client = context.client.clone();
    let (pools, pool_writer) = reflector::store();
    let (claims, claim_writer) = reflector::store();
    let (nodes, node_writer) = reflector::store();
    let (placeholders, placeholder_writer) = reflector::store();
    let (policies, policy_store, policy_changes) = policies(&context);
    let caches = Caches { claims, nodes, placeholders, policies, policy_store };
    context.board.show(View::new(caches.clone(), pools.clone()));
    let status_changes = Arc::new(Notify::new());
    let wake = Arc::clone(&status_changes);
    let policy_changes = policy_changes.inspect(move |()| wake.notify_one());
    let wake = Arc::clone(&status_changes);

    let pool_changes = changes(Api::<GuardedPool>::all(client.clone()), watcher::Config::default(), pool_writer, |_| {})
        .inspect(move |_| wake.notify_one());
    let claim_changes = changes(Api::<GuardedClaim>::all(client.clone()), watcher::Config::default(), claim_writer, |_| {});
    let of_karpenter = watcher::Config::default().labels(NODEPOOL_LABEL);
    let node_changes = changes(Api::<Node>::all(client.clone()), of_karpenter, node_writer, strip_node);
    let pods = Api::<Pod>::namespaced(client, &context.settings.namespace);
    let placeholder_changes = changes(pods, watcher::Config::default().labels(SURGE_FOR), placeholder_writer, |_| {});

    let mut statuses = Statuses::new(&context, &caches, &pools);
    let statuses = statuses.keep(&status_changes, &stop);
    let shared = Arc::new(Shared::new(Arc::clone(&context), caches.clone()));
    let results = Controller::for_stream(pool_changes, pools.clone())
        .with_config(controller::Config::default().concurrency(CONCURRENCY))
        .watches_stream(claim_changes, |claim| pool_of(&claim))
        .watches_stream(node_changes, |node| pool_of(&node))
        .watches_stream(placeholder_changes, |pod| pool_of(&pod))
        .reconcile_all_on(policy_changes)
        .graceful_shutdown_on(stop.clone().cancelled_owned())
        .run(reconcile::reconcile, reconcile::after_error, Arc::clone(&shared));
    let passes = results.for_each_concurrent(None, |result| shared.tidy_up_if_gone(result, &stop));
    tokio::select! {
        () = passes => {}
        // It waits for ever; the passes are what ends.
        () = statuses => {}
    }
    if stop.is_cancelled() { Ok(()) } else { Err(Ended) }
}

/// The policies, and a tick for every change of one: one change can alter which policy wins for any pool.
fn policies(context: &Arc<Context>) -> (Policies, Store<DynamicObject>, BoxStream<'static, ()>) {
    let resource = policy_resource();
    let writer = Writer::new(resource.clone());
    let all = Policies::default();
    let api: Api<DynamicObject> = Api::all_with(context.client.clone(), &resource);
    let (policies, store, reader) = (all.clone(), writer.as_reader(), writer.as_reader());
    let events = watcher(api, config(watcher::Config::default())).default_backoff().reflect(writer);
    let changes = events.filter_map(move |event| {
        let changed = match event {
            Ok(watcher::Event::Apply(_) | watcher::Event::Delete(_) | watcher::Event::InitDone) => true,
            Ok(watcher::Event::Init | watcher::Event::InitApply(_)) => false,
            Err(error) => {
                failed("RotationPolicy", &error);
                false
            }
        };
        if changed {
            policies.replace(&store.state());
        }
        future::ready(changed.then_some(()))
    });
    (all, reader, changes.boxed())
}

fn config(config: watcher::Config) -> watcher::Config {
    config.timeout(WATCH_TIMEOUT_SECONDS)
}

/// Changes of a kind, deletions included, with `store` kept up to date.
fn changes<K>(
    api: Api<K>,
    selection: watcher::Config,
    store: Writer<K>,
    strip: impl Fn(&mut K) + Send + 'static,
) -> impl Stream<Item = Result<K, watcher::Error>> + Send + 'static
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug + Send + Sync + 'static,
{
    let events = watcher(api, config(selection)).default_backoff();
    let events = events.modify(move |object| {
        object.managed_fields_mut().clear();
        strip(object);
    });
    told(events.reflect(store).touched_objects())
}

/// Only what was seen; what failed is logged, and its own backoff is at work already.
fn told<K>(stream: impl Stream<Item = Result<K, watcher::Error>> + Send + 'static) -> impl Stream<Item = Result<K, watcher::Error>> + Send
where
    K: Resource<DynamicType = ()> + Send + 'static,
{
    stream.filter_map(|seen| {
        if let Err(error) = &seen {
            failed(&K::kind(&()), error);
        }
        future::ready(seen.ok().map(Ok))
    })
}

fn failed(kind: &str, error: &watcher::Error) {
    warn!(kind, error = words(error), "watch failed, trying again");
}

/// The pool that an object belongs to, by Karpenter's label.
fn pool_of(object: &impl ResourceExt) -> Option<ObjectRef<GuardedPool>> {
    object.labels().get(NODEPOOL_LABEL).map(|pool| ObjectRef::new(pool))
}

/// What no rule reads, and what makes a Node large.
fn strip_node(node: &mut Node) {
    if let Some(status) = &mut node.status {
        status.images = None;
        status.volumes_attached = None;
        status.volumes_in_use = None;
        status.node_info = None;
    }
}
