//! The endpoint under callers that only want to keep it from answering.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use e2e::abuse::{CALLERS, Crowd, Target};
use e2e::chart;
use e2e::cluster::Cluster;
use e2e::load::{Judge, Load};
use e2e::operator::Operator;
use e2e::terminal::progress;
use k8s_openapi::ByteString;
use kube::{Client, Config};
use libtest_mimic::Trial;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

use crate::admit_always::{RATE, Replicas, admissions, none_failed};
use crate::bed::Bed;

/// The chart's memory limit. The operator of these tests is not even optimised.
const LIMIT: u64 = 128 << 20;
const MEBIBYTE: u64 = 1 << 20;

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    vec![bed.trial_alone("admit_abuse::others_are_answered_and_memory_is_bounded", others_are_answered_and_memory_is_bounded)]
}

async fn others_are_answered_and_memory_is_bounded(cluster: &Cluster) -> Result<()> {
    let replicas = Replicas::start(cluster, 1).await?;
    let (operator, backend) = replicas.running.first().context("there is no replica")?;
    let (bundle, name) = (bundle(cluster).await?, format!("{}.{}.svc", chart::WEBHOOK_SERVICE, chart::NAMESPACE));
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, backend.endpoint));
    let judges =
        [("through the API server", Judge::Server(cluster.client())), ("itself", Judge::Endpoint(straight(address, &name, &bundle)?))];
    ask(&judges, "before the abuse").await?;
    let before = operator.resident()?;
    let crowd = Crowd::gather(&Target::new(address, &name, &bundle)?);
    let most = AtomicU64::new(before);
    let report = tokio::select! {
        report = ask(&judges, "under abuse") => report,
        error = watch(operator, &most) => Err(error),
    };
    let most = most.into_inner();
    let callers: usize = CALLERS.iter().map(|(_, count)| count).sum();
    progress(&format!(
        "{callers} callers of {} kinds; memory: {} MiB before, at most {} MiB",
        CALLERS.len(),
        before / MEBIBYTE,
        most / MEBIBYTE
    ));
    drop(crowd);
    report?;
    ensure!(most < LIMIT, "the operator takes {} MiB", most / MEBIBYTE);
    replicas.end().await
}

/// One after the other, so that neither is measured beside the other.
async fn ask(judges: &[(&str, Judge)], when: &str) -> Result<()> {
    for (whom, judge) in judges {
        let load = Load::begin(judge.clone(), RATE, admissions()?);
        none_failed(load, &format!("{when}, the endpoint asked {whom}")).await?;
    }
    Ok(())
}

/// A client of the endpoint that behaves.
pub(crate) fn straight(address: SocketAddr, name: &str, bundle: &[u8]) -> Result<Client> {
    let roots = CertificateDer::pem_slice_iter(bundle).map(|root| Ok(root?.to_vec())).collect::<Result<_>>()?;
    let mut config = Config::new(format!("https://{address}").parse().context("the endpoint's address")?);
    (config.root_cert, config.tls_server_name) = (Some(roots), Some(name.to_owned()));
    Ok(Client::try_from(config)?)
}

/// Looks at the memory for ever; an error is the end of the operator.
async fn watch(operator: &Operator, most: &AtomicU64) -> anyhow::Error {
    loop {
        match operator.resident() {
            Ok(now) => drop(most.fetch_max(now, Ordering::Relaxed)),
            Err(error) => return error,
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The certificate of the authority that has signed the endpoint's.
pub(crate) async fn bundle(cluster: &Cluster) -> Result<Vec<u8>> {
    let secret = format!("{}-tls", chart::WEBHOOK_SERVICE);
    let path = "jsonpath={.data.ca\\.crt}";
    let bundle = cluster.kubectl(&["get", "secret", &secret, "--namespace", chart::NAMESPACE, "--output", path]).await?.accepted()?;
    let ByteString(bundle) = serde_json::from_value(bundle.trim().into()).context("reading the bundle")?;
    Ok(bundle)
}
