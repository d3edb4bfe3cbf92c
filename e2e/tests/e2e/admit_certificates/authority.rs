//! An authority beside the operator's own: cert-manager's, or that of somebody who has put a pair into the Secret.

use anyhow::{Context as _, Result};
use e2e::chart;
use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, date_time_ymd};
use serde_json::{Value, json};

/// Can sign certificates for the endpoint.
pub(super) struct Authority {
    certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate for the endpoint.
#[derive(Clone)]
pub(super) struct Pair {
    pub(super) root: String,
    pub(super) certificate: String,
    pub(super) key: String,
    /// Unix time of its end, by which it is told from others.
    pub(super) not_after: f64,
}

impl Authority {
    pub(super) fn new(name: &str) -> Result<Self> {
        let key = KeyPair::generate().context("making an authority's key")?;
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).context("making an authority")?.pem();
        Ok(Self { certificate, issuer: Issuer::new(params, key) })
    }

    /// A certificate that ends with the year before `end`.
    pub(super) fn pair(&self, end: i32) -> Result<Pair> {
        let name = format!("{}.{}.svc", chart::WEBHOOK_SERVICE, chart::NAMESPACE);
        let mut params = CertificateParams::new([name]).context("naming the endpoint")?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(end, 1, 1));
        #[expect(clippy::cast_precision_loss, reason = "seconds of this century are exact")]
        let not_after = params.not_after.unix_timestamp() as f64;
        let key = KeyPair::generate().context("making a key")?;
        let certificate = params.signed_by(&key, &self.issuer).context("signing a certificate")?.pem();
        Ok(Pair { root: self.certificate.clone(), certificate, key: key.serialize_pem(), not_after })
    }
}

impl Pair {
    /// The Secret as cert-manager writes it.
    pub(super) fn secret(&self, name: &str) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "kubernetes.io/tls",
            "metadata": {"name": name, "namespace": chart::NAMESPACE},
            "stringData": {"ca.crt": self.root, "tls.crt": self.certificate, "tls.key": self.key},
        })
    }
}
