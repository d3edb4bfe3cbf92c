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
