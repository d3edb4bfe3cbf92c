//! `rights`: the chart's rights against the audit log that a run has left, so that a change of the chart takes no new run.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Args;

use e2e::rights::compare;
use e2e::rights::finding::Seen;
use e2e::terminal::say;
use e2e::tool::Tool;
use e2e::toolchain::Toolchain;

/// Options of `rights`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The files `audit.log` among the logs of the clusters of a run.
    #[arg(required = true, num_args = 1..)]
    logs: Vec<PathBuf>,
    /// The run was not one of all tests, so that what was not used may be needed all the same.
    #[arg(long)]
    part: bool,
}

/// Says what is wrong with the rights; fails if anything is.
pub(crate) fn run(toolchain: &Toolchain, options: &Options) -> Result<ExitCode> {
    let helm = Tool { program: toolchain.binary("helm")?, environment: Vec::new() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("starting a runtime")?;
    let seen = if options.part { Seen::Part } else { Seen::Everything };
    let comparison = runtime.block_on(compare(&helm, &options.logs, seen))?;
    say(&format!("{} rights are granted; {} requests of the chart's accounts were looked at.", comparison.granted, comparison.requests));
    comparison.findings.iter().for_each(|finding| say(&finding.to_string()));
    Ok(if comparison.findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
