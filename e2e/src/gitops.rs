//! What Argo CD, Flux and Helm 4 make of objects, by their own libraries, and the files that we give people for them.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::repository;
use crate::tool::Tool;

/// Key of the ConfigMap of Argo CD under which it looks for our script.
const HEALTH: &str = "resource.customizations.health.noderotation.io_RotationPolicy";

/// An object as it is wanted and as it is; null where there is none.
#[derive(Clone, Debug)]
pub struct Pair {
    /// As somebody has written it.
    pub wanted: Value,
    /// As the API server has it.
    pub live: Value,
}

/// What is said of a pair.
#[derive(Clone, Debug)]
pub struct Verdict(Value);

impl Verdict {
    /// Judges the pairs, each with a verdict of its own.
    ///
    /// # Errors
    /// When an object cannot be judged, as when our script does not run.
    pub async fn of(cluster: &Cluster, pairs: &[Pair]) -> Result<Vec<Self>> {
        let script = cluster.site().data.join("health.lua");
        fs::write(&script, health_script()?).with_context(|| format!("writing {}", script.display()))?;
        let pairs: Vec<Value> = pairs.iter().map(|pair| json!({"wanted": pair.wanted, "live": pair.live})).collect();
        let tool = Tool { program: cluster.site().toolchain.binary("verdict")?, environment: Vec::new() };
        let said = tool.run(&[&script.to_string_lossy()], &Value::from(pairs.clone()).to_string()).await?.accepted()?;
        let said: Vec<Value> = serde_json::from_str(&said).context("reading the verdicts")?;
        ensure!(said.len() == pairs.len(), "{} verdicts on {} pairs", said.len(), pairs.len());
        Ok(said.into_iter().map(Self).collect())
    }

    /// By the rules of kstatus: `Current`, `InProgress`, `Failed`, `Terminating`.
    #[must_use]
    pub fn kstatus(&self) -> &str {
        self.text("/kstatus/status")
    }

    /// By our script in Argo CD: `Healthy`, `Progressing`, `Degraded`.
    #[must_use]
    pub fn health(&self) -> &str {
        self.text("/health/status")
    }

    /// What Argo CD shows beside it.
    #[must_use]
    pub fn message(&self) -> &str {
        self.text("/health/message")
    }

    /// When Argo CD applies it: `in wave 0`, or `PreSync in wave 2`, or `never`.
    #[must_use]
    pub fn phase(&self) -> String {
        let is = |place: &str| self.0.pointer(place).and_then(Value::as_bool) == Some(true);
        if is("/skipped") || is("/ignored") {
            return "never".to_owned();
        }
        let hooks = self.0.get("hooks").and_then(Value::as_array).into_iter().flatten();
        let hooks: String = hooks.filter_map(Value::as_str).map(|hook| format!("{hook} ")).collect();
        format!("{hooks}in wave {}", self.0.get("wave").unwrap_or(&Value::Null))
    }

    /// What Argo CD would change, if it calls the pair out of sync.
    #[must_use]
    pub fn difference(&self) -> Option<&str> {
        (self.0.get("differs") == Some(&Value::Bool(true))).then(|| self.text("/wants"))
    }

    fn text(&self, place: &str) -> &str {
        self.0.pointer(place).and_then(Value::as_str).unwrap_or_default()
    }
}

/// A file of `docs/gitops/`.
///
/// # Errors
/// When it is not YAML.
pub fn document(name: &str) -> Result<Value> {
    let path = folder().join(name);
    let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    serde_yaml_ng::from_str(&text).with_context(|| format!("reading {}", path.display()))
}

fn folder() -> PathBuf {
    repository::path("docs/gitops")
}

fn health_script() -> Result<String> {
    let patch = document("argocd-cm.yaml")?;
    let script = patch.get("data").and_then(|data| data.get(HEALTH)).and_then(Value::as_str);
    Ok(script.with_context(|| format!("the ConfigMap has no {HEALTH}"))?.to_owned())
}
