//! Keeps the Secret with the certificate, and serves what is in it.
//!
//! The first replica to write wins; the others adopt what it wrote. Every write is conditional on the version that was
//! read, so that two replicas cannot undo each other's renewal. A Secret that somebody else made is never written.

#[cfg(test)]
mod tests;

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use kube::api::{Api, Patch, PatchParams, PostParams};
use noderotation_cert::bundle::Bundle;
use noderotation_cert::issue::{self, Names};
use noderotation_cert::pair::{Misfit, Pair};
use noderotation_cert::resolver::Resolver;
use noderotation_cert::rotation::{Rules, Situation, Verdict};
use noderotation_cert::secret::{Material, Missing, is_ours};
use serde_json::json;
use tracing::info;

/// How long an API server may take to hear of a new root (faults.md 0.8). We renew long before anything ends.
const DWELL: Duration = Duration::from_secs(3600);
/// Replicas that start together all want to write; after this many lost races the next look goes on.
const TRIES: u32 = 5;

/// Why no certificate can be served, or not the one that should be.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// The Secret cannot be read or written.
    #[error("{0} Secret {1}")]
    Secret(&'static str, String, #[source] Box<kube::Error>),
    /// Other replicas have written it each time.
    #[error("Secret {0} is being written by other replicas")]
    Overtaken(String),
    /// A certificate cannot be made.
    #[error(transparent)]
    Issue(#[from] issue::Error),
    /// Somebody's own Secret lacks an entry.
    #[error("Secret {0} was not made by this operator: complete it, or delete it to have a certificate made")]
    Incomplete(String, #[source] Missing),
    /// Somebody's own certificate cannot be served.
    #[error("Secret {0} was not made by this operator: put a certificate in that fits, or delete it to have one made")]
    Unfit(String, #[source] Misfit),
    /// What was written does not fit.
    #[error("the certificate of Secret {0} is not served")]
    Misfit(String, #[source] Misfit),
}

/// What is served, and where it comes from.
pub(super) struct Keeper {
    api: Api<Secret>,
    name: String,
    rules: Rules,
    resolver: Resolver,
    /// What is served, if it is ours: put back if the Secret gets lost.
    served: Option<Material>,
    /// The bundle that callers are told to trust, and since when we know.
    trusted: Option<(Bundle, Timestamp)>,
}

impl Keeper {
    pub(super) fn new(api: Api<Secret>, name: &str, names: Names, resolver: Resolver) -> Self {
        let rules = Rules { names, dwell: DWELL };
        Self { api, name: name.to_owned(), rules, resolver, served: None, trusted: None }
    }

    /// The name by which the API server calls the endpoint.
    pub(super) fn server_name(&self) -> String {
        self.rules.names.server()
    }

    /// Callers are told to trust this, seen at `now`.
    pub(super) fn trust(&mut self, bundle: &Bundle, now: Timestamp) {
        if self.trusted.as_ref().is_none_or(|(known, _)| known != bundle) {
            self.trusted = Some((bundle.clone(), now));
        }
    }

    /// Looks at the Secret, writes what is due, and serves it. Returns what is served and the roots to trust.
    pub(super) async fn keep(&mut self, now: Timestamp) -> Result<(Pair, Bundle), Error> {
        for _ in 0..TRIES {
            let secret = self.api.get_opt(&self.name).await.map_err(|e| self.failed("reading", e))?;
            let found = secret.as_ref().map(Material::read);
            if secret.as_ref().is_some_and(|secret| !is_ours(secret)) {
                return self.adopt(found, now);
            }
            let found = found.and_then(Result::ok);
            let trusted = self.trusted.as_ref().filter(|(bundle, _)| found.as_ref().is_some_and(|found| found.bundle == *bundle));
            let situation =
                Situation { found: found.as_ref(), served: self.served.as_ref(), trusted_since: trusted.map(|(_, since)| *since), now };
            let material = match (self.rules.judge(&situation)?, found) {
                (Verdict::Serve, Some(found)) => found,
                // Nothing was found, so there is something to write.
                (Verdict::Serve, None) => continue,
                (Verdict::Write { material, reason }, _) => {
                    if !self.write(secret.as_ref(), &material).await? {
                        continue;
                    }
                    info!(secret = self.name, %reason, "certificate written");
                    *material
                }
            };
            let pair = self.offer(&material, now).map_err(|misfit| Error::Misfit(self.name.clone(), misfit))?;
            let bundle = material.bundle.clone();
            self.served = Some(material);
            return Ok((pair, bundle));
        }
        Err(Error::Overtaken(self.name.clone()))
    }

    /// Serves what somebody else provides; what was served before stays if it does not fit.
    fn adopt(&mut self, found: Option<Result<Material, Missing>>, now: Timestamp) -> Result<(Pair, Bundle), Error> {
        let material = found.unwrap_or(Err(Missing("data"))).map_err(|missing| Error::Incomplete(self.name.clone(), missing))?;
        let pair = self.offer(&material, now).map_err(|misfit| Error::Unfit(self.name.clone(), misfit))?;
        self.served = None;
        Ok((pair, material.bundle))
    }

    fn offer(&self, material: &Material, now: Timestamp) -> Result<Pair, Misfit> {
        self.resolver.offer(material, &self.server_name(), now)
    }

    /// False if another replica was faster.
    async fn write(&self, read: Option<&Secret>, material: &Material) -> Result<bool, Error> {
        let written = match read {
            None => self.api.create(&PostParams::default(), &material.secret(&self.name)).await.map(drop),
            Some(read) => {
                let metadata = json!({ "resourceVersion": read.resource_version(), "uid": read.uid() });
                let body = json!({ "metadata": metadata, "data": material.entries() });
                self.api.patch(&self.name, &PatchParams::default(), &Patch::Merge(&body)).await.map(drop)
            }
        };
        match written {
            Ok(()) => Ok(true),
            Err(kube::Error::Api(status)) if status.is_conflict() || status.is_already_exists() || status.is_not_found() => {
                info!(secret = self.name, reason = status.reason, "another replica was faster, so its certificate is taken over");
                Ok(false)
            }
            Err(error) => Err(self.failed("writing", error)),
        }
    }

    fn failed(&self, doing: &'static str, error: kube::Error) -> Error {
        Error::Secret(doing, self.name.clone(), Box::new(error))
    }
}
