//! The admission endpoint of this replica: its certificate, its server, and its registration with the API server.
//!
//! It runs on every replica, also while another leads and while the cluster is not fit to be led. Whatever fails here is
//! told and tried again; it never ends the process (faults.md 0.9).

mod certificate;
mod files;
mod registration;
mod sight;
mod tell;
mod upkeep;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use clap::{ArgAction, Args};
use kube::Client;
use noderotation_cert::issue::Names;
use noderotation_cert::resolver::Resolver;
use noderotation_webhook::judge::Judge;
use noderotation_webhook::server::{self, Exchange, Limits};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::address::Address;
use crate::cli::duration;
use crate::event::Recorder;
use crate::metrics::Metrics;
use crate::probe::Readiness;
use crate::severity::Severity;
use certificate::Issuer;
use sight::Sight;
use upkeep::Upkeep;

/// The conditions of `/readyz`.
const ADMISSION: &str = "admission";
const CERTIFICATE: &str = "certificate";
const REGISTRATION: &str = "registration";

/// Flags of the admission endpoint.
#[derive(Clone, Debug, Args)]
pub(crate) struct AdmissionOptions {
    /// Address of the admission endpoint.
    #[arg(long, value_name = "ADDRESS", default_value = ":9443", env = "NODE_ROTATION_WEBHOOK_BIND_ADDRESS")]
    webhook_bind_address: Address,
    /// Service through which the API server reaches the endpoint, in --namespace.
    #[arg(long, value_name = "NAME", default_value = "node-rotation-controller-webhook", env = "NODE_ROTATION_WEBHOOK_SERVICE")]
    webhook_service: String,
    /// Fill in and repair the webhook configurations; false leaves them to whoever made them.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true", env = "NODE_ROTATION_WEBHOOK_REGISTER")]
    webhook_register: bool,
    /// Name of both webhook configurations, the mutating and the validating.
    #[arg(long, value_name = "NAME", default_value = "node-rotation-controller", env = "NODE_ROTATION_WEBHOOK_CONFIGURATION")]
    webhook_configuration: String,
    /// Who issues the endpoint's certificate; the Secret is written by this operator only where that does.
    #[arg(long, value_enum, default_value_t = Issuer::SelfSigned, value_name = "ISSUER", env = "NODE_ROTATION_CERTIFICATES")]
    certificates: Issuer,
    /// Secret with the endpoint's certificate, in --namespace.
    #[arg(long, value_name = "NAME", default_value = "node-rotation-controller-webhook-tls", env = "NODE_ROTATION_CERTIFICATE_SECRET")]
    certificate_secret: String,
    /// A root must have been in the webhook configurations this long before what it has signed is served, and one that is
    /// not ours stays in them as long.
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = duration, env = "NODE_ROTATION_CERTIFICATE_DWELL")]
    certificate_dwell: Duration,
    /// DNS domain of the cluster, for the certificate's names.
    #[arg(long, value_name = "DOMAIN", default_value = "cluster.local", env = "NODE_ROTATION_CLUSTER_DOMAIN")]
    cluster_domain: String,
    /// What to do about a policy that ties with another for a NodePool.
    #[arg(long, value_enum, default_value_t = Severity::Warn, value_name = "SEVERITY", env = "NODE_ROTATION_TIE")]
    tie: Severity,
    /// What to do about a policy that cannot rotate a NodePool which it governs.
    #[arg(long, value_enum, default_value_t = Severity::Warn, value_name = "SEVERITY", env = "NODE_ROTATION_INFEASIBLE")]
    infeasible: Severity,
}

/// What the admission endpoint works with.
#[derive(Clone)]
pub(crate) struct Context {
    pub(crate) options: AdmissionOptions,
    pub(crate) namespace: String,
    pub(crate) client: Client,
    pub(crate) metrics: Metrics,
    pub(crate) events: Recorder,
    pub(crate) readiness: Readiness,
    pub(crate) shutdown_delay: Duration,
    pub(crate) stop: CancellationToken,
}

impl Context {
    fn judge(&self, sight: &Sight) -> Judge {
        let sight = sight.clone();
        let strictness = Severity::strictness(self.options.tie, self.options.infeasible);
        Judge { sight: Arc::new(move || sight.look()), strictness }
    }

    fn names(&self) -> Names {
        Names {
            service: self.options.webhook_service.clone(),
            namespace: self.namespace.clone(),
            cluster_domain: self.options.cluster_domain.clone(),
        }
    }
}

/// Why the endpoint cannot be served at all.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The address cannot be listened on.
    #[error("listening on --webhook-bind-address")]
    Listen(#[source] std::io::Error),
    /// TLS cannot be set up.
    #[error(transparent)]
    Tls(#[from] server::Error),
}

/// Serves admission until told to stop, and then as long as callers need to go elsewhere.
pub(crate) async fn serve(context: Context) -> Result<(), Error> {
    let resolver = Resolver::default();
    let listener = context.options.webhook_bind_address.listen().await.map_err(Error::Listen)?;
    if let Ok(address) = listener.local_addr() {
        info!(%address, "admission endpoint is listening");
    }
    context.readiness.require(ADMISSION, false, "no certificate yet");
    let limits = Limits { lame_duck: context.shutdown_delay, ..Limits::default() }.with_files(files::raise());
    let metrics = context.metrics.clone();
    let observer = Arc::new(move |exchange: &Exchange| metrics.admission(exchange.operation, exchange.verdict, exchange.seconds));
    let sight = Sight::default();
    let judge = context.judge(&sight);
    let serving = server::serve(listener, server::tls(resolver.clone())?, judge, limits, observer, context.stop.clone());
    let wake = Notify::new();
    let mut upkeep = Upkeep::new(&context, resolver);
    // The upkeep and the watches end with the stop, in whatever request they are; the server some time after it, with what
    // was seen last.
    tokio::join!(serving, context.stop.run_until_cancelled(sight.keep(context.client.clone())), async {
        let watching = watch::wake(&context, &wake);
        let keeping = Box::pin(async { tokio::join!(watching, upkeep.run(&wake)) });
        context.stop.run_until_cancelled(keeping).await;
        context.readiness.require(ADMISSION, false, "stopping");
    });
    Ok(())
}
