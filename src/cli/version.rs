//! `version`: what this program is built from.

use crate::cli::output;

/// Version of the program.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Prints it, with the release of the time-zone database that is compiled in.
pub(crate) fn run() -> anyhow::Result<()> {
    let tzdb = noderotation_core::window::zone::database_version();
    output::write(&format!("node-rotation-controller {VERSION} (time-zone database {tzdb})\n"))
}
