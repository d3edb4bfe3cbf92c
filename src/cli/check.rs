//! `check`: the verdict on policies before they are applied, from files and without a cluster.

mod table;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use jiff::Timestamp;
use noderotation_core::check::{Report, Strictness, Subjects, check};
use noderotation_manifest::Manifest;
use serde_json::Value;

use crate::cli::{exit, output, source};
use crate::severity::Severity;

/// Flags of `check`.
#[derive(Debug, Args)]
#[command(after_help = exit::help("check", "", EXAMPLES))]
pub(crate) struct Options {
    /// File or folder with RotationPolicies, and NodePools and NodeClaims to judge them with; - is standard input.
    #[arg(short = 'f', long = "filename", value_name = "PATH", required = true)]
    filenames: Vec<PathBuf>,
    /// Read the folders in folders too.
    #[arg(short = 'R', long)]
    recursive: bool,
    /// How the answer is written.
    #[arg(short, long, value_enum, default_value_t = Output::Table, value_name = "FORMAT")]
    output: Output,
    /// What to do about a policy that ties with another for a NodePool.
    #[arg(long, value_enum, default_value_t = Severity::Warn, value_name = "SEVERITY")]
    tie: Severity,
    /// What to do about a policy that cannot rotate a NodePool which it governs.
    #[arg(long, value_enum, default_value_t = Severity::Warn, value_name = "SEVERITY")]
    infeasible: Severity,
    /// Look as of this instant, for example 2026-03-01T00:00:00Z; now, if not given.
    #[arg(long, value_name = "TIME", value_parser = instant)]
    at: Option<Timestamp>,
}

const EXAMPLES: &str = "\
node-rotation-controller check -f policy.yaml
kubectl get nodepools,nodeclaims -o yaml | node-rotation-controller check -f policy.yaml -f -
helm template my-chart | node-rotation-controller check -f - -o json";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// For people.
    Table,
    Json,
    Yaml,
}

/// An instant given as a flag.
pub(super) fn instant(text: &str) -> Result<Timestamp, String> {
    text.parse().map_err(|_| format!("{text:?} is not an instant; write for example 2026-03-01T00:00:00Z"))
}

/// Reads, judges and tells.
///
/// # Errors
/// When the verdict cannot be written.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let mut manifest = source::read(&options.filenames, options.recursive);
    // Where something could not be read, that is the reason.
    if manifest.policies.is_empty() && manifest.errors.is_empty() {
        manifest.errors.push(source::without_policy(options.filenames.iter().map(|path| path.display())));
    }
    let report = judge(&manifest, options.strictness(), options.at.unwrap_or_else(Timestamp::now));
    let text = match options.output {
        Output::Table => table::render(&report),
        Output::Json => serde_json::to_string_pretty(&report).context("writing the verdict as JSON")? + "\n",
        Output::Yaml => serde_yaml_ng::to_string(&report).context("writing the verdict as YAML")?,
    };
    let mut stderr = anstream::stderr().lock();
    for line in &manifest.notes {
        // Without a standard error there is nobody left to tell.
        let _untold = writeln!(stderr, "note: {line}");
    }
    for line in &manifest.errors {
        let _untold = writeln!(stderr, "error: {line}");
    }
    if !report.policies.is_empty() || !report.pools.is_empty() || options.output != Output::Table {
        output::write(&text)?;
    }
    Ok(match (manifest.errors.is_empty(), report.accepted()) {
        (false, _) => ExitCode::from(2),
        (true, false) => ExitCode::FAILURE,
        (true, true) => ExitCode::SUCCESS,
    })
}

impl Options {
    fn strictness(&self) -> Strictness {
        Severity::strictness(self.tie, self.infeasible)
    }
}

/// The core's verdict, with the places that only the reader of the files knows.
pub(super) fn judge(manifest: &Manifest, strictness: Strictness, now: Timestamp) -> Report {
    let values: Vec<Value> = manifest.policies.iter().map(|policy| policy.value.clone()).collect();
    let subjects = Subjects { policies: &values, pools: &manifest.pools, claims: &manifest.claims };
    let mut report = check(subjects, strictness, now);
    for policy in &mut report.policies {
        let Some(written) = manifest.policies.get(policy.index) else {
            continue;
        };
        policy.at = Some(written.line());
        policy.faults.sort_by_key(|fault| written.place(&fault.field));
        for fault in &mut policy.faults {
            fault.at = Some(written.at(&fault.field));
        }
    }
    report
}
