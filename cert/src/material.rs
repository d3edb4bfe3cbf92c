//! What the Secret holds, and what is served from it.

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;

/// Roots that callers are to trust.
pub const CA_CERTIFICATE: &str = "ca.crt";
/// The authority's key, with which the certificate is renewed.
pub const CA_KEY: &str = "ca.key";
/// The endpoint's certificate.
pub const CERTIFICATE: &str = "tls.crt";
/// The endpoint's key.
pub const KEY: &str = "tls.key";

/// Certificate, key, and whom to trust, all PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct Material {
    /// Roots, the one in use first.
    pub bundle: String,
    /// The endpoint's certificate, with intermediates if there are any.
    pub certificate: String,
    /// Its key.
    pub key: String,
    /// The authority's key; `None` where someone else issues the certificate.
    pub authority_key: Option<String>,
}

impl fmt::Debug for Material {
    /// Keys are never printed.
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
    /// When certificate, key or roots are missing.
    pub fn read(secret: &Secret) -> Result<Self, Missing> {
        let data = secret.data.as_ref();
        let text = |key: &'static str| {
            let bytes = data.and_then(|data| data.get(key)).map(|bytes| bytes.0.clone());
            bytes.and_then(|bytes| String::from_utf8(bytes).ok()).filter(|text| !text.is_empty()).ok_or(Missing(key))
        };
        Ok(Self { bundle: text(CA_CERTIFICATE)?, certificate: text(CERTIFICATE)?, key: text(KEY)?, authority_key: text(CA_KEY).ok() })
    }

    /// The entries of the Secret.
    #[must_use]
    pub fn data(&self) -> BTreeMap<String, ByteString> {
        let entry = |key: &str, text: &str| (key.to_owned(), ByteString(text.as_bytes().to_vec()));
        let mut data = BTreeMap::from([entry(CA_CERTIFICATE, &self.bundle), entry(CERTIFICATE, &self.certificate), entry(KEY, &self.key)]);
        data.extend(self.authority_key.as_deref().map(|key| entry(CA_KEY, key)));
        data
    }
}
