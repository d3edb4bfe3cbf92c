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
use noderotation_cert::pair::{self, Misfit, Pair};
use noderotation_cert::resolver::Resolver;
use noderotation_cert::rotation::{Reason, Rules, Situation, Verdict};
use noderotation_cert::secret::{Material, Missing, is_ours};
use noderotation_cert::trust::Trust;
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
    /// What is served.
    pub(super) pair: Pair,
    /// The roots that callers are to trust.
    pub(super) bundle: Bundle,
    /// Why the Secret was written, if it was.
    pub(super) wrote: Option<Reason>,
    /// The pair in the Secret is another one, which callers might not accept yet.
    pub(super) waits: bool,
}

/// What is served, as it stood in the Secret.
struct Served {
    material: Material,
    /// It may be put back if the Secret gets lost.
    ours: bool,
}

/// What is served, and where it comes from.
pub(super) struct Keeper {
    api: Api<Secret>,
    name: String,
    issuer: Issuer,
    rules: Rules,
    resolver: Resolver,
    served: Option<Served>,
    trust: Trust,
    /// The version of the Secret that was read last.
    version: Option<String>,
}

impl Keeper {
    pub(super) fn new(api: Api<Secret>, name: &str, issuer: Issuer, rules: Rules, resolver: Resolver) -> Self {
        Self { api, name: name.to_owned(), issuer, rules, resolver, served: None, trust: Trust::default(), version: None }
    }

    /// The name by which the API server calls the endpoint.
    pub(super) fn server_name(&self) -> String {
        self.rules.names.server()
    }

    /// The version of the Secret that was read last.
    pub(super) fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// What is served, whatever has become of the Secret, and the roots that callers are to trust for it.
    pub(super) fn served(&self) -> Option<(Pair, Bundle)> {
        self.resolver.served().zip(self.served.as_ref().map(|served| served.material.bundle.clone()))
    }

    /// Callers are told to trust these roots and no others, seen at `now`.
    pub(super) fn trust(&mut self, live: &Bundle, now: Timestamp) {
        self.trust.note(live, now);
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
            let served = self.served.as_ref().filter(|served| served.ours).map(|served| &served.material);
            let trusted_since = found.as_ref().and_then(|found| self.trust.of_all(&found.bundle));
            let situation = Situation { found: found.as_ref(), served, trusted_since, now };
            let (material, wrote) = match (self.rules.judge(&situation)?, found) {
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
            let kept = self.take(Served { material, ours: true }, now).map_err(|misfit| Error::Misfit(self.name.clone(), misfit))?;
            return Ok(Kept { wrote, ..kept });
        }
        Err(Error::Overtaken(self.name.clone()))
    }

    /// Serves what somebody else provides; what was served before stays if it does not fit.
    fn adopt(&mut self, found: Option<Result<Material, Missing>>, now: Timestamp) -> Result<Kept, Error> {
        let (name, issuer) = (self.name.clone(), self.issuer);
        let Some(found) = found else { return Err(Error::Absent(name, issuer)) };
        let material = found.map_err(|missing| Error::Incomplete(name.clone(), issuer, missing))?;
        self.take(Served { material, ours: false }, now).map_err(|misfit| Error::Unfit(name, issuer, misfit))
    }

    /// Serves what fits, once callers accept it; until then what is served goes on, and callers are to trust both.
    fn take(&mut self, found: Served, now: Timestamp) -> Result<Kept, Misfit> {
        let offered = pair::check(&found.material, &self.server_name(), now)?;
        let served = self
            .served()
            .filter(|(pair, _)| pair.key.cert != offered.key.cert && self.trust.holds_back(&offered, pair, self.rules.dwell, now));
        if let Some((pair, bundle)) = served {
            let bundle = bundle.roots().fold(found.material.bundle, Bundle::joined_by);
            return Ok(Kept { pair, bundle, wrote: None, waits: true });
        }
        let bundle = found.material.bundle.clone();
        self.resolver.serve(offered.clone());
        self.served = Some(found);
        Ok(Kept { pair: offered, bundle, wrote: None, waits: false })
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
