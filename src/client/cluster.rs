//! Which cluster is meant: the flags that every command has that asks one.

use std::path::PathBuf;

use clap::Args;

/// Flags that choose a cluster.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Cluster {
    /// Kubeconfig to use; else KUBECONFIG, else the Pod's own account.
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Context of that kubeconfig to use; else its current one.
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
}

impl Cluster {
    /// One of the flags was given.
    pub(crate) fn is_chosen(&self) -> bool {
        self.kubeconfig.is_some() || self.context.is_some()
    }
}
