//! `demo`
use anyhow::Result;
use clap::Args;
use e2e::cluster::Cluster;

/// Options of `demo`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Leave the cluster up afterwards, until Ctrl-C.
    #[arg(long)]
    keep: bool,
}
/// x
pub(crate) async fn run(_cluster: &mut Cluster, _options: &Options) -> Result<()> {
    Ok(())
}
