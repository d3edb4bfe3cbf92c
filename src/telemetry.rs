//! The log: JSON for machines or text for people, on standard error.

mod json;
mod words;

use std::io::IsTerminal as _;

use clap::ValueEnum;
use tracing_subscriber::fmt::format::JsonFields;
use tracing_subscriber::prelude::*;
use tracing_subscriber::{EnvFilter, fmt};
pub(crate) use words::words;

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
/// When the filter cannot be read; the message names its source.
pub(crate) fn start(format: Format, level: &str) -> Result<(), String> {
    let variable = std::env::var("RUST_LOG").ok().filter(|filter| !filter.is_empty());
    let (source, wanted) = variable.as_deref().map_or(("--log-level", level), |filter| ("RUST_LOG", filter));
    let registry = tracing_subscriber::registry().with(filter(source, wanted)?);
    let installed = match format {
        Format::Json => {
            registry.with(fmt::layer().fmt_fields(JsonFields::new()).event_format(json::Line).with_writer(std::io::stderr)).try_init()
        }
        Format::Text => {
            let colour = std::io::stderr().is_terminal();
            registry.with(fmt::layer().with_ansi(colour).with_writer(std::io::stderr)).try_init()
        }
    };
    log_panics();
    installed.map_err(|error| error.to_string())
}

fn filter(source: &str, wanted: &str) -> Result<EnvFilter, String> {
    EnvFilter::try_new(quiet(wanted)).map_err(|error| {
        format!("{source} {wanted:?} is not a level: {error}; write error, warn, info, debug or trace, or a filter such as info,kube=debug")
    })
}

/// What libraries say of a failed request or of a pass, our own lines say better, once, and with what follows from it;
/// theirs are left out unless a filter names targets.
fn quiet(wanted: &str) -> String {
    let names_targets = wanted.contains('=') || matches!(wanted, "debug" | "trace");
    if names_targets { wanted.to_owned() } else { format!("{wanted},kube_runtime=warn,kube_client::client::builder=off") }
}

/// A panic is contained where it happens; what it said must still reach those who read the log.
fn log_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let payload = panic.payload();
        let words = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        tracing::error!(place, words, "panic");
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_filters_are_read_and_a_mistake_names_its_source() {
        for wanted in ["info", "debug", "warn,kube=debug", "off"] {
            assert!(filter("--log-level", wanted).is_ok(), "{wanted}");
        }
        let words = filter("--log-level", "info,kube=loud").unwrap_err();
        assert!(words.starts_with(r#"--log-level "info,kube=loud" is not a level"#), "{words}");
    }
}
