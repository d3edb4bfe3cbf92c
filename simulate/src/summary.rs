//! A life in figures.

use serde::Serialize;

use crate::report::{Attempt, End, Mode, NodeLife, Outcome, PoolReport};

/// Counts and measures of a pool, or of all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Nodes that there were at any time.
    pub nodes: usize,
    /// Nodes that Karpenter deleted by force at their deadline.
    pub forced_expiries: usize,
    /// Rotations that replaced their node.
    pub rotated: usize,
    /// Of these, a new node came first.
    pub by_surge: usize,
    /// Of these, a node was there that had nothing to do.
    pub into_free_room: usize,
    /// Of these, near the deadline and without a replacement first.
    pub by_fallback: usize,
    /// Attempts that were called off since no replacement came in time.
    pub failed_attempts: usize,
    /// Attempts that Karpenter was quicker than.
    pub overtaken_attempts: usize,
    /// Attempts that were called off for another reason.
    pub called_off_attempts: usize,
    /// Attempts under way at the end.
    pub unfinished: usize,
    /// What was left until the deadline when drains began; absent without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub margins: Option<Margins>,
    /// Windows.
    pub windows: usize,
    /// Windows that went by unused although nodes were due.
    pub missed_windows: usize,
    /// Most nodes that waited for their rotation at once.
    pub longest_queue: usize,
    /// Seconds for which two nodes were paid for where the work needs one.
    pub surge_node_seconds: u64,
}

/// Seconds between the begin of a drain and the deadline, over all rotations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Margins {
    /// The least.
    pub min_seconds: i64,
    /// Of a hundred, one had less.
    pub p1_seconds: i64,
    /// Of a hundred, five had less.
    pub p5_seconds: i64,
    /// Half had less.
    pub p50_seconds: i64,
    /// The most.
    pub max_seconds: i64,
}

impl Margins {
    fn of(mut margins: Vec<i64>) -> Option<Self> {
        margins.sort_unstable();
        let at = |percent: usize| margins.get(margins.len().saturating_sub(1) * percent / 100).copied();
        Some(Self { min_seconds: at(0)?, p1_seconds: at(1)?, p5_seconds: at(5)?, p50_seconds: at(50)?, max_seconds: at(100)? })
    }
}

fn margins<'a>(attempts: impl Iterator<Item = &'a Attempt>) -> Option<Margins> {
    Margins::of(attempts.filter_map(|attempt| attempt.margin_seconds).collect())
}

impl Summary {
    /// That of one pool, but for what only its life knows.
    pub(crate) fn of(nodes: &[NodeLife], rotations: &[Attempt]) -> Self {
        let count = |wanted: &dyn Fn(&Attempt) -> bool| rotations.iter().filter(|attempt| wanted(attempt)).count();
        let success = |mode| count(&|attempt| attempt.outcome == Outcome::Success && attempt.mode == mode);
        let came_to = |outcome| count(&|attempt| attempt.outcome == outcome);
        Self {
            nodes: nodes.len(),
            forced_expiries: nodes.iter().filter(|node| node.end == End::Expired).count(),
            rotated: came_to(Outcome::Success),
            by_surge: success(Mode::Surge),
            into_free_room: success(Mode::FreeRoom),
            by_fallback: success(Mode::Fallback),
            failed_attempts: came_to(Outcome::Failed),
            overtaken_attempts: came_to(Outcome::Expired),
            called_off_attempts: came_to(Outcome::CalledOff),
            unfinished: came_to(Outcome::Unfinished),
            margins: margins(rotations.iter()),
            ..Self::default()
        }
    }

    /// That of all pools.
    pub(crate) fn of_all<'a>(each: impl Iterator<Item = &'a Self>, pools: &[PoolReport]) -> Self {
        let mut all = each.fold(Self::default(), Self::with);
        all.margins = margins(pools.iter().flat_map(|pool| &pool.rotations));
        all
    }

    fn with(self, other: &Self) -> Self {
        Self {
            nodes: self.nodes + other.nodes,
            forced_expiries: self.forced_expiries + other.forced_expiries,
            rotated: self.rotated + other.rotated,
            by_surge: self.by_surge + other.by_surge,
            into_free_room: self.into_free_room + other.into_free_room,
            by_fallback: self.by_fallback + other.by_fallback,
            failed_attempts: self.failed_attempts + other.failed_attempts,
            overtaken_attempts: self.overtaken_attempts + other.overtaken_attempts,
            called_off_attempts: self.called_off_attempts + other.called_off_attempts,
            unfinished: self.unfinished + other.unfinished,
            margins: None,
            windows: self.windows + other.windows,
            missed_windows: self.missed_windows + other.missed_windows,
            longest_queue: self.longest_queue.max(other.longest_queue),
            surge_node_seconds: self.surge_node_seconds + other.surge_node_seconds,
        }
    }
}
