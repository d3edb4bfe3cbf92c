//! Alerts and dashboard, judged by Prometheus' own engine on what was recorded from an operator at work.

use libtest_mimic::Trial;

use crate::bed::Bed;

pub(crate) fn trials(_bed: &Bed) -> Vec<Trial> {
    Vec::new()
}
