//! The gauges of a governed pool: what a pass knows, and under which name each value is published (D14).

use super::flag;

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
    pub(crate) next_window_start_timestamp: f64,
    pub(crate) next_window_end_timestamp: f64,
    pub(crate) infeasible: bool,
}

/// Where the value of a gauge comes from.
pub(super) type Read = fn(&PoolGauges) -> f64;

/// Every gauge with the label `nodepool`: name, help, and where its value comes from.
pub(super) const GAUGES: [(&str, &str, Read); 19] = [
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
    (
        "noderotation_next_window_start_timestamp",
        "Unix time at which the open window began, or else the next one begins; 0 without one, and where it never closes.",
        |g| g.next_window_start_timestamp,
    ),
    ("noderotation_next_window_end_timestamp", "Unix time at which that window ends; 0 without one, and where it never closes.", |g| {
        g.next_window_end_timestamp
    }),
    ("noderotation_schedule_infeasible", "1 while a finding keeps the pool from being rotated.", |g| flag(g.infeasible)),
];

/// The one gauge that is left while no policy can be said to govern the pool.
pub(super) const POLICY_CONFLICT: &str = "noderotation_policy_conflict";
