//! Tests on a real cluster.
//!
//! The program enters a namespace, runs the tests on two clusters with the chart, each on one that no other uses meanwhile, and ends
//! everything. A test brings its own NodePool and its own operator process, so it can be run alone: name it, or a part of
//! its name, on the command line.

mod admit_abuse;
mod admit_always;
mod admit_certificates;
mod admit_helm;
mod admit_rules;
mod admit_schema;
mod admit_webhook;
mod authority;
mod bed;
mod chart_values;
mod cleanup_by_hand;
mod definition;
mod fault_outage;
mod fault_storm;
mod gitops_applies;
mod gitops_health;
mod install_certificates;
mod install_chart;
mod install_hooks;
mod install_removes;
mod install_upgrades;
mod leader_chaos;
mod leave_nothing;
mod plan_comes_true;
mod rights;
mod rotate_by_two;
mod rotate_completes;
mod rotate_drains;
mod rotate_holds_back;
mod rotate_is_stopped;
mod rotate_recovers;
mod rotate_rolls_back;
mod rotate_surges;
mod rotate_survives;
mod rotate_sweeps;
mod rotate_writes_little;
mod scene;
mod tell_conditions;
mod tell_events;
mod tell_everything;
mod tell_status;
mod watch_alerts;
mod watch_record;

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use e2e::namespace::{self, Entered, Isolation};
use e2e::operator;
use e2e::terminal::progress;
use e2e::toolchain::Toolchain;
use libtest_mimic::{Arguments, Trial};

use bed::{Bed, CLUSTERS};

fn main() -> ExitCode {
    match run(Arguments::from_args()) {
        Ok(code) => code,
        Err(error) => {
            progress(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(mut arguments: Arguments) -> Result<ExitCode> {
    arguments.test_threads = Some(CLUSTERS);
    if arguments.list {
        return Ok(libtest_mimic::run(&arguments, trials(&Bed::default())).exit_code());
    }
    let toolchain = Toolchain::ready()?;
    operator::build()?;
    let isolation = match namespace::enter()? {
        Entered::Here(isolation) => isolation,
        Entered::Elsewhere(code) => return Ok(code),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("starting a runtime")?;
    runtime.spawn(end_when_interrupted(isolation.clone()));
    let partial = arguments.filter.is_some() || !arguments.skip.is_empty();
    let bed = Bed::new(runtime.handle().clone(), toolchain, isolation, partial);
    let conclusion = libtest_mimic::run(&arguments, trials(&bed));
    runtime.block_on(bed.close(!conclusion.has_failed()))?;
    Ok(conclusion.exit_code())
}

fn trials(bed: &Bed) -> Vec<Trial> {
    let modules = [
        admit_schema::trials,
        admit_webhook::trials,
        admit_always::trials,
        admit_abuse::trials,
        admit_rules::trials,
        admit_helm::trials,
        admit_certificates::trials,
        chart_values::trials,
        rotate_completes::trials,
        rotate_recovers::trials,
        rotate_survives::trials,
        rotate_rolls_back::trials,
        rotate_surges::trials,
        rotate_is_stopped::trials,
        rotate_drains::trials,
        rotate_holds_back::trials,
        rotate_sweeps::trials,
        rotate_by_two::trials,
        fault_storm::trials,
        fault_outage::trials,
        leader_chaos::trials,
        rotate_writes_little::trials,
        tell_status::trials,
        tell_conditions::trials,
        tell_events::trials,
        watch_record::trials,
        watch_alerts::trials,
        leave_nothing::trials,
        plan_comes_true::trials,
        cleanup_by_hand::trials,
        gitops_health::trials,
        gitops_applies::trials,
        install_certificates::trials,
        install_hooks::trials,
        install_upgrades::trials,
        // One of them looks at what the others did.
        install_chart::trials,
        // After those that look for a right that is missing: a removal takes its rights from an operator that still runs.
        install_removes::trials,
        // Last: they look at what all the others did.
        tell_everything::trials,
        rights::trials,
    ];
    modules.iter().flat_map(|module| module(bed)).collect()
}

/// A test cannot be stopped from outside, so the program is. Everything it has started ends with it.
#[expect(clippy::exit, reason = "tests block the main thread, which alone could return")]
async fn end_when_interrupted(isolation: Isolation) {
    isolation.interrupted().await;
    progress("interrupted");
    std::process::exit(130);
}
