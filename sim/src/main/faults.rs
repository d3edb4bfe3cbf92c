//! The rules must catch a product that errs.

use noderotation_sim::decide::Decider;
use noderotation_sim::fault::{FAULTS, Fault};
use noderotation_sim::model::Explorer;
use noderotation_sim::model::story::Story;
use noderotation_sim::model::worlds::{self, Exploration};
use noderotation_sim::shrink::shrink;

use super::{print, threads};

/// Puts in each fault whose name contains `only`; true if all are caught.
pub(crate) fn all(only: &str) -> bool {
    let wanted: Vec<&'static Fault> = FAULTS.iter().filter(|fault| fault.name.contains(only)).collect();
    let mut caught = 0;
    for fault in &wanted {
        match catch(fault) {
            Some((perturbations, story)) => {
                caught += 1;
                let (steps, rule) = (story.lines.len(), story.violation.rule);
                print(&format!("{steps:>4} steps, {perturbations} perturbations, {rule}: {}", fault.name));
                if std::env::var_os("VERBOSE").is_some() {
                    print(&format!("{story}\n"));
                }
            }
            None => print(&format!("not caught: {}", fault.name)),
        }
    }
    print(&format!("{caught} of {} faults caught", wanted.len()));
    caught == wanted.len()
}

/// The first violation in the worlds, the least perturbed first, and its shortest story.
fn catch(fault: &'static Fault) -> Option<(u32, Story)> {
    worlds::for_faults().into_iter().find_map(|Exploration { setup, budget }| {
        let setup = setup.with(fault);
        let report = Explorer::new(&setup, threads()).until_first().run(budget);
        let found = report.stories.into_iter().min_by_key(|story| story.moves.len())?;
        Some((budget, shrink(&setup, &Decider::default(), &found.moves, &found.violation)))
    })
}
