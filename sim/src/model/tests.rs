//! Short explorations, for every day; `make model` makes the long ones.

use super::{Explorer, Report, worlds};
use crate::setup::{Perturbations, Setup};

fn explore(setup: &Setup, budget: u32) -> Report {
    let report = Explorer::new(setup, 2).run(budget);
    let first = report.stories.first().map(ToString::to_string).unwrap_or_default();
    assert!(report.stories.is_empty(), "{}:\n{first}", setup.name);
    report
}

#[test]
fn without_perturbations_every_schedule_ends_well() {
    let report = explore(&worlds::smallest(), 0);
    assert!(report.distinct() > 200, "only {} states", report.distinct());
}

#[test]
fn a_crash_at_any_write_ends_well() {
    let mut setup = worlds::smallest();
    setup.perturbations = Perturbations { crashes: true, ..Perturbations::NONE };
    let report = explore(&setup, 1);
    assert!(report.distinct() > 1_000, "only {} states", report.distinct());
}
