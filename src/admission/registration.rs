//! Fills in the entries of the two webhook configurations, and keeps them as they should be.

use k8s_openapi::api::admissionregistration::v1::{MutatingWebhookConfiguration, ValidatingWebhookConfiguration};
use kube::Resource;
use kube::api::{Api, Patch, PatchParams};
use noderotation_webhook::probe::{self, probe};
use noderotation_webhook::registration::{Endpoint, Kind, desired, is_as_desired};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tracing::info;

use super::{Context, service_address};
use crate::controller::FIELD_MANAGER;

/// Why the endpoint is not registered.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
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
}

/// Remembers whether an answer has come through the Service.
#[derive(Default)]
pub(super) struct Registrar {
    answered: bool,
}

impl Registrar {
    /// Compares both configurations with what they should be, and applies what differs.
    pub(super) async fn keep(&mut self, context: &Context, bundle: &str) -> Result<(), Error> {
        let address = service_address(context).await?;
        if !self.answered {
            probe(address, &context.server_name(), bundle).await.map_err(Error::Unanswered)?;
            self.answered = true;
        }
        let endpoint = Endpoint {
            namespace: context.namespace.clone(),
            service: context.options.webhook_service.clone(),
            port: i32::from(address.port()),
            bundle: bundle.to_owned(),
        };
        apply::<MutatingWebhookConfiguration>(context, Kind::Mutating, &endpoint).await?;
        apply::<ValidatingWebhookConfiguration>(context, Kind::Validating, &endpoint).await
    }
}

async fn apply<K>(context: &Context, kind: Kind, endpoint: &Endpoint) -> Result<(), Error>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + serde::Serialize + std::fmt::Debug,
{
    let name = &context.options.webhook_configuration;
    let api: Api<K> = Api::all(context.client.clone());
    let failed = |doing| move |source| Error::Configuration(doing, kind.object_kind(), name.clone(), Box::new(source));
    let Some(live) = api.get_opt(name).await.map_err(failed("reading"))? else {
        return Err(Error::NoShell(kind.object_kind(), name.clone()));
    };
    let wanted = desired(kind, name, endpoint);
    if is_as_desired(&serde_json::to_value(&live).unwrap_or(Value::Null), &wanted) {
        return Ok(());
    }
    api.patch(name, &PatchParams::apply(FIELD_MANAGER).force(), &Patch::Apply(&wanted)).await.map_err(failed("applying"))?;
    info!(kind = kind.object_kind(), name, "admission endpoint registered");
    Ok(())
}
