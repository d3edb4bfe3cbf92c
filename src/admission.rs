//! The admission endpoint of this replica: its certificate, its server, and its registration with the API server.
//!
//! It runs on every replica, also while another leads and while the cluster is not fit to be led. Whatever fails here is
//! told and tried again; it never ends the process (faults.md 0.9).

mod certificate;
mod registration;
mod sight;

use std::sync::Arc;
use std::time::Duration;

use clap::{ArgAction, Args};
use jiff::Timestamp;
use kube::Client;
use kube::api::Api;
use noderotation_cert::issue::Names;
use noderotation_cert::resolver::Resolver;
use noderotation_webhook::judge::Judge;
use noderotation_webhook::server::{self, Exchange, Limits};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::address::Address;
use crate::metrics::Metrics;
use crate::probe::Readiness;
use crate::severity::Severity;
use crate::telemetry::words;
use certificate::Keeper;
use registration::Registrar;
use sight::Sight;

/// Time between two looks at certificate and registration, and the longest between two tries.
const PERIOD: Duration = Duration::from_secs(10);
/// Time to the first try after something has gone wrong.
const RETRY: Duration = Duration::from_secs(1);
/// The conditions of `/readyz`.
const ADMISSION: &str = "admission";
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
    /// Secret with the endpoint's certificate, in --namespace; made if it is not there.
    #[arg(long, value_name = "NAME", default_value = "node-rotation-controller-webhook-tls", env = "NODE_ROTATION_CERTIFICATE_SECRET")]
    certificate_secret: String,
    /// DNS domain of the cluster, for the certificate's names.
    #[arg(long, value_name = "DOMAIN", default_value = "cluster.local", env = "NODE_ROTATION_CLUSTER_DOMAIN")]
    cluster_domain: String,
    /// What admission does about a policy that ties with another for a NodePool.
    #[arg(long, value_enum, default_value_t = Severity::Warn, value_name = "SEVERITY", env = "NODE_ROTATION_TIE")]
    tie: Severity,
    /// What admission does about a policy that cannot rotate a NodePool which it governs.
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
    let limits = Limits { lame_duck: context.shutdown_delay, ..Limits::default() };
    let metrics = context.metrics.clone();
    let observer = Arc::new(move |exchange: &Exchange| metrics.admission(exchange.operation, exchange.verdict, exchange.seconds));
    let sight = Sight::default();
    let judge = context.judge(&sight);
    let serving = server::serve(listener, server::tls(resolver.clone())?, judge, limits, observer, context.stop.clone());
    let mut upkeep = Upkeep::new(&context, resolver);
    // The upkeep and the watches end with the stop; the server some time after it, with what was seen last.
    tokio::join!(serving, context.stop.run_until_cancelled(sight.keep(context.client.clone())), async {
        context.stop.run_until_cancelled(upkeep.run()).await;
        context.readiness.require(ADMISSION, false, "stopping");
    });
    Ok(())
}

/// Keeps certificate and registration as they should be.
struct Upkeep<'a> {
    context: &'a Context,
    keeper: Keeper,
    registrar: Option<Registrar>,
}

impl<'a> Upkeep<'a> {
    fn new(context: &'a Context, resolver: Resolver) -> Self {
        let (options, client, namespace) = (&context.options, &context.client, &context.namespace);
        let secrets = Api::namespaced(client.clone(), namespace);
        let registrar = options.webhook_register.then(|| Registrar {
            client: client.clone(),
            namespace: namespace.clone(),
            service: options.webhook_service.clone(),
            configuration: options.webhook_configuration.clone(),
            server_name: context.names().server(),
        });
        Self { context, keeper: Keeper::new(secrets, &options.certificate_secret, context.names(), resolver), registrar }
    }

    /// Looks for ever; a problem is told when it begins, changes and ends.
    async fn run(&mut self) {
        let mut told = String::new();
        let mut wait = RETRY;
        loop {
            let problem = self.look(Timestamp::now()).await.err().unwrap_or_default();
            let changed = problem != told;
            if changed && problem.is_empty() {
                info!("admission endpoint is as it should be");
            } else if changed {
                warn!(problem, "admission endpoint is not as it should be, trying again");
            }
            wait = match (problem.is_empty(), changed) {
                (true, _) => PERIOD,
                (false, true) => RETRY,
                (false, false) => (wait * 2).min(PERIOD),
            };
            told = problem;
            tokio::time::sleep(wait).await;
        }
    }

    /// One look; an error is what keeps the endpoint from being as it should be.
    async fn look(&mut self, now: Timestamp) -> Result<(), String> {
        let readiness = &self.context.readiness;
        let kept = self.keeper.keep(now).await.map_err(|error| words(&error));
        readiness.inform("certificate", kept.is_ok(), kept.as_ref().err().cloned().unwrap_or_default());
        let (pair, bundle) = kept?;
        self.context.metrics.certificate_not_after(pair.validity.not_after.duration_since(Timestamp::UNIX_EPOCH).as_secs_f64());
        let Some(registrar) = &self.registrar else {
            readiness.require(ADMISSION, true, "");
            readiness.inform(REGISTRATION, true, "left to others");
            return Ok(());
        };
        let registered = registrar.keep(&pair, &bundle).await;
        let problem = registered.as_ref().err().map(|error| words(error)).unwrap_or_default();
        let distrusted = matches!(registered, Err(registration::Error::Distrusted(..)));
        readiness.require(ADMISSION, !distrusted, if distrusted { problem.as_str() } else { "" });
        readiness.inform(REGISTRATION, registered.is_ok(), problem.clone());
        registered.map_err(|_| problem)?;
        self.keeper.trust(&bundle, now);
        Ok(())
    }
}
