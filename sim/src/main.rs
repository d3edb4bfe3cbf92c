//! `noderotation-sim`: explores the model, or lives through made-up clusters, and prints what it found.

use std::io::Write as _;
use std::process::ExitCode;

use noderotation_sim::coverage::Coverage;
use noderotation_sim::fleet::Fleet;
use noderotation_sim::model::worlds::{self, Exploration};
use noderotation_sim::model::{Explorer, Report};
use noderotation_sim::simulate;

/// Perturbations that are explored unless more are asked for.
const DEPTH: u32 = 2;
/// Seeds that are lived through unless one is asked for.
const SEEDS: u64 = 200;
/// Days of a life.
const DAYS: u32 = 120;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["model"] => model(DEPTH),
        ["model", depth] if depth.parse::<u32>().is_ok() => model(depth.parse().unwrap_or(DEPTH)),
        ["simulate"] => simulate(0, SEEDS),
        ["simulate", seed] if seed.parse::<u64>().is_ok() => simulate(seed.parse().unwrap_or_default(), 1),
        ["simulate", seed, count] if seed.parse::<u64>().is_ok() && count.parse::<u64>().is_ok() => {
            simulate(seed.parse().unwrap_or_default(), count.parse().unwrap_or(1))
        }
        _ => {
            print("usage: noderotation-sim model [PERTURBATIONS] | simulate [SEED [COUNT]]");
            ExitCode::FAILURE
        }
    }
}

fn model(depth: u32) -> ExitCode {
    let begun = std::time::Instant::now();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let only = std::env::var("WORLD").unwrap_or_default();
    let (mut distinct, mut violations) = (0, 0);
    for Exploration { setup, budget } in worlds::all(depth).iter().filter(|world| world.setup.name.contains(&only)) {
        let begun = std::time::Instant::now();
        let report = Explorer::new(setup, threads).run(*budget);
        tell(&report, begun.elapsed().as_secs_f64());
        distinct += report.distinct();
        violations += report.stories.len();
    }
    print(&format!("{distinct} distinct states, {violations} violations, {:.0} s", begun.elapsed().as_secs_f64()));
    if violations == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn tell(report: &Report, seconds: f64) {
    print(&format!(
        "{}: {} distinct states ({} by perturbations), {} moves, {} fair runs, {} of {} decisions asked of the product, {seconds:.1} s",
        report.name,
        report.distinct(),
        report.states.iter().map(ToString::to_string).collect::<Vec<_>>().join(" + "),
        report.transitions,
        report.fair,
        report.decisions.1,
        report.decisions.0,
    ));
    for (kind, count) in report.coverage.kinds() {
        print(&format!("  {count:>10} {kind}"));
    }
    for story in &report.stories {
        print(&format!("\n{story}\n"));
    }
}

/// Lives through `count` seeds from `first` on; one alone is told in full.
fn simulate(first: u64, count: u64) -> ExitCode {
    let begun = std::time::Instant::now();
    let mut coverage = Coverage::default();
    let (mut moves, mut violations) = (0, 0);
    for seed in first..first.saturating_add(count) {
        let outcome = simulate::simulate(&Fleet::of(seed, DAYS), seed);
        coverage.merge(&outcome.coverage);
        moves += outcome.moves;
        if let Some(story) = &outcome.story {
            violations += 1;
            print(&format!("\nSEED={seed} make sim\n{story}\n"));
        }
        if count == 1 {
            print(&format!("seed {seed}: {} moves, trace {:016x}", outcome.moves, outcome.print));
        }
    }
    for (kind, count) in coverage.kinds() {
        print(&format!("  {count:>10} {kind}"));
    }
    let seconds = begun.elapsed().as_secs_f64();
    print(&format!("{count} seeds of {DAYS} days, {moves} moves, {violations} violations, {seconds:.1} s"));
    if violations == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Nobody to be told means nothing to be done about it.
fn print(text: &str) {
    drop(writeln!(std::io::stdout().lock(), "{text}"));
}
