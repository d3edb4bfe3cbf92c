//! Nodes that come: what Karpenter launches in the place of one that goes, and what a written claim leaves out.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, NodeCondition, NodeStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::ResourceExt;
use noderotation_core::annotation::{DISRUPTED_TAINT, DO_NOT_DISRUPT, HOSTNAME_LABEL, NODEPOOL_LABEL};
use noderotation_core::karpenter::{Condition, NodeClaim, NodePool};

/// Makes a claim Ready, on a Node of its own name unless it has one.
pub fn make_ready(claim: &mut NodeClaim) {
    let name = claim.name_any();
    let status = claim.status.get_or_insert_default();
    status.node_name.get_or_insert(name);
    status.conditions = ["Ready", "Initialized"].map(|type_| Condition { type_: type_.to_owned(), status: "True".to_owned() }).into();
}

/// The Ready Node of a claim.
#[must_use]
pub fn node(claim: &NodeClaim, name: &str) -> Node {
    let pool = claim.pool().unwrap_or_default().to_owned();
    let allocatable = claim.status.as_ref().map(|status| status.allocatable.clone());
    let ready = NodeCondition { type_: "Ready".to_owned(), status: "True".to_owned(), ..NodeCondition::default() };
    Node {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            labels: Some([(NODEPOOL_LABEL.to_owned(), pool), (HOSTNAME_LABEL.to_owned(), name.to_owned())].into()),
            ..ObjectMeta::default()
        },
        spec: None,
        status: Some(NodeStatus { allocatable, conditions: Some(vec![ready]), ..NodeStatus::default() }),
    }
}

/// The claim in the place of `old`, by the pool's template, and its Node: alike, but with nothing that anybody has put on
/// the old ones.
pub(crate) fn successor(pool: &NodePool, old: &NodeClaim, node: Option<&Node>, name: &str, born: Timestamp) -> (NodeClaim, Node) {
    let template = &pool.spec.template.spec;
    let mut claim = old.clone();
    claim.metadata = ObjectMeta {
        name: Some(name.to_owned()),
        labels: old.metadata.labels.clone(),
        creation_timestamp: Some(Time(born)),
        ..ObjectMeta::default()
    };
    claim.spec.expire_after.clone_from(&template.expire_after);
    claim.spec.termination_grace_period.clone_from(&template.termination_grace_period);
    if let Some(status) = &mut claim.status {
        status.node_name = None;
    }
    make_ready(&mut claim);
    let node = node.map_or_else(|| self::node(&claim, name), |node| alike(node, name));
    (claim, node)
}

fn alike(old: &Node, name: &str) -> Node {
    let mut node = old.clone();
    let mut labels = old.metadata.labels.clone().unwrap_or_default();
    labels.insert(HOSTNAME_LABEL.to_owned(), name.to_owned());
    let ours = |key: &String| key.starts_with("noderotation.io/") || key == DO_NOT_DISRUPT;
    let annotations = old.annotations().iter().filter(|(key, _)| !ours(key)).map(|(key, value)| (key.clone(), value.clone()));
    node.metadata =
        ObjectMeta { name: Some(name.to_owned()), labels: Some(labels), annotations: Some(annotations.collect()), ..ObjectMeta::default() };
    if let Some(spec) = &mut node.spec {
        spec.unschedulable = None;
        spec.taints
            .iter_mut()
            .for_each(|taints| taints.retain(|taint| taint.key != DISRUPTED_TAINT && !taint.key.contains("unschedulable")));
    }
    node
}
