//! The chart, installed with each way to come by certificate and registration, by Helm 3 and by Helm 4.
//!
//! What cert-manager does is done by the test, as in `admit_certificates`.

use anyhow::{Context as _, Result, ensure};
use e2e::chart;
use e2e::cluster::{Cluster, Helm};
use e2e::fleet::Fleet;
use e2e::stranger;
use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::authority::{Authority, Pair};
use crate::bed::{self, Bed};
use crate::install_removes::nothing_remains;

/// Where somebody else writes the Secret; of another name the chart would grant rights that are not compared with their use.
const SECRET: &str = "node-rotation-controller-webhook-cert-manager";

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    vec![
        bed.trial("install_certificates::each_way_by_helm_3", async |cluster: &Cluster| each_way(cluster, Helm::Three).await),
        bed.trial("install_certificates::each_way_by_helm_4", async |cluster: &Cluster| each_way(cluster, Helm::Four).await),
    ]
}

/// A way to come by both.
struct Way {
    mode: &'static str,
    /// The operator fills the entries in, and otherwise the chart.
    register: bool,
}

const WAYS: [Way; 5] = [
    Way { mode: "selfSigned", register: true },
    Way { mode: "certManager", register: true },
    Way { mode: "certManager", register: false },
    Way { mode: "secret", register: true },
    Way { mode: "secret", register: false },
];

impl Way {
    fn values(&self, pair: &Pair) -> Value {
        let own = self.mode == "secret";
        json!({
            "certificates": {"mode": self.mode, "secretName": if own { SECRET } else { "" }},
            "webhook": {"register": self.register, "caBundle": if own && !self.register { pair.root.as_str() } else { "" }},
        })
    }

    /// The Secret that is not the operator's to write.
    fn secret(&self) -> Option<&'static str> {
        match self.mode {
            "certManager" | "secret" => Some(SECRET),
            _ => None,
        }
    }
}

async fn each_way(cluster: &Cluster, helm: Helm) -> Result<()> {
    stranger::cert_manager(cluster).await?;
    chart::uninstall(cluster).await?;
    bed::free(cluster).await?;
    let pair = Authority::new("an authority")?.pair(2040)?;
    let mut outcome = Ok(());
    for way in &WAYS {
        outcome = whole_life(cluster, helm, way, &pair).await;
        outcome = outcome.with_context(|| format!("certificates.mode={}, webhook.register={}", way.mode, way.register));
        if outcome.is_err() {
            break;
        }
    }
    chart::uninstall(cluster).await?;
    bed::free(cluster).await?;
    chart::install(cluster, &[]).await?;
    outcome
}

/// From the install, in which nothing may have to be done by hand that the way does not ask for, to the removal.
async fn whole_life(cluster: &Cluster, helm: Helm, way: &Way, pair: &Pair) -> Result<()> {
    if way.mode == "secret" {
        pair.issue(cluster, SECRET).await?;
    }
    // As if there had never been another release.
    let first = format!("{}-tls", chart::WEBHOOK_SERVICE);
    cluster.kubectl(&["delete", "secret", &first, "--namespace", chart::NAMESPACE, "--ignore-not-found"]).await?.accepted()?;
    chart::run(cluster, helm, "install", &way.values(pair), &[]).await?;
    if way.mode == "certManager" {
        ensure!(asked_of_cert_manager(cluster).await? == SECRET, "cert-manager is asked for another Secret");
        pair.issue(cluster, SECRET).await?;
        if !way.register {
            pair.inject(cluster).await?;
        }
    }
    let operator = bed::operator(cluster).await?;
    bed::registered(&operator).await?;
    let good = Fleet::new("by-certificates");
    let bad = good.policy_with(&[("/spec/maintenanceWindows/0/timezone", json!("Mars/Olympus"))])?;
    let refusal = cluster.apply(&bad.to_string()).await?.refused()?;
    ensure!(refusal.contains("\"Mars/Olympus\" is not an IANA time zone"), "{refusal}");
    good.govern(cluster).await?;
    bed::finish(cluster, &good, operator).await?;
    cluster.helm_of(helm, &["uninstall", chart::RELEASE, "--namespace", chart::NAMESPACE, "--wait"]).await?.accepted()?;
    if let Some(secret) = way.secret() {
        // It is not the release's either.
        cluster.kubectl(&["delete", "secret", secret, "--namespace", chart::NAMESPACE]).await?.accepted()?;
    }
    let asked = ["get", "issuers,certificates", "--namespace", chart::NAMESPACE, "--output", "name"];
    let asked = cluster.kubectl(&asked).await?.accepted()?;
    ensure!(asked.trim().is_empty(), "left with cert-manager: {asked}");
    bed::free(cluster).await?;
    nothing_remains(cluster).await
}

/// The Secret into which cert-manager shall write the endpoint's certificate.
async fn asked_of_cert_manager(cluster: &Cluster) -> Result<String> {
    let arguments = ["get", "certificate", chart::WEBHOOK_SERVICE, "--namespace", chart::NAMESPACE];
    cluster.kubectl(&[&arguments[..], &["--output", "jsonpath={.spec.secretName}"]].concat()).await?.accepted()
}
