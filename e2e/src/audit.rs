//! What was asked of the API server, and by whom, from its audit log.

use std::fs;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::chart;
use crate::cluster::Cluster;

/// A request that was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Who asked.
    pub user: String,
    /// `get`, `list`, `watch`, `create`, `patch`, `update`, `delete`, …
    pub verb: String,
    /// Resource, with its subresource after a slash.
    pub resource: String,
    /// Name of the object; empty for all of them.
    pub name: String,
    /// Path and query.
    pub uri: String,
    /// Status code of the answer.
    pub code: u64,
}

impl Request {
    /// Whether it asked for a change.
    #[must_use]
    pub fn writes(&self) -> bool {
        !matches!(self.verb.as_str(), "get" | "list" | "watch")
    }

    /// `verb resource name: code`.
    #[must_use]
    pub fn summary(&self) -> String {
        format!("{} {} {}: {}", self.verb, self.resource, self.name, self.code)
    }

    fn read(line: &str) -> Option<Self> {
        let entry: Value = serde_json::from_str(line).ok()?;
        let text = |path: &str| entry.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let (resource, subresource) = (text("/objectRef/resource"), text("/objectRef/subresource"));
        Some(Self {
            user: text("/user/username").to_owned(),
            verb: text("/verb").to_owned(),
            resource: if subresource.is_empty() { resource.to_owned() } else { format!("{resource}/{subresource}") },
            name: text("/objectRef/name").to_owned(),
            uri: text("/requestURI").to_owned(),
            code: entry.pointer("/responseStatus/code").and_then(Value::as_u64).unwrap_or_default(),
        })
    }
}

/// The log, from some moment on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Audit {
    /// Lines that were there before.
    skip: usize,
}

impl Audit {
    /// From now on.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn from_now(cluster: &Cluster) -> Result<Self> {
        Ok(Self { skip: log(cluster)?.lines().count() })
    }

    /// All requests since then, in the order in which they were answered.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn requests(&self, cluster: &Cluster) -> Result<Vec<Request>> {
        Ok(log(cluster)?.lines().skip(self.skip).filter_map(Request::read).collect())
    }

    /// Those of the operator's ServiceAccount.
    ///
    /// # Errors
    /// When the log cannot be read, or the chart is not installed.
    pub async fn of_the_operator(&self, cluster: &Cluster) -> Result<Vec<Request>> {
        let user = operator_account(cluster).await?;
        Ok(self.requests(cluster)?.into_iter().filter(|request| request.user == user).collect())
    }
}

/// The user name of the operator's ServiceAccount.
///
/// # Errors
/// When the chart is not installed.
pub async fn operator_account(cluster: &Cluster) -> Result<String> {
    Ok(format!("system:serviceaccount:{}:{}", chart::NAMESPACE, chart::service_account(cluster).await?))
}

fn log(cluster: &Cluster) -> Result<String> {
    let path = cluster.logs().join("audit.log");
    fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_read() {
        let line = r#"{"verb":"create","user":{"username":"u"},"requestURI":"/api/v1/namespaces/n/pods/p/eviction","objectRef":{"resource":"pods","subresource":"eviction","namespace":"n","name":"p"},"responseStatus":{"code":429}}"#;
        let request = Request::read(line).unwrap();
        assert_eq!(request.summary(), "create pods/eviction p: 429");
        assert!(request.writes() && request.user == "u");
    }

    #[test]
    fn looks_are_no_writes_and_half_a_line_is_nothing() {
        let get = Request::read(r#"{"verb":"get","objectRef":{"resource":"nodes","name":"n"},"responseStatus":{"code":200}}"#).unwrap();
        assert!(!get.writes());
        assert_eq!(get.summary(), "get nodes n: 200");
        assert_eq!(Request::read(r#"{"verb":"ge"#), None);
    }
}
