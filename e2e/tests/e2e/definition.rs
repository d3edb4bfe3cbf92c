//! The definition of RotationPolicy on the cluster: who owns it, and what it says.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};
use e2e::chart;
use e2e::cluster::Cluster;
use e2e::wait::{Look, until};
use serde_json::Value;

use crate::bed::SOON;

pub(crate) const NAME: &str = "rotationpolicies.noderotation.io";

/// What is looked at.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Definition {
    pub(crate) uid: String,
    /// As its annotation says.
    pub(crate) version: Option<String>,
    pub(crate) spec: Value,
    /// Managers of any field of `spec`.
    pub(crate) owners_of_spec: Vec<String>,
}

impl Definition {
    /// As it is now.
    pub(crate) async fn of(cluster: &Cluster) -> Result<Self> {
        let text = cluster.kubectl(&["get", "crd", NAME, "--output", "json", "--show-managed-fields"]).await?.accepted()?;
        let object: Value = serde_json::from_str(&text).context("reading the definition")?;
        let text = |path: &str| object.pointer(path).and_then(Value::as_str).map(str::to_owned);
        let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array).into_iter().flatten();
        let owners: BTreeSet<String> = entries
            .filter(|entry| entry.pointer("/fieldsV1/f:spec").is_some())
            .filter_map(|entry| Some(entry.get("manager")?.as_str()?.to_owned()))
            .collect();
        Ok(Self {
            uid: text("/metadata/uid").unwrap_or_default(),
            version: text("/metadata/annotations/noderotation.io~1version"),
            spec: object.get("spec").cloned().unwrap_or_default(),
            owners_of_spec: owners.into_iter().collect(),
        })
    }
}

/// Deletes it and every policy, as nobody but a person does, and waits until it is gone.
///
/// An API server whose storage for it was just built anew gives its finalizer up, and takes it up again only when the object
/// changes (`crd_finalizer.go`, "storage is (re)initializing", seen in 1.37.2): so it is changed until it is gone.
pub(crate) async fn delete(cluster: &Cluster) -> Result<()> {
    cluster.kubectl(&["delete", "crd", NAME, "--ignore-not-found", "--wait=false"]).await?.accepted()?;
    let mut look = 0;
    until("the end of the definition", SOON, async || {
        look += 1;
        let touched = cluster.kubectl(&["annotate", "crd", NAME, "--overwrite", &format!("e2e.noderotation.io/look={look}")]).await?;
        let gone = !touched.success && touched.errors.contains("NotFound");
        Ok(if gone { Look::Done(()) } else { Look::NotYet(format!("{}{}", touched.output, touched.errors)) })
    })
    .await
}

/// Puts the chart's own definition there, as Helm does at a first install.
pub(crate) async fn restore(cluster: &Cluster) -> Result<()> {
    let file = chart::folder().join("crds").join(format!("{NAME}.yaml"));
    let text = std::fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
    cluster.kubectl_with(&["create", "--filename", "-"], &text).await?.accepted()?;
    cluster.kubectl(&["wait", "--for=condition=Established", "crd", NAME, "--timeout=60s"]).await?.accepted()?;
    Ok(())
}
