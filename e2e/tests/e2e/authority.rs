//! An authority beside the operator's own: cert-manager's, or that of somebody who has put a pair into the Secret.

use anyhow::{Context as _, Result};
use e2e::chart;
use e2e::cluster::Cluster;
use e2e::wait::{Look, until};
use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, date_time_ymd};
use serde_json::{Value, json};

use crate::bed::SOON;

/// Name of the webhook configurations that the chart fills in.
pub(crate) const STATIC: &str = "node-rotation-controller-static";

/// Can sign certificates for the endpoint.
pub(crate) struct Authority {
    certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate for the endpoint.
#[derive(Clone)]
pub(crate) struct Pair {
    pub(crate) root: String,
    pub(crate) certificate: String,
    pub(crate) key: String,
    /// Unix time of its end, by which it is told from others.
    pub(crate) not_after: f64,
}

impl Authority {
    pub(crate) fn new(name: &str) -> Result<Self> {
        let key = KeyPair::generate().context("making an authority's key")?;
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).context("making an authority")?.pem();
        Ok(Self { certificate, issuer: Issuer::new(params, key) })
    }

    /// A certificate that ends with the year before `end`.
    pub(crate) fn pair(&self, end: i32) -> Result<Pair> {
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
    /// Writes the Secret.
    pub(crate) async fn issue(&self, cluster: &Cluster, secret: &str) -> Result<()> {
        cluster.apply(&self.secret(secret).to_string()).await?.accepted()?;
        Ok(())
    }

    /// What cert-manager's injector does as soon as the configurations that the chart fills in are there.
    pub(crate) async fn inject(&self, cluster: &Cluster) -> Result<()> {
        let bundle = k8s_openapi::ByteString(self.root.clone().into_bytes());
        let fill = json!([{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": bundle}]).to_string();
        for kind in ["mutatingwebhookconfiguration", "validatingwebhookconfiguration"] {
            until(&format!("the {kind} to be rendered"), SOON, async || {
                let answer = cluster.kubectl(&["patch", kind, STATIC, "--type=json", "--patch", &fill]).await?;
                Ok(if answer.success { Look::Done(()) } else { Look::NotYet(answer.errors) })
            })
            .await?;
        }
        Ok(())
    }

    /// The Secret as cert-manager writes it.
    pub(crate) fn secret(&self, name: &str) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "kubernetes.io/tls",
            "metadata": {"name": name, "namespace": chart::NAMESPACE},
            "stringData": {"ca.crt": self.root, "tls.crt": self.certificate, "tls.key": self.key},
        })
    }
}
