//! Many lives of one fleet, each from a seed of its own.

use serde::Serialize;

use crate::summary::Summary;

/// What many lives came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Distribution {
    /// How many.
    pub runs: usize,
    /// Lives in which a node expired by force.
    pub runs_with_forced_expiries: usize,
    /// Nodes that expired by force.
    pub forced_expiries: Range,
    /// Rotations that replaced their node.
    pub rotated: Range,
    /// Of these, without a replacement first.
    pub by_fallback: Range,
    /// Attempts that failed.
    pub failed_attempts: Range,
    /// Windows that went by unused although nodes were due.
    pub missed_windows: Range,
    /// Most nodes that waited at once.
    pub longest_queue: Range,
    /// Hours for which two nodes were paid for where the work needs one.
    pub surge_node_hours: Range,
    /// The least margin of each life, in seconds; absent where no life has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least_margin_seconds: Option<Range>,
}

/// The least, the middle, the 95th of a hundred and the most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Range {
    /// The least.
    pub min: i64,
    /// Half are below.
    pub p50: i64,
    /// Of a hundred, 95 are below.
    pub p95: i64,
    /// The most.
    pub max: i64,
}

impl Range {
    fn of(mut values: Vec<i64>) -> Self {
        values.sort_unstable();
        let at = |percent: usize| values.get(values.len().saturating_sub(1) * percent / 100).copied().unwrap_or_default();
        Self { min: at(0), p50: at(50), p95: at(95), max: at(100) }
    }
}

/// What lives with these summaries came to.
#[must_use]
pub fn distribution(lives: &[Summary]) -> Distribution {
    let of = |value: &dyn Fn(&Summary) -> u64| Range::of(lives.iter().map(|life| i64::try_from(value(life)).unwrap_or(i64::MAX)).collect());
    let count = |value: fn(&Summary) -> usize| of(&|life| u64::try_from(value(life)).unwrap_or(u64::MAX));
    let margins: Vec<i64> = lives.iter().filter_map(|life| Some(life.margins?.min_seconds)).collect();
    Distribution {
        runs: lives.len(),
        runs_with_forced_expiries: lives.iter().filter(|life| life.forced_expiries > 0).count(),
        forced_expiries: count(|life| life.forced_expiries),
        rotated: count(|life| life.rotated),
        by_fallback: count(|life| life.by_fallback),
        failed_attempts: count(|life| life.failed_attempts),
        missed_windows: count(|life| life.missed_windows),
        longest_queue: count(|life| life.longest_queue),
        surge_node_hours: of(&|life| life.surge_node_seconds / 3600),
        least_margin_seconds: (!margins.is_empty()).then(|| Range::of(margins)),
    }
}
