//! The command line: one file a subcommand.

mod demo;
mod image;
mod rights;
mod up;

use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use clap::{Parser, Subcommand};

use e2e::cluster::Cluster;
use e2e::namespace::{self, Entered, Isolation};
use e2e::operator;
use e2e::terminal::{elapsed, progress};
use e2e::toolchain::Toolchain;

/// Exit code of a run that somebody ended.
const INTERRUPTED: u8 = 130;

/// A real cluster without containers: etcd, the Kubernetes control plane, kwok and Karpenter as plain processes.
#[derive(Debug, Parser)]
#[command(name = "e2e", version, about, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Build the programs of the test bed into the cache, if they are not there.
    Build,
    /// Boot a cluster and keep it until Ctrl-C.
    Up(up::Options),
    /// Refuse a bad policy, accept a good one, rotate a node, and show all of it.
    Demo(demo::Options),
    /// Compare the rights that the chart grants with those that a run of all tests has used.
    Rights(rights::Options),
    /// Carry out the Dockerfile without Docker, look at the image and start it on a cluster.
    Image(image::Options),
}

/// Carries out a command line.
pub(crate) fn run(arguments: Arguments) -> Result<ExitCode> {
    // Everything that needs the network comes before the namespace, which has none.
    if let Command::Image(options) = &arguments.command
        && !image::before(options)?
    {
        return Ok(ExitCode::SUCCESS);
    }
    let toolchain = Toolchain::ready()?;
    let operator = match &arguments.command {
        Command::Build => {
            progress(&format!("The programs of the test bed are in {}", toolchain.cache().display()));
            return Ok(ExitCode::SUCCESS);
        }
        Command::Rights(options) => return rights::run(&toolchain, options),
        Command::Up(options) => options.operator,
        // The chart's hooks run it in the image's place.
        Command::Demo(_) | Command::Image(_) => true,
    };
    if operator {
        operator::build()?;
    }
    let isolation = match namespace::enter()? {
        Entered::Here(isolation) => isolation,
        Entered::Elsewhere(code) => return Ok(code),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("starting a runtime")?;
    runtime.block_on(with_cluster(arguments.command, toolchain, isolation))
}

/// Boots, works and closes; closes also when somebody ends the run.
async fn with_cluster(command: Command, toolchain: Toolchain, isolation: Isolation) -> Result<ExitCode> {
    let boot = Cluster::boot(toolchain, isolation.clone());
    let mut cluster = tokio::select! {
        cluster = boot => cluster?,
        () = isolation.interrupted() => return Ok(ExitCode::from(INTERRUPTED)),
    };
    progress(&format!("The cluster is up, in {}.", elapsed(cluster.boot_time())));
    let work = async {
        match command {
            Command::Build | Command::Rights(_) => bail!("this takes no cluster"),
            Command::Up(options) => up::run(&mut cluster, &options).await,
            Command::Demo(options) => demo::run(&mut cluster, &options).await,
            Command::Image(_) => image::run(&cluster).await,
        }
    };
    let outcome = tokio::select! {
        outcome = work => outcome.map(|()| ExitCode::SUCCESS),
        // The wish to end it is how `up` and a kept demo end; neither is a failure of the cluster.
        () = isolation.interrupted() => Ok(ExitCode::from(INTERRUPTED)),
    };
    cluster.close(outcome.is_ok()).await?;
    outcome
}
