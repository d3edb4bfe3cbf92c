//! Does a certificate fit its key, its names, its roots and the time?
//!
//! Judged as a caller judges it, with rustls' own verification, so that nothing is served that the API server would not
//! accept.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use rustls::RootCertStore;
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::sign::CertifiedKey;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::bundle::Bundle;
use crate::secret::Material;

/// Why a pair is not served.
#[derive(Debug, thiserror::Error)]
pub enum Misfit {
    /// The certificate is not PEM.
    #[error("the certificate cannot be read")]
    Certificate,
    /// The key is not PEM.
    #[error("the key cannot be read")]
    Key,
    /// The key belongs to another certificate.
    #[error("the key does not belong to the certificate")]
    Pair(#[source] rustls::Error),
    /// The certificate is for other names.
    #[error("the certificate is not for {0}")]
    Name(String),
    /// The certificate is over.
    #[error("the certificate expired at {0}")]
    Expired(Timestamp),
    /// There are no roots, or one cannot be read.
    #[error("the bundle of roots cannot be read")]
    Bundle,
    /// None of the roots has signed the certificate.
    #[error("the certificate is not signed by any root of the bundle")]
    Chain,
    /// The root that has signed it is over.
    #[error("the root of the certificate expired at {0}")]
    RootExpired(Timestamp),
}

/// A pair that fits, ready to be served.
#[derive(Clone, Debug)]
pub struct Pair {
    /// For rustls.
    pub key: Arc<CertifiedKey>,
    /// Validity of the certificate.
    pub validity: Validity,
    /// Validity of the root that has signed it.
    pub root_validity: Validity,
}

/// From when until when a certificate is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    /// First instant.
    pub not_before: Timestamp,
    /// Last instant.
    pub not_after: Timestamp,
}

impl Validity {
    /// When two thirds of it are over.
    #[must_use]
    pub fn two_thirds(&self) -> Timestamp {
        let whole: Duration = self.not_after.duration_since(self.not_before).try_into().unwrap_or_default();
        self.not_before.checked_add(whole * 2 / 3).unwrap_or(self.not_after)
    }
}

/// Checks a pair for the endpoint `name` at `now`.
///
/// A certificate that is not valid yet fits: it is the caller's clock that counts, and ours may be behind.
///
/// # Errors
/// Why it does not fit.
pub fn check(material: &Material, name: &str, now: Timestamp) -> Result<Pair, Misfit> {
    let chain: Vec<CertificateDer<'static>> =
        CertificateDer::pem_slice_iter(material.certificate.as_bytes()).collect::<Result<_, _>>().map_err(|_| Misfit::Certificate)?;
    if chain.is_empty() {
        return Err(Misfit::Certificate);
    }
    let key = PrivateKeyDer::from_pem_slice(material.key.as_bytes()).map_err(|_| Misfit::Key)?;
    let provider = ring::default_provider();
    let key = CertifiedKey::from_der(chain, key, &provider).map_err(Misfit::Pair)?;
    let leaf = key.end_entity_cert().map_err(|_| Misfit::Certificate)?;
    let parsed = ParsedCertificate::try_from(leaf).map_err(|_| Misfit::Certificate)?;
    let server = ServerName::try_from(name).map_err(|_| Misfit::Name(name.to_owned()))?;
    verify_server_name(&parsed, &server).map_err(|_| Misfit::Name(name.to_owned()))?;
    let validity = validity(leaf).ok_or(Misfit::Certificate)?;
    if validity.not_after <= now {
        return Err(Misfit::Expired(validity.not_after));
    }
    let root_validity = root(&key.cert, &material.bundle, now.max(validity.not_before), &provider)?;
    if root_validity.not_after <= now {
        return Err(Misfit::RootExpired(root_validity.not_after));
    }
    Ok(Pair { key: Arc::new(key), validity, root_validity })
}

impl Pair {
    /// Whether a caller that trusts `bundle` accepts it.
    #[must_use]
    pub fn is_signed_by(&self, bundle: &Bundle) -> bool {
        root(&self.key.cert, bundle, self.validity.not_before, &ring::default_provider()).is_ok()
    }
}

/// Validity of a root as PEM; `None` if it is no certificate.
#[must_use]
pub fn validity_of_root(pem: &str) -> Option<Validity> {
    validity(&CertificateDer::from_pem_slice(pem.as_bytes()).ok()?)
}

fn validity(certificate: &CertificateDer<'_>) -> Option<Validity> {
    let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
    let instant = |seconds| Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX);
    let validity = certificate.validity();
    Some(Validity { not_before: instant(validity.not_before.timestamp()), not_after: instant(validity.not_after.timestamp()) })
}

/// The root that has signed a chain.
fn root(chain: &[CertificateDer<'static>], bundle: &Bundle, now: Timestamp, provider: &CryptoProvider) -> Result<Validity, Misfit> {
    let (leaf, intermediates) = chain.split_first().ok_or(Misfit::Certificate)?;
    let leaf = ParsedCertificate::try_from(leaf).map_err(|_| Misfit::Certificate)?;
    let roots = bundle.certificates().map_err(|_| Misfit::Bundle)?;
    if roots.is_empty() {
        return Err(Misfit::Bundle);
    }
    let now = UnixTime::since_unix_epoch(Duration::from_secs(u64::try_from(now.as_second()).unwrap_or_default()));
    let algorithms = provider.signature_verification_algorithms.all;
    for root in roots {
        let mut store = RootCertStore::empty();
        let validity = validity(&root).ok_or(Misfit::Bundle)?;
        store.add(root).map_err(|_| Misfit::Bundle)?;
        if verify_server_cert_signed_by_trust_anchor(&leaf, &store, intermediates, now, algorithms).is_ok() {
            return Ok(validity);
        }
    }
    Err(Misfit::Chain)
}
