//! All series of this process: one registry, passed by value (D14).
//!
//! A counter or histogram of a pool begins at zero when the pool is first governed, so that its first rise is one; it outlives the
//! pool's gauges, so that an alert on its rise survives a misconfiguration.

mod pool;
mod table;

use std::sync::Arc;

use noderotation_webhook::server::{OPERATIONS, VERDICTS};
use prometheus::{Encoder, Gauge, GaugeVec, HistogramVec, IntCounter, IntCounterVec, Registry, TextEncoder};

pub(crate) use pool::PoolGauges;

use pool::Read;
use table::Row;

const OUTCOMES: [&str; 3] = ["success", "failure", "expired"];
const PHASES: [&str; 2] = ["surge_wait", "drain"];
const RESULTS: [&str; 2] = ["success", "error"];
/// Why an event was not written: too many waited, the API server said no, or nothing.
const DROPPED: [&str; 3] = ["queue", "error", "timeout"];

/// Operations and verdicts that go together: what cannot be read is an error, and nothing but a new spec is refused.
fn admissions() -> impl Iterator<Item = (&'static str, &'static str)> {
    let pairs = OPERATIONS.into_iter().flat_map(|operation| VERDICTS.into_iter().map(move |verdict| (operation, verdict)));
    pairs.filter(|(operation, verdict)| match *operation {
        "create" | "update" => true,
        "other" => *verdict != "refused" && *verdict != "warned",
        _ => *verdict == "error",
    })
}

fn flag(on: bool) -> f64 {
    f64::from(u8::from(on))
}

/// Series of this process. Clones share them.
#[derive(Clone)]
pub(crate) struct Metrics(Arc<Series>);

struct Series {
    registry: Registry,
    pools: Vec<(&'static str, GaugeVec, Read)>,
    completed: IntCounterVec,
    forceful_fallback: IntCounterVec,
    window_missed: IntCounterVec,
    phases: HistogramVec,
    passes: IntCounterVec,
    pass_seconds: HistogramVec,
    admissions: IntCounterVec,
    admission_seconds: HistogramVec,
    requests: IntCounterVec,
    leader: Gauge,
    lease_lost: IntCounter,
    ready_to_lead: Gauge,
    certificate_not_after: Gauge,
    authority_not_after: Gauge,
    certificates_refused: IntCounter,
    registered: GaugeVec,
    events_dropped: IntCounterVec,
}

impl Metrics {
    /// Registers every series.
    ///
    /// # Errors
    /// When a name stands twice in the tables, which a test would have found.
    pub(crate) fn new(version: &str, tzdb: &str) -> prometheus::Result<Self> {
        let registry = Registry::new();
        let pools = pool::GAUGES
            .iter()
            .map(|(name, help, read)| Ok((*name, Row { name, help, labels: &["nodepool"] }.gauges(&registry)?, *read)))
            .collect::<prometheus::Result<Vec<_>>>()?;
        table::BUILD.gauges(&registry)?.with_label_values(&[version, tzdb]).set(1.0);
        let series = Series {
            pools,
            completed: table::COMPLETED.counters(&registry)?,
            forceful_fallback: table::FALLBACK.counters(&registry)?,
            window_missed: table::WINDOW_MISSED.counters(&registry)?,
            phases: table::PHASES.histograms(&registry, &table::PHASE_BUCKETS)?,
            passes: table::PASSES.counters(&registry)?,
            pass_seconds: table::PASS_SECONDS.histograms(&registry, &table::PASS_BUCKETS)?,
            admissions: table::ADMISSIONS.counters(&registry)?,
            admission_seconds: table::ADMISSION_SECONDS.histograms(&registry, &table::REQUEST_BUCKETS)?,
            requests: table::REQUESTS.counters(&registry)?,
            leader: table::LEADER.gauge(&registry)?,
            lease_lost: table::LEASE_LOST.counter(&registry)?,
            ready_to_lead: table::PREFLIGHT.gauge(&registry)?,
            certificate_not_after: table::CERTIFICATE.gauge(&registry)?,
            authority_not_after: table::AUTHORITY.gauge(&registry)?,
            certificates_refused: table::CERTIFICATES_REFUSED.counter(&registry)?,
            registered: table::REGISTERED.gauges(&registry)?,
            events_dropped: table::EVENTS_DROPPED.counters(&registry)?,
            registry,
        };
        // Before the first request of a kind, so that an increase from nothing is an increase.
        for (operation, verdict) in admissions() {
            series.admissions.with_label_values(&[operation, verdict]);
        }
        for result in RESULTS {
            series.passes.with_label_values(&[result]);
        }
        for reason in DROPPED {
            series.events_dropped.with_label_values(&[reason]);
        }
        Ok(Self(Arc::new(series)))
    }

    /// The text exposition.
    pub(crate) fn render(&self) -> String {
        let mut buffer = Vec::new();
        // Encoding fails only for a family without a type or name, and these have both.
        if TextEncoder::new().encode(&self.0.registry.gather(), &mut buffer).is_err() {
            return String::new();
        }
        String::from_utf8_lossy(&buffer).into_owned()
    }

    /// Sets the gauges of a governed pool; its counters and histograms are there from the first time on, so that an increase
    /// from nothing is an increase.
    pub(crate) fn gauges(&self, pool: &str, gauges: &PoolGauges) {
        for (_, series, read) in &self.0.pools {
            series.with_label_values(&[pool]).set(read(gauges));
        }
        for outcome in OUTCOMES {
            self.0.completed.with_label_values(&[pool, outcome]);
        }
        for phase in PHASES {
            self.0.phases.with_label_values(&[pool, phase]);
        }
        self.0.forceful_fallback.with_label_values(&[pool]);
        self.0.window_missed.with_label_values(&[pool]);
    }

    /// No policy can be said to govern the pool: only this gauge is left, and the counters.
    pub(crate) fn policy_conflict(&self, pool: &str) {
        self.drop_pool_gauges(pool);
        for (_, series, _) in self.0.pools.iter().filter(|(name, ..)| *name == pool::POLICY_CONFLICT) {
            series.with_label_values(&[pool]).set(1.0);
        }
    }

    /// The pool is not governed; its counters stay, so that alerts on increases survive.
    pub(crate) fn drop_pool_gauges(&self, pool: &str) {
        for (_, series, _) in &self.0.pools {
            // A series that is not there is as good as one that was removed.
            let _absent = series.remove_label_values(&[pool]);
        }
    }

    /// Another replica leads: what this one knows of pools grows old. Counters stay, since they are summed.
    pub(crate) fn drop_gauges(&self) {
        self.0.pools.iter().for_each(|(_, series, _)| series.reset());
    }

    /// The pool no longer exists.
    pub(crate) fn drop_pool(&self, pool: &str) {
        self.drop_pool_gauges(pool);
        for outcome in OUTCOMES {
            let _absent = self.0.completed.remove_label_values(&[pool, outcome]);
        }
        for phase in PHASES {
            let _absent = self.0.phases.remove_label_values(&[pool, phase]);
        }
        let _absent = self.0.forceful_fallback.remove_label_values(&[pool]);
        let _absent = self.0.window_missed.remove_label_values(&[pool]);
    }

    /// A rotation ended.
    pub(crate) fn completed(&self, pool: &str, outcome: &str) {
        self.0.completed.with_label_values(&[pool, outcome]).inc();
    }

    /// A claim is drained without a surge.
    pub(crate) fn forceful_fallback(&self, pool: &str) {
        self.0.forceful_fallback.with_label_values(&[pool]).inc();
    }

    /// A window went by unused.
    pub(crate) fn window_missed(&self, pool: &str) {
        self.0.window_missed.with_label_values(&[pool]).inc();
    }

    /// A phase of a rotation ended.
    pub(crate) fn observe_phase(&self, pool: &str, phase: &str, seconds: f64) {
        self.0.phases.with_label_values(&[pool, phase]).observe(seconds);
    }

    /// A pass ended.
    pub(crate) fn reconcile(&self, result: &str, seconds: f64) {
        self.0.passes.with_label_values(&[result]).inc();
        self.0.pass_seconds.with_label_values(&[result]).observe(seconds);
    }

    /// An admission review was answered.
    pub(crate) fn admission(&self, operation: &str, verdict: &str, seconds: f64) {
        self.0.admissions.with_label_values(&[operation, verdict]).inc();
        self.0.admission_seconds.with_label_values(&[operation]).observe(seconds);
    }

    /// The API server answered, or did not (`code` is then `error`).
    pub(crate) fn api_request(&self, verb: &str, code: &str) {
        self.0.requests.with_label_values(&[verb, code]).inc();
    }

    /// This replica leads, or not.
    pub(crate) fn leader(&self, leads: bool) {
        self.0.leader.set(flag(leads));
    }

    /// The lease was lost.
    pub(crate) fn lease_lost(&self) {
        self.0.lease_lost.inc();
    }

    /// The cluster serves and permits what is needed, or not.
    pub(crate) fn preflight(&self, ok: bool) {
        self.0.ready_to_lead.set(flag(ok));
    }

    /// When the served certificate expires, in Unix seconds.
    pub(crate) fn certificate_not_after(&self, timestamp: f64) {
        self.0.certificate_not_after.set(timestamp);
    }

    /// When the root expires that has signed the served certificate, in Unix seconds.
    pub(crate) fn authority_not_after(&self, timestamp: f64) {
        self.0.authority_not_after.set(timestamp);
    }

    /// A pair was found in the Secret that cannot be served.
    pub(crate) fn certificate_refused(&self) {
        self.0.certificates_refused.inc();
    }

    /// A webhook configuration is as it should be, or not.
    pub(crate) fn webhook_registered(&self, configuration: &str, registered: bool) {
        self.0.registered.with_label_values(&[configuration]).set(flag(registered));
    }

    /// An event could not be written.
    pub(crate) fn event_dropped(&self, reason: &str) {
        self.0.events_dropped.with_label_values(&[reason]).inc();
    }
}

#[cfg(test)]
mod tests;
