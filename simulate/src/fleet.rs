//! A fleet and what happens to it: pools, the work that they have, and the weather.

mod fields;
mod read;
mod reader;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use noderotation_core::karpenter::{NodeClaimSpec, NodePool, NodePoolSpec, Template};

pub use fields::FIELDS;
pub use read::{Times, read};

/// More nodes than in any cluster; beyond that a number is a slip of the pen.
pub const MOST_NODES: u64 = 1_000_000;
/// Longer than anybody plans ahead; beyond that a date is a slip of the pen.
pub const MOST_YEARS: i64 = 100;
/// More changes of size than anybody reads about.
pub const MOST_CYCLES: u64 = 1_000_000;

/// A fleet over a stretch of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fleet {
    /// When it begins.
    pub start: Timestamp,
    /// When it ends; later than the start.
    pub end: Timestamp,
    /// By name.
    pub pools: Vec<PoolPlan>,
    /// No node can be launched.
    pub droughts: Vec<Spell>,
    /// An operator of the cluster has frozen pools.
    pub freezes: Vec<Spell>,
    /// Somebody does not reach the API server.
    pub outages: Vec<Outage>,
}

/// A stretch of time, for some pools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spell {
    /// Its first instant.
    pub from: Timestamp,
    /// The first instant after it.
    pub to: Timestamp,
    /// Names of pools; none is all.
    pub pools: Vec<String>,
}

/// A stretch of time without the API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outage {
    /// Its first instant.
    pub from: Timestamp,
    /// The first instant after it.
    pub to: Timestamp,
    /// For whom.
    pub of: Who,
}

/// Who does not reach the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// The operator alone; Karpenter goes on, and expires what is too old.
    Operator,
    /// Everybody: nothing at all happens until it is back.
    Everybody,
}

/// A pool and what its nodes go through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolPlan {
    /// Its name.
    pub name: String,
    /// Its labels, by which policies select it.
    pub labels: BTreeMap<String, String>,
    /// After this long Karpenter deletes a node by force; `None` is never.
    pub expire_after: Option<Duration>,
    /// No drain takes longer; `None` is without end.
    pub termination_grace_period: Option<Duration>,
    /// No more nodes than this.
    pub limit: Option<u64>,
    /// The nodes of the beginning.
    pub nodes: Vec<Births>,
    /// When there is another number of nodes to keep.
    pub scale: Vec<Scale>,
    /// Nodes that come and go regularly.
    pub cycles: Vec<Cycle>,
    /// How long a node takes from its launch until it is Ready.
    pub provisioning: Spread,
    /// How long a node takes to drain.
    pub drain: Spread,
    /// A launch comes to nothing; Karpenter gives it up after a quarter of an hour, and launches anew.
    pub launch_fails: Chance,
    /// A drain is held up, such as by a PodDisruptionBudget.
    pub blocked: Blocked,
    /// After this long Karpenter removes a node that has nothing to do.
    pub consolidate_after: Duration,
}

/// Nodes that were born together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Births {
    /// How many.
    pub count: u64,
    /// Age of the youngest at the start.
    pub age: Duration,
    /// They were born within this long.
    pub within: Duration,
}

/// From an instant on there are so many nodes to keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scale {
    /// When.
    pub at: Timestamp,
    /// How many.
    pub to: u64,
}

/// So many nodes more, again and again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// From the begin of one to the begin of the next; longer than zero.
    pub every: Duration,
    /// The first one begins this long after the start.
    pub first: Duration,
    /// How long they are needed; shorter than `every`.
    pub lasts: Duration,
    /// How many.
    pub add: u64,
}

/// A drain that something holds up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// How often.
    pub chance: Chance,
    /// For how long, on top of the drain itself.
    pub lasts: Spread,
}

/// How often something happens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chance {
    /// So many times in a million.
    pub millionths: u32,
}

/// A distribution of durations: straight lines between quantiles, in whole seconds, so that every machine draws the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spread {
    /// Millionths of all draws, and the duration that so many stay below; ascending in both.
    pub quantiles: Vec<(u64, Duration)>,
}

impl Spread {
    /// Always the same.
    #[must_use]
    pub fn fixed(duration: Duration) -> Self {
        Self { quantiles: vec![(0, duration)] }
    }

    /// The duration that `millionths` of all draws stay below.
    #[must_use]
    pub fn at(&self, millionths: u64) -> Duration {
        let after = self.quantiles.iter().find(|(at, _)| *at >= millionths);
        let before = self.quantiles.iter().rev().find(|(at, _)| *at <= millionths);
        let seconds = match (before, after) {
            (Some((from, low)), Some((to, high))) if to > from => {
                let (low, high) = (low.as_secs(), high.as_secs());
                low + high.saturating_sub(low).saturating_mul(millionths - from) / (to - from)
            }
            (Some((_, only)), _) | (None, Some((_, only))) => only.as_secs(),
            (None, None) => 0,
        };
        Duration::from_secs(seconds)
    }
}

impl PoolPlan {
    /// The NodePool, as Karpenter has it.
    #[must_use]
    pub fn object(&self) -> NodePool {
        let text = noderotation_core::duration::go_string;
        let spec = NodeClaimSpec {
            expire_after: Some(self.expire_after.map_or_else(|| "Never".to_owned(), text)),
            termination_grace_period: self.termination_grace_period.map(text),
            ..NodeClaimSpec::default()
        };
        let nodes = self.limit.map(|limit| ("nodes".to_owned(), Quantity(limit.to_string())));
        let spec = NodePoolSpec { template: Template { spec }, limits: nodes.into_iter().collect(), replicas: None };
        let mut pool = NodePool::new(&self.name, spec);
        pool.metadata.labels = Some(self.labels.clone());
        pool
    }
}

impl Spell {
    /// It is about the pool.
    #[must_use]
    pub fn is_about(&self, pool: &str) -> bool {
        self.pools.is_empty() || self.pools.iter().any(|name| name == pool)
    }
}
