//! `crd`: the definition as the chart ships it.

use std::io::Write as _;

use anyhow::Context as _;

/// The definition as YAML.
///
/// # Errors
/// When it cannot be serialized, which a test would have found.
pub(crate) fn yaml() -> anyhow::Result<String> {
    let definition = noderotation_core::policy::schema::definition();
    serde_yaml_ng::to_string(&definition).context("writing the definition as YAML")
}

/// Prints it.
pub(crate) fn run() -> anyhow::Result<()> {
    std::io::stdout().write_all(yaml()?.as_bytes()).context("writing to standard output")
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
