//! `simulate`: what becomes of a made-up fleet under policies, when things take their time and go wrong.

mod input;
mod picture;
mod progress;
mod report;
mod serve;
mod table;

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use jiff::Timestamp;
use noderotation_simulate::fleet::{Fleet, Times};
use noderotation_simulate::{run_telling, timeline};

use self::input::Set;
use self::progress::Progress;
use self::report::{Life, Simulation, Variant};
use crate::cli::check::instant;
use crate::cli::{Usage, exit, output, source};

/// Flags of `simulate`.
#[derive(Debug, Args)]
#[command(after_help = exit::help("simulate", MORE, EXAMPLES))]
pub(crate) struct Options {
    /// File with the fleet and what happens to it; - is standard input.
    #[arg(long, value_name = "FILE")]
    fleet: PathBuf,
    /// File or folder with the RotationPolicies to live under; - is standard input.
    #[arg(short = 'f', long = "filename", value_name = "PATH", required_unless_present = "compare")]
    filenames: Vec<PathBuf>,
    /// Read the folders in folders too.
    #[arg(short = 'R', long)]
    recursive: bool,
    /// Two files or folders with policies: live through the same fleet and weather under each, with those of --filename beside.
    #[arg(long, value_name = "PATH", num_args = 2)]
    compare: Vec<PathBuf>,
    /// What chance is drawn from.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// Live through it so many times, with this seed and those that follow it, and tell how the outcomes are distributed.
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    runs: u32,
    /// Begin at this instant and not at the start that the fleet names.
    #[arg(long, value_name = "TIME", value_parser = instant)]
    start: Option<Timestamp>,
    /// End at this instant and not at the end that the fleet names.
    #[arg(long, value_name = "TIME", value_parser = instant)]
    end: Option<Timestamp>,
    /// How the answer is written.
    #[arg(short, long, value_enum, default_value_t = Output::Table, value_name = "FORMAT")]
    output: Output,
    /// Serve a page at this address of this machine that draws what comes of the files, and in which they can be edited without
    /// being written; without an address at any free port.
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:0",
        value_parser = crate::cli::serve::address, conflicts_with_all = ["compare", "runs", "output"])]
    serve: Option<SocketAddr>,
}

const MORE: &str = "The same fleet, policies and seed come to the same, on any machine. docs/simulate.md describes the file of a fleet.";

const EXAMPLES: &str = "\
node-rotation-controller simulate --fleet fleet.yaml -f policy.yaml
node-rotation-controller simulate --fleet fleet.yaml -f policy.yaml --runs 100
node-rotation-controller simulate --fleet fleet.yaml --compare weekly.yaml nightly.yaml
node-rotation-controller simulate --fleet fleet.yaml -f policy.yaml -o timeline
node-rotation-controller simulate --fleet fleet.yaml -f policy.yaml --serve";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// Figures for people.
    Table,
    /// What happened, line by line; of one run under one set of policies.
    Timeline,
    /// Everything.
    Json,
    /// The time line and the figures, an object a line; of several runs or policies the figures of each.
    Jsonl,
}

impl Options {
    fn times(&self) -> Times {
        Times { start: self.start, end: self.end }
    }

    /// Flags that do not go together.
    fn misuse(&self) -> Option<&'static str> {
        let input = Path::new("-");
        let policies = || self.filenames.iter().chain(&self.compare).filter(|path| *path == input).count();
        if self.output == Output::Timeline && (self.runs > 1 || !self.compare.is_empty()) {
            return Some("--output timeline: is of one run under one set of policies; leave --runs and --compare out");
        }
        let twice = policies() + usize::from(self.fleet == input) > 1 || policies() > 0 && !self.compare.is_empty();
        twice.then_some("standard input can be read once; write - for one file only, and beside --compare only for --fleet")
    }
}

/// Reads, lives and tells.
///
/// # Errors
/// When flags do not go together, and when what is to be told cannot be written.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    if let Some(words) = options.misuse() {
        return Err(Usage(words.to_owned()).into());
    }
    if let Some(address) = options.serve {
        return serve::run(options, &options.fleet, address);
    }
    let mut errors = Vec::new();
    let fleet = source::one_text(&options.fleet).map_err(|error| vec![error]).and_then(|text| {
        let found = input::fleet(&options.fleet.display().to_string(), &text, options.times());
        found.map_err(|faults| faults.iter().map(ToString::to_string).collect())
    });
    let fleet = fleet.map_err(|found: Vec<String>| errors.extend(found)).ok();
    let sets = input::policies(&options.filenames, &options.compare, options.recursive);
    errors.extend(sets.iter().flat_map(|set| set.manifest.errors.iter().cloned()));
    for set in sets.iter().filter(|set| set.manifest.policies.is_empty() && set.manifest.errors.is_empty()) {
        errors.push(source::without_policy([&set.name]));
    }
    let at = fleet.as_ref().map_or(Timestamp::UNIX_EPOCH, |fleet| fleet.start);
    let faults: Vec<String> = sets.iter().flat_map(|set| set.refusals(at)).map(|fault| fault.to_string()).collect();
    // A policy at fault is a no; without a fleet there is no answer.
    let code = if errors.is_empty() { 1 } else { 2 };
    errors.extend(faults);
    errors.dedup();
    let Some(fleet) = fleet.filter(|_| errors.is_empty()) else {
        return Ok(refuse(&errors, code));
    };
    let simulation = live(options, &fleet, &sets);
    let mut stderr = anstream::stderr().lock();
    for line in &simulation.notes {
        // Without a standard error there is nobody left to tell.
        let _untold = writeln!(stderr, "note: {line}");
    }
    output::write(&text(options.output, &simulation)?)?;
    Ok(if simulation.is_well() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn text(output: Output, simulation: &Simulation) -> anyhow::Result<String> {
    Ok(match output {
        Output::Table => table::render(simulation),
        Output::Timeline => table::timeline(simulation),
        Output::Json => serde_json::to_string_pretty(simulation).context("writing the simulation as JSON")? + "\n",
        Output::Jsonl => lines(simulation).context("writing the simulation as JSON lines")?,
    })
}

/// An object a line.
fn lines(simulation: &Simulation) -> serde_json::Result<String> {
    let mut lines = Vec::new();
    for variant in &simulation.variants {
        let moments = variant.report.iter().filter(|_| simulation.variants.len() == 1).flat_map(timeline);
        for moment in moments {
            lines.push(serde_json::to_string(&moment)?);
        }
        for life in &variant.lives {
            lines.push(serde_json::to_string(&report::Line { event: "summary", policies: &variant.policies, life })?);
        }
    }
    Ok(lines.join("\n") + "\n")
}

fn live(options: &Options, fleet: &Fleet, sets: &[Set]) -> Simulation {
    let runs = u64::from(options.runs);
    let mut progress = Progress::new(fleet.pools.len() * sets.len() * usize::try_from(runs).unwrap_or(usize::MAX));
    let mut notes = Vec::new();
    let mut variants = Vec::new();
    for set in sets {
        let entries = set.entries();
        let mut variant = Variant { policies: set.name.clone(), lives: Vec::new(), distribution: None, report: None };
        for number in 0..runs {
            let seed = options.seed.wrapping_add(number);
            let report = run_telling(fleet, &entries, seed, &mut |_| progress.one_more());
            variant.lives.push(Life { seed, summary: report.summary.clone() });
            if number == 0 {
                let idle = report.pools.iter().filter_map(|pool| Some(format!("NodePool {}: {}", pool.name, pool.ungoverned.as_ref()?)));
                notes.extend(idle);
                variant.report = (runs == 1).then_some(report);
            }
        }
        variant.distribution = (runs > 1).then(|| variant.distribution());
        variants.push(variant);
    }
    progress.end();
    notes.dedup();
    Simulation { start: fleet.start, end: fleet.end, variants, notes }
}

fn refuse(errors: &[String], code: u8) -> ExitCode {
    let mut stderr = anstream::stderr().lock();
    for line in errors {
        let _untold = writeln!(stderr, "error: {line}");
    }
    ExitCode::from(code)
}
