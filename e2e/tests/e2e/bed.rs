//! The clusters of all tests, and how a test is run on one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use e2e::chart;
use e2e::cluster::Cluster;
use e2e::fleet::Fleet;
use e2e::namespace::Isolation;
use e2e::operator::Operator;
use e2e::sight::Sight;
use e2e::terminal::{elapsed, progress};
use e2e::toolchain::Toolchain;
use e2e::wait::{Look, until};
use libtest_mimic::{Failed, Trial};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

/// Tests mostly wait, for Karpenter and for the times of the operator; two at a time keep two cores busy. Each has a cluster for
/// itself, since there is one operator in a cluster.
pub(crate) const CLUSTERS: usize = 2;

/// A part of a rotation takes seconds; on a busy machine it may take this long.
pub(crate) const SOON: Duration = Duration::from_secs(90);
/// So that a second operator need not wait long for the lease of one that was killed, nor for the end of one that is
/// asked to stop: nobody but the API server of this cluster calls it, and no other replica takes over.
pub(crate) const BRISK: [&str; 4] = ["--lease-duration=6s", "--renew-deadline=4s", "--retry-period=1s", "--shutdown-delay=0s"];

/// The clusters; empty when tests are only listed.
#[derive(Clone, Default)]
pub(crate) struct Bed {
    shared: Option<Arc<Shared>>,
}

struct Shared {
    runtime: Handle,
    toolchain: Toolchain,
    isolation: Isolation,
    /// One for each cluster that there may be. Who wants all of them comes before who asks later.
    places: Semaphore,
    /// Those that no test uses now.
    idle: Mutex<Vec<Cluster>>,
    /// A test is left out or has failed.
    partial: AtomicBool,
}

impl Bed {
    /// Clusters that are booted when there is no other for a test. `partial`: not all tests are run.
    pub(crate) fn new(runtime: Handle, toolchain: Toolchain, isolation: Isolation, partial: bool) -> Self {
        let (places, idle, partial) = (Semaphore::new(CLUSTERS), Mutex::default(), AtomicBool::new(partial));
        Self { shared: Some(Arc::new(Shared { runtime, toolchain, isolation, places, idle, partial })) }
    }

    /// A test of this bed, which has a cluster for itself meanwhile.
    pub(crate) fn trial(&self, name: &str, test: impl AsyncFn(&Cluster) -> Result<()> + Send + 'static) -> Trial {
        self.trial_on(name, 1, async move |clusters: &[Cluster], _| test(clusters.first().context("there is no cluster")?).await)
    }

    /// A test beside which no other runs, since what it measures takes all that the machine has.
    pub(crate) fn trial_alone(&self, name: &str, test: impl AsyncFn(&Cluster) -> Result<()> + Send + 'static) -> Trial {
        self.trial_on(name, CLUSTERS, async move |clusters: &[Cluster], _| test(clusters.first().context("there is no cluster")?).await)
    }

    /// A test of what all tests before it have left on all clusters. It also has to know whether all were run, and went well.
    pub(crate) fn trial_of_all(&self, name: &str, test: impl AsyncFn(&[Cluster], bool) -> Result<()> + Send + 'static) -> Trial {
        self.trial_on(name, CLUSTERS, test)
    }

    fn trial_on(&self, name: &str, number: usize, test: impl AsyncFn(&[Cluster], bool) -> Result<()> + Send + 'static) -> Trial {
        let shared = self.shared.clone();
        Trial::test(name, move || {
            let shared = shared.ok_or("there is no cluster")?;
            shared.runtime.block_on(shared.run(number, test)).map_err(|error| Failed::from(format!("{error:#}")))
        })
    }

    /// Ends the clusters, when no test is left that could use one.
    pub(crate) async fn close(self, success: bool) -> Result<()> {
        let shared = self.shared.and_then(Arc::into_inner).context("a test still uses the clusters")?;
        for cluster in shared.idle.into_inner().unwrap_or_else(PoisonError::into_inner) {
            cluster.close(success).await?;
        }
        Ok(())
    }
}

impl Shared {
    async fn run(&self, number: usize, test: impl AsyncFn(&[Cluster], bool) -> Result<()>) -> Result<()> {
        let _places = self.places.acquire_many(u32::try_from(number)?).await?;
        let clusters = self.take(number).await?;
        let outcome = test(&clusters, !self.partial.load(Ordering::Relaxed)).await;
        let outcome = match outcome {
            Ok(()) => Ok(()),
            Err(error) => {
                self.partial.store(true, Ordering::Relaxed);
                let left = tidied(&clusters).await.err().map(|left| format!("; what it left stays: {left:#}"));
                Err(anyhow::anyhow!("{error:#}{}", left.unwrap_or_default()))
            }
        };
        self.idle().extend(clusters);
        outcome
    }

    /// So many that no test uses, or as many as there are; at least one, which is booted if there is none.
    async fn take(&self, number: usize) -> Result<Vec<Cluster>> {
        let idle = {
            let mut idle = self.idle();
            let kept = idle.len().saturating_sub(number);
            idle.split_off(kept)
        };
        Ok(if idle.is_empty() { vec![self.boot().await?] } else { idle })
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Cluster>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn boot(&self) -> Result<Cluster> {
        let cluster = Cluster::boot(self.toolchain.clone(), self.isolation.clone()).await?;
        progress(&format!("A cluster is up, in {}; logs are in {}", elapsed(cluster.boot_time()), cluster.logs().display()));
        match chart::install(&cluster, &[]).await {
            Ok(_) => Ok(cluster),
            Err(error) => {
                cluster.close(false).await?;
                Err(error)
            }
        }
    }
}

/// Takes away what a failed test has left.
async fn tidied(clusters: &[Cluster]) -> Result<()> {
    for cluster in clusters {
        abandon(cluster).await?;
    }
    Ok(())
}

/// An operator that leads and whose admission endpoint is registered.
pub(crate) async fn operator(cluster: &Cluster) -> Result<Operator> {
    operator_with(cluster, &[]).await
}

/// The same, with further arguments.
pub(crate) async fn operator_with(cluster: &Cluster, overrides: &[&str]) -> Result<Operator> {
    let mut operator = Operator::start(cluster, &[&BRISK[..], overrides].concat()).await?;
    operator.wait_ready().await?;
    Ok(operator)
}

/// An operator that does not lead yet.
pub(crate) async fn candidate(cluster: &Cluster) -> Result<Operator> {
    Operator::start(cluster, &BRISK).await
}

/// An operator that leads once the Lease is free: whoever takes a release away keeps it for a minute.
pub(crate) async fn operator_when_free(cluster: &Cluster) -> Result<Operator> {
    let mut operator = candidate(cluster).await?;
    operator.wait_serving().await?;
    until("the operator to lead", Duration::from_secs(60) + SOON, async || {
        Ok(if operator.leads().await? { Look::Done(()) } else { Look::NotYet("it does not lead".to_owned()) })
    })
    .await?;
    operator.wait_ready().await?;
    Ok(operator)
}

/// Frees the Lease that a removal has taken, for whoever does not want to wait for it.
pub(crate) async fn free(cluster: &Cluster) -> Result<()> {
    let lease = ["delete", "lease", "node-rotation-controller.noderotation.io", "--namespace", e2e::chart::NAMESPACE, "--ignore-not-found"];
    cluster.kubectl(&lease).await?.accepted()?;
    Ok(())
}

/// Ends an operator in order, and with it the test's policy, so that no later operator rotates its nodes.
pub(crate) async fn finish(cluster: &Cluster, fleet: &Fleet, operator: Operator) -> Result<()> {
    forget(cluster, fleet).await?;
    let status = operator.sigterm().await?;
    ensure!(status.success(), "the operator ended with {status} after SIGTERM");
    Ok(())
}

/// Deletes all that belongs to a fleet, without waiting for its end.
pub(crate) async fn forget(cluster: &Cluster, fleet: &Fleet) -> Result<()> {
    for (kind, namespaced) in [("rotationpolicy", false), ("deployment", true), ("nodepool", false)] {
        let mut arguments = vec!["delete", kind, &fleet.name, "--ignore-not-found", "--wait=false"];
        if namespaced {
            arguments.extend(["--namespace", e2e::fleet::NAMESPACE]);
        }
        cluster.kubectl(&arguments).await?.accepted()?;
    }
    Ok(())
}

/// Deletes what a failed test has left of policies and fleets, so that no other test fails by it.
async fn abandon(cluster: &Cluster) -> Result<()> {
    for kind in ["rotationpolicies", "nodepools"] {
        cluster.kubectl(&["delete", kind, "--all", "--wait=false"]).await?.accepted()?;
    }
    let workloads = ["delete", "deployments", "--all", "--wait=false", "--namespace", e2e::fleet::NAMESPACE];
    cluster.kubectl(&workloads).await?.accepted()?;
    Ok(())
}

/// Waits until something can be seen of a fleet.
pub(crate) async fn see(cluster: &Cluster, fleet: &Fleet, what: &str, so: impl Fn(&Sight) -> bool) -> Result<Sight> {
    until(&format!("{what} of {}", fleet.name), SOON, async || {
        let sight = Sight::of(cluster, &fleet.name).await?;
        Ok(if so(&sight) { Look::Done(sight) } else { Look::NotYet(format!("{sight:?}")) })
    })
    .await
}

/// Waits until a counter of completed rotations has a value.
pub(crate) async fn counted(operator: &Operator, fleet: &Fleet, outcome: &str, expected: f64) -> Result<()> {
    series(operator, "noderotation_completed_total", &[("nodepool", &fleet.name), ("outcome", outcome)], expected).await
}

/// Waits until a series has a value.
pub(crate) async fn series(operator: &Operator, name: &str, labels: &[(&str, &str)], expected: f64) -> Result<()> {
    until(&format!("{name} to be {expected}"), SOON, async || {
        let value = operator.metrics().await?.value(name, labels);
        Ok(if value == Some(expected) { Look::Done(()) } else { Look::NotYet(format!("{value:?}")) })
    })
    .await
}

/// Waits until both webhook configurations are as the operator wants them.
pub(crate) async fn registered(operator: &Operator) -> Result<()> {
    for kind in ["mutating", "validating"] {
        series(operator, "noderotation_webhook_registered", &[("configuration", kind)], 1.0).await?;
    }
    Ok(())
}

/// The number in an environment variable.
pub(crate) fn asked_for<T: std::str::FromStr>(variable: &str, otherwise: T) -> Result<T> {
    let Some(text) = std::env::var(variable).ok().filter(|text| !text.is_empty()) else { return Ok(otherwise) };
    text.parse().ok().with_context(|| format!("{variable} is {text:?}; write a number"))
}
