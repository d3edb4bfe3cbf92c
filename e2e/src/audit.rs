//! What was asked of the API server, and by whom, from its audit log.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::chart;
use crate::cluster::Cluster;

/// Who has rights in every cluster that nobody takes away.
const CONTROLLERS: &str = "system:kube-controller-manager";
/// An API server has read the roles so long after its start, on a busy machine.
const START: SignedDuration = SignedDuration::from_secs(15);

/// A request that was answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Who asked.
    pub user: String,
    /// With which program, as it says itself.
    pub agent: String,
    /// `get`, `list`, `watch`, `create`, `patch`, `update`, `delete`, …
    pub verb: String,
    /// API group; empty for the first one.
    pub group: String,
    /// Resource, with its subresource after a slash; empty for what is none, such as `/version`.
    pub resource: String,
    /// Namespace; empty for all of them, and where there is none.
    pub namespace: String,
    /// Name of the object; empty for all of them.
    pub name: String,
    /// Path and query.
    pub uri: String,
    /// Status code of the answer.
    pub code: u64,
    /// The role that allowed it, such as `ClusterRole "system:basic-user"`; empty when none did.
    pub allowed_by: String,
    /// When it came, by the API server's clock.
    pub received: Timestamp,
    /// What was sent; null but for the few requests of which the log has it.
    pub body: Value,
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
            agent: text("/userAgent").to_owned(),
            verb: text("/verb").to_owned(),
            group: text("/objectRef/apiGroup").to_owned(),
            resource: if subresource.is_empty() { resource.to_owned() } else { format!("{resource}/{subresource}") },
            namespace: text("/objectRef/namespace").to_owned(),
            name: text("/objectRef/name").to_owned(),
            uri: text("/requestURI").to_owned(),
            code: entry.pointer("/responseStatus/code").and_then(Value::as_u64).unwrap_or_default(),
            allowed_by: role(text("/annotations/authorization.k8s.io~1reason")).to_owned(),
            body: entry.get("requestObject").cloned().unwrap_or_default(),
            received: text("/requestReceivedTimestamp").parse().unwrap_or_default(),
        })
    }
}

/// The role in `RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "r" to ServiceAccount "a/n"`.
fn role(reason: &str) -> &str {
    let binding = reason.strip_prefix("RBAC: allowed by ").and_then(|binding| binding.split_once(" of "));
    binding.and_then(|(_, role)| role.split_once(" to ")).map(|(role, _)| role).unwrap_or_default()
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
        Ok(Self { skip: lines(&path(cluster))?.count() })
    }

    /// All requests since then, in the order in which they were answered.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn requests(&self, cluster: &Cluster) -> Result<Vec<Request>> {
        read_from(&path(cluster), self.skip, |_| true)
    }

    /// Those of the operator's ServiceAccount.
    ///
    /// # Errors
    /// When the log cannot be read, or the chart is not installed.
    pub async fn of_the_operator(&self, cluster: &Cluster) -> Result<Vec<Request>> {
        let user = operator_account(cluster).await?;
        read_from(&path(cluster), self.skip, |request| request.user == user)
    }
}

/// What an account was denied, but for a patch of an object that somebody had deleted the moment before, which the API server takes
/// for a wish to create one, and but for what an API server denies that has just started: until it has read the roles it knows
/// nobody's rights, and its own controllers are denied theirs.
#[must_use]
pub fn denied<'a>(requests: &'a [Request], account: &str) -> Vec<&'a Request> {
    let of_the_cluster = requests.iter().filter(|request| request.code == 403 && request.user == CONTROLLERS);
    let starts: Vec<Timestamp> = of_the_cluster.map(|request| request.received).collect();
    let has_just_started = |at: Timestamp| starts.iter().any(|start| at.duration_since(*start).abs() < START);
    let (mut gone, mut denied) = (BTreeSet::new(), Vec::new());
    for request in requests {
        let object = (&request.group, &request.resource, &request.namespace, &request.name);
        match (request.verb.as_str(), request.code) {
            ("delete", 200..300) => drop(gone.insert(object)),
            ("create" | "update" | "patch", 200..300) => drop(gone.remove(&object)),
            (_, 403) if request.user != account || has_just_started(request.received) => {}
            (verb, 403) if !(verb == "patch" && gone.contains(&object)) => denied.push(request),
            _ => {}
        }
    }
    denied
}

/// The user name of the operator's ServiceAccount.
///
/// # Errors
/// When the chart is not installed.
pub async fn operator_account(cluster: &Cluster) -> Result<String> {
    Ok(format!("system:serviceaccount:{}:{}", chart::NAMESPACE, chart::service_account(cluster).await?))
}

/// Where the log of a cluster is.
#[must_use]
pub fn path(cluster: &Cluster) -> PathBuf {
    cluster.logs().join("audit.log")
}

/// Those of a log that are `wanted`, in the order in which they were answered, without ever holding all of it: that of a long
/// run has some hundred megabytes.
///
/// # Errors
/// When the file cannot be read.
pub fn read(path: &Path, wanted: impl Fn(&Request) -> bool) -> Result<Vec<Request>> {
    read_from(path, 0, wanted)
}

fn read_from(path: &Path, skip: usize, wanted: impl Fn(&Request) -> bool) -> Result<Vec<Request>> {
    let mut found = Vec::new();
    for line in lines(path)?.skip(skip) {
        found.extend(Request::read(&line?).filter(&wanted));
    }
    Ok(found)
}

fn lines(path: &Path) -> Result<impl Iterator<Item = Result<String>>> {
    let reading = format!("reading {}", path.display());
    let file = File::open(path).context(reading.clone())?;
    Ok(BufReader::new(file).lines().map(move |line| line.context(reading.clone())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_read() {
        let line = r#"{"verb":"create","requestReceivedTimestamp":"2026-12-03T09:00:01.250000Z","user":{"username":"u"},"requestURI":"/api/v1/namespaces/n/pods/p/eviction","objectRef":{"resource":"pods","subresource":"eviction","namespace":"n","name":"p"},"responseStatus":{"code":429},"requestObject":{"kind":"Eviction"}}"#;
        let request = Request::read(line).unwrap();
        assert_eq!(request.summary(), "create pods/eviction p: 429");
        assert_eq!(request.body.get("kind"), Some(&Value::from("Eviction")));
        assert!(request.writes() && request.user == "u" && request.namespace == "n");
        assert_eq!(request.received, "2026-12-03T09:00:01.25Z".parse().unwrap());
    }

    #[test]
    fn a_patch_of_what_was_just_deleted_is_not_held_against_the_rights() {
        let request = |user: &str, verb: &str, code| Request { user: user.to_owned(), verb: verb.to_owned(), code, ..Request::default() };
        let rows: [(&[Request], usize); 4] = [
            (&[request("u", "patch", 403)], 1),
            (&[request("helm", "delete", 200), request("u", "patch", 403)], 0),
            (&[request("helm", "delete", 200), request("helm", "create", 201), request("u", "patch", 403)], 1),
            (&[request("helm", "delete", 200), request("u", "update", 403), request("other", "patch", 403)], 1),
        ];
        for (requests, expected) in rows {
            assert_eq!(denied(requests, "u").len(), expected, "{requests:?}");
        }
    }

    #[test]
    fn what_is_denied_to_everybody_is_not_held_against_the_rights() {
        let refused = |user: &str, second: i64| Request {
            user: user.to_owned(),
            verb: "get".to_owned(),
            code: 403,
            received: Timestamp::constant(second, 0),
            ..Request::default()
        };
        for (controllers, expected) in [(Some(101), 0), (Some(99), 0), (Some(200), 1), (None, 1)] {
            let others = controllers.map(|second| refused(CONTROLLERS, second));
            let requests: Vec<Request> = others.into_iter().chain([refused("u", 100)]).collect();
            assert_eq!(denied(&requests, "u").len(), expected, "{requests:?}");
        }
    }

    #[test]
    fn who_has_allowed_it_is_read_from_the_reason() {
        for (reason, expected) in [
            (r#"RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "r" to ServiceAccount "a/n""#, r#"ClusterRole "r""#),
            (r#"RBAC: allowed by RoleBinding "b/n" of Role "r" to ServiceAccount "a/n""#, r#"Role "r""#),
            ("", ""),
            (r#"RBAC: clusterrole.rbac.authorization.k8s.io "r" not found"#, ""),
        ] {
            assert_eq!(role(reason), expected, "{reason}");
        }
    }

    #[test]
    fn looks_are_no_writes_and_half_a_line_is_nothing() {
        let get = Request::read(r#"{"verb":"get","objectRef":{"resource":"nodes","name":"n"},"responseStatus":{"code":200}}"#).unwrap();
        assert!(!get.writes());
        assert_eq!(get.summary(), "get nodes n: 200");
        assert_eq!(Request::read(r#"{"verb":"ge"#), None);
    }
}
