//! `demo`: the product at work, told in order; every step must happen or the demo fails.

mod policy;
mod rotation;

use std::time::Duration;

use anyhow::{Result, bail, ensure};
use clap::Args;

use e2e::chart;
use e2e::cluster::{Cluster, ServiceMode};
use e2e::fleet::Fleet;
use e2e::operator::Operator;
use e2e::sight::Sight;
use e2e::story::{self, Happening};
use e2e::terminal::{indented, say};
use e2e::toolchain::recipe::RECIPES;
use e2e::wait::{Look, until};

use super::up;

/// Name of the demo's NodePool, Deployment and policy.
const NAME: &str = "demo";
/// Events are written in the background.
const TOLD: Duration = Duration::from_secs(20);

/// Options of `demo`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Leave the cluster up afterwards, until Ctrl-C.
    #[arg(long)]
    keep: bool,
}

/// Tells the whole story.
pub(crate) async fn run(cluster: &mut Cluster, options: &Options) -> Result<()> {
    if cluster.service_mode() == ServiceMode::Unreachable {
        bail!(
            "the admission endpoint cannot be reached here: this user may neither make a network namespace nor listen on port 443; run it as root"
        );
    }
    heading("Versions");
    versions();
    heading("The operator, installed from its chart");
    chart::install(cluster, &[]).await?;
    let mut operator = Operator::start(cluster, &[]).await?;
    operator.wait_ready().await?;
    say("It leads, and its admission endpoint is registered. It has the rights of the chart's ServiceAccount, no others.");
    heading("A policy with three faults is refused");
    policy::refuse(cluster).await?;
    heading("A good policy is accepted, and its defaults are filled in");
    policy::accept(cluster).await?;
    heading("A Deployment on nodes that Karpenter launched");
    let fleet = Fleet::new(NAME);
    let before = fleet.raise(cluster).await?;
    say(&indented(&placement(&before)));
    heading("The oldest node is replaced");
    rotation::watch(cluster, &mut operator, &fleet, &before).await?;
    say("");
    say(&indented(&placement(&Sight::of(cluster, NAME).await?)));
    heading("Events");
    events(cluster, &before).await?;
    heading("Metrics");
    metrics(&operator).await?;
    say("\nAll of it has happened.");
    if options.keep {
        say(&format!("\nThe cluster stays up. The operator's metrics are at {}", operator.metrics_url()));
        say(&up::usage(cluster));
        return up::stay(cluster, Some(&mut operator)).await;
    }
    let status = operator.sigterm().await?;
    ensure!(status.success(), "the operator ended with {status} after SIGTERM");
    Ok(())
}

fn heading(text: &str) {
    say(&format!("\n== {text}"));
}

fn versions() {
    say(&format!("    node-rotation-controller {}", env!("CARGO_PKG_VERSION")));
    for recipe in RECIPES {
        say(&format!("    {} {}", recipe.name, recipe.version));
    }
}

/// Which Pod runs where, and how old the nodes are.
fn placement(sight: &Sight) -> String {
    let mut lines = Vec::new();
    for claim in &sight.claims {
        let node = claim.node.as_deref().unwrap_or("no node yet");
        let pods: Vec<&str> =
            sight.pods.iter().filter(|pod| pod.running() && pod.node == claim.node).map(|pod| pod.name.as_str()).collect();
        let pods = if pods.is_empty() { "nothing".to_owned() } else { pods.join(", ") };
        lines.push(format!("NodeClaim {} (node {node}) runs {pods}", claim.name));
    }
    lines.join("\n")
}

async fn events(cluster: &Cluster, before: &Sight) -> Result<()> {
    let claims: Vec<&str> = before.claims.iter().map(|claim| claim.name.as_str()).collect();
    let told = until("the events of the rotation", TOLD, async || {
        let told = story::events(cluster, &[&[NAME], claims.as_slice()].concat()).await?;
        let missing = ["RotationStarted", "RotationCompleted"].into_iter().find(|reason| !told.iter().any(|event| event.reason == *reason));
        Ok(missing.map_or_else(|| Look::Done(told), |reason| Look::NotYet(format!("no event {reason}"))))
    });
    told.await?.iter().for_each(|event: &Happening| say(&indented(&event.to_string())));
    Ok(())
}

async fn metrics(operator: &Operator) -> Result<()> {
    let exposition = operator.metrics().await?;
    let lines = exposition.lines("noderotation_", ("nodepool", NAME));
    lines.iter().filter(|line| !line.contains("_bucket{")).for_each(|line| say(&indented(line)));
    let successes = exposition.value("noderotation_completed_total", &[("nodepool", NAME), ("outcome", "success")]);
    ensure!(successes == Some(1.0), "noderotation_completed_total counts {successes:?} successes, not one");
    Ok(())
}
