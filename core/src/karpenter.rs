//! Partial views of Karpenter's NodePool and NodeClaim.
//!
//! Only the fields that a rule reads are here, every one of them optional, enumerations as text: a newer Karpenter
//! must not be able to make an object unreadable (D2, I11). Writes are patches, so what is not here survives.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Taint};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::{CustomResource, ResourceExt};
use serde::{Deserialize, Serialize};

use crate::annotation::{ClaimMarks, DISRUPTED_TAINT, DO_NOT_DISRUPT, DO_NOT_DISRUPT_OWNED, Map, NODEPOOL_LABEL, PoolMarks};
use crate::duration;
use crate::placeholder::requirement::Requirement;

/// What a NodePool asks for.
#[derive(CustomResource, Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[kube(
    group = "karpenter.sh",
    version = "v1",
    kind = "NodePool",
    plural = "nodepools",
    status = "NodePoolStatus",
    derive = "PartialEq",
    derive = "Default",
    schema = "disabled"
)]
#[serde(rename_all = "camelCase", default)]
pub struct NodePoolSpec {
    /// Template of the claims to come.
    pub template: Template,
    /// Upper bounds by resource name, `nodes` among them.
    pub limits: BTreeMap<String, Quantity>,
    /// Set on a static pool, which refills itself.
    pub replicas: Option<i64>,
}

/// Template of a NodePool's claims.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct Template {
    /// What each claim is created with.
    pub spec: NodeClaimSpec,
}

/// What a NodePool has.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct NodePoolStatus {
    /// Sums over the pool's nodes by resource name, `nodes` among them.
    pub resources: BTreeMap<String, Quantity>,
    /// `Ready`, `NodeClassReady`, …
    pub conditions: Vec<Condition>,
}

/// What a NodeClaim asks for.
#[derive(CustomResource, Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[kube(
    group = "karpenter.sh",
    version = "v1",
    kind = "NodeClaim",
    plural = "nodeclaims",
    status = "NodeClaimStatus",
    derive = "PartialEq",
    derive = "Default",
    schema = "disabled"
)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeClaimSpec {
    /// Go duration or `Never`.
    pub expire_after: Option<String>,
    /// Go duration.
    pub termination_grace_period: Option<String>,
    /// Scheduling requirements.
    pub requirements: Vec<Requirement>,
    /// Taints that every node carries.
    pub taints: Vec<Taint>,
}

/// What a NodeClaim has.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeClaimStatus {
    /// Name of its Node, once registered.
    pub node_name: Option<String>,
    /// What Pods may use, by resource name.
    pub allocatable: BTreeMap<String, Quantity>,
    /// `Ready`, `Initialized`, `Drained`, …
    pub conditions: Vec<Condition>,
}

/// A condition, reduced to what is read.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(default)]
pub struct Condition {
    /// Which condition.
    #[serde(rename = "type")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
}

impl NodeClaimSpec {
    /// Life of a claim; `None` is `Never`, and what cannot be read is never triggered either.
    #[must_use]
    pub fn expire_after(&self) -> Option<Duration> {
        duration::parse(self.expire_after.as_deref()?).ok()
    }

    /// How long a drain may take; `None` when unset.
    #[must_use]
    pub fn termination_grace_period(&self) -> Option<Duration> {
        duration::parse(self.termination_grace_period.as_deref()?).ok()
    }
}

impl NodePool {
    /// The typed view of its annotations as of `now`.
    #[must_use]
    pub fn marks(&self, now: Timestamp) -> PoolMarks {
        PoolMarks::read(self.annotations(), now)
    }

    /// Its name; empty if it has none.
    #[must_use]
    pub fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    /// A policy that governs it may rotate its nodes: a static pool refills itself, and one that is being deleted goes.
    #[must_use]
    pub fn is_rotatable(&self) -> bool {
        self.spec.replicas.is_none() && self.metadata.deletion_timestamp.is_none()
    }

    /// How many nodes Karpenter has counted, for forecasts; 0 if it has not counted any.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.status.as_ref().and_then(|status| status.resources.get("nodes")?.0.parse().ok()).unwrap_or_default()
    }

    /// Karpenter says that it launches no nodes for the pool, because of its node class for example. Of a pool of which it
    /// says nothing yet that is not known.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.status.as_ref().is_some_and(|status| has(&status.conditions, "Ready", "False"))
    }
}

fn has(conditions: &[Condition], type_: &str, status: &str) -> bool {
    conditions.iter().any(|condition| condition.type_ == type_ && condition.status == status)
}

impl NodeClaim {
    /// The typed view of its annotations as of `now`.
    #[must_use]
    pub fn marks(&self, now: Timestamp) -> ClaimMarks {
        ClaimMarks::read(self.annotations(), now)
    }

    /// The NodePool that it belongs to, by Karpenter's label.
    #[must_use]
    pub fn pool(&self) -> Option<&str> {
        self.labels().get(NODEPOOL_LABEL).map(String::as_str)
    }

    /// Name of its Node, once registered.
    #[must_use]
    pub fn node_name(&self) -> Option<&str> {
        self.status.as_ref()?.node_name.as_deref().filter(|name| !name.is_empty())
    }

    /// The condition `type_` is exactly `True`.
    #[must_use]
    pub fn is_true(&self, type_: &str) -> bool {
        let conditions = self.status.as_ref().map(|s| s.conditions.as_slice()).unwrap_or_default();
        has(conditions, type_, "True")
    }

    /// Being deleted.
    #[must_use]
    pub fn deleting(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    /// When it was created; an object without the stamp counts as the oldest there can be.
    #[must_use]
    pub fn created(&self) -> Timestamp {
        self.creation_timestamp().map_or(Timestamp::MIN, |t| t.0)
    }

    /// When Karpenter deletes it by force: creation plus its own `expireAfter`. `None` is never.
    #[must_use]
    pub fn deadline(&self) -> Option<Timestamp> {
        self.created().checked_add(self.spec.expire_after()?).ok()
    }
}

/// The Node's `Ready` condition is exactly `True`.
#[must_use]
pub fn node_ready(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|s| s.conditions.as_deref()).unwrap_or_default();
    conditions.iter().any(|c| c.type_ == "Ready" && c.status == "True")
}

/// Karpenter has begun to take the Node away, or someone is deleting it (faults.md 0.4).
#[must_use]
pub fn node_leaving(node: &Node) -> bool {
    let taints = node.spec.as_ref().and_then(|s| s.taints.as_deref()).unwrap_or_default();
    node.metadata.deletion_timestamp.is_some() || taints.iter().any(|t| t.key == DISRUPTED_TAINT)
}

/// A person protects the Node: `do-not-disrupt` is exactly `true` and the mark is not ours (I6).
#[must_use]
pub fn protected_by_operator(annotations: &Map) -> bool {
    annotations.get(DO_NOT_DISRUPT).map(String::as_str) == Some("true") && !annotations.contains_key(DO_NOT_DISRUPT_OWNED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c196_an_object_of_a_newer_karpenter_is_readable() {
        let claim: NodeClaim = serde_json::from_str(
            r#"{"apiVersion":"karpenter.sh/v1","kind":"NodeClaim","metadata":{"name":"a","labels":{"karpenter.sh/nodepool":"p"}},
                "spec":{"expireAfter":"336h","novel":{"x":[1]},"requirements":[{"key":"k","operator":"Approximately","values":["1"],"minValues":2}]},
                "status":{"conditions":[{"type":"Ready","status":"Perhaps","severity":"odd"}],"nodeName":""}}"#,
        )
        .unwrap();
        assert_eq!(claim.spec.expire_after(), Some(Duration::from_secs(336 * 3600)));
        assert_eq!((claim.pool(), claim.node_name(), claim.is_true("Ready")), (Some("p"), None, false));
    }

    #[test]
    fn c197_a_field_of_another_type_that_no_rule_reads_harms_nothing() {
        let pool: NodePool = serde_json::from_str(
            r#"{"apiVersion":"karpenter.sh/v1","kind":"NodePool","metadata":{"name":"p"},
                "spec":{"weight":"ten","disruption":[],"template":{"metadata":7,"spec":{"expireAfter":"336h","nodeClassRef":"x"}}}}"#,
        )
        .unwrap();
        assert_eq!(pool.spec.template.spec.expire_after(), Some(Duration::from_secs(336 * 3600)));
    }

    #[test]
    fn never_and_garbage_have_no_deadline() {
        for text in ["Never", "soon", ""] {
            let claim = NodeClaim::new("a", NodeClaimSpec { expire_after: Some(text.to_owned()), ..NodeClaimSpec::default() });
            assert_eq!(claim.deadline(), None, "{text}");
        }
    }

    #[test]
    fn a_condition_counts_by_its_type_and_its_status() {
        let node = |conditions: &[(&str, &str)]| -> Node {
            let conditions: Vec<serde_json::Value> =
                conditions.iter().map(|(type_, status)| serde_json::json!({"type": type_, "status": status})).collect();
            serde_json::from_value(serde_json::json!({"metadata": {}, "status": {"conditions": conditions}})).unwrap()
        };
        assert!(node_ready(&node(&[("DiskPressure", "False"), ("Ready", "True")])));
        for other in [&[][..], &[("Ready", "False"), ("DiskPressure", "True")], &[("Ready", "Unknown")]] {
            assert!(!node_ready(&node(other)), "{other:?}");
        }
        let condition = |type_: &str, status: &str| Condition { type_: type_.to_owned(), status: status.to_owned() };
        let conditions = vec![condition("Ready", "False"), condition("Drained", "True")];
        let mut claim = NodeClaim { status: Some(NodeClaimStatus { conditions, ..NodeClaimStatus::default() }), ..NodeClaim::default() };
        assert!(claim.is_true("Drained") && !claim.is_true("Ready") && !claim.is_true("Initialized"));
        claim.status = None;
        assert!(!claim.is_true("Drained"));
        let conditions = vec![condition("Ready", "False"), condition("NodeClassReady", "True")];
        let mut pool = NodePool { status: Some(NodePoolStatus { conditions, ..NodePoolStatus::default() }), ..NodePool::default() };
        assert!(pool.is_broken());
        pool.status = Some(NodePoolStatus { conditions: vec![condition("NodeClassReady", "False")], ..NodePoolStatus::default() });
        assert!(!pool.is_broken());
    }

    #[test]
    fn only_the_exact_value_without_our_mark_protects() {
        let map = |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect::<Map>();
        assert!(protected_by_operator(&map(&[(DO_NOT_DISRUPT, "true")])));
        assert!(!protected_by_operator(&map(&[(DO_NOT_DISRUPT, "True")])));
        assert!(!protected_by_operator(&map(&[(DO_NOT_DISRUPT, "false")])));
        assert!(!protected_by_operator(&map(&[(DO_NOT_DISRUPT, "true"), (DO_NOT_DISRUPT_OWNED, "true")])));
    }
}
