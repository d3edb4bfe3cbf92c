//! Fills in the entries of the two webhook configurations, and keeps them as they should be.
//!
//! The chart makes both objects; this can neither create nor delete any. Nothing is registered before an answer has come
//! back through the Service, for until then an entry would only block policies. Where the chart renders the entries, they
//! are only looked at.

#[cfg(test)]
mod tests;

use std::fmt::Debug;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::admissionregistration::v1::{MutatingWebhookConfiguration, ValidatingWebhookConfiguration};
use k8s_openapi::api::core::v1::Service;
use kube::api::{Api, Patch, PatchParams};
use kube::{Client, Resource, ResourceExt};
use noderotation_cert::bundle::Bundle;
use noderotation_cert::pair::Pair;
use noderotation_cert::trust::Strangers;
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
    /// A configuration that is somebody else's to keep has the API server trust others.
    #[error(
        "the API server does not trust the served certificate by {0} {1}: put the root that has signed it, ca.crt of the Secret, into caBundle"
    )]
    Foreign(&'static str, String),
}

impl Error {
    /// Requests fail while this is so.
    pub(super) fn is_distrust(&self) -> bool {
        matches!(self, Self::Distrusted(..) | Self::Foreign(..))
    }
}

/// What became of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// It was as it should be.
    None,
    /// Its shell was filled in.
    Registered,
    /// Somebody had edited it, or the roots are others now.
    Repaired,
}

/// A configuration that is as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Registered {
    pub(super) change: Change,
    /// The roots that it has the API server trust.
    pub(super) trusted: Bundle,
}

/// How each of the two configurations was left.
pub(super) type Outcomes = [(Kind, Result<Registered, Error>); 2];

/// What there is to register, and where.
pub(super) struct Registrar {
    pub(super) client: Client,
    pub(super) namespace: String,
    pub(super) service: String,
    /// Name of both configurations.
    pub(super) configuration: String,
    /// The name by which the API server calls the endpoint.
    pub(super) server_name: String,
    /// A root that is not ours is put up with for this long.
    pub(super) dwell: Duration,
    /// False where the entries are somebody else's to keep.
    pub(super) writes: bool,
    pub(super) strangers: [Strangers; 2],
}

/// What one comparison is made with.
struct Served<'a> {
    pair: &'a Pair,
    bundle: &'a Bundle,
    now: Timestamp,
}

impl Registrar {
    /// Compares both configurations with what they should be for the pair that is served, and applies what differs; a
    /// fault of one does not keep the other from being repaired.
    pub(super) async fn keep(&mut self, pair: &Pair, bundle: &Bundle, now: Timestamp) -> Result<Outcomes, Error> {
        let (served, mut strangers) = (Served { pair, bundle, now }, std::mem::take(&mut self.strangers));
        let [of_mutating, of_validating] = &mut strangers;
        let address = if self.writes { Some(self.address().await) } else { None };
        let outcomes = match address.transpose() {
            Err(error) => Err(error),
            Ok(address) => {
                let mutating = self.look::<MutatingWebhookConfiguration>(Kind::Mutating, address, &served, of_mutating).await;
                let validating = self.look::<ValidatingWebhookConfiguration>(Kind::Validating, address, &served, of_validating).await;
                Ok([(Kind::Mutating, mutating), (Kind::Validating, validating)])
            }
        };
        self.strangers = strangers;
        outcomes
    }

    async fn look<K>(
        &self,
        kind: Kind,
        address: Option<SocketAddr>,
        served: &Served<'_>,
        strangers: &mut Strangers,
    ) -> Result<Registered, Error>
    where
        K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Serialize + Debug,
    {
        let name = &self.configuration;
        let api: Api<K> = Api::all(self.client.clone());
        let Some(live) = api.get_opt(name).await.map_err(|error| self.failed("reading", kind, error))? else {
            return Err(Error::NoShell(kind.object_kind(), name.clone()));
        };
        let live = value(&live);
        let trusted = trusted(&live);
        let Some(address) = address else {
            let trusted = trusted.unwrap_or_default();
            let accepted = served.pair.is_signed_by(&trusted);
            return if accepted {
                Ok(Registered { change: Change::None, trusted })
            } else {
                Err(Error::Foreign(kind.object_kind(), name.clone()))
            };
        };
        let known = trusted.clone().unwrap_or_default();
        let wanted_bundle = strangers.beside(served.bundle, &known, self.dwell, served.now);
        let wanted = desired(kind, name, &self.endpoint(address, &wanted_bundle));
        let change = if is_as_desired(&live, &wanted) {
            Change::None
        } else if let Some(trusted) = trusted {
            // Whatever is asked is blocked already, so there is nothing to wait for.
            self.apply(&api, kind, &wanted).await.map_err(|error| {
                if served.pair.is_signed_by(&trusted) {
                    error
                } else {
                    Error::Distrusted(kind.object_kind(), name.clone(), Box::new(error))
                }
            })?;
            Change::Repaired
        } else {
            probe(address, &self.server_name, &wanted_bundle).await.map_err(Error::Unanswered)?;
            self.apply(&api, kind, &wanted).await?;
            Change::Registered
        };
        Ok(Registered { change, trusted: wanted_bundle })
    }

    fn endpoint(&self, address: SocketAddr, bundle: &Bundle) -> Endpoint {
        Endpoint {
            namespace: self.namespace.clone(),
            service: self.service.clone(),
            port: i32::from(address.port()),
            bundle: bundle.clone(),
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
