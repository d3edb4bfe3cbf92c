//! The command line: one file a subcommand.

mod check;
mod cleanup;
mod completion;
mod crd;
pub(crate) mod exit;
mod output;
mod plan;
mod run;
mod serve;
mod simulate;
mod source;
mod text;
pub(crate) mod version;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Parser, Subcommand};

/// Name of the program, as people call it.
pub(crate) const PROGRAM: &str = "node-rotation-controller";

/// Replaces Karpenter nodes inside maintenance windows, make-before-break.
#[derive(Debug, Parser)]
#[command(name = PROGRAM, version, about, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the controller and the admission endpoint.
    Run(Box<run::Options>),
    /// Judge policies in files before they are applied, as the admission endpoint and the controller would.
    Check(check::Options),
    /// Tell which node is rotated when, from files or from a cluster, and what a policy would change.
    Plan(plan::Options),
    /// Live through months of a made-up fleet in which things go wrong, under the policies of files.
    Simulate(simulate::Options),
    /// List the marks and placeholders that no rotation owns, or with --all every trace on the cluster, and remove them with --apply.
    Cleanup(cleanup::Options),
    /// Print the CustomResourceDefinition of RotationPolicy, or bring the cluster's up to date.
    Crd(crd::Options),
    /// Print a script that has a shell complete command lines of this program.
    Completion(completion::Options),
    /// Print the version of the program and of its time-zone database.
    #[command(after_help = exit::help("version", "", "node-rotation-controller version"))]
    Version,
}

/// Carries out a command line.
///
/// # Errors
/// When the command fails; the message says what to change.
pub(crate) fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    match arguments.command {
        Command::Run(options) => run::run(*options)?,
        Command::Check(options) => return check::run(&options),
        Command::Plan(options) => return plan::run(&options),
        Command::Simulate(options) => return simulate::run(&options),
        Command::Cleanup(options) => return cleanup::run(&options),
        Command::Crd(options) => crd::run(&options)?,
        Command::Completion(options) => completion::run(&options)?,
        Command::Version => version::run()?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Flags that can each be read and yet do not go together; the process exits as for any other wrong use.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Usage(pub(crate) String);

/// A Go duration given as a flag.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    noderotation_core::duration::parse(text).map_err(|fault| fault.to_string())
}

/// The name of an object in Kubernetes, given as a flag.
fn name(text: &str) -> Result<String, String> {
    let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let inner = text.chars().all(|c| word(c) || c == '-');
    if inner && text.len() <= 63 && text.starts_with(word) && text.ends_with(word) {
        return Ok(text.to_owned());
    }
    Err(format!("{text:?} is not a name in Kubernetes; write at most 63 lowercase letters, digits and inner dashes"))
}

/// The same where dots join several of them, as in names of Secrets.
fn object_name(text: &str) -> Result<String, String> {
    let parts = text.split('.').all(|part| name(part).is_ok());
    if parts && text.len() <= 253 {
        return Ok(text.to_owned());
    }
    Err(format!("{text:?} is not the name of an object in Kubernetes; write lowercase letters, digits, inner dashes and dots"))
}

/// Lives through a command that asks a cluster and ends.
///
/// # Errors
/// When the runtime does not start.
fn on_cluster<T>(command: impl Future<Output = T>) -> anyhow::Result<T> {
    // One provider for the whole process; a second installation is what fails here.
    let _installed_before = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("starting the runtime")?;
    Ok(runtime.block_on(command))
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

    #[test]
    fn names_are_those_that_kubernetes_knows() {
        for text in ["a", "node-rotation-system", "7", &"x".repeat(63)] {
            assert_eq!(name(text), Ok(text.to_owned()));
        }
        for text in ["", "-a", "a-", "A", "a b", "a/b", &"x".repeat(64)] {
            assert!(name(text).unwrap_err().starts_with(&format!("{text:?} is not a name")));
        }
        assert!(object_name("registry.example.com").is_ok() && object_name("mirror").is_ok());
        for text in ["", ".a", "a..b", "A", &["x"; 128].join(".")] {
            assert!(object_name(text).unwrap_err().starts_with(&format!("{text:?} is not the name")));
        }
    }

    #[test]
    fn times_that_do_not_go_together_are_wrong_use() {
        let run = |flags: &[&str]| {
            let Command::Run(options) = Arguments::parse_from(["x", "run"].iter().chain(flags)).command else { panic!() };
            run::run(*options).unwrap_err()
        };
        let error = run(&["--lease-duration", "10s"]);
        assert!(error.is::<Usage>() && error.to_string().starts_with("--lease-duration"), "{error}");
    }
}
