//! Issues an authority, and the endpoint's certificate from it.
//!
//! Every instant is given; validity begins a day before it, so that an operator whose clock is ahead does not issue what
//! the API server does not accept yet (faults.md 0.2).

use std::time::Duration;

use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use time::OffsetDateTime;

use crate::bundle::Bundle;
use crate::secret::{Authority, Material};

/// Life of the authority.
pub const CA_LIFE: Duration = Duration::from_secs(5 * 365 * 24 * 3600);
/// Life of the endpoint's certificate.
pub const LEAF_LIFE: Duration = Duration::from_secs(90 * 24 * 3600);
/// Validity begins this long before the issue, so that clocks may differ by that much.
const BACKDATED: Duration = Duration::from_secs(24 * 3600);

/// A certificate could not be made.
#[derive(Debug, thiserror::Error)]
#[error("issuing {what}")]
pub struct Error {
    what: &'static str,
    #[source]
    source: rcgen::Error,
}

fn issuing(what: &'static str) -> impl FnOnce(rcgen::Error) -> Error {
    move |source| Error { what, source }
}

/// Where the endpoint is, and so what it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// The Service in front of it.
    pub service: String,
    /// The Service's namespace.
    pub namespace: String,
    /// DNS domain of the cluster, `cluster.local` in most.
    pub cluster_domain: String,
}

impl Names {
    /// The name by which the API server calls the endpoint.
    #[must_use]
    pub fn server(&self) -> String {
        format!("{}.{}.svc", self.service, self.namespace)
    }

    /// All names that the certificate is for: those that the cluster's DNS knows.
    #[must_use]
    pub fn all(&self) -> Vec<String> {
        let server = self.server();
        let full = format!("{server}.{}", self.cluster_domain);
        vec![self.service.clone(), format!("{}.{}", self.service, self.namespace), server, full]
    }
}

/// A new authority, which nobody trusts yet.
///
/// # Errors
/// When a key or a certificate cannot be made.
pub fn authority(now: Timestamp) -> Result<Authority, Error> {
    let mut params = CertificateParams::default();
    params.distinguished_name = named("node-rotation-controller CA");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    set_validity(&mut params, now, CA_LIFE);
    let key = KeyPair::generate().map_err(issuing("the authority's key"))?;
    let text = key.serialize_pem();
    let authority = CertifiedIssuer::self_signed(params, key).map_err(issuing("the authority"))?;
    Ok(Authority { certificate: authority.pem(), key: text })
}

/// A certificate from `authority`, whose root leads the bundle; the roots of `others` stay trusted behind it.
///
/// # Errors
/// When the authority cannot be read or a certificate cannot be made.
pub fn leaf(authority: &Authority, others: &Bundle, names: &Names, now: Timestamp) -> Result<Material, Error> {
    let issuer_key = KeyPair::from_pem(&authority.key).map_err(issuing("a certificate: the authority's key cannot be read"))?;
    let issuer =
        Issuer::from_ca_cert_pem(&authority.certificate, issuer_key).map_err(issuing("a certificate: the authority cannot be read"))?;
    let mut params = CertificateParams::new(names.all()).map_err(issuing("the endpoint's certificate"))?;
    params.distinguished_name = named("node-rotation-controller");
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    set_validity(&mut params, now, LEAF_LIFE);
    let key = KeyPair::generate().map_err(issuing("the endpoint's key"))?;
    let certificate = params.signed_by(&key, &issuer).map_err(issuing("the endpoint's certificate"))?;
    Ok(Material {
        bundle: others.led_by(&authority.certificate),
        certificate: certificate.pem(),
        key: key.serialize_pem(),
        authority_key: Some(authority.key.clone()),
        next: None,
        retires_at: None,
    })
}

/// A new authority and a certificate from it, with nothing before it to be trusted.
///
/// # Errors
/// When a key or a certificate cannot be made.
pub fn first(names: &Names, now: Timestamp) -> Result<Material, Error> {
    leaf(&authority(now)?, &Bundle::default(), names, now)
}

fn named(name: &str) -> DistinguishedName {
    let mut distinguished = DistinguishedName::new();
    distinguished.push(DnType::CommonName, name);
    distinguished
}

fn set_validity(params: &mut CertificateParams, now: Timestamp, life: Duration) {
    let now = OffsetDateTime::from_unix_timestamp(now.as_second()).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    params.not_before = now - BACKDATED;
    params.not_after = now + life;
}
