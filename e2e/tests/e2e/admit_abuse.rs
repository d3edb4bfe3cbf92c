//! The endpoint under callers that only want to keep it from answering.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use e2e::abuse::{CALLERS, Crowd, Target};
use e2e::chart;
use e2e::cluster::Cluster;
use e2e::operator::Operator;
use e2e::terminal::progress;
use k8s_openapi::ByteString;
use libtest_mimic::Trial;

use crate::admit_always::{Replicas, load, none_failed};
use crate::bed::Bed;

/// The chart's memory limit. The operator of these tests is not even optimised.
const LIMIT: u64 = 128 << 20;
const MEBIBYTE: u64 = 1 << 20;

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    vec![bed.trial("admit_abuse::others_are_answered_and_memory_is_bounded", others_are_answered_and_memory_is_bounded)]
}

async fn others_are_answered_and_memory_is_bounded(cluster: &Cluster) -> Result<()> {
    let replicas = Replicas::start(cluster, 1).await?;
    let (operator, backend) = replicas.running.first().context("there is no replica")?;
    none_failed(load(cluster)?, "before the abuse").await?;
    let before = operator.resident()?;
    let crowd = Crowd::gather(&target(cluster, backend.endpoint).await?);
    let load = load(cluster)?;
    let most = AtomicU64::new(before);
    let report = tokio::select! {
        report = none_failed(load, "under abuse") => report,
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

async fn target(cluster: &Cluster, port: u16) -> Result<Target> {
    let secret = format!("{}-tls", chart::WEBHOOK_SERVICE);
    let path = "jsonpath={.data.ca\\.crt}";
    let bundle = cluster.kubectl(&["get", "secret", &secret, "--namespace", chart::NAMESPACE, "--output", path]).await?.accepted()?;
    let ByteString(bundle) = serde_json::from_value(bundle.trim().into()).context("reading the bundle")?;
    Target::new(SocketAddr::from((Ipv4Addr::LOCALHOST, port)), &format!("{}.{}.svc", chart::WEBHOOK_SERVICE, chart::NAMESPACE), &bundle)
}
