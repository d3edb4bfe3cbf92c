//! `plan`: which node is rotated when, from files or from a cluster, before it happens.

pub(super) mod build;
mod calendar;
pub(super) mod difference;
mod formula;
mod input;
mod live;
mod look;
pub(super) mod report;
mod serve;
mod table;

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use jiff::Timestamp;

use self::input::Input;
pub(crate) use self::look::look;
use self::report::Plan;
use crate::cli::check::instant;
use crate::cli::{duration, exit, on_cluster, output, source};
use crate::client::Cluster;
use crate::telemetry::words;

/// Flags of `plan`.
#[derive(Debug, Args)]
#[command(after_help = exit::help("plan", MORE, EXAMPLES))]
pub(crate) struct Options {
    /// File or folder with RotationPolicies, NodePools, NodeClaims, Nodes, Pods and PodDisruptionBudgets; - is standard input.
    /// Without it the cluster of the kubeconfig is asked, with lists only.
    #[arg(short = 'f', long = "filename", value_name = "PATH", conflicts_with_all = ["kubeconfig", "context"])]
    filenames: Vec<PathBuf>,
    /// Read the folders in folders too.
    #[arg(short = 'R', long)]
    recursive: bool,
    /// File or folder with policies that are not applied yet: plan as if they were, and tell what they change.
    #[arg(long = "policy", value_name = "PATH")]
    policies: Vec<PathBuf>,
    /// Only this NodePool.
    #[arg(long, value_name = "NAME")]
    pool: Option<String>,
    /// Look as of this instant, for example 2026-03-01T00:00:00Z; now, if not given.
    #[arg(long, value_name = "TIME", value_parser = instant)]
    at: Option<Timestamp>,
    /// Tell nothing that begins later than this after that instant; the end of all NodeClaims of now, if that is sooner.
    #[arg(long, value_name = "DURATION", default_value = "2160h", value_parser = duration)]
    horizon: Duration,
    /// How the answer is written.
    #[arg(short, long, value_enum, default_value_t = Output::Table, value_name = "FORMAT")]
    output: Output,
    /// Serve a page at this address of this machine that draws what comes of the files, and in which they can be edited without
    /// being written; without an address at any free port.
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:0", value_parser = crate::cli::serve::address,
        requires = "filenames", conflicts_with_all = ["policies", "pool", "output"])]
    serve: Option<SocketAddr>,
    #[command(flatten)]
    cluster: Cluster,
}

const MORE: &str = "It takes that nothing fails: a surge takes the policy's provisioningEstimate, a drain its drainEstimate.";

const EXAMPLES: &str = "\
node-rotation-controller plan
node-rotation-controller plan --context production --policy policy.yaml --pool api
kubectl get rotpol,nodepools,nodeclaims,nodes,pods,pdb -A -o json | node-rotation-controller plan -f -
node-rotation-controller plan -f cluster/ -o ics
node-rotation-controller plan -f cluster/ --serve";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// For people.
    Table,
    /// The same with more columns.
    Wide,
    Json,
    Yaml,
    /// For calendars: an event for each node.
    Ics,
}

/// Reads, plans and tells.
///
/// # Errors
/// When the plan cannot be written.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    if let Some(address) = options.serve {
        return serve::run(options, address);
    }
    let (input, mut errors) = match read(options)? {
        Ok(read) => read,
        Err(error) => return Ok(refuse(&[words(error.as_ref())])),
    };
    let proposed = source::read(&options.policies, options.recursive);
    errors.extend(proposed.errors);
    if !options.policies.is_empty() && proposed.policies.is_empty() && errors.is_empty() {
        errors.push(source::without_policy(options.policies.iter().map(|path| path.display())));
    }
    let mut input = input;
    if let Some(pool) = options.pool.as_ref().filter(|pool| !input.keep_pool(pool)) {
        errors.push(format!("--pool: there is no NodePool {pool}; write the name of one that is there"));
    }
    if input.pools.is_empty() && errors.is_empty() {
        errors.push("there is no NodePool of karpenter.sh/v1, and so nothing to plan".to_owned());
    }
    // A part of a cluster is planned wrongly, not partly.
    if !errors.is_empty() {
        return Ok(refuse(&errors));
    }
    let now = options.at.unwrap_or_else(Timestamp::now);
    let until = now.saturating_add(options.horizon).unwrap_or(Timestamp::MAX);
    let proposed: Vec<serde_json::Value> = proposed.policies.into_iter().map(|policy| policy.value).collect();
    let plan = plan(input, &proposed, now, until);
    let text = match options.output {
        Output::Table => table::render(&plan, false),
        Output::Wide => table::render(&plan, true),
        Output::Json => serde_json::to_string_pretty(&plan).context("writing the plan as JSON")? + "\n",
        Output::Yaml => serde_yaml_ng::to_string(&plan).context("writing the plan as YAML")?,
        Output::Ics => calendar::render(&plan),
    };
    let mut stderr = anstream::stderr().lock();
    for line in &plan.notes {
        // Without a standard error there is nobody left to tell.
        let _untold = writeln!(stderr, "note: {line}");
    }
    output::write(&text)?;
    Ok(if plan.is_well() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What was read with what could not be; or why the cluster could not be asked.
type Read = Result<(Input, Vec<String>), anyhow::Error>;

fn read(options: &Options) -> anyhow::Result<Read> {
    if options.filenames.is_empty() {
        let input = on_cluster(Box::pin(live::read(&options.cluster)))?;
        return Ok(input.map(|input| (input, Vec::new())));
    }
    let mut manifest = source::read_cluster(&options.filenames, options.recursive);
    let errors = std::mem::take(&mut manifest.errors);
    Ok(Ok((Input::of(manifest), errors)))
}

fn refuse(errors: &[String]) -> ExitCode {
    let mut stderr = anstream::stderr().lock();
    for line in errors {
        let _untold = writeln!(stderr, "error: {line}");
    }
    ExitCode::from(2)
}

/// Of which pools not all is told.
fn cut_short(pools: &[report::Pool]) -> impl Iterator<Item = String> {
    let cut = pools.iter().filter_map(|pool| Some((&pool.name, pool.ends_at?)));
    cut.map(|(name, at)| format!("the nodes of NodePool {name} come and go so often that its plan ends at {at}; is its expireAfter right?"))
}

/// The plan, and with `proposed` policies what they change.
fn plan(input: Input, proposed: &[serde_json::Value], at: Timestamp, until: Timestamp) -> Plan {
    let mut notes = input.assumptions();
    if proposed.is_empty() {
        let (pools, refused) = input.plan(at, until);
        notes.extend(cut_short(&pools));
        return Plan { at, until, difference: None, refused, pools, notes };
    }
    let (pools, refused) = input.with(proposed).plan(at, until);
    let (before, _) = input.plan(at, until);
    notes.extend(cut_short(&pools));
    Plan { at, until, difference: Some(difference::between(&before, &pools)), refused, pools, notes }
}
