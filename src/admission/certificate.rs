//! Keeps the Secret with the certificate, and serves what is in it.
//!
//! Where the operator issues the certificate, the first replica to write wins and the others adopt what it wrote. Every
//! write is conditional on the version that was read, so that two replicas cannot undo each other's renewal. Where
//! somebody else issues it, or has made the Secret, nothing is ever written.

#[cfg(test)]
mod tests;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use kube::api::{Api, Patch, PatchParams, PostParams};
use noderotation_cert::bundle::Bundle;
use noderotation_cert::issue;
use noderotation_cert::pair::{Misfit, Pair};
use noderotation_cert::rotation::{Reason, Verdict};
use noderotation_cert::secret::{Material, Missing, is_ours};
use noderotation_cert::serving::{Serving, Taken};
use serde_json::json;
use tracing::info;

/// Replicas that start together all want to write; after this many lost races the next look goes on.
const TRIES: u32 = 5;

/// Who issues the certificate. The Secret cannot tell: one that is not there yet looks the same for all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Issuer {
    /// The operator makes a CA and a certificate, and renews both.
    SelfSigned,
    /// cert-manager keeps the Secret; it is only read.
    CertManager,
    /// Somebody keeps the Secret; it is only read.
    Secret,
}

impl Issuer {
    /// What to do about a Secret that is not there.
    fn when_absent(self) -> &'static str {
        match self {
            Self::SelfSigned => "it is made in the next look",
            Self::CertManager => {
                "cert-manager makes it from its Certificate; `kubectl describe certificate` in this namespace says what that waits for"
            }
            Self::Secret => "create it, of type kubernetes.io/tls with tls.crt, tls.key and ca.crt",
        }
    }

    /// What to do about a Secret that cannot be served and is not ours to write.
    fn when_unfit(self) -> &'static str {
        match self {
            Self::SelfSigned => "this operator did not make it: put a certificate in that fits, or delete it to have one made",
            Self::CertManager => {
                "have cert-manager issue it again (`cmctl renew`), from a Certificate with the Service's name and an issuer that fills in ca.crt"
            }
            Self::Secret => "put in a tls.crt for the Service's name, its tls.key, and in ca.crt the root that has signed it",
        }
    }
}

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
    /// Nobody has made the Secret yet.
    #[error("Secret {0} does not exist: {when_absent}", when_absent = .1.when_absent())]
    Absent(String, Issuer),
    /// Somebody's own Secret lacks an entry.
    #[error("Secret {0} is not served; {when_unfit}", when_unfit = .1.when_unfit())]
    Incomplete(String, Issuer, #[source] Missing),
    /// Somebody's own certificate cannot be served.
    #[error("Secret {0} is not served; {when_unfit}", when_unfit = .1.when_unfit())]
    Unfit(String, Issuer, #[source] Misfit),
    /// What was written does not fit.
    #[error("the certificate of Secret {0} is not served")]
    Misfit(String, #[source] Misfit),
}

impl Error {
    /// Something was found in the Secret that is not served.
    pub(super) fn is_refusal(&self) -> bool {
        match self {
            Self::Incomplete(..) | Self::Unfit(..) | Self::Misfit(..) => true,
            Self::Secret(..) | Self::Overtaken(_) | Self::Issue(_) | Self::Absent(..) => false,
        }
    }
}

/// The outcome of a look.
#[derive(Debug)]
pub(super) struct Kept {
    /// What is served, and what callers are to trust.
    pub(super) taken: Taken,
    /// Why the Secret was written, if it was.
    pub(super) wrote: Option<Reason>,
}

/// What is served, and where it comes from.
pub(super) struct Keeper {
    api: Api<Secret>,
    name: String,
    issuer: Issuer,
    serving: Serving,
    /// The version of the Secret that was read last.
    version: Option<String>,
}

impl Keeper {
    pub(super) fn new(api: Api<Secret>, name: &str, issuer: Issuer, serving: Serving) -> Self {
        Self { api, name: name.to_owned(), issuer, serving, version: None }
    }

    /// The version of the Secret that was read last.
    pub(super) fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// What is served, whatever has become of the Secret, and the roots that callers are to trust for it.
    pub(super) fn served(&self) -> Option<(Pair, Bundle)> {
        self.serving.served()
    }

    /// Callers are told to trust these roots and no others, seen at `now`.
    pub(super) fn trust(&mut self, live: &Bundle, now: Timestamp) {
        self.serving.trust(live, now);
    }

    /// Looks at the Secret, writes what is due, and serves it.
    pub(super) async fn keep(&mut self, now: Timestamp) -> Result<Kept, Error> {
        for _ in 0..TRIES {
            let secret = self.api.get_opt(&self.name).await.map_err(|e| self.failed("reading", e))?;
            self.version = secret.as_ref().and_then(ResourceExt::resource_version);
            let found = secret.as_ref().map(Material::read);
            if self.issuer != Issuer::SelfSigned || secret.as_ref().is_some_and(|secret| !is_ours(secret)) {
                return self.adopt(found, now);
            }
            let found = found.and_then(Result::ok);
            let (material, wrote) = match (self.serving.judge(found.as_ref(), now)?, found) {
                (Verdict::Serve, Some(found)) => (found, None),
                // Nothing was found, so there is something to write.
                (Verdict::Serve, None) => continue,
                (Verdict::Write { material, reason }, _) => {
                    if !self.write(secret.as_ref(), &material).await? {
                        continue;
                    }
                    info!(secret = self.name, %reason, "certificate written");
                    (*material, Some(reason))
                }
            };
            let taken = self.serving.take(material, true, now).map_err(|misfit| Error::Misfit(self.name.clone(), misfit))?;
            return Ok(Kept { taken, wrote });
        }
        Err(Error::Overtaken(self.name.clone()))
    }

    /// Serves what somebody else provides; what was served before stays if it does not fit.
    fn adopt(&mut self, found: Option<Result<Material, Missing>>, now: Timestamp) -> Result<Kept, Error> {
        let (name, issuer) = (self.name.clone(), self.issuer);
        let Some(found) = found else { return Err(Error::Absent(name, issuer)) };
        let material = found.map_err(|missing| Error::Incomplete(name.clone(), issuer, missing))?;
        let taken = self.serving.take(material, false, now).map_err(|misfit| Error::Unfit(name, issuer, misfit))?;
        Ok(Kept { taken, wrote: None })
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
