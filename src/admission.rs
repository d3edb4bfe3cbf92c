//! stub
use clap::Args;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Flags of the admission endpoint.
#[derive(Clone, Debug, Args)]
pub(crate) struct Options {}

/// What the admission endpoint works with.
pub(crate) struct Context {
    pub(crate) options: Options,
    pub(crate) namespace: String,
    pub(crate) client: kube::Client,
    pub(crate) metrics: crate::metrics::Metrics,
    pub(crate) readiness: crate::probe::Readiness,
    pub(crate) shutdown_delay: Duration,
    pub(crate) stop: CancellationToken,
}

/// Serves.
pub(crate) async fn serve(context: Context) -> anyhow::Result<()> {
    context.stop.cancelled().await;
    Ok(())
}
