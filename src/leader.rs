//! Leadership by a Lease: at most one replica writes (D13, I12).
//!
//! The decision is [`machine`]'s; this file reads and writes the Lease. Every write carries the `resourceVersion` that
//! was read, so that of two candidates one loses. Losing the lease is an ordinary event: the replica goes on serving
//! admission and campaigns again.

mod lead;
mod lease;
mod machine;
mod takeover;

use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, PostParams};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use crate::metrics::Metrics;
use crate::telemetry::words;

pub(crate) use lead::Lead;
pub(crate) use lease::{LEASE, holder};
pub(crate) use takeover::{HOLD, TAKER, Takeover, is_taker, take_over};

use lead::Sent;
use machine::{Action, Machine};

/// How long leadership lasts and how often it is renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timing {
    /// Others take over after this long without a renewal.
    pub(crate) lease_duration: Duration,
    /// We stop writing after this long without a confirmed renewal.
    pub(crate) renew_deadline: Duration,
    /// Time between two tries.
    pub(crate) retry_period: Duration,
}

impl Timing {
    /// What is wrong with the three, if anything: without room between them two replicas could write at once.
    pub(crate) fn fault(&self) -> Option<String> {
        if self.lease_duration <= self.renew_deadline {
            return Some("--lease-duration must be longer than --renew-deadline".to_owned());
        }
        if self.renew_deadline <= self.retry_period.saturating_mul(2) {
            return Some("--renew-deadline must be longer than twice --retry-period".to_owned());
        }
        self.retry_period.is_zero().then(|| "--retry-period must be longer than zero".to_owned())
    }
}

/// What one campaign remembers.
struct Campaign {
    machine: Machine,
    start: Instant,
    /// The lease as our last write left it, if nothing has gone wrong since.
    held: Option<Lease>,
}

/// Why a try came to nothing.
#[derive(Debug, thiserror::Error)]
enum Error {
    /// The API server, or the way to it, failed.
    #[error(transparent)]
    Api(Box<kube::Error>),
    /// No answer within half of the deadline.
    #[error("no answer")]
    Silent,
}

/// Someone else has written, removed or made the lease since it was read.
fn overtaken(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.is_conflict() || status.is_already_exists() || status.is_not_found())
}

/// Campaigns for the lease, keeps it, and tells when it comes and goes.
pub(crate) struct Election {
    api: Api<Lease>,
    identity: String,
    timing: Timing,
    lead: Lead,
    leads: watch::Sender<bool>,
    metrics: Metrics,
}

impl Election {
    /// An election in `namespace` under the name `identity`.
    pub(crate) fn new(client: kube::Client, namespace: &str, identity: String, timing: Timing, metrics: Metrics) -> Self {
        Self { metrics, api: Api::namespaced(client, namespace), identity, timing, lead: Lead::default(), leads: watch::Sender::new(false) }
    }

    /// The guard to ask before every write.
    pub(crate) fn lead(&self) -> Lead {
        self.lead.clone()
    }

    /// Becomes true when this replica leads, false when it no longer does.
    pub(crate) fn leads(&self) -> watch::Receiver<bool> {
        self.leads.subscribe()
    }

    /// Campaigns until `stop` is cancelled; the caller has ended what the leader does by then, and the lease is released.
    pub(crate) async fn run(self, stop: CancellationToken) {
        let mut campaign = Campaign { machine: Machine::new(self.identity.clone(), self.timing), start: Instant::now(), held: None };
        loop {
            tokio::select! {
                () = self.round(&mut campaign) => {}
                () = stop.cancelled() => break,
            }
            tokio::select! {
                () = tokio::time::sleep(self.timing.retry_period) => {}
                () = stop.cancelled() => break,
            }
        }
        self.release().await;
    }

    /// One try. It ends with the lead at the latest, so that the end is told when it comes.
    async fn round(&self, campaign: &mut Campaign) {
        let bound = self.lead.remaining().unwrap_or(self.timing.renew_deadline);
        match tokio::time::timeout(bound, self.try_once(campaign)).await {
            Ok(Ok(Some(sent))) => self.lead.set(Some(sent), self.timing.renew_deadline),
            Ok(Ok(None)) if campaign.machine.lost() => self.lead.set(None, Duration::ZERO),
            Ok(Ok(None)) => {}
            Ok(Err(error)) => debug!(error = words(&error), "lease not renewed"),
            Err(_) => debug!("lease not renewed in time"),
        }
        let leads = self.lead.remaining().is_some();
        let changed = self.leads.send_if_modified(|before| std::mem::replace(before, leads) != leads);
        match (changed, leads) {
            (true, true) => info!(identity = self.identity, "leading"),
            (true, false) => {
                warn!(identity = self.identity, "no longer leading");
                self.metrics.lease_lost();
            }
            (false, _) => {}
        }
    }

    /// Writes ourselves into the lease if the rules allow it; the answer is when that write was sent, if it landed.
    async fn try_once(&self, campaign: &mut Campaign) -> Result<Option<Sent>, Error> {
        // Our own last write needs no reading: if anything has changed since, this one is refused.
        if let Some(held) = campaign.held.take()
            && let Some(sent) = self.write(campaign, Some(held)).await?
        {
            return Ok(Some(sent));
        }
        let lease = self.bounded(self.api.get_opt(LEASE)).await?;
        let seen = lease.as_ref().map(lease::seen);
        match campaign.machine.judge(seen.as_ref(), campaign.start.elapsed()) {
            Action::Wait => Ok(None),
            Action::Take | Action::Renew => self.write(campaign, lease).await,
        }
    }

    async fn write(&self, campaign: &mut Campaign, read: Option<Lease>) -> Result<Option<Sent>, Error> {
        let exists = read.is_some();
        let lease = lease::held(read, &self.identity, self.timing.lease_duration, Timestamp::now());
        let params = PostParams::default();
        let sent = (Instant::now(), SystemTime::now());
        let written = if exists {
            self.bounded(self.api.replace(LEASE, &params, &lease)).await
        } else {
            self.bounded(self.api.create(&params, &lease)).await
        };
        match written {
            Ok(lease) => {
                campaign.held = Some(lease);
                Ok(Some(sent))
            }
            // Somebody else was faster, or took the lease away.
            Err(Error::Api(error)) if overtaken(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Half of the deadline for one request, so that a connection that died in silence leaves time for another.
    async fn bounded<T>(&self, call: impl Future<Output = Result<T, kube::Error>>) -> Result<T, Error> {
        let answer = tokio::time::timeout(self.timing.renew_deadline / 2, call).await.map_err(|_| Error::Silent)?;
        answer.map_err(|error| Error::Api(Box::new(error)))
    }

    /// Gives the lease back, so that another replica need not wait for its end.
    async fn release(&self) {
        self.lead.set(None, Duration::ZERO);
        self.leads.send_replace(false);
        let released = async {
            let lease = self.api.get_opt(LEASE).await?;
            if let Some(lease) = lease.and_then(|lease| lease::released(lease, &self.identity, Timestamp::now())) {
                self.api.replace(LEASE, &PostParams::default(), &lease).await?;
                info!("lease released");
            }
            Ok::<(), kube::Error>(())
        };
        if !matches!(tokio::time::timeout(self.timing.retry_period, released).await, Ok(Ok(()))) {
            warn!("lease not released; it ends by itself");
        }
    }
}

#[cfg(test)]
mod tests;
