//! The admission endpoint of this replica: its certificate, its server, and its registration with the API server.
//!
//! It runs on every replica, also while another leads and while the cluster is not fit to be led. Whatever fails here is
//! told and tried again; it never ends the process (faults.md 0.9).

mod certificate;
mod registration;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use clap::{ArgAction, Args};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Service;
use kube::Client;
use kube::api::Api;
use noderotation_cert::resolver::Resolver;
use noderotation_webhook::server::{self, Exchange, Limits};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::address::Address;
use crate::metrics::Metrics;
use crate::probe::Readiness;

/// Time between two looks at certificate and registration, when nothing is wrong.
const PERIOD: Duration = Duration::from_secs(30);
/// Time between two tries while something is.
const RETRY: Duration = Duration::from_secs(1);

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
    /// The name by which the API server calls the endpoint.
    fn server_name(&self) -> String {
        format!("{}.{}.svc", self.options.webhook_service, self.namespace)
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
    context.readiness.require("admission", false, "no certificate yet");
    let limits = Limits { lame_duck: context.shutdown_delay, ..Limits::default() };
    let metrics = context.metrics.clone();
    let observer = Arc::new(move |exchange: &Exchange| metrics.admission(exchange.operation, exchange.verdict, exchange.seconds));
    let serving = server::serve(listener, server::tls(resolver.clone())?, limits, observer, context.stop.clone());
    let upkeep = upkeep(&context, &resolver);
    // The upkeep ends with the stop; the server some time after it.
    tokio::join!(serving, upkeep);
    Ok(())
}

/// Keeps certificate and registration as they should be.
async fn upkeep(context: &Context, resolver: &Resolver) {
    let mut told = String::new();
    let mut registrar = registration::Registrar::default();
    while !context.stop.is_cancelled() {
        let round = round(context, resolver, &mut registrar).await;
        let wait = match round {
            Ok(()) => {
                told.clear();
                PERIOD
            }
            Err(problem) => {
                if problem != told {
                    warn!(problem, "admission endpoint is not as it should be, trying again");
                    told = problem;
                }
                RETRY
            }
        };
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = context.stop.cancelled() => {}
        }
    }
    context.readiness.require("admission", false, "stopping");
}

/// One look; an error is what keeps the endpoint from being as it should be.
async fn round(context: &Context, resolver: &Resolver, registrar: &mut registration::Registrar) -> Result<(), String> {
    let bundle = certificate::keep(context, resolver, Timestamp::now()).await.map_err(|error| words(&error))?;
    context.readiness.require("admission", true, "");
    if !context.options.webhook_register {
        context.readiness.inform("registration", true, "left to others");
        return Ok(());
    }
    let registered = registrar.keep(context, &bundle).await;
    let problem = registered.as_ref().err().map(|error| words(error)).unwrap_or_default();
    context.readiness.inform("registration", registered.is_ok(), problem.clone());
    registered.map_err(|_| problem)
}

/// An error and what it came from, in one line.
fn words(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}

/// The Service's own address and port.
async fn service_address(context: &Context) -> Result<SocketAddr, registration::Error> {
    let name = &context.options.webhook_service;
    let api: Api<Service> = Api::namespaced(context.client.clone(), &context.namespace);
    let service = api.get(name).await.map_err(|source| registration::Error::Service(name.clone(), Box::new(source)))?;
    let spec = service.spec.unwrap_or_default();
    let port = spec.ports.iter().flatten().next().and_then(|port| u16::try_from(port.port).ok());
    let address = spec.cluster_ip.and_then(|ip| ip.parse::<IpAddr>().ok());
    address.zip(port).map(SocketAddr::from).ok_or_else(|| registration::Error::NoAddress(name.clone()))
}
