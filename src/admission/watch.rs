//! Watches the Secret and both webhook configurations, so that a change of one is looked at within a second.
//!
//! Only that something changed is taken from a watch; what is so now is then read. A watch that fails has a backoff of
//! its own, and the periodic look goes on without it.

use std::fmt::Debug;

use futures::{StreamExt, future};
use k8s_openapi::api::admissionregistration::v1::{MutatingWebhookConfiguration, ValidatingWebhookConfiguration};
use k8s_openapi::api::core::v1::Secret;
use kube::Resource;
use kube::api::Api;
use kube::core::PartialObjectMeta;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use serde::de::DeserializeOwned;
use tokio::sync::Notify;
use tracing::{info, warn};

use super::Context;
use crate::controller::WATCH_TIMEOUT_SECONDS;
use crate::telemetry::words;

/// Wakes whoever waits for `wake` with each change, for ever.
pub(super) async fn wake(context: &Context, wake: &Notify) {
    let (client, options) = (&context.client, &context.options);
    let secret = one::<Secret>(Api::namespaced(client.clone(), &context.namespace), &options.certificate_secret, wake);
    let configuration = &options.webhook_configuration;
    let mutating = one::<MutatingWebhookConfiguration>(Api::all(client.clone()), configuration, wake);
    let validating = one::<ValidatingWebhookConfiguration>(Api::all(client.clone()), configuration, wake);
    tokio::join!(secret, mutating, validating);
}

/// Follows the one object of this name, by its metadata alone: a Secret's keys are not kept twice.
async fn one<K>(api: Api<PartialObjectMeta<K>>, name: &str, wake: &Notify)
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let only = watcher::Config::default().fields(&format!("metadata.name={name}")).timeout(WATCH_TIMEOUT_SECONDS);
    let mut broken = false;
    let changes = watcher(api, only).default_backoff().for_each(|event| {
        match event {
            Ok(Event::Apply(_) | Event::Delete(_) | Event::InitDone) => {
                if std::mem::take(&mut broken) {
                    info!(kind = %K::kind(&()), name, "watched again");
                }
                wake.notify_one();
            }
            Ok(Event::Init | Event::InitApply(_)) => {}
            Err(error) => {
                if !std::mem::replace(&mut broken, true) {
                    warn!(kind = %K::kind(&()), name, error = words(&error), "watch failed, trying again; it is looked at every 10 s all the same");
                }
            }
        }
        future::ready(())
    });
    changes.await;
}
