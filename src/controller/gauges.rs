//! The gauges of a pool as they follow from a report (D14).

use jiff::Timestamp;
use noderotation_core::rotation::report::Report;
use noderotation_core::selection::{Standing, Survey};

use crate::metrics::PoolGauges;

/// The gauges of one governed pool.
pub(crate) fn of(report: &Report) -> PoolGauges {
    let survey = report.survey.as_ref();
    let derived = report.derived.as_ref();
    let count = |standing| survey.and_then(|survey: &Survey| survey.census.get(&standing)).copied().unwrap_or(0);
    PoolGauges {
        candidates: number(count(Standing::Eligible)),
        in_backoff: number(count(Standing::InBackoff)),
        in_progress: report.in_progress(),
        window_active: report.window_open,
        freeze_until_timestamp: report.freeze_until.map_or(0.0, seconds),
        age_threshold_seconds: derived.map_or(0.0, |derived| derived.age_threshold.as_secs_f64()),
        rotation_chances: derived.map_or(0.0, |derived| f64::from(derived.chances)),
        throughput_capacity: derived.map_or(0.0, |derived| f64::from(derived.capacity)),
        t_rot_estimate_seconds: derived.map_or(0.0, |derived| derived.t_rot_estimate.as_secs_f64()),
        t_rot_bound_seconds: derived.map_or(0.0, |derived| derived.t_rot.as_secs_f64()),
        window_period_seconds: derived.and_then(|derived| derived.period).map_or(0.0, |period| period.as_secs_f64()),
        short_lead_nodes: number(survey.map_or(0, |survey| survey.short_lead.len())),
        drain_stuck: report.drain_stuck,
        retry_count: f64::from(survey.map_or(0, |survey| survey.highest_retry_count)),
        next_window_start_timestamp: report.next_window.map_or(0.0, |window| seconds(window.open)),
        next_window_end_timestamp: report.next_window.map_or(0.0, |window| seconds(window.close)),
        infeasible: derived.is_some_and(noderotation_core::schedule::Derived::is_infeasible),
        next_deadline_timestamp: survey.and_then(|survey| survey.next_deadline).map_or(0.0, seconds),
    }
}

/// A count as a gauge; no cluster has more claims than fit.
fn number(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::MAX, f64::from)
}

/// Unix time of an instant, to the second.
fn seconds(at: Timestamp) -> f64 {
    at.duration_since(Timestamp::UNIX_EPOCH).as_secs_f64()
}
