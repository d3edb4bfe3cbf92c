//! What an operator exposes in the situations that the alerts are about: recorded on the real cluster, replayed by
//! `watch_alerts`.
//!
//! `make record` brings the situations about and writes `e2e/recorded/`. It takes minutes, so `make test` only replays.

mod errors;
mod fleets;
mod held;
mod rotations;
mod tape;

use e2e::repository;
use libtest_mimic::Trial;

use crate::bed::Bed;

/// Set: the situations are brought about.
const RECORD: &str = "RECORD";

/// The folder of the recordings.
pub(crate) fn folder() -> std::path::PathBuf {
    repository::path("e2e/recorded")
}

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    if std::env::var_os(RECORD).is_none() {
        return Vec::new();
    }
    vec![
        bed.trial("watch_record::quiet", rotations::quiet),
        bed.trial("watch_record::failing", rotations::failing),
        bed.trial("watch_record::expired", rotations::expired),
        bed.trial("watch_record::fallback", rotations::fallback),
        bed.trial("watch_record::stuck", held::stuck),
        bed.trial("watch_record::stalled", held::stalled),
        bed.trial("watch_record::missed", held::missed),
        bed.trial("watch_record::short", fleets::short),
        bed.trial("watch_record::infeasible", fleets::infeasible),
        bed.trial("watch_record::conflict", fleets::conflict),
        bed.trial("watch_record::errors", errors::errors),
        bed.trial("watch_record::leaderless", errors::leaderless),
    ]
}
