//! `simulate`: what becomes of a made-up fleet under policies, when things take their time and go wrong.

mod progress;
mod report;
mod table;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use jiff::Timestamp;
use noderotation_core::check::Strictness;
use noderotation_core::resolve::PolicyEntry;
use noderotation_manifest::Manifest;
use noderotation_simulate::fleet::{self, Fleet, Times};
use noderotation_simulate::{run_telling, timeline};

use self::progress::Progress;
use self::report::{Life, Simulation, Variant};
use crate::cli::check::{instant, judge};
use crate::cli::{Usage, duration, exit, output, source};

/// Flags of `simulate`.
#[derive(Debug, Args)]
#[command(after_help = exit::help("simulate", MORE, EXAMPLES))]
pub(crate) struct Options {
    /// File with the fleet and what happens to it; - is standard input.
    #[arg(long, value_name = "PATH")]
    fleet: PathBuf,
    /// File or folder with RotationPolicies; - is standard input.
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
    /// Live through it so many times, with this seed and those that follow it, and tell distributions.
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    runs: u32,
    /// Begin at this instant, for example 2026-03-01T00:00:00Z; at the start that the fleet names, if not given.
    #[arg(long, value_name = "TIME", value_parser = instant)]
    at: Option<Timestamp>,
    /// End so long after the begin; at the end that the fleet names, if not given.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    horizon: Option<Duration>,
    /// How it is told.
    #[arg(short, long, value_enum, default_value_t = Output::Table, value_name = "FORMAT")]
    output: Output,
}

const MORE: &str = "The same fleet, policies and seed come to the same, on any machine. docs/simulate.md describes the file of a fleet.";

const EXAMPLES: &str = "\
node-rotation-controller simulate --fleet fleet.yaml -f policy.yaml
node-rotation-controller simulate --fleet fleet.yaml -f policy.yaml --runs 100
node-rotation-controller simulate --fleet fleet.yaml --compare weekly.yaml nightly.yaml
node-rotation-controller simulate --fleet fleet.yaml -f policy.yaml -o timeline";

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

/// Reads, lives and tells.
///
/// # Errors
/// When flags do not go together, and when what is to be told cannot be written.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    if options.output == Output::Timeline && (options.runs > 1 || !options.compare.is_empty()) {
        return Err(Usage("--output timeline: is of one run under one set of policies; leave --runs and --compare out".to_owned()).into());
    }
    let (fleet, mut errors) = match read_fleet(options) {
        Ok(fleet) => (Some(fleet), Vec::new()),
        Err(errors) => (None, errors),
    };
    let sets = policies(options);
    errors.extend(sets.iter().flat_map(|set| set.manifest.errors.iter().cloned()));
    for set in sets.iter().filter(|set| set.manifest.policies.is_empty() && set.manifest.errors.is_empty()) {
        errors.push(format!("{}: has no RotationPolicy of noderotation.io/v1alpha1", set.name));
    }
    let Some(fleet) = fleet.filter(|_| errors.is_empty()) else {
        return Ok(refuse(&errors, 2));
    };
    let faults: Vec<String> = sets.iter().flat_map(|set| faults(&set.manifest, fleet.start)).collect();
    if !faults.is_empty() {
        return Ok(refuse(&faults, 1));
    }
    let simulation = live(options, &fleet, &sets);
    let mut stderr = anstream::stderr().lock();
    for line in simulation.notes.iter() {
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

/// Policies that belong together.
struct Set {
    name: String,
    manifest: Manifest,
}

fn read_fleet(options: &Options) -> Result<Fleet, Vec<String>> {
    let name = options.fleet.display().to_string();
    let text = source::one_text(&options.fleet).map_err(|error| vec![error])?;
    let written = noderotation_manifest::document(&name, &text).map_err(|error| vec![error])?;
    let times = Times { start: options.at, length: options.horizon };
    fleet::read(&written.value, times).map_err(|mut faults| {
        faults.sort_by_key(|fault| written.place(&fault.field));
        faults.iter().map(|fault| format!("{}: {fault}", written.at(&fault.field))).collect()
    })
}

/// One set, or with `--compare` two.
fn policies(options: &Options) -> Vec<Set> {
    let joined = |paths: &[PathBuf]| paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
    if options.compare.is_empty() {
        return vec![Set { name: joined(&options.filenames), manifest: source::read(&options.filenames, options.recursive) }];
    }
    let of = |path: &PathBuf| {
        let mut manifest = source::read(&options.filenames, options.recursive);
        let own = source::read(&[path.clone()], options.recursive);
        let name = |policy: &noderotation_manifest::Located| policy.value.pointer("/metadata/name").cloned();
        // Each in place of the one of its name.
        manifest.policies.retain(|policy| !own.policies.iter().any(|other| name(other) == name(policy)));
        manifest.policies.extend(own.policies);
        manifest.errors.extend(own.errors);
        Set { name: short(path), manifest }
    };
    options.compare.iter().map(of).collect()
}

/// The name of a file without its folder.
fn short(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

/// Why the API server would refuse a policy.
fn faults(manifest: &Manifest, now: Timestamp) -> Vec<String> {
    let report = judge(manifest, Strictness::default(), now);
    let refused = report.policies.into_iter().filter(|policy| !policy.accepted);
    let line =
        |fault: noderotation_core::check::FaultReport| format!("{}: {}: {}", fault.at.unwrap_or_default(), fault.field, fault.message);
    refused.flat_map(|policy| policy.faults.into_iter().map(line)).collect()
}

fn live(options: &Options, fleet: &Fleet, sets: &[Set]) -> Simulation {
    let runs = u64::from(options.runs);
    let mut progress = Progress::new(fleet.pools.len() * sets.len() * usize::try_from(runs).unwrap_or(usize::MAX));
    let mut notes = Vec::new();
    let mut variants = Vec::new();
    for set in sets {
        let entries: Vec<PolicyEntry> = set.manifest.policies.iter().map(|policy| PolicyEntry::from_object(&policy.value)).collect();
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
