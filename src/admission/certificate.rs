//! Keeps the Secret with the certificate, and serves what is in it.
//!
//! The first replica to write wins; the others adopt what it wrote. Every write is conditional on the version that was
//! read, so that two replicas cannot undo each other's renewal.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt;
use kube::api::{Api, Patch, PatchParams, PostParams};
use noderotation_cert::issue;
use noderotation_cert::material::Material;
use noderotation_cert::pair::{self, Misfit};
use noderotation_cert::resolver::Resolver;
use noderotation_cert::rotation::{Verdict, judge};
use serde_json::json;
use tracing::info;

use super::Context;

/// Why no certificate can be served, or not the one that should be.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The Secret cannot be read or written.
    #[error("{0} Secret {1}")]
    Secret(&'static str, String, #[source] Box<kube::Error>),
    /// Another replica has just written it; the next look adopts that.
    #[error("Secret {0} was written by another replica")]
    Overtaken(String),
    /// A certificate cannot be made.
    #[error(transparent)]
    Issue(#[from] issue::Error),
    /// The Secret's content does not fit; what was served before still is.
    #[error("the certificate of Secret {0} is not served")]
    Misfit(String, #[source] Misfit),
}

/// Looks at the Secret, renews what is due, and serves it. Returns the roots to trust.
pub(super) async fn keep(context: &Context, resolver: &Resolver, now: Timestamp) -> Result<String, Error> {
    let name = &context.options.certificate_secret;
    let api: Api<Secret> = Api::namespaced(context.client.clone(), &context.namespace);
    let secret = api.get_opt(name).await.map_err(|e| Error::Secret("reading", name.clone(), Box::new(e)))?;
    let material = secret.as_ref().and_then(|secret| Material::read(secret).ok());
    let names = issue::names(&context.options.webhook_service, &context.namespace, &context.options.cluster_domain);
    let server_name = context.server_name();
    let provider = rustls::crypto::ring::default_provider();
    let material = match judge(material.as_ref(), &server_name, &names, now, &provider)? {
        Verdict::Keep => material,
        Verdict::Write { material, reason } => {
            write(&api, name, secret.as_ref(), &material).await?;
            info!(secret = name, reason, "certificate issued");
            Some(material)
        }
    };
    let Some(material) = material else {
        return Err(Error::Overtaken(name.clone()));
    };
    let pair = pair::check(&material, &server_name, now, &provider).map_err(|misfit| Error::Misfit(name.clone(), misfit))?;
    context.metrics.certificate_not_after(pair.validity.not_after.duration_since(Timestamp::UNIX_EPOCH).as_secs_f64());
    resolver.serve(pair);
    Ok(material.bundle)
}

async fn write(api: &Api<Secret>, name: &str, read: Option<&Secret>, material: &Material) -> Result<(), Error> {
    let written = match read {
        None => {
            let secret = Secret {
                metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
                type_: Some("kubernetes.io/tls".to_owned()),
                data: Some(material.data()),
                ..Secret::default()
            };
            api.create(&PostParams::default(), &secret).await.map(drop)
        }
        Some(read) => {
            let version = read.resource_version();
            let body = json!({ "metadata": { "resourceVersion": version, "uid": read.uid() }, "data": material.data() });
            api.patch(name, &PatchParams::default(), &Patch::Merge(&body)).await.map(drop)
        }
    };
    match written {
        Ok(()) => Ok(()),
        Err(kube::Error::Api(status)) if status.is_conflict() || status.is_already_exists() => Err(Error::Overtaken(name.to_owned())),
        Err(error) => Err(Error::Secret("writing", name.to_owned(), Box::new(error))),
    }
}
