//! The log: JSON for machines or text for people, on standard error.

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
    let filter = EnvFilter::try_new(&wanted)
        .map_err(|error| format!("--log-level {wanted:?} is not a level: {error}; write error, warn, info, debug or trace"))?;
    let registry = tracing_subscriber::registry().with(filter);
    let installed = match format {
        Format::Json => registry.with(tracing_subscriber::fmt::layer().json().flatten_event(true).with_writer(std::io::stderr)).try_init(),
        Format::Text => registry.with(tracing_subscriber::fmt::layer().with_writer(std::io::stderr)).try_init(),
    };
    installed.map_err(|error| error.to_string())
}
