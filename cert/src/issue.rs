//! Issues a certificate authority and the endpoint's certificate.

use std::time::Duration;

use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use time::OffsetDateTime;

use crate::material::Material;

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

/// The names that the API server and people may call the endpoint by.
#[must_use]
pub fn names(service: &str, namespace: &str, cluster_domain: &str) -> Vec<String> {
    vec![
        service.to_owned(),
        format!("{service}.{namespace}"),
        format!("{service}.{namespace}.svc"),
        format!("{service}.{namespace}.svc.{cluster_domain}"),
    ]
}

/// A new authority and a certificate from it. `previous_bundle` stays trusted beside the new root.
///
/// # Errors
/// When a key or a certificate cannot be made.
pub fn authority_and_leaf(names: &[String], previous_bundle: Option<&str>, now: Timestamp) -> Result<Material, Error> {
    let mut params = CertificateParams::default();
    params.distinguished_name = named("node-rotation-controller CA");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    set_validity(&mut params, now, CA_LIFE);
    let key = KeyPair::generate().map_err(issuing("the authority's key"))?;
    let key_pem = key.serialize_pem();
    let authority = CertifiedIssuer::self_signed(params, key).map_err(issuing("the authority"))?;
    let root = authority.pem();
    let (certificate, leaf_key) = sign(names, &authority, now)?;
    let bundle = previous_bundle.map_or_else(|| root.clone(), |previous| format!("{root}{previous}"));
    Ok(Material { bundle, certificate, key: leaf_key, authority_key: Some(key_pem) })
}

/// A new certificate from the authority of `material`, which stays.
///
/// # Errors
/// When the authority cannot be read or a certificate cannot be made.
pub fn leaf(material: &Material, names: &[String], now: Timestamp) -> Result<Option<Material>, Error> {
    let Some(authority_key) = &material.authority_key else {
        return Ok(None);
    };
    let key = KeyPair::from_pem(authority_key).map_err(issuing("a certificate: the authority's key cannot be read"))?;
    let authority = Issuer::from_ca_cert_pem(&material.bundle, key).map_err(issuing("a certificate: the authority cannot be read"))?;
    let (certificate, key) = sign(names, &authority, now)?;
    Ok(Some(Material { certificate, key, ..material.clone() }))
}

fn sign(names: &[String], authority: &Issuer<'_, KeyPair>, now: Timestamp) -> Result<(String, String), Error> {
    let mut params = CertificateParams::new(names).map_err(issuing("the endpoint's certificate"))?;
    params.distinguished_name = named("node-rotation-controller");
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    set_validity(&mut params, now, LEAF_LIFE);
    let key = KeyPair::generate().map_err(issuing("the endpoint's key"))?;
    let certificate = params.signed_by(&key, authority).map_err(issuing("the endpoint's certificate"))?;
    Ok((certificate.pem(), key.serialize_pem()))
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
