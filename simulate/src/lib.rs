//! A fleet lived through: the step and the sweep that ship, in a made-up cluster in which things take their time and go wrong.
//!
//! Every write of every decision lands in the cluster, object by object, and Karpenter, the workload, people and the weather
//! change it in turn; the operator looks whenever something has changed or a time has come, never once a minute. Nothing in
//! here knows when a node may be rotated, or what becomes of an attempt that fails: `core/` says so.
//!
//! What is random follows from the seed alone. There is no clock in here, no file and no network.

mod draw;
mod engine;
pub mod fleet;
mod many;
mod report;
mod summary;
mod timeline;

use noderotation_core::resolve::{PolicyEntry, resolve};

pub use fleet::Fleet;
pub use many::{Distribution, Range, distribution};
pub use report::{Attempt, End, Mode, NodeLife, Outcome, PoolReport, Report, Window};
pub use summary::{Margins, Summary};
pub use timeline::{Moment, timeline};

/// Lives through a fleet under policies, from its start to its end: the same seed, the same life.
#[must_use]
pub fn run(fleet: &Fleet, policies: &[PolicyEntry], seed: u64) -> Report {
    run_telling(fleet, policies, seed, &mut |_| ())
}

/// The same, telling after each NodePool how many are through.
#[must_use]
pub fn run_telling(fleet: &Fleet, policies: &[PolicyEntry], seed: u64, told: &mut dyn FnMut(usize)) -> Report {
    let mut pools = Vec::with_capacity(fleet.pools.len());
    for plan in &fleet.pools {
        let governing = resolve(&plan.labels, policies);
        pools.push(engine::live(fleet, plan, governing, seed, engine::Pace::Events));
        told(pools.len());
    }
    let summary = Summary::of_all(pools.iter().map(|pool: &PoolReport| &pool.summary), &pools);
    Report { seed, start: fleet.start, end: fleet.end, pools, summary }
}
