//! The log: JSON for machines or text for people, on standard error.

use std::io::IsTerminal as _;

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::prelude::*;

/// How a log line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// One JSON object a line, its keys at the top.
    Json,
    /// For a terminal.
    Text,
}

/// Starts logging at `level`, a level or a filter such as `info,kube=debug`; the variable RUST_LOG has precedence.
///
/// # Errors
/// When the filter cannot be read.
pub(crate) fn start(format: Format, level: &str) -> Result<(), String> {
    let wanted = std::env::var("RUST_LOG").unwrap_or_else(|_| level.to_owned());
    let filter = EnvFilter::try_new(quiet(&wanted))
        .map_err(|error| format!("--log-level {wanted:?} is not a level: {error}; write error, warn, info, debug or trace"))?;
    let registry = tracing_subscriber::registry().with(filter);
    let installed = match format {
        Format::Json => registry.with(tracing_subscriber::fmt::layer().json().flatten_event(true).with_writer(std::io::stderr)).try_init(),
        Format::Text => {
            let colour = std::io::stderr().is_terminal();
            registry.with(tracing_subscriber::fmt::layer().with_ansi(colour).with_writer(std::io::stderr)).try_init()
        }
    };
    installed.map_err(|error| error.to_string())
}

/// The runtime's own span says what the pass's span says again; it is left out unless a filter names targets.
fn quiet(wanted: &str) -> String {
    let names_targets = wanted.contains('=') || matches!(wanted, "debug" | "trace");
    if names_targets { wanted.to_owned() } else { format!("{wanted},kube_runtime=warn") }
}
