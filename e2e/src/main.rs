//! `e2e`: builds the test bed, boots a cluster to play with, shows the product at work.

mod cli;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    match cli::run(cli::Arguments::parse()) {
        Ok(code) => code,
        Err(error) => {
            e2e::terminal::progress(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}
