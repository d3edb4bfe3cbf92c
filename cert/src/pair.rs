//! Does a certificate fit its key, its names and the time?

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use x509_parser::prelude::{FromDer, GeneralName, ParsedExtension, X509Certificate};

use crate::material::Material;

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
    /// The roots are not PEM.
    #[error("the bundle of roots cannot be read")]
    Bundle,
    /// None of the roots has signed the certificate.
    #[error("the certificate is not signed by any root of the bundle")]
    Chain,
}

/// A pair that fits, ready to be served.
#[derive(Clone, Debug)]
pub struct Pair {
    /// For rustls.
    pub key: Arc<CertifiedKey>,
    /// Validity of the certificate.
    pub validity: Validity,
    /// Validity of the first root, the one that signs.
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
/// # Errors
/// Why it does not fit; what is served then stays.
pub fn check(material: &Material, name: &str, now: Timestamp, provider: &CryptoProvider) -> Result<Pair, Misfit> {
    let chain: Vec<CertificateDer<'static>> =
        CertificateDer::pem_slice_iter(material.certificate.as_bytes()).collect::<Result<_, _>>().map_err(|_| Misfit::Certificate)?;
    let leaf = chain.first().cloned().ok_or(Misfit::Certificate)?;
    let key = PrivateKeyDer::from_pem_slice(material.key.as_bytes()).map_err(|_| Misfit::Key)?;
    let last = chain.last().cloned().ok_or(Misfit::Certificate)?;
    let key = CertifiedKey::from_der(chain, key, provider).map_err(Misfit::Pair)?;
    let (_, parsed) = X509Certificate::from_der(&leaf).map_err(|_| Misfit::Certificate)?;
    if !covers(&parsed, name) {
        return Err(Misfit::Name(name.to_owned()));
    }
    let validity = validity(&parsed);
    if validity.not_after <= now {
        return Err(Misfit::Expired(validity.not_after));
    }
    let root_validity = root(material, &last)?;
    Ok(Pair { key: Arc::new(key), validity, root_validity })
}

fn covers(certificate: &X509Certificate<'_>, name: &str) -> bool {
    let names = certificate.subject_alternative_name().ok().flatten();
    names.is_some_and(|names| names.value.general_names.iter().any(|general| matches!(general, GeneralName::DNSName(dns) if *dns == name)))
}

fn validity(certificate: &X509Certificate<'_>) -> Validity {
    let instant = |seconds| Timestamp::from_second(seconds).unwrap_or(Timestamp::MIN);
    let validity = certificate.validity();
    Validity { not_before: instant(validity.not_before.timestamp()), not_after: instant(validity.not_after.timestamp()) }
}

/// The root that issued the end of the chain; `issuer` and `subject` name each other.
fn root(material: &Material, last: &CertificateDer<'_>) -> Result<Validity, Misfit> {
    let roots: Vec<CertificateDer<'static>> =
        CertificateDer::pem_slice_iter(material.bundle.as_bytes()).collect::<Result<_, _>>().map_err(|_| Misfit::Bundle)?;
    let (_, last) = X509Certificate::from_der(last).map_err(|_| Misfit::Certificate)?;
    for root in &roots {
        let (_, root) = X509Certificate::from_der(root).map_err(|_| Misfit::Bundle)?;
        if root.subject() == last.issuer() && key_identifier(&root).is_none_or(|key| authority_identifier(&last).is_none_or(|id| id == key))
        {
            return Ok(validity(&root));
        }
    }
    Err(if roots.is_empty() { Misfit::Bundle } else { Misfit::Chain })
}

fn key_identifier(certificate: &X509Certificate<'_>) -> Option<Vec<u8>> {
    certificate.extensions().iter().find_map(|extension| {
        if let ParsedExtension::SubjectKeyIdentifier(id) = extension.parsed_extension() { Some(id.0.to_vec()) } else { None }
    })
}

fn authority_identifier(certificate: &X509Certificate<'_>) -> Option<Vec<u8>> {
    certificate.extensions().iter().find_map(|extension| {
        let ParsedExtension::AuthorityKeyIdentifier(id) = extension.parsed_extension() else {
            return None;
        };
        id.key_identifier.as_ref().map(|id| id.0.to_vec())
    })
}
