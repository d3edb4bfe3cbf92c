//! Every state of the model's worlds.

use std::time::Instant;

use noderotation_sim::model::worlds::{self, Exploration};
use noderotation_sim::model::{Explorer, Report};

use super::{print, threads};

/// Explores every world, or those whose name contains `$WORLD`; true if no rule is broken.
pub(crate) fn all(depth: u32) -> bool {
    let begun = Instant::now();
    let only = std::env::var("WORLD").unwrap_or_default();
    let (mut distinct, mut violations) = (0, 0);
    for Exploration { setup, budget } in worlds::all(depth).iter().filter(|world| world.setup.name.contains(&only)) {
        let begun = Instant::now();
        let report = Explorer::new(setup, threads()).run(*budget);
        tell(&report, begun.elapsed().as_secs_f64());
        distinct += report.distinct();
        violations += report.stories.len();
    }
    print(&format!("{distinct} distinct states, {violations} violations, {:.0} s", begun.elapsed().as_secs_f64()));
    violations == 0
}

fn tell(report: &Report, seconds: f64) {
    let states: Vec<String> = report.states.iter().map(ToString::to_string).collect();
    print(&format!(
        "{}: {} distinct states ({} by perturbations), {} moves, {} fair runs, {} of {} decisions asked of the product, {seconds:.1} s",
        report.name,
        report.distinct(),
        states.join(" + "),
        report.transitions,
        report.fair,
        report.decisions.1,
        report.decisions.0,
    ));
    if std::env::var_os("VERBOSE").is_some() {
        report.coverage.kinds().for_each(|(kind, count)| print(&format!("  {count:>10} {kind}")));
    }
    report.stories.iter().for_each(|story| print(&format!("\n{story}\n")));
}
