//! The endpoint's Secret as it is after years: what of it is due comes now.

use anyhow::{Context as _, Result};
use e2e::chart;
use e2e::cluster::Cluster;
use e2e::wait::{Look, until};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::ByteString;
use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, date_time_ymd};
use serde_json::{Value, json};

use crate::bed::SOON;

const SECRET: &str = "node-rotation-controller-webhook-tls";
/// The operator's authorities live for five years, its certificates for ninety days.
const FOUR_YEARS: SignedDuration = SignedDuration::from_hours(4 * 365 * 24);
const A_YEAR: SignedDuration = SignedDuration::from_hours(365 * 24);
const EIGHTY_DAYS: SignedDuration = SignedDuration::from_hours(80 * 24);
const TEN_DAYS: SignedDuration = SignedDuration::from_hours(10 * 24);

/// Puts a Secret in the place of the one that is there, as the operator would have made it four years ago and renewed it
/// since.
pub(super) async fn authority(cluster: &Cluster) -> Result<()> {
    let key = KeyPair::generate().context("making an authority's key")?;
    let mut params = dated(CertificateParams::default(), FOUR_YEARS, A_YEAR)?;
    params.distinguished_name.push(DnType::CommonName, "an aged authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let root = params.self_signed(&key).context("making an authority")?.pem();
    let authority_key = key.serialize_pem();
    let (certificate, key) = signed(&Issuer::new(params, key), SignedDuration::ZERO)?;
    let secret = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/tls",
        "metadata": {"name": SECRET, "namespace": chart::NAMESPACE, "labels": {"app.kubernetes.io/managed-by": "node-rotation-controller"}},
        "stringData": {"ca.crt": root, "ca.key": authority_key, "tls.crt": certificate, "tls.key": key},
    });
    cluster.kubectl(&["delete", "secret", SECRET, "--namespace", chart::NAMESPACE, "--ignore-not-found"]).await?.accepted()?;
    cluster.apply(&secret.to_string()).await?.accepted()?;
    Ok(())
}

/// Puts a certificate of the same authority into the Secret of which two thirds of the life are over, and waits until it
/// is renewed.
pub(super) async fn certificate(cluster: &Cluster) -> Result<()> {
    let (root, key) = (entry(cluster, "ca.crt").await?, entry(cluster, "ca.key").await?);
    let key = KeyPair::from_pem(&key).context("reading the authority's key")?;
    let issuer = Issuer::from_ca_cert_pem(&root, key).context("reading the authority")?;
    let (certificate, key) = signed(&issuer, EIGHTY_DAYS)?;
    write(cluster, &json!({"tls.crt": certificate, "tls.key": key})).await?;
    until("the certificate to be renewed", SOON, async || {
        let now = entry(cluster, "tls.crt").await?;
        Ok(if now == certificate { Look::NotYet("it is the same".to_owned()) } else { Look::Done(()) })
    })
    .await
}

/// Waits until the authority has been followed by another: published, then signing, and at last alone, of which the time
/// is brought forward.
pub(super) async fn followed(cluster: &Cluster) -> Result<()> {
    let roots = async || Ok::<usize, anyhow::Error>(entry(cluster, "ca.crt").await?.matches("BEGIN CERTIFICATE").count());
    let old = entry(cluster, "ca.crt").await?;
    until("another authority to be published", SOON, async || {
        let roots = roots().await?;
        Ok(if roots == 2 { Look::Done(()) } else { Look::NotYet(format!("{roots} roots")) })
    })
    .await?;
    until("it to sign", SOON, async || {
        let retires = entry(cluster, "ca-retires-at").await?;
        Ok(if retires.is_empty() { Look::NotYet("the old one signs".to_owned()) } else { Look::Done(()) })
    })
    .await?;
    write(cluster, &json!({"ca-retires-at": Timestamp::now().to_string()})).await?;
    until("the old root to go", SOON, async || {
        let (roots, now) = (roots().await?, entry(cluster, "ca.crt").await?);
        Ok(if roots == 1 && now != old { Look::Done(()) } else { Look::NotYet(format!("{roots} roots")) })
    })
    .await
}

/// A certificate for the endpoint that is so old and has ten days left.
fn signed(issuer: &Issuer<'_, KeyPair>, age: SignedDuration) -> Result<(String, String)> {
    let name = format!("{}.{}.svc", chart::WEBHOOK_SERVICE, chart::NAMESPACE);
    let mut params = dated(CertificateParams::new([name]).context("naming the endpoint")?, age, TEN_DAYS)?;
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate().context("making a key")?;
    Ok((params.signed_by(&key, issuer).context("signing a certificate")?.pem(), key.serialize_pem()))
}

fn dated(mut params: CertificateParams, age: SignedDuration, left: SignedDuration) -> Result<CertificateParams> {
    let day = |at: Timestamp| -> Result<_> {
        let date = at.to_zoned(jiff::tz::TimeZone::UTC).date();
        Ok(date_time_ymd(date.year().into(), u8::try_from(date.month())?, u8::try_from(date.day())?))
    };
    (params.not_before, params.not_after) = (day(Timestamp::now() - age)?, day(Timestamp::now() + left)?);
    Ok(params)
}

/// An entry of the Secret; empty when it is not there.
async fn entry(cluster: &Cluster, key: &str) -> Result<String> {
    let path = format!("jsonpath={{.data.{}}}", key.replace('.', "\\."));
    let text = cluster.kubectl(&["get", "secret", SECRET, "--namespace", chart::NAMESPACE, "--output", &path]).await?.accepted()?;
    let ByteString(bytes) = serde_json::from_value(json!(text.trim())).with_context(|| format!("reading {key}"))?;
    String::from_utf8(bytes).with_context(|| format!("reading {key}"))
}

async fn write(cluster: &Cluster, entries: &Value) -> Result<()> {
    let patch = json!({"stringData": entries}).to_string();
    let arguments = ["patch", "secret", SECRET, "--namespace", chart::NAMESPACE, "--type=merge", "--patch", &patch];
    cluster.kubectl(&arguments).await?.accepted()?;
    Ok(())
}
