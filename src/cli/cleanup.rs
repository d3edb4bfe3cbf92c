//! `cleanup`: what is left on the cluster of rotations that nobody looks after, listed and removed.

mod list;

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use noderotation_core::cleanup::Scope;
use noderotation_core::rotation::effect::Effect;
use noderotation_core::rotation::observation::Settings;

use crate::cli::{exit, name, on_cluster, output, version};
use crate::client::{self, Cluster};
use crate::controller;
use crate::controller::cleanup::{Outcome, carry_out, look};
use crate::event::Recorder;
use crate::leader::{HOLD, Lead, TAKER, Takeover, take_over};
use crate::metrics::Metrics;
use crate::preflight;
use crate::telemetry::words;

/// Flags of `cleanup`.
#[derive(Debug, Args)]
#[command(after_help = exit::help("cleanup", MORE, EXAMPLES))]
pub(crate) struct Options {
    /// Also what rotations in flight own and what is remembered of those that are over, as before a removal. With --apply
    /// the operator stands down first.
    #[arg(long)]
    all: bool,
    /// Write. Without it the writes are only listed.
    #[arg(long)]
    apply: bool,
    /// Namespace of the installation: of its placeholders, Lease and certificate.
    #[arg(short, long, value_name = "NAME", default_value = "node-rotation-system", value_parser = name, env = "NODE_ROTATION_NAMESPACE")]
    namespace: String,
    #[command(flatten)]
    cluster: Cluster,
}

const MORE: &str = "\
Never removed: what people have set (freeze, their own cordon and do-not-disrupt), and what belongs to an installation in
another namespace. A node whose drain has begun is drained to the end.";

const EXAMPLES: &str = "\
node-rotation-controller cleanup
node-rotation-controller cleanup --apply
node-rotation-controller cleanup --all --apply --namespace node-rotation-system";

/// Looks, writes if it is to, and tells.
///
/// # Errors
/// When what was found cannot be written to standard output.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    match on_cluster(Box::pin(clean(options)))? {
        Ok(clean) => Ok(if clean { ExitCode::SUCCESS } else { ExitCode::FAILURE }),
        Err(error) => {
            tell(&format!("error: {}", words(error.as_ref())));
            Ok(ExitCode::from(2))
        }
    }
}

/// True if nothing is left to remove.
async fn clean(options: &Options) -> anyhow::Result<bool> {
    let metrics = Metrics::new(version::VERSION, "").context("preparing the client")?;
    let identity = format!("{TAKER}{:x}", jiff::Timestamp::now().as_nanosecond());
    let client = client::connect(&options.cluster, &identity, metrics.clone()).await?;
    let rivals = preflight::rivals(&client, &options.namespace, jiff::Timestamp::now()).await;
    rivals.iter().for_each(|rival| tell(&format!("note: {}", rival.sentence)));
    let scope = Scope { namespace: &options.namespace, rival: !rivals.is_empty(), everything: options.all };
    let held = if options.all && options.apply { Some(stand_down(client.clone(), &options.namespace, &identity).await?) } else { None };
    // What the sweep writes is refused where somebody has written since; only who takes a rotation apart needs the lead.
    let lead = held.as_ref().map_or_else(Lead::forever, |held| held.lead.clone());
    let (events, _unwritten) = Recorder::new(client.clone(), identity, metrics.clone());
    let settings = Settings { namespace: options.namespace.clone(), ..Settings::default() };
    let (board, clock) = (controller::Board::default(), controller::Clock::of_the_machine());
    let context = controller::Context { client, metrics, events, settings, board, owner: None, lead, clock };
    if !options.apply {
        let plan = look(&context, scope).await?;
        output::write(&(list::writes(&plan.repairs) + &list::stays(&plan.left, options.all) + &list::announced(&plan)))?;
        return Ok(plan.repairs.is_empty());
    }
    let (mut lines, mut broken) = (list::Lines::default(), Ok(()));
    let told = |pool: &str, effect: &Effect| {
        lines.count += 1;
        let line = lines.line(pool, effect);
        if broken.is_ok() {
            broken = output::write(&line);
        }
    };
    let Outcome { plan, failures } = carry_out(&context, scope, told).await?;
    broken?;
    failures.iter().for_each(|error| tell(&format!("error: {}", words(error))));
    output::write(&(list::stays(&plan.left, options.all) + &list::done(lines.count, &plan)))?;
    if let Some(held) = held {
        held.done().await;
        tell(&format!("note: no replica rotates for another {} seconds; remove the release within that time", HOLD.as_secs()));
    }
    Ok(plan.repairs.is_empty() && failures.is_empty())
}

/// Takes the Lease and waits until whoever led has certainly stopped.
async fn stand_down(client: kube::Client, namespace: &str, identity: &str) -> anyhow::Result<Takeover> {
    let taken = take_over(client, namespace, identity).await?;
    if let Some((holder, lasts)) = &taken.before {
        tell(&format!("note: waiting {} seconds until {holder}, which led, has stopped", lasts.as_secs()));
        tokio::time::sleep(*lasts).await;
    }
    Ok(taken)
}

fn tell(line: &str) {
    // Without a standard error there is nobody left to tell.
    let _untold = writeln!(std::io::stderr(), "{line}");
}
