//! `crd`: the definition as the chart ships it, printed, or applied to a cluster.

mod apply;

use std::time::Duration;

use anyhow::Context as _;
use clap::Args;

use crate::cli::{Usage, duration, exit, output};
use crate::client::Cluster;

/// Flags of `crd`.
#[derive(Debug, Args)]
#[command(after_help = exit::help("crd", "", EXAMPLES))]
pub(crate) struct Options {
    /// Apply it to the cluster and wait until it is served. Whoever wrote the one that is there, its schema becomes this
    /// one; only that of a newer version stays as it is. Policies are never touched.
    #[arg(long)]
    apply: bool,
    /// With --apply, how long to wait.
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = duration, requires = "apply")]
    timeout: Duration,
    #[command(flatten)]
    cluster: Cluster,
}

const EXAMPLES: &str = "\
node-rotation-controller crd | kubectl apply --server-side -f -
node-rotation-controller crd --apply";

/// The definition as YAML.
///
/// # Errors
/// When it cannot be serialized, which a test would have found.
pub(crate) fn yaml() -> anyhow::Result<String> {
    let definition = noderotation_core::policy::schema::definition();
    serde_yaml_ng::to_string(&definition).context("writing the definition as YAML")
}

/// Prints it, or applies it.
///
/// # Errors
/// When it cannot be printed, or is not served in the end.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    if !options.apply && options.cluster.is_chosen() {
        return Err(Usage("without --apply no cluster is asked: leave --kubeconfig and --context out, or add --apply".to_owned()).into());
    }
    output::write(&if options.apply { apply::run(options)? } else { yaml()? })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn c157_the_committed_definitions_are_the_derived_one() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        for file in
            ["crds/rotationpolicies.noderotation.io.yaml", "charts/node-rotation-controller/crds/rotationpolicies.noderotation.io.yaml"]
        {
            let committed = std::fs::read_to_string(root.join(file)).unwrap_or_default();
            assert_eq!(committed, super::yaml().unwrap(), "{file} is out of date: run `make crds`");
        }
    }
}
