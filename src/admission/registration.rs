//! Fills in the entries of the two webhook configurations, and keeps them as they should be.
//!
//! The chart makes both objects; this can neither create nor delete any. Nothing is registered before an answer has come
//! back through the Service, for until then an entry would only block policies.

#[cfg(test)]
mod tests;

use std::fmt::Debug;
use std::net::{IpAddr, SocketAddr};

use k8s_openapi::api::admissionregistration::v1::{MutatingWebhookConfiguration, ValidatingWebhookConfiguration};
use k8s_openapi::api::core::v1::Service;
use kube::api::{Api, Patch, PatchParams};
use kube::{Client, Resource, ResourceExt};
use noderotation_cert::bundle::Bundle;
use noderotation_cert::pair::Pair;
use noderotation_webhook::probe::{self, probe};
use noderotation_webhook::registration::{Endpoint, Kind, desired, is_as_desired, trusted};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tracing::{info, warn};

use crate::controller::FIELD_MANAGER;

/// Why the endpoint is not registered.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// The Service cannot be read.
    #[error("reading Service {0}")]
    Service(String, #[source] Box<kube::Error>),
    /// The Service has no address of its own.
    #[error("Service {0} has no cluster IP and port")]
    NoAddress(String),
    /// The endpoint does not answer through the Service yet.
    #[error("the endpoint does not answer through its Service yet, so it is not registered")]
    Unanswered(#[source] probe::Error),
    /// The shell that the entries go into is not there.
    #[error("{0} {1} does not exist, so bad policies are not refused: run `helm upgrade` to have it made again")]
    NoShell(&'static str, String),
    /// A configuration cannot be read or written.
    #[error("{0} {1} {2}")]
    Configuration(&'static str, &'static str, String, #[source] Box<kube::Error>),
    /// A configuration has the API server trust others, and cannot be repaired.
    #[error("the API server does not trust the served certificate by {0} {1}")]
    Distrusted(&'static str, String, #[source] Box<Self>),
}

/// What there is to register, and where.
pub(super) struct Registrar {
    pub(super) client: Client,
    pub(super) namespace: String,
    pub(super) service: String,
    /// Name of both configurations.
    pub(super) configuration: String,
    /// The name by which the API server calls the endpoint.
    pub(super) server_name: String,
}

impl Registrar {
    /// Compares both configurations with what they should be for the pair that is served, and applies what differs; a
    /// fault of one does not keep the other from being repaired.
    pub(super) async fn keep(&self, pair: &Pair, bundle: &Bundle) -> Result<(), Error> {
        let address = self.address().await?;
        let endpoint = Endpoint {
            namespace: self.namespace.clone(),
            service: self.service.clone(),
            port: i32::from(address.port()),
            bundle: bundle.clone(),
        };
        let mutating = self.compare::<MutatingWebhookConfiguration>(Kind::Mutating, &endpoint, address, pair).await;
        let validating = self.compare::<ValidatingWebhookConfiguration>(Kind::Validating, &endpoint, address, pair).await;
        mutating.and(validating)
    }

    async fn compare<K>(&self, kind: Kind, endpoint: &Endpoint, address: SocketAddr, pair: &Pair) -> Result<(), Error>
    where
        K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Serialize + Debug,
    {
        let name = &self.configuration;
        let api: Api<K> = Api::all(self.client.clone());
        let Some(live) = api.get_opt(name).await.map_err(|error| self.failed("reading", kind, error))? else {
            return Err(Error::NoShell(kind.object_kind(), name.clone()));
        };
        let (live, wanted) = (value(&live), desired(kind, name, endpoint));
        if is_as_desired(&live, &wanted) {
            return Ok(());
        }
        match trusted(&live) {
            // Whatever is asked is blocked already, so there is nothing to wait for.
            Some(trusted) => self.apply(&api, kind, &wanted).await.map_err(|error| {
                if pair.is_signed_by(&trusted) { error } else { Error::Distrusted(kind.object_kind(), name.clone(), Box::new(error)) }
            }),
            None => {
                probe(address, &self.server_name, &endpoint.bundle).await.map_err(Error::Unanswered)?;
                self.apply(&api, kind, &wanted).await
            }
        }
    }

    async fn apply<K>(&self, api: &Api<K>, kind: Kind, wanted: &Value) -> Result<(), Error>
    where
        K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Serialize + Debug,
    {
        let parameters = PatchParams::apply(FIELD_MANAGER).force();
        let applied = api.patch(&self.configuration, &parameters, &Patch::Apply(wanted)).await;
        let applied = applied.map_err(|error| self.failed("applying", kind, error))?;
        self.replace(api, &applied, wanted).await.map_err(|error| self.failed("replacing the entries of", kind, error))?;
        info!(kind = kind.object_kind(), name = self.configuration, "admission endpoint registered");
        Ok(())
    }

    /// What others have added stays through an apply, a condition that never holds for example; then the list is
    /// replaced as a whole.
    async fn replace<K>(&self, api: &Api<K>, applied: &K, wanted: &Value) -> kube::Result<()>
    where
        K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Serialize + Debug,
    {
        if is_as_desired(&value(applied), wanted) {
            return Ok(());
        }
        warn!(name = self.configuration, "somebody has added to the entries of a webhook configuration, which is undone");
        let metadata = json!({ "resourceVersion": applied.resource_version() });
        let body = json!({ "metadata": metadata, "webhooks": wanted.get("webhooks") });
        let parameters = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        api.patch(&self.configuration, &parameters, &Patch::Merge(&body)).await.map(drop)
    }

    fn failed(&self, doing: &'static str, kind: Kind, error: kube::Error) -> Error {
        Error::Configuration(doing, kind.object_kind(), self.configuration.clone(), Box::new(error))
    }

    /// The Service's own address and port.
    async fn address(&self) -> Result<SocketAddr, Error> {
        let api: Api<Service> = Api::namespaced(self.client.clone(), &self.namespace);
        let service = api.get(&self.service).await.map_err(|source| Error::Service(self.service.clone(), Box::new(source)))?;
        let spec = service.spec.unwrap_or_default();
        let port = spec.ports.iter().flatten().next().and_then(|port| u16::try_from(port.port).ok());
        let address = spec.cluster_ip.and_then(|ip| ip.parse::<IpAddr>().ok());
        address.zip(port).map(SocketAddr::from).ok_or_else(|| Error::NoAddress(self.service.clone()))
    }
}

fn value(object: &impl Serialize) -> Value {
    serde_json::to_value(object).unwrap_or(Value::Null)
}
