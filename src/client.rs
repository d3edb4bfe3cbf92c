//! The client to the API server: no retries of its own, no unbounded wait (D13).
//!
//! A retry layer would repeat writes that the next pass must decide anew; without a time limit one silent connection
//! would hold a pool for ever.

mod cluster;

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::http::header::{HeaderValue, USER_AGENT};
use axum::http::{Request, Response};
use futures::FutureExt;
use kube::client::ClientBuilder;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tower::timeout::TimeoutLayer;
use tower::{Layer, Service};

pub(crate) use self::cluster::Cluster;
use crate::metrics::Metrics;

/// A connection that takes longer is tried again.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The wait for the head of an answer; a watch that has begun may then be silent.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(15);

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The kubeconfig cannot be used.
    #[error("the kubeconfig cannot be used: set --kubeconfig or KUBECONFIG to one that can")]
    Kubeconfig(#[source] Box<kube::config::KubeconfigError>),
    /// Neither a kubeconfig nor a Pod's own account is there.
    #[error("no cluster is configured: set --kubeconfig or KUBECONFIG, or run in a Pod with a ServiceAccount")]
    NotInCluster(#[source] Box<kube::config::InClusterError>),
    /// A context is named, and there is no kubeconfig that could have it.
    #[error("--context names a context of a kubeconfig, and none is given: set --kubeconfig or KUBECONFIG as well")]
    NoKubeconfig,
    /// The client cannot be built from it.
    #[error("the client cannot be built from the configuration")]
    Build(#[source] Box<kube::Error>),
}

/// A client from the named kubeconfig, else from `KUBECONFIG`, else from the Pod's own account.
///
/// # Errors
/// When none of these can be used.
pub(crate) async fn connect(cluster: &Cluster, identity: &str, metrics: Metrics) -> Result<Client, Error> {
    let from_variable = std::env::var_os("KUBECONFIG").filter(|value| !value.is_empty());
    let file = match (cluster.kubeconfig.as_deref(), from_variable) {
        (Some(path), _) => Some(Kubeconfig::read_from(path).map_err(|e| Error::Kubeconfig(Box::new(e)))?),
        (None, Some(_)) => Kubeconfig::from_env().map_err(|e| Error::Kubeconfig(Box::new(e)))?,
        (None, None) => None,
    };
    let config = match file {
        Some(file) => {
            let chosen = KubeConfigOptions { context: cluster.context.clone(), ..KubeConfigOptions::default() };
            Config::from_custom_kubeconfig(file, &chosen).await.map_err(|e| Error::Kubeconfig(Box::new(e)))?
        }
        None if cluster.context.is_some() => return Err(Error::NoKubeconfig),
        None => Config::incluster().map_err(|e| Error::NotInCluster(Box::new(e)))?,
    };
    build(config, identity, metrics)
}

/// The client of a configuration. The audit log of the API server then tells the replicas apart.
fn build(mut config: Config, identity: &str, metrics: Metrics) -> Result<Client, Error> {
    config.default_retry = false;
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    config.read_timeout = None;
    let agent = concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION"));
    // An identity that no header can carry is left out.
    let agent = HeaderValue::from_str(&format!("{agent} ({identity})")).unwrap_or_else(|_| HeaderValue::from_static(agent));
    config.headers.push((USER_AGENT, agent));
    let builder = ClientBuilder::try_from(config).map_err(|e| Error::Build(Box::new(e)))?;
    Ok(builder.with_layer(&TimeoutLayer::new(ANSWER_TIMEOUT)).with_layer(&CountLayer(metrics)).build())
}

/// Counts requests by verb and by the code of the answer.
#[derive(Clone)]
struct CountLayer(Metrics);

impl<S> Layer<S> for CountLayer {
    type Service = Count<S>;

    fn layer(&self, inner: S) -> Count<S> {
        Count { inner, metrics: self.0.clone() }
    }
}

#[derive(Clone)]
struct Count<S> {
    inner: S,
    metrics: Metrics,
}

impl<S, B, C> Service<Request<B>> for Count<S>
where
    S: Service<Request<B>, Response = Response<C>>,
    S::Future: Send + 'static,
    S::Error: 'static,
{
    type Response = Response<C>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<C>, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let verb = verb(&request);
        let metrics = self.metrics.clone();
        let answer = self.inner.call(request);
        Box::pin(answer.inspect(move |answer| match answer {
            Ok(response) => metrics.api_request(verb, response.status().as_str()),
            Err(_) => metrics.api_request(verb, "error"),
        }))
    }
}

/// One of a fixed set, so that the label stays bounded. A watch counts once, when it begins.
fn verb<B>(request: &Request<B>) -> &'static str {
    let watch = request.uri().query().is_some_and(|query| query.split('&').any(|part| part == "watch=true"));
    match request.method().as_str() {
        "GET" if watch => "watch",
        "GET" => "get",
        "POST" => "post",
        "PUT" => "put",
        "PATCH" => "patch",
        "DELETE" => "delete",
        _ => "other",
    }
}

#[cfg(test)]
mod tests;
