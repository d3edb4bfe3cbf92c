//! The rotation controller: one pass per NodePool, woken by watches and by the clock.
//!
//! observe → decide → apply → report. All decisions are `noderotation_core`'s; what is here reads, writes and tells.

pub(crate) mod announce;
mod apply;
mod board;
mod caches;
pub(crate) mod cleanup;
mod clock;
mod gauges;
mod journal;
mod markers;
mod observe;
mod owner;
mod policies;
mod reconcile;
mod status;
mod sweep;
mod tell;
#[cfg(test)]
mod tests;
mod told;
pub(crate) mod view;
mod watch;

pub(crate) use board::Board;
pub(crate) use caches::policy_resource;
pub(crate) use clock::Clock;
pub(crate) use watch::WATCH_TIMEOUT_SECONDS;

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use noderotation_core::rotation::observation::Settings;
use tokio_util::sync::CancellationToken;

use crate::event::Recorder;
use crate::leader::Lead;
use crate::metrics::Metrics;

/// The name under which our changes appear in `managedFields`.
pub(crate) const FIELD_MANAGER: &str = "node-rotation-controller";

/// What the controller works with.
#[derive(Clone)]
pub(crate) struct Context {
    /// To the API server, without retries of its own.
    pub(crate) client: kube::Client,
    /// Series of this process.
    pub(crate) metrics: Metrics,
    /// What the last pass over each pool has seen.
    pub(crate) board: Board,
    /// Writes events, never in the way of a pass.
    pub(crate) events: Recorder,
    /// How placeholders are made.
    pub(crate) settings: Settings,
    /// Who owns our placeholders; [`run`] finds out.
    pub(crate) owner: Option<OwnerReference>,
    /// Asked before every write (I12).
    pub(crate) lead: Lead,
    /// All decisions are made at its time.
    pub(crate) clock: Clock,
}

/// Rotates nodes until `stop` is cancelled; a pass that has begun is finished.
///
/// # Errors
/// When the watches end although nobody asked for it.
pub(crate) async fn run(context: Context, stop: CancellationToken) -> Result<(), watch::Ended> {
    let owner = owner::account(&context.client, &context.settings.namespace).await;
    watch::run(Arc::new(Context { owner, ..context }), stop).await
}
