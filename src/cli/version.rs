//! `version`: what this program is built from.

use std::io::Write as _;

use anyhow::Context as _;

/// Version of the program.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Prints it, with the release of the time-zone database that is compiled in.
pub(crate) fn run() -> anyhow::Result<()> {
    let tzdb = noderotation_core::window::zone::database_version();
    writeln!(std::io::stdout(), "node-rotation-controller {VERSION} (time-zone database {tzdb})").context("writing to standard output")
}
