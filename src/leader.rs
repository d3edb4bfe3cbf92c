//! Leadership by a Lease: at most one replica writes (D13, I12).
//!
//! The decision is [`machine`]'s; this file reads and writes the Lease. Every write carries the `resourceVersion` that
//! was read, so that of two candidates one loses. Losing the lease is an ordinary event: the replica goes on serving
//! admission and campaigns again.

pub(crate) mod machine;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime};

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::{Api, PostParams};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use crate::metrics::Metrics;

use machine::{Action, Machine, Seen};

/// Name of the Lease; the same as the Go controller's, so that the two cannot lead at once.
pub(crate) const LEASE: &str = "node-rotation-controller.noderotation.io";

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

/// Asked before every write: does this replica still lead?
#[derive(Clone, Default)]
pub(crate) struct Lead(Arc<RwLock<Option<Until>>>);

/// The end of what the last confirmed renewal gave us, on both clocks: the monotonic one stands still while a machine
/// is suspended, and the other one may be set.
#[derive(Clone, Copy)]
struct Until {
    monotonic: Instant,
    wall: SystemTime,
}

impl Lead {
    /// A lead that never ends, for a controller that runs without election.
    pub(crate) fn forever() -> Self {
        let lead = Self::default();
        let far = Duration::from_secs(100 * 365 * 24 * 3600);
        lead.set(Some((Instant::now(), SystemTime::now())), far);
        lead
    }

    /// This replica may write now.
    pub(crate) fn holds(&self) -> bool {
        let until = *self.0.read().unwrap_or_else(PoisonError::into_inner);
        until.is_some_and(|until| Instant::now() < until.monotonic && SystemTime::now() < until.wall)
    }

    fn set(&self, sent: Option<(Instant, SystemTime)>, lasts: Duration) {
        let until =
            sent.and_then(|(monotonic, wall)| Some(Until { monotonic: monotonic.checked_add(lasts)?, wall: wall.checked_add(lasts)? }));
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = until;
    }
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
        let start = Instant::now();
        let mut machine = Machine::new(self.identity.clone(), self.timing);
        loop {
            self.round(&mut machine, start).await;
            tokio::select! {
                () = tokio::time::sleep(self.timing.retry_period) => {}
                () = stop.cancelled() => break,
            }
        }
        self.release().await;
    }

    async fn round(&self, machine: &mut Machine, start: Instant) {
        let sent = (Instant::now(), SystemTime::now());
        let bound = self.timing.retry_period.max(Duration::from_secs(1)).min(self.timing.renew_deadline);
        let confirmed = match tokio::time::timeout(bound, self.try_once(machine, start)).await {
            Ok(Ok(confirmed)) => confirmed,
            Ok(Err(error)) => {
                debug!(error = %error, "lease not renewed");
                false
            }
            Err(_) => {
                debug!("lease not renewed: no answer in time");
                false
            }
        };
        if confirmed {
            self.lead.set(Some(sent), self.timing.renew_deadline);
        } else if machine.lost() {
            self.lead.set(None, Duration::ZERO);
        }
        let leads = self.lead.holds();
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

    /// Reads the lease, asks the machine, writes; true when the lease is ours as of this answer.
    async fn try_once(&self, machine: &mut Machine, start: Instant) -> Result<bool, kube::Error> {
        let lease = self.api.get_opt(LEASE).await?;
        let seen = lease.as_ref().map(seen);
        match (machine.judge(seen.as_ref(), start.elapsed()), lease) {
            (Action::Wait, _) => Ok(false),
            (Action::Take | Action::Renew, None) => self.won(self.api.create(&PostParams::default(), &self.lease(None)).await),
            (Action::Take | Action::Renew, Some(lease)) => {
                let lease = self.lease(Some(lease));
                self.won(self.api.replace(LEASE, &PostParams::default(), &lease).await)
            }
        }
    }

    fn won(&self, written: Result<Lease, kube::Error>) -> Result<bool, kube::Error> {
        match written {
            Ok(_) => Ok(true),
            Err(kube::Error::Api(status)) if status.is_conflict() || status.is_already_exists() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The lease as ours, on top of what was read.
    fn lease(&self, read: Option<Lease>) -> Lease {
        let now = MicroTime(Timestamp::now());
        let mut lease = read.unwrap_or_else(|| Lease {
            metadata: ObjectMeta { name: Some(LEASE.to_owned()), ..ObjectMeta::default() },
            ..Lease::default()
        });
        let spec = lease.spec.get_or_insert_with(LeaseSpec::default);
        if spec.holder_identity.as_deref() != Some(self.identity.as_str()) {
            spec.acquire_time = Some(now.clone());
            spec.lease_transitions = Some(spec.lease_transitions.unwrap_or(0).saturating_add(1));
        }
        spec.holder_identity = Some(self.identity.clone());
        spec.lease_duration_seconds = Some(i32::try_from(self.timing.lease_duration.as_secs()).unwrap_or(i32::MAX).max(1));
        spec.renew_time = Some(now);
        lease
    }

    /// Gives the lease back, so that another replica need not wait for its end.
    async fn release(&self) {
        self.lead.set(None, Duration::ZERO);
        self.leads.send_replace(false);
        let released = async {
            let Some(mut lease) = self.api.get_opt(LEASE).await? else {
                return Ok(());
            };
            let spec = lease.spec.get_or_insert_with(LeaseSpec::default);
            if spec.holder_identity.as_deref() == Some(self.identity.as_str()) {
                spec.holder_identity = Some(String::new());
                spec.lease_duration_seconds = Some(1);
                spec.renew_time = Some(MicroTime(Timestamp::now()));
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

fn seen(lease: &Lease) -> Seen {
    let spec = lease.spec.clone().unwrap_or_default();
    let seconds = spec.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok());
    Seen {
        holder: spec.holder_identity.unwrap_or_default(),
        version: lease.metadata.resource_version.clone().unwrap_or_default(),
        duration: Duration::from_secs(seconds.unwrap_or(0)),
    }
}
