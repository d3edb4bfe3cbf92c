//! The program of the image in a Pod of the chart, on a real API server: how it is confined, and how soon it is ready.

use std::fs;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use e2e::chart;
use e2e::cluster::Cluster;
use e2e::image::Built;
use e2e::image::pod::{Confinement, Runtime};
use e2e::operator::Operator;
use e2e::terminal::say;
use e2e::wait;

/// Starts after the first one, on a cluster where everything is there.
const STARTS: usize = 5;
/// It must be ready within this time, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// Allows every user of this network namespace to listen on the Service's port, as container runtimes do for their Pods.
const PORTS: &str = "/proc/sys/net/ipv4/ip_unprivileged_port_start";

/// Starts it again and again.
pub(crate) async fn run(cluster: &Cluster, built: &Built) -> Result<()> {
    ensure!(cluster.isolation().entry().is_some(), "starting the image takes a network namespace of its own; run it as root");
    fs::write(PORTS, "0").with_context(|| format!("writing {PORTS}"))?;
    chart::install(cluster, &[]).await?;
    let runtime = Runtime::new(built, &cluster.site().data)?;
    let account = chart::service_account(cluster).await?;
    let token = cluster.service_account_token(chart::NAMESPACE, &account).await?;
    let mut times = Vec::new();
    for _ in 0..=STARTS {
        let launch = |arguments: Vec<_>| runtime.pod(cluster, &token, chart::NAMESPACE, arguments);
        let mut operator = Operator::start_as(cluster, &["--shutdown-delay=0s"], launch).await?;
        times.push(ready(&mut operator, &runtime).await?);
        confined(&operator, built)?;
        operator.wait_ready().await?;
        let status = operator.sigterm().await?;
        ensure!(status.success(), "it ended with {status} after SIGTERM");
    }
    let (first, later) = times.split_first().context("it was never started")?;
    let mut later: Vec<u128> = later.iter().map(Duration::as_millis).collect();
    later.sort_unstable();
    say("  confined to a read-only file system, without rights of root and without a way to get any");
    say(&format!("  ready    {first} ms from exec where the certificate is made first", first = first.as_millis()));
    let median = later.get(later.len() / 2).copied().unwrap_or_default();
    let range = (later.first().copied().unwrap_or_default(), later.last().copied().unwrap_or_default());
    say(&format!("           {median} ms where it is there ({STARTS} starts: {} to {} ms; the goal is 300 ms)", range.0, range.1));
    Ok(())
}

/// Time from exec to the first answer that it is ready.
async fn ready(operator: &mut Operator, runtime: &Runtime<'_>) -> Result<Duration> {
    let outcome = wait::closely("the image's program to be ready", PATIENCE, async || {
        if let Err(ended) = operator.check() {
            return Ok(wait::Look::Done(Err(ended)));
        }
        let answer = operator.readiness().await?;
        Ok(if answer.status == 200 { wait::Look::Done(runtime.since_start()) } else { wait::Look::NotYet(answer.body) })
    });
    outcome.await?
}

fn confined(operator: &Operator, built: &Built) -> Result<()> {
    let seen = Confinement::of(operator.id().context("it has ended")?)?;
    let user = built.image.user.as_deref().unwrap_or_default();
    let (user, group) = user.split_once(':').context("USER names no group")?;
    ensure!(seen.users.iter().all(|seen| seen == user) && seen.groups.iter().all(|seen| seen == group), "it runs as {seen:?}");
    ensure!(seen.powerless && seen.read_only, "it is not confined: {seen:?}");
    ensure!(seen.environment.iter().all(|entry| entry.starts_with("KUBERNETES_SERVICE_")), "its environment: {:?}", seen.environment);
    Ok(())
}
