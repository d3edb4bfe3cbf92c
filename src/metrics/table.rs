//! Every series that is not a gauge of a pool: name, help, labels, buckets (D14).
//!
//! Names and labels are other people's alerts and dashboards: they are added, never changed and never used for something
//! else. Every label has a bounded set of values.

use prometheus::core::Collector;
use prometheus::{Gauge, GaugeVec, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, Opts, Registry, Result};

/// One family of series.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    pub(super) labels: &'static [&'static str],
}

const fn row(name: &'static str, labels: &'static [&'static str], help: &'static str) -> Row {
    Row { name, help, labels }
}

pub(super) const BUILD: Row = row("noderotation_build_info", &["version", "tzdb"], "1, with the build as labels.");
pub(super) const COMPLETED: Row = row("noderotation_completed_total", &["nodepool", "outcome"], "Rotations that ended, by outcome.");
pub(super) const FALLBACK: Row = row("noderotation_forceful_fallback_total", &["nodepool"], "Rotations begun without a surge.");
pub(super) const WINDOW_MISSED: Row =
    row("noderotation_window_missed_total", &["nodepool"], "Windows that closed without a success although NodeClaims were due.");
pub(super) const PHASES: Row = row("noderotation_duration_seconds", &["nodepool", "phase"], "How long the phases of rotations took.");
pub(super) const PASSES: Row = row("noderotation_reconcile_total", &["result"], "Passes over a NodePool, by result.");
pub(super) const PASS_SECONDS: Row = row("noderotation_reconcile_duration_seconds", &["result"], "How long a pass took.");
pub(super) const ADMISSIONS: Row =
    row("noderotation_admission_requests_total", &["operation", "verdict"], "Admission reviews answered, by verdict.");
pub(super) const ADMISSION_SECONDS: Row = row("noderotation_admission_duration_seconds", &["operation"], "How long an answer took.");
pub(super) const REQUESTS: Row = row("noderotation_api_requests_total", &["verb", "code"], "Requests to the API server.");
pub(super) const LEADER: Row = row("noderotation_leader", &[], "1 while this replica leads.");
pub(super) const LEASE_LOST: Row =
    row("noderotation_lease_lost_total", &[], "Times that this replica stopped leading without being told to.");
pub(super) const PREFLIGHT: Row = row("noderotation_preflight_ok", &[], "1 when the cluster serves and permits what the controller needs.");
pub(super) const CERTIFICATE: Row =
    row("noderotation_certificate_not_after_timestamp", &[], "Unix time at which the served certificate expires.");
pub(super) const AUTHORITY: Row = row(
    "noderotation_certificate_authority_not_after_timestamp",
    &[],
    "Unix time at which the root expires that has signed the served certificate.",
);
pub(super) const CERTIFICATES_REFUSED: Row =
    row("noderotation_certificate_refused_total", &[], "Pairs that were found in the Secret and could not be served.");
pub(super) const REGISTERED: Row =
    row("noderotation_webhook_registered", &["configuration"], "1 while the webhook configuration is as it should be.");
pub(super) const EVENTS_DROPPED: Row = row("noderotation_events_dropped_total", &["reason"], "Events that could not be written.");

/// Absorbing waits of seconds and drains of a day; the doubling from 30 s is what existing dashboards know.
pub(super) const PHASE_BUCKETS: [f64; 17] =
    [1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, 3840.0, 7680.0, 15360.0, 30720.0, 61440.0, 90000.0];
pub(super) const REQUEST_BUCKETS: [f64; 9] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.5];
pub(super) const PASS_BUCKETS: [f64; 9] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 10.0, 60.0];

impl Row {
    fn options(&self) -> Opts {
        Opts::new(self.name, self.help)
    }

    pub(super) fn counter(&self, registry: &Registry) -> Result<IntCounter> {
        register(registry, IntCounter::with_opts(self.options()))
    }

    pub(super) fn counters(&self, registry: &Registry) -> Result<IntCounterVec> {
        register(registry, IntCounterVec::new(self.options(), self.labels))
    }

    pub(super) fn gauge(&self, registry: &Registry) -> Result<Gauge> {
        register(registry, Gauge::with_opts(self.options()))
    }

    pub(super) fn gauges(&self, registry: &Registry) -> Result<GaugeVec> {
        register(registry, GaugeVec::new(self.options(), self.labels))
    }

    pub(super) fn histograms(&self, registry: &Registry, buckets: &[f64]) -> Result<HistogramVec> {
        let options = HistogramOpts::new(self.name, self.help).buckets(buckets.to_vec());
        register(registry, HistogramVec::new(options, self.labels))
    }
}

fn register<C: Collector + Clone + 'static>(registry: &Registry, collector: Result<C>) -> Result<C> {
    let collector = collector?;
    registry.register(Box::new(collector.clone()))?;
    Ok(collector)
}
