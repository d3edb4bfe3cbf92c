//! What will be rotated when: the rules that the operator runs, played forward over a cluster as it is seen now.
//!
//! Every decision is one of the core's `step`, asked at the instants at which it can come to something else, and never once
//! a minute. What is assumed is what nobody decides: a surge takes the policy's estimate of provisioning, a drain that of
//! draining, and nothing fails. There is no clock in here, no file and no network.

mod calendar;
mod cluster;
pub mod effect;
mod flight;
pub mod launch;
pub mod look;
mod play;
mod room;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use jiff::Timestamp;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::ResourceExt;
use noderotation_core::resolve::resolve;
use noderotation_core::sweep;

pub use calendar::{ClaimForecast, Entry, Mode, PoolForecast};
pub use cluster::Cluster;
use cluster::Site;
use play::{Play, Told};

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// When it begins.
    pub now: Timestamp,
    /// Nothing that would begin later is told.
    pub until: Timestamp,
    /// Go on until then, also when every claim that is there now is through.
    pub whole: bool,
}

/// The forecast of every pool of `cluster`, by name.
#[must_use]
pub fn forecast(cluster: Cluster, question: Question) -> Vec<PoolForecast> {
    let anchored: BTreeSet<String> = sweep::anchored(&cluster.pools, question.now);
    let (policies, budgets, pods_known) = (cluster.policies.clone(), cluster.budgets.clone(), !cluster.pods.is_empty());
    let mut forecasts: Vec<PoolForecast> = cluster
        .sites()
        .into_iter()
        .map(|site| {
            let governing = resolve(site.pool.labels(), &policies);
            of_pool(site, governing, &budgets, Surroundings { anchored: &anchored, pods_known, question })
        })
        .collect();
    forecasts.sort_by(|a, b| a.pool.cmp(&b.pool));
    forecasts
}

/// What is the same for all pools.
#[derive(Clone, Copy)]
struct Surroundings<'a> {
    /// Claims in the anchors of all pools.
    anchored: &'a BTreeSet<String>,
    /// Without any Pod in sight nobody can say where one would fit.
    pods_known: bool,
    question: Question,
}

fn of_pool(
    site: Site,
    governing: noderotation_core::resolve::Resolution,
    budgets: &[PodDisruptionBudget],
    surroundings: Surroundings<'_>,
) -> PoolForecast {
    let pool = site.pool.name_any();
    let resolution = governing.clone();
    let mut play = Play::new(site, governing, surroundings);
    let report = play.report();
    let claims = play.claims(report.as_ref(), budgets);
    let Told { entries, missed, cut } = play.play_out();
    PoolForecast { pool, governing: resolution, report, claims, entries, missed, cut }
}
