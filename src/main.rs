//! node-rotation-controller: replaces Karpenter nodes inside maintenance windows, make-before-break.

mod address;
mod admission;
mod cli;
mod client;
mod controller;
mod event;
mod leader;
mod metrics;
#[cfg(test)]
mod pages;
mod preflight;
mod probe;
#[cfg(test)]
mod scripted;
mod severity;
mod shutdown;
#[cfg(test)]
mod sink;
mod telemetry;
mod term;
mod ui;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let arguments = cli::Arguments::parse();
    match cli::run(arguments) {
        Ok(code) => code,
        Err(error) => {
            // Without a standard error there is nobody left to tell.
            let _untold = writeln!(std::io::stderr(), "error: {}", telemetry::words(error.as_ref()));
            ExitCode::from(cli::exit::code(&error))
        }
    }
}
