//! The command line: one file a subcommand.

mod crd;
mod run;
mod version;

use std::time::Duration;

use clap::{Parser, Subcommand};

/// Replaces Karpenter nodes inside maintenance windows, make-before-break.
#[derive(Debug, Parser)]
#[command(name = "node-rotation-controller", version, about, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the controller and the admission endpoint.
    Run(Box<run::Options>),
    /// Print the CustomResourceDefinition of RotationPolicy.
    Crd,
    /// Print the version of the program and of its time-zone database.
    Version,
}

/// Carries out a command line.
///
/// # Errors
/// When the command fails; the message says what to change.
pub(crate) fn run(arguments: Arguments) -> anyhow::Result<()> {
    match arguments.command {
        Command::Run(options) => run::run(*options),
        Command::Crd => crd::run(),
        Command::Version => version::run(),
    }
}

/// A Go duration given as a flag.
fn duration(text: &str) -> Result<Duration, String> {
    noderotation_core::duration::parse(text).map_err(|fault| fault.to_string())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn leader_election_can_be_switched_off_and_on() {
        let parse = |flags: &[&str]| Arguments::try_parse_from(["node-rotation-controller", "run"].iter().chain(flags));
        for flags in [&[] as &[&str], &["--leader-elect"], &["--leader-elect=false"], &["--lease-duration", "30s"]] {
            assert!(parse(flags).is_ok(), "{flags:?}");
        }
        let refusal = parse(&["--lease-duration", "1d"]).unwrap_err().to_string();
        assert!(refusal.contains("write 24h"), "{refusal}");
    }
}
