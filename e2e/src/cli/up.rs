//! `up`: a cluster to play with.

use std::time::Duration;

use anyhow::Result;
use clap::Args;

use e2e::chart;
use e2e::cluster::{Cluster, ServiceMode};
use e2e::operator::Operator;
use e2e::terminal::say;

/// Time between two looks at whether everything still runs.
const PERIOD: Duration = Duration::from_secs(1);

/// Options of `up`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Install the chart and run the operator, too.
    #[arg(long)]
    pub(crate) operator: bool,
}

/// Boots, says how to use it, and stays.
pub(crate) async fn run(cluster: &mut Cluster, options: &Options) -> Result<()> {
    let mut operator = None;
    if options.operator {
        chart::install(cluster, &[]).await?;
        operator = Some(Operator::start(cluster, &[]).await?);
    }
    if let Some(operator) = &mut operator {
        operator.wait_ready().await?;
        say(&format!("The operator runs; its metrics are at {}", operator.metrics_url()));
    }
    say(&usage(cluster));
    stay(cluster, operator.as_mut()).await
}

/// How to use the cluster from another shell.
pub(crate) fn usage(cluster: &Cluster) -> String {
    let enter = cluster.isolation().entry().map(|entry| {
        format!("# The cluster has a network of its own. First start a shell in it:\n{entry} ${{SHELL:-sh}}\n# Then, in that shell:\n")
    });
    let services = match cluster.service_mode() {
        ServiceMode::Reachable => "",
        ServiceMode::Unreachable => "# Nothing is reached through a Service here: this user may not listen on port 443.\n",
    };
    format!(
        "\n{enter}export KUBECONFIG={kubeconfig}\nexport PATH={bin}:$PATH\n{services}\n# Logs: {logs}\n# Ctrl-C ends it.",
        enter = enter.unwrap_or_default(),
        kubeconfig = cluster.kubeconfig().display(),
        bin = cluster.bin().display(),
        logs = cluster.logs().display(),
    )
}

/// Stays until something ends that should not.
pub(crate) async fn stay(cluster: &mut Cluster, mut operator: Option<&mut Operator>) -> Result<()> {
    loop {
        cluster.check()?;
        operator.as_mut().map_or(Ok(()), |operator| operator.check())?;
        tokio::time::sleep(PERIOD).await;
    }
}
