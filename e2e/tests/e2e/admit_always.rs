//! Policies are judged at a steady rate, whatever happens to the operator meanwhile: not one admission may fail.
//!
//! Each test prints how many there were and how long they took. `ADMISSIONS=10000` asks for more of them.

mod aged;

use anyhow::{Context as _, Result, ensure};
use e2e::balancer::{Backend, Balancer};
use e2e::chart;
use e2e::cluster::Cluster;
use e2e::load::{Judge, Load, Report};
use e2e::operator::Operator;
use e2e::other::Other;
use e2e::port;
use e2e::terminal::progress;
use e2e::wait::{Look, until};
use libtest_mimic::Trial;
use serde_json::json;

use crate::bed::{Bed, SOON};

/// Policies a second: about a third of what the API server of this cluster judges on two cores.
pub(crate) const RATE: u32 = 100;
/// Admissions of each test unless told otherwise.
const FEW: usize = 1500;

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    vec![
        bed.trial_alone("admit_always::while_nothing_happens", while_nothing_happens),
        bed.trial_alone("admit_always::across_a_rolling_restart", across_a_rolling_restart),
        bed.trial_alone("admit_always::across_renewals_of_the_certificate", across_renewals_of_the_certificate),
        bed.trial_alone("admit_always::across_a_change_of_the_authority", across_a_change_of_the_authority),
        bed.trial_alone("admit_always::across_the_loss_of_the_lease", across_the_loss_of_the_lease),
        bed.trial_alone("admit_always::with_the_endpoint_reinvoked", with_the_endpoint_reinvoked),
    ]
}

/// Several replicas behind the Service's address.
pub(crate) struct Replicas {
    balancer: Balancer,
    pub(crate) running: Vec<(Operator, Backend)>,
}

impl Replicas {
    /// So many that are ready, and behind the Service.
    pub(crate) async fn start(cluster: &Cluster, count: usize) -> Result<Self> {
        let address = chart::webhook_address(cluster).await?.parse().context("the Service's address")?;
        let mut replicas = Self { balancer: Balancer::listen(address).await?, running: Vec::new() };
        for _ in 0..count {
            replicas.add(cluster).await?;
        }
        registered(cluster).await?;
        Ok(replicas)
    }

    /// One more, which is waited for.
    async fn add(&mut self, cluster: &Cluster) -> Result<()> {
        let [endpoint] = port::free()?;
        let bind = format!("--webhook-bind-address=127.0.0.1:{endpoint}");
        let overrides = ["--certificate-dwell=5s", "--lease-duration=6s", "--renew-deadline=4s", "--retry-period=1s", &bind];
        let mut operator = Operator::start(cluster, &overrides).await?;
        operator.wait_serving().await?;
        let backend = Backend { endpoint, probe: operator.probe() };
        self.running.push((operator, backend));
        self.balance().await
    }

    /// The oldest leaves, as a Pod does: it gets no new connections once it says that it is not ready.
    async fn remove(&mut self) -> Result<()> {
        let (operator, _) = self.running.remove(0);
        let status = operator.sigterm().await?;
        ensure!(status.success(), "the operator ended with {status} after SIGTERM");
        self.balance().await
    }

    async fn balance(&self) -> Result<()> {
        self.balancer.set(&self.running.iter().map(|(_, backend)| *backend).collect::<Vec<_>>());
        until("the replicas to be ready", SOON, async || {
            let (ready, all) = (self.balancer.ready(), self.running.len());
            Ok(if ready == all { Look::Done(()) } else { Look::NotYet(format!("{ready} of {all} are ready")) })
        })
        .await
    }

    /// Which of them leads, if one does.
    async fn leader(&self) -> Result<Option<usize>> {
        for (number, (operator, _)) in self.running.iter().enumerate() {
            if operator.leads().await? {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    pub(crate) async fn end(mut self) -> Result<()> {
        while !self.running.is_empty() {
            self.remove().await?;
        }
        Ok(())
    }
}

/// Both configurations have their entries.
pub(crate) async fn registered(cluster: &Cluster) -> Result<()> {
    until("the endpoint to be registered", SOON, async || {
        let mut entries = Vec::new();
        for kind in ["mutatingwebhookconfiguration", "validatingwebhookconfiguration"] {
            let path = "jsonpath={.webhooks[*].name}";
            entries.push(cluster.kubectl(&["get", kind, chart::RELEASE, "--output", path]).await?.accepted()?);
        }
        Ok(if entries.iter().all(|names| !names.is_empty()) { Look::Done(()) } else { Look::NotYet(format!("{entries:?}")) })
    })
    .await
}

fn load(cluster: &Cluster) -> Result<Load> {
    Ok(Load::begin(Judge::Server(cluster.client()), RATE, admissions()?))
}

/// How many there are to be.
pub(crate) fn admissions() -> Result<usize> {
    let least = std::env::var("ADMISSIONS").ok().map(|text| text.parse()).transpose().context("ADMISSIONS is no number")?;
    Ok(least.unwrap_or(FEW))
}

/// Not one may have failed.
pub(crate) async fn none_failed(load: Load, what: &str) -> Result<Report> {
    let report = load.end().await?;
    progress(&format!("{what}: {report}"));
    ensure!(report.failures() == 0, "{report}");
    Ok(report)
}

async fn while_nothing_happens(cluster: &Cluster) -> Result<()> {
    let replicas = Replicas::start(cluster, 2).await?;
    none_failed(load(cluster)?, "while nothing happens").await?;
    replicas.end().await
}

/// As a Deployment with maxSurge 1 and maxUnavailable 0 does it, over and over.
async fn across_a_rolling_restart(cluster: &Cluster) -> Result<()> {
    let mut replicas = Replicas::start(cluster, 2).await?;
    let load = load(cluster)?;
    let mut rolls = 0;
    while rolls < 4 || !load.is_enough() {
        replicas.add(cluster).await?;
        replicas.remove().await?;
        rolls += 1;
    }
    none_failed(load, &format!("across {rolls} restarts of a replica")).await?;
    replicas.end().await
}

async fn across_renewals_of_the_certificate(cluster: &Cluster) -> Result<()> {
    let replicas = Replicas::start(cluster, 2).await?;
    let load = load(cluster)?;
    let mut renewals = 0;
    while renewals < 3 || !load.is_enough() {
        aged::certificate(cluster).await?;
        renewals += 1;
    }
    none_failed(load, &format!("across {renewals} renewals of the certificate")).await?;
    replicas.end().await
}

async fn across_a_change_of_the_authority(cluster: &Cluster) -> Result<()> {
    aged::authority(cluster).await?;
    let replicas = Replicas::start(cluster, 2).await?;
    let load = load(cluster)?;
    aged::followed(cluster).await?;
    none_failed(load, "across a change of the authority").await?;
    replicas.end().await
}

/// Somebody else takes the Lease, time and again.
async fn across_the_loss_of_the_lease(cluster: &Cluster) -> Result<()> {
    let replicas = Replicas::start(cluster, 2).await?;
    let load = load(cluster)?;
    let mut losses = 0;
    while losses < 2 || !load.is_enough() {
        until("a leader", SOON, async || Ok(Look::from_option(replicas.leader().await?, "nobody leads"))).await?;
        let now = jiff::Timestamp::now();
        let spec = json!({"spec": {"holderIdentity": "thief", "renewTime": format!("{now:.6}"), "leaseDurationSeconds": 3}}).to_string();
        let lease = "node-rotation-controller.noderotation.io";
        let arguments = ["patch", "lease", lease, "--namespace", chart::NAMESPACE, "--type=merge", "--patch", &spec];
        cluster.kubectl(&arguments).await?.accepted()?;
        until("the leader to step down", SOON, async || {
            let leader = replicas.leader().await?;
            Ok(leader.map_or_else(|| Look::Done(()), |leader| Look::NotYet(format!("replica {leader} leads"))))
        })
        .await?;
        losses += 1;
    }
    none_failed(load, &format!("across {losses} losses of the lease")).await?;
    replicas.end().await
}

/// Another webhook changes each policy after the endpoint has filled it in, so that it is asked once more.
async fn with_the_endpoint_reinvoked(cluster: &Cluster) -> Result<()> {
    let replicas = Replicas::start(cluster, 2).await?;
    let other = Other::register(cluster).await?;
    let before = asked(&replicas).await?;
    let report = none_failed(load(cluster)?, "with the endpoint reinvoked").await;
    other.withdraw(cluster).await?;
    let (report, asked) = (report?, asked(&replicas).await? - before);
    // What is refused is refused at the first question; of the others there are two more.
    let (all, bad) = (report.count(), report.count() / 3);
    let expected = f64::from(u32::try_from(all + 2 * (all - bad))?);
    ensure!(asked == expected, "the endpoint was asked {asked} times, not {expected}");
    replicas.end().await
}

/// How many reviews the replicas have answered.
async fn asked(replicas: &Replicas) -> Result<f64> {
    let mut sum = 0.0;
    for (operator, _) in &replicas.running {
        sum += operator.metrics().await?.sum("noderotation_admission_requests_total");
    }
    Ok(sum)
}
