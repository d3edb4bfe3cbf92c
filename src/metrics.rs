//! All series of this process: one registry, passed by value, and one table of names (D14).

use std::sync::Arc;

use prometheus::{
    CounterVec, Encoder, Gauge, GaugeVec, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, Opts, Registry, TextEncoder,
};

/// Absorbing waits of seconds and drains of a day; the doubling from 30 s is what existing dashboards know.
const PHASE_BUCKETS: [f64; 17] =
    [1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, 3840.0, 7680.0, 15360.0, 30720.0, 61440.0, 90000.0];
const REQUEST_BUCKETS: [f64; 9] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.5];
const PASS_BUCKETS: [f64; 9] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 10.0, 60.0];

/// The gauges of one governed pool after a pass.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct PoolGauges {
    pub(crate) candidates: f64,
    pub(crate) in_backoff: f64,
    pub(crate) in_progress: bool,
    pub(crate) window_active: bool,
    pub(crate) freeze_until_timestamp: f64,
    pub(crate) age_threshold_seconds: f64,
    pub(crate) rotation_chances: f64,
    pub(crate) throughput_capacity: f64,
    pub(crate) t_rot_estimate_seconds: f64,
    pub(crate) t_rot_bound_seconds: f64,
    pub(crate) window_period_seconds: f64,
    pub(crate) short_lead_nodes: f64,
    pub(crate) drain_stuck: bool,
    pub(crate) retry_count: f64,
    pub(crate) next_deadline_timestamp: f64,
}

type Read = fn(&PoolGauges) -> f64;

/// Every gauge with the label `nodepool`: name, help, and where its value comes from.
const POOL_GAUGES: [(&str, &str, Read); 16] = [
    ("noderotation_candidates", "NodeClaims that may be rotated now.", |g| g.candidates),
    ("noderotation_in_backoff", "NodeClaims that are due and wait only for their backoff.", |g| g.in_backoff),
    ("noderotation_in_progress", "1 while a rotation is in flight.", |g| flag(g.in_progress)),
    ("noderotation_window_active", "1 while a maintenance window is open.", |g| flag(g.window_active)),
    ("noderotation_policy_conflict", "1 while no policy can be said to govern the pool: a tie, or an invalid winner.", |_| 0.0),
    ("noderotation_freeze_until_timestamp", "Unix time until which a freeze is in force, 0 without one.", |g| g.freeze_until_timestamp),
    ("noderotation_age_threshold_seconds", "Age at which a node of the pool's template is due; not positive if infeasible.", |g| {
        g.age_threshold_seconds
    }),
    ("noderotation_rotation_chances", "Windows between that age and the deadline.", |g| g.rotation_chances),
    ("noderotation_throughput_capacity", "Rotations that fit into the shortest window.", |g| g.throughput_capacity),
    ("noderotation_t_rot_estimate_seconds", "What a rotation is expected to take.", |g| g.t_rot_estimate_seconds),
    ("noderotation_t_rot_bound_seconds", "The longest that a rotation may take.", |g| g.t_rot_bound_seconds),
    ("noderotation_window_period_seconds", "Longest time between the starts of two windows.", |g| g.window_period_seconds),
    ("noderotation_short_lead_nodes", "NodeClaims whose whole life is not longer than their lead time.", |g| g.short_lead_nodes),
    ("noderotation_drain_stuck", "1 while a drain exceeds its bound.", |g| flag(g.drain_stuck)),
    ("noderotation_retry_count", "Highest number of failed attempts among the pool's NodeClaims.", |g| g.retry_count),
    ("noderotation_next_deadline_timestamp", "Unix time of the nearest forceful expiry, 0 without one.", |g| g.next_deadline_timestamp),
];

const POLICY_CONFLICT: &str = "noderotation_policy_conflict";
const OUTCOMES: [&str; 3] = ["success", "failure", "expired"];
const PHASES: [&str; 2] = ["surge_wait", "drain"];

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
    events_dropped: CounterVec,
}

impl Metrics {
    /// Registers every series.
    ///
    /// # Errors
    /// When a name stands twice in the tables, which a test would have found.
    pub(crate) fn new(version: &str, tzdb: &str) -> prometheus::Result<Self> {
        let registry = Registry::new();
        let counter = |name: &str, help: &str, labels: &[&str]| register(&registry, IntCounterVec::new(Opts::new(name, help), labels));
        let histogram = |name: &str, help: &str, buckets: &[f64], labels: &[&str]| {
            register(&registry, HistogramVec::new(HistogramOpts::new(name, help).buckets(buckets.to_vec()), labels))
        };
        let gauge = |name: &str, help: &str| register(&registry, Gauge::new(name, help));
        let pools = POOL_GAUGES
            .iter()
            .map(|(name, help, read)| Ok((*name, register(&registry, GaugeVec::new(Opts::new(*name, *help), &["nodepool"]))?, *read)))
            .collect::<prometheus::Result<Vec<_>>>()?;
        let build =
            register(&registry, GaugeVec::new(Opts::new("noderotation_build_info", "1, with the build as labels."), &["version", "tzdb"]))?;
        build.with_label_values(&[version, tzdb]).set(1.0);
        let series = Series {
            pools,
            completed: counter("noderotation_completed_total", "Rotations that ended, by outcome.", &["nodepool", "outcome"])?,
            forceful_fallback: counter("noderotation_forceful_fallback_total", "Rotations begun without a surge.", &["nodepool"])?,
            phases: histogram(
                "noderotation_duration_seconds",
                "How long the phases of rotations took.",
                &PHASE_BUCKETS,
                &["nodepool", "phase"],
            )?,
            passes: counter("noderotation_reconcile_total", "Passes over a NodePool, by result.", &["result"])?,
            pass_seconds: histogram("noderotation_reconcile_duration_seconds", "How long a pass took.", &PASS_BUCKETS, &["result"])?,
            admissions: counter("noderotation_admission_requests_total", "Admission reviews answered.", &["operation", "verdict"])?,
            admission_seconds: histogram(
                "noderotation_admission_duration_seconds",
                "How long an answer took.",
                &REQUEST_BUCKETS,
                &["operation"],
            )?,
            requests: counter("noderotation_api_requests_total", "Requests to the API server.", &["verb", "code"])?,
            leader: gauge("noderotation_leader", "1 while this replica leads.")?,
            lease_lost: register(
                &registry,
                IntCounter::new("noderotation_lease_lost_total", "Times that this replica stopped leading without being told to."),
            )?,
            ready_to_lead: gauge("noderotation_preflight_ok", "1 when the cluster serves and permits what the controller needs.")?,
            certificate_not_after: gauge(
                "noderotation_certificate_not_after_timestamp",
                "Unix time at which the served certificate expires.",
            )?,
            events_dropped: register(
                &registry,
                CounterVec::new(Opts::new("noderotation_events_dropped_total", "Events that could not be written."), &["reason"]),
            )?,
            registry: registry.clone(),
        };
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

    /// Sets the gauges of a governed pool; its counters are there from the first time on, so that an increase from
    /// nothing is an increase.
    pub(crate) fn gauges(&self, pool: &str, gauges: &PoolGauges) {
        for (_, series, read) in &self.0.pools {
            series.with_label_values(&[pool]).set(read(gauges));
        }
        for outcome in OUTCOMES {
            self.0.completed.with_label_values(&[pool, outcome]);
        }
        self.0.forceful_fallback.with_label_values(&[pool]);
    }

    /// No policy can be said to govern the pool: only this gauge is left, and the counters.
    pub(crate) fn policy_conflict(&self, pool: &str) {
        self.drop_pool_gauges(pool);
        for (_, series, _) in self.0.pools.iter().filter(|(name, ..)| *name == POLICY_CONFLICT) {
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
    }

    /// A rotation ended.
    pub(crate) fn completed(&self, pool: &str, outcome: &str) {
        self.0.completed.with_label_values(&[pool, outcome]).inc();
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

    /// An event could not be written.
    pub(crate) fn event_dropped(&self, reason: &str) {
        self.0.events_dropped.with_label_values(&[reason]).inc();
    }
}

fn register<C: prometheus::core::Collector + Clone + 'static>(
    registry: &Registry,
    collector: prometheus::Result<C>,
) -> prometheus::Result<C> {
    let collector = collector?;
    registry.register(Box::new(collector.clone()))?;
    Ok(collector)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(metrics: &Metrics, pool: &str) -> Vec<String> {
        let label = format!("nodepool=\"{pool}\"");
        metrics.render().lines().filter(|line| line.contains(&label)).map(str::to_owned).collect()
    }

    #[test]
    fn counters_start_at_zero_and_outlive_the_gauges() {
        let metrics = Metrics::new("1.0.0", "2026a").unwrap();
        metrics.gauges("p", &PoolGauges { candidates: 3.0, ..PoolGauges::default() });
        metrics.completed("p", "success");
        let all = lines(&metrics, "p");
        assert!(all.contains(&"noderotation_candidates{nodepool=\"p\"} 3".to_owned()));
        assert!(all.contains(&"noderotation_completed_total{nodepool=\"p\",outcome=\"expired\"} 0".to_owned()));
        metrics.policy_conflict("p");
        let left = lines(&metrics, "p");
        assert!(left.contains(&"noderotation_policy_conflict{nodepool=\"p\"} 1".to_owned()));
        assert!(left.contains(&"noderotation_completed_total{nodepool=\"p\",outcome=\"success\"} 1".to_owned()));
        assert!(!left.iter().any(|line| line.starts_with("noderotation_candidates")));
        metrics.drop_pool("p");
        assert_eq!(lines(&metrics, "p"), Vec::<String>::new());
    }

    #[test]
    fn the_buckets_contain_those_of_existing_dashboards() {
        for k in 0..10 {
            assert!(PHASE_BUCKETS.contains(&(30.0 * f64::from(1 << k))));
        }
    }
}
