//! What can be seen of one NodePool and its rotation, through the API server only.
//!
//! It spells the public names by itself, so that a wrong key in the operator cannot hide here.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use jiff::Timestamp;
use kube::api::{Api, DynamicObject, ListParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::Value;

use crate::chart;
use crate::cluster::Cluster;
use crate::fleet;

const PREFIX: &str = "noderotation.io/";
const POOL_LABEL: &str = "karpenter.sh/nodepool";
const SURGE_FOR: &str = "noderotation.io/surge-for";
const DO_NOT_DISRUPT: &str = "karpenter.sh/do-not-disrupt";

/// Annotations or labels.
pub type Map = BTreeMap<String, String>;

/// One look at a NodePool and all that belongs to it.
#[derive(Clone, Debug, Default)]
pub struct Sight {
    /// Annotations of the NodePool.
    pub pool: Map,
    /// Its NodeClaims, oldest first.
    pub claims: Vec<Claim>,
    /// Its Nodes.
    pub nodes: Vec<Node>,
    /// Pods of its workload.
    pub pods: Vec<Pod>,
    /// Placeholders for its claims, also for those that are gone.
    pub placeholders: Vec<Pod>,
}

/// A NodeClaim.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Name.
    pub name: String,
    /// Annotations.
    pub annotations: Map,
    /// Its Node, once there is one.
    pub node: Option<String>,
    /// Karpenter has seen its Node through.
    pub initialized: bool,
    /// It is being deleted.
    pub deleting: bool,
    created: Option<Timestamp>,
}

/// A Node.
#[derive(Clone, Debug)]
pub struct Node {
    /// Name.
    pub name: String,
    /// Annotations.
    pub annotations: Map,
    /// The kubelet reports it ready.
    pub ready: bool,
    /// New Pods are kept off.
    pub unschedulable: bool,
}

/// A Pod.
#[derive(Clone, Debug)]
pub struct Pod {
    /// Name.
    pub name: String,
    /// Tells it from a namesake that was there before.
    pub uid: String,
    /// Phase.
    pub phase: String,
    /// The Node that it is bound to.
    pub node: Option<String>,
    /// It is being deleted.
    pub deleting: bool,
    surge_for: Option<String>,
    pool: Option<String>,
}

impl Sight {
    /// Looks.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn of(cluster: &Cluster, pool: &str) -> Result<Self> {
        let client = cluster.client();
        let labelled = format!("{POOL_LABEL}={pool}");
        let pools = list(&client, ("karpenter.sh", "v1", "NodePool", "nodepools"), None, &format!("{}={pool}", fleet::LABEL)).await?;
        let claims = list(&client, ("karpenter.sh", "v1", "NodeClaim", "nodeclaims"), None, &labelled).await?;
        let nodes = list(&client, ("", "v1", "Node", "nodes"), None, &labelled).await?;
        let workload = format!("{}={pool}", fleet::LABEL);
        let pods = list(&client, ("", "v1", "Pod", "pods"), Some(fleet::NAMESPACE), &workload).await?;
        let placeholders = list(&client, ("", "v1", "Pod", "pods"), Some(chart::NAMESPACE), SURGE_FOR).await?;
        let mut claims: Vec<Claim> = claims.iter().map(Claim::from).collect();
        claims.sort_by(|one, other| (one.created, &one.name).cmp(&(other.created, &other.name)));
        // By its label as well: when its claim is gone, a placeholder must not go out of sight.
        let named = |pod: &Pod| pod.surge_for.as_ref().is_some_and(|claim| claims.iter().any(|own| own.name == *claim));
        let ours = |pod: &Pod| pod.pool.as_deref() == Some(pool) || named(pod);
        Ok(Self {
            pool: pools.first().map(|pool| map(pool, "/metadata/annotations")).unwrap_or_default(),
            nodes: nodes.iter().map(Node::from).collect(),
            pods: pods.iter().map(Pod::from).collect(),
            placeholders: placeholders.iter().map(Pod::from).filter(ours).collect(),
            claims,
        })
    }

    /// The claim in rotation.
    #[must_use]
    pub fn anchor(&self) -> Option<&str> {
        self.pool.get("noderotation.io/active-rotation").map(String::as_str)
    }

    /// The durable mark that the drain has begun.
    #[must_use]
    pub fn mirrored(&self) -> bool {
        self.pool.get("noderotation.io/active-rotation-state").is_some_and(|state| state == "draining")
    }

    /// When the last success was.
    #[must_use]
    pub fn last_rotation_at(&self) -> Option<&str> {
        self.pool.get("noderotation.io/last-rotation-at").map(String::as_str)
    }

    /// The claim of that name.
    #[must_use]
    pub fn claim(&self, name: &str) -> Option<&Claim> {
        self.claims.iter().find(|claim| claim.name == name)
    }

    /// The claim of the Node that the placeholder runs on, once both are seen: the lists are read one after another.
    #[must_use]
    pub fn surge(&self) -> Option<&Claim> {
        let host = self.placeholders.first().filter(|pod| pod.running())?.node.as_ref()?;
        self.claims.iter().find(|claim| claim.node.as_ref() == Some(host))
    }

    /// What the rotation has written on a claim under a key of ours.
    #[must_use]
    pub fn written(&self, claim: &str, key: &str) -> Option<&str> {
        self.claim(claim)?.annotations.get(&format!("{PREFIX}{key}")).map(String::as_str)
    }

    /// The Node of that name.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<&Node> {
        self.nodes.iter().find(|node| node.name == name)
    }

    /// Whether a Node of that name is there.
    #[must_use]
    pub fn has_node(&self, name: &str) -> bool {
        self.nodes.iter().any(|node| node.name == name)
    }

    /// Everything of ours that is on any object, in words, except for the given annotations.
    #[must_use]
    pub fn marks(&self, except: &[&str]) -> Vec<String> {
        let of = |kind: &'static str, name: &str, annotations: &Map| -> Vec<String> {
            let ours = annotations.iter().filter(|(key, _)| key.starts_with(PREFIX) || *key == DO_NOT_DISRUPT);
            let ours = ours.filter(|(key, _)| !except.iter().any(|key_except| **key == format!("{PREFIX}{key_except}")));
            ours.map(|(key, value)| format!("{kind} {name}: {key}={value}")).collect()
        };
        let mut marks = of("NodePool", "", &self.pool);
        marks.extend(self.claims.iter().flat_map(|claim| of("NodeClaim", &claim.name, &claim.annotations)));
        marks.extend(self.nodes.iter().flat_map(|node| of("Node", &node.name, &node.annotations)));
        marks.extend(self.nodes.iter().filter(|node| node.unschedulable).map(|node| format!("Node {}: unschedulable", node.name)));
        marks.extend(self.placeholders.iter().map(|pod| format!("placeholder {}", pod.name)));
        marks
    }
}

impl Pod {
    /// It runs and stays.
    #[must_use]
    pub fn running(&self) -> bool {
        self.phase == "Running" && !self.deleting
    }
}

impl From<&Value> for Claim {
    fn from(object: &Value) -> Self {
        Self {
            name: text(object, "/metadata/name").unwrap_or_default(),
            annotations: map(object, "/metadata/annotations"),
            node: text(object, "/status/nodeName"),
            initialized: condition(object, "Initialized"),
            deleting: text(object, "/metadata/deletionTimestamp").is_some(),
            created: text(object, "/metadata/creationTimestamp").and_then(|text| text.parse().ok()),
        }
    }
}

impl From<&Value> for Node {
    fn from(object: &Value) -> Self {
        Self {
            name: text(object, "/metadata/name").unwrap_or_default(),
            annotations: map(object, "/metadata/annotations"),
            ready: condition(object, "Ready"),
            unschedulable: object.pointer("/spec/unschedulable").and_then(Value::as_bool).unwrap_or(false),
        }
    }
}

impl From<&Value> for Pod {
    fn from(object: &Value) -> Self {
        let mut labels = map(object, "/metadata/labels");
        Self {
            name: text(object, "/metadata/name").unwrap_or_default(),
            uid: text(object, "/metadata/uid").unwrap_or_default(),
            phase: text(object, "/status/phase").unwrap_or_default(),
            node: text(object, "/spec/nodeName"),
            deleting: text(object, "/metadata/deletionTimestamp").is_some(),
            surge_for: labels.remove(SURGE_FOR),
            pool: labels.remove(POOL_LABEL),
        }
    }
}

/// Lists objects of a kind (group, version, kind, plural), in one namespace or in all, by label.
///
/// # Errors
/// When the API server does not answer.
pub async fn list(
    client: &kube::Client,
    (group, version, kind, plural): (&str, &str, &str, &str),
    namespace: Option<&str>,
    labels: &str,
) -> Result<Vec<Value>> {
    let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural);
    let api: Api<DynamicObject> = match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    let objects = api.list(&ListParams::default().labels(labels)).await.with_context(|| format!("listing {plural}"))?;
    objects.items.iter().map(|object| serde_json::to_value(object).with_context(|| format!("reading {plural}"))).collect()
}

fn text(object: &Value, path: &str) -> Option<String> {
    object.pointer(path)?.as_str().map(str::to_owned)
}

fn map(object: &Value, path: &str) -> Map {
    let entries = object.pointer(path).and_then(Value::as_object).into_iter().flatten();
    entries.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

fn condition(object: &Value, kind: &str) -> bool {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten();
    conditions.into_iter().any(|condition| {
        let is = |key: &str, value: &str| condition.get(key).and_then(Value::as_str) == Some(value);
        is("type", kind) && is("status", "True")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn marks_are_ours_only() {
        let node = Node::from(&json!({
            "metadata": {"name": "n", "annotations": {"noderotation.io/cordoned": "true", "karpenter.sh/do-not-disrupt": "true", "other": "x"}},
            "spec": {"unschedulable": true},
        }));
        let pool = Map::from([("noderotation.io/last-rotation-at".to_owned(), "2026-01-01T00:00:00Z".to_owned())]);
        let sight = Sight { pool, nodes: vec![node], ..Sight::default() };
        let expected = ["Node n: karpenter.sh/do-not-disrupt=true", "Node n: noderotation.io/cordoned=true", "Node n: unschedulable"];
        assert_eq!(sight.marks(&["last-rotation-at"]), expected);
        assert_eq!(sight.marks(&[]).len(), 4);
    }

    #[test]
    fn objects_that_say_nothing_are_read() {
        let claim = Claim::from(&json!({}));
        assert!(!claim.deleting && !claim.initialized && claim.node.is_none());
        assert!(!Pod::from(&json!({})).running());
        assert!(!Node::from(&json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}})).ready);
        assert!(Node::from(&json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}})).ready);
    }
}
