//! What the Secret of the endpoint's certificate holds, and whose it is (D12).
//!
//! All replicas share one Secret. What this operator made carries its label and may be written again; a Secret that
//! somebody else put there is only ever read, so that nobody's key is overwritten.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::bundle::Bundle;

/// Roots that callers are to trust.
pub const CA_CERTIFICATE: &str = "ca.crt";
/// The authority's key, with which the certificate is renewed.
pub const CA_KEY: &str = "ca.key";
/// When the roots after the first leave the bundle, RFC 3339.
pub const CA_RETIRES_AT: &str = "ca-retires-at";
/// The authority that is trusted already and does not sign yet.
pub const NEXT_CA_CERTIFICATE: &str = "next-ca.crt";
/// Its key.
pub const NEXT_CA_KEY: &str = "next-ca.key";
/// The endpoint's certificate.
pub const CERTIFICATE: &str = "tls.crt";
/// The endpoint's key.
pub const KEY: &str = "tls.key";

/// What marks a Secret as made by this operator.
const OWNER_LABEL: (&str, &str) = ("app.kubernetes.io/managed-by", "node-rotation-controller");

/// A root and the key that signs with it, both PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct Authority {
    /// The root.
    pub certificate: String,
    /// Its key.
    pub key: String,
}

/// Certificate, key, and whom to trust, all PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct Material {
    /// Roots to trust; the first is the one that signs.
    pub bundle: Bundle,
    /// The endpoint's certificate, with intermediates if there are any.
    pub certificate: String,
    /// Its key.
    pub key: String,
    /// The key of the first root; `None` where someone else issues the certificate.
    pub authority_key: Option<String>,
    /// The authority that signs as soon as every API server trusts it.
    pub next: Option<Authority>,
    /// When the roots after the first leave the bundle.
    pub retires_at: Option<Timestamp>,
}

// Keys are never printed.
impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority").finish_non_exhaustive()
    }
}

impl fmt::Debug for Material {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Material").finish_non_exhaustive()
    }
}

/// An entry of the Secret is missing or is not text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the Secret has no readable entry {0}")]
pub struct Missing(pub &'static str);

impl Material {
    /// Reads a Secret.
    ///
    /// # Errors
    /// When certificate, key or roots are missing. What only a renewal needs may be missing.
    pub fn read(secret: &Secret) -> Result<Self, Missing> {
        let data = secret.data.as_ref();
        let text = |key: &'static str| {
            let bytes = data.and_then(|data| data.get(key)).map(|bytes| bytes.0.clone());
            bytes.and_then(|bytes| String::from_utf8(bytes).ok()).filter(|text| !text.is_empty()).ok_or(Missing(key))
        };
        let next = text(NEXT_CA_CERTIFICATE).ok().zip(text(NEXT_CA_KEY).ok());
        Ok(Self {
            bundle: Bundle::parse(&text(CA_CERTIFICATE)?),
            certificate: text(CERTIFICATE)?,
            key: text(KEY)?,
            authority_key: text(CA_KEY).ok(),
            next: next.map(|(certificate, key)| Authority { certificate, key }),
            retires_at: text(CA_RETIRES_AT).ok().and_then(|text| text.parse().ok()),
        })
    }

    /// The entries of the Secret; `None` is an entry that must not be there, `null` in a merge patch.
    #[must_use]
    pub fn entries(&self) -> BTreeMap<&'static str, Option<ByteString>> {
        let bytes = |text: &str| Some(ByteString(text.as_bytes().to_vec()));
        let next = self.next.as_ref();
        BTreeMap::from([
            (CA_CERTIFICATE, bytes(&self.bundle.to_string())),
            (CA_KEY, self.authority_key.as_deref().and_then(bytes)),
            (CA_RETIRES_AT, self.retires_at.and_then(|at| bytes(&at.to_string()))),
            (NEXT_CA_CERTIFICATE, next.and_then(|next| bytes(&next.certificate))),
            (NEXT_CA_KEY, next.and_then(|next| bytes(&next.key))),
            (CERTIFICATE, bytes(&self.certificate)),
            (KEY, bytes(&self.key)),
        ])
    }

    /// The Secret to create.
    #[must_use]
    pub fn secret(&self, name: &str) -> Secret {
        let (label, owner) = OWNER_LABEL;
        let labels = BTreeMap::from([(label.to_owned(), owner.to_owned())]);
        Secret {
            metadata: ObjectMeta { name: Some(name.to_owned()), labels: Some(labels), ..ObjectMeta::default() },
            type_: Some("kubernetes.io/tls".to_owned()),
            data: Some(self.entries().into_iter().filter_map(|(key, bytes)| Some((key.to_owned(), bytes?))).collect()),
            ..Secret::default()
        }
    }
}

/// Whether the operator made the Secret, and so may write it.
#[must_use]
pub fn is_ours(secret: &Secret) -> bool {
    let (label, owner) = OWNER_LABEL;
    secret.metadata.labels.as_ref().and_then(|labels| labels.get(label)).is_some_and(|value| value == owner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn material() -> Material {
        let root = |text: &str| format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n");
        Material {
            bundle: Bundle::parse(&(root("old") + &root("new"))),
            certificate: "certificate".to_owned(),
            key: "secret key".to_owned(),
            authority_key: Some("secret authority key".to_owned()),
            next: Some(Authority { certificate: root("new"), key: "secret next key".to_owned() }),
            retires_at: Some("2026-04-01T00:00:00Z".parse().unwrap()),
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let rolling = material();
        let steady = Material { next: None, retires_at: None, ..material() };
        let given = Material { authority_key: None, ..steady.clone() };
        for material in [rolling, steady, given] {
            assert!(Material::read(&material.secret("tls")).unwrap() == material);
        }
    }

    #[test]
    fn an_entry_that_must_go_is_null() {
        let entries = Material { next: None, ..material() }.entries();
        assert_eq!((entries[NEXT_CA_CERTIFICATE].as_ref(), entries[NEXT_CA_KEY].as_ref()), (None, None));
        assert!(entries[CA_KEY].is_some());
    }

    #[test]
    fn only_what_is_served_must_be_there() {
        let without = |key: &str| {
            let mut secret = material().secret("tls");
            secret.data.as_mut().unwrap().remove(key);
            Material::read(&secret)
        };
        for key in [CA_CERTIFICATE, CERTIFICATE, KEY] {
            assert_eq!(without(key).unwrap_err(), Missing(key));
        }
        for key in [CA_KEY, CA_RETIRES_AT, NEXT_CA_CERTIFICATE, NEXT_CA_KEY] {
            assert!(without(key).is_ok(), "{key}");
        }
        assert_eq!(Material::read(&Secret::default()).unwrap_err(), Missing(CA_CERTIFICATE));
    }

    #[test]
    fn a_secret_without_our_label_is_somebody_elses() {
        assert!(is_ours(&material().secret("tls")));
        assert!(!is_ours(&Secret::default()));
    }

    #[test]
    fn keys_are_never_printed() {
        let material = material();
        let printed = format!("{material:?} {:?}", material.next);
        assert_eq!(printed, "Material { .. } Some(Authority { .. })");
    }
}
