//! A small world: objects with versions, a controller that can be cut off, and Karpenter's part by hand.

mod pass;
mod remains;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Node, NodeCondition, NodeSpec, NodeStatus, Pod, PodSpec, PodStatus, Taint};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::ResourceExt;
use serde_json::{Value, json};

use crate::annotation::*;
use crate::karpenter::*;
use crate::resolve::{PolicyEntry, resolve};
use crate::rotation::announcement::{Announcement, Notice};
use crate::rotation::effect::{Effect, Planned, Proceed, Target};
use crate::rotation::observation::{CloseUp, Look, Observation, Settings};
use crate::rotation::report::Activity;
use crate::rotation::tests::invariant;
use crate::rotation::{Decision, Next, step};
use crate::sweep::{self, Leftovers, Marked};

pub(super) fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

pub(super) fn time(at: Timestamp) -> Time {
    Time(at)
}

fn meta(name: &str, version: u64) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        uid: Some(format!("uid-{name}")),
        resource_version: Some(version.to_string()),
        labels: Some([(NODEPOOL_LABEL.to_owned(), "pool".to_owned()), (HOSTNAME_LABEL.to_owned(), name.to_owned())].into()),
        ..ObjectMeta::default()
    }
}

/// A Ready claim on the node of the same name.
pub(super) fn claim_named(name: &str, created: &str) -> NodeClaim {
    let spec = NodeClaimSpec {
        expire_after: Some("336h".to_owned()),
        termination_grace_period: Some("1h".to_owned()),
        ..NodeClaimSpec::default()
    };
    let condition = |type_: &str| Condition { type_: type_.to_owned(), status: "True".to_owned() };
    let mut claim = NodeClaim::new(name, spec);
    claim.metadata = ObjectMeta { creation_timestamp: Some(time(at(created))), ..meta(name, 1) };
    claim.status = Some(NodeClaimStatus {
        node_name: Some(name.to_owned()),
        conditions: vec![condition("Ready"), condition("Initialized")],
        ..NodeClaimStatus::default()
    });
    claim
}

/// A policy for pools with these labels, with the base window and these fields of `surge`.
pub(super) fn policy_named(name: &str, labels: &Value, surge: &Value) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {
            "nodePoolSelector": {"matchLabels": labels},
            "maintenanceWindows": [{"timezone": "UTC", "days": ["Wed", "Sat"], "start": "02:00", "end": "06:00"}],
            "surge": surge
        }
    })
}

/// A Ready node.
pub(super) fn node_named(name: &str) -> Node {
    let ready = NodeCondition { type_: "Ready".to_owned(), status: "True".to_owned(), ..NodeCondition::default() };
    Node {
        metadata: ObjectMeta { uid: Some(format!("uid-of-node-{name}")), ..meta(name, 1) },
        spec: Some(NodeSpec::default()),
        status: Some(NodeStatus { conditions: Some(vec![ready]), ..NodeStatus::default() }),
    }
}

/// Everything there is, and what was done to it.
#[derive(Clone)]
pub(super) struct World {
    pub(super) now: Timestamp,
    pub(super) pool: NodePool,
    pub(super) claims: BTreeMap<String, NodeClaim>,
    pub(super) nodes: BTreeMap<String, Node>,
    pub(super) pods: BTreeMap<String, Pod>,
    pub(super) budgets: Vec<PodDisruptionBudget>,
    pub(super) deleted: Vec<String>,
    /// How often a step has asked for a live look.
    pub(super) looks: Cell<usize>,
    pub(super) log: Vec<String>,
    pub(super) notices: Vec<Notice>,
    pub(super) stuck: bool,
    pub(super) writes: usize,
    pub(super) fail_deletes: bool,
    pub(super) taint_on_patch: Option<String>,
    /// Another leader writes as well, so a write may come too late; otherwise that is a fault of the step.
    pub(super) rival: bool,
    /// The policies of the cluster, as the API server holds them.
    pub(super) policies: Vec<Value>,
    /// When the last step wanted to look again.
    pub(super) next: Next,
    activity: Option<Activity>,
    crash_before: Option<usize>,
    surges: usize,
    version: u64,
}

impl World {
    /// The pool with these claims, all due at the first instant of the window of 2026-01-07.
    pub(super) fn with_claims(names: &[&str]) -> Self {
        let mut pool = NodePool::new("pool", NodePoolSpec::default());
        pool.spec.template.spec.expire_after = Some("336h".to_owned());
        pool.spec.template.spec.termination_grace_period = Some("1h".to_owned());
        pool.metadata = meta("pool", 1);
        Self {
            now: at("2026-01-07T02:00:00Z"),
            pool,
            claims: names.iter().map(|name| ((*name).to_owned(), claim_named(name, "2026-01-01T00:00:00Z"))).collect(),
            nodes: names.iter().map(|name| ((*name).to_owned(), node_named(name))).collect(),
            pods: BTreeMap::new(),
            budgets: Vec::new(),
            deleted: Vec::new(),
            looks: Cell::new(0),
            log: Vec::new(),
            notices: Vec::new(),
            stuck: false,
            writes: 0,
            fail_deletes: false,
            taint_on_patch: None,
            rival: false,
            policies: vec![policy_named("policy", &json!({}), &json!({}))],
            next: Next::Again,
            activity: None,
            crash_before: None,
            surges: 0,
            version: 1,
        }
    }

    pub(super) fn crash_before_write(&mut self, write: Option<usize>) {
        self.crash_before = write;
        self.writes = 0;
    }

    pub(super) fn advance(&mut self, by: SignedDuration) {
        self.now += by;
    }

    pub(super) fn ungovern(&mut self) {
        self.policies.clear();
    }

    /// The pool's policy with these fields of `surge`.
    pub(super) fn govern(&mut self, surge: &Value) {
        self.policies = vec![policy_named("policy", &json!({}), surge)];
    }

    pub(super) fn limit(&mut self, resource: &str, limit: &str, used: &str) {
        self.pool.spec.limits = [(resource.to_owned(), Quantity(limit.to_owned()))].into();
        self.pool.status =
            Some(NodePoolStatus { resources: [(resource.to_owned(), Quantity(used.to_owned()))].into(), ..NodePoolStatus::default() });
    }

    /// A person's `do-not-disrupt` on the node.
    pub(super) fn protect(&mut self, node: &str) {
        self.node_mut(node).metadata.annotations = Some([(DO_NOT_DISRUPT.to_owned(), "true".to_owned())].into());
    }

    fn observation(&self) -> Observation {
        Observation {
            pool: self.pool.clone(),
            governing: resolve(self.pool.labels(), &self.policies.iter().map(PolicyEntry::from_object).collect::<Vec<_>>()),
            claims: of_pool(&self.claims),
            nodes: of_pool(&self.nodes),
            settings: Settings {
                namespace: "system".to_owned(),
                placeholder_image: "pause".to_owned(),
                priority_class: "low".to_owned(),
                ..Settings::default()
            },
            placeholders: self.placeholders(),
            close_up: None,
            leftovers: None,
        }
    }

    fn placeholders(&self) -> Vec<Pod> {
        self.pods.values().filter(|pod| pod.labels().contains_key(SURGE_FOR)).cloned().collect()
    }

    /// What a live look by metadata alone finds.
    pub(super) fn marked(&self) -> Marked {
        let placeholders = self.placeholders().into_iter().map(|pod| Pod { metadata: pod.metadata, ..Pod::default() }).collect();
        let nodes = of_pool(&self.nodes).into_iter().map(|node| Node { metadata: node.metadata, ..Node::default() }).collect();
        let claim = |claim: NodeClaim| NodeClaim { metadata: claim.metadata, ..NodeClaim::default() };
        Marked { placeholders, nodes, claims: of_pool(&self.claims).into_iter().map(claim).collect() }
    }

    /// Karpenter's part: a node for a placeholder that waits, and the scheduler's bind.
    pub(super) fn provision(&mut self) {
        let waiting: Vec<String> =
            self.pods.iter().filter(|(_, pod)| pod.spec.as_ref().unwrap().node_name.is_none()).map(|(name, _)| name.clone()).collect();
        for pod in waiting {
            self.surges += 1;
            let name = format!("surge-{}", self.surges);
            let created = self.now + SignedDuration::from_secs(1);
            self.claims.insert(name.clone(), claim_named(&name, &created.to_string()));
            self.nodes.insert(name.clone(), node_named(&name));
            let pod = self.pods.get_mut(&pod).unwrap();
            pod.spec.as_mut().unwrap().node_name = Some(name);
            pod.status.as_mut().unwrap().phase = Some("Running".to_owned());
        }
    }

    /// Karpenter's part: a claim that is being deleted has drained and is gone with its node.
    pub(super) fn finish_drains(&mut self) {
        let gone: Vec<String> = self.claims.values().filter(|claim| claim.deleting()).map(ResourceExt::name_any).collect();
        for name in gone {
            self.claims.remove(&name);
            self.nodes.remove(&name);
        }
    }

    /// The scheduler's part: the Pod is bound to the node.
    pub(super) fn bind(&mut self, pod: &str, node: &str) {
        self.pods.get_mut(pod).unwrap().spec.as_mut().unwrap().node_name = Some(node.to_owned());
    }

    pub(super) fn add_workload(&mut self, node: &str) {
        let spec = PodSpec { node_name: Some(node.to_owned()), ..PodSpec::default() };
        self.pods.insert("workload".to_owned(), Pod { metadata: meta("workload", 1), spec: Some(spec), status: None });
    }

    pub(super) fn claim(&self, name: &str) -> Option<&NodeClaim> {
        self.claims.get(name)
    }

    pub(super) fn claim_mut(&mut self, name: &str) -> &mut NodeClaim {
        self.claims.get_mut(name).unwrap()
    }

    pub(super) fn node(&self, name: &str) -> &Node {
        &self.nodes[name]
    }

    pub(super) fn node_mut(&mut self, name: &str) -> &mut Node {
        self.nodes.get_mut(name).unwrap()
    }

    pub(super) fn activity(&self) -> &Activity {
        self.activity.as_ref().unwrap()
    }

    pub(super) fn anchored(&self) -> bool {
        self.pool_annotation(ACTIVE_ROTATION).is_some()
    }

    pub(super) fn pool_annotation(&self, key: &str) -> Option<String> {
        self.pool.annotations().get(key).cloned()
    }

    pub(super) fn claim_annotation(&self, claim: &str, key: &str) -> Option<String> {
        self.claims.get(claim)?.annotations().get(key).cloned()
    }

    pub(super) fn annotate_pool(&mut self, key: &str, value: &str) {
        self.pool.annotations_mut().insert(key.to_owned(), value.to_owned());
    }

    pub(super) fn annotate_claim(&mut self, claim: &str, key: &str, value: &str) {
        self.claim_mut(claim).annotations_mut().insert(key.to_owned(), value.to_owned());
    }
}

/// The objects that Karpenter's label puts into the pool.
fn of_pool<K: ResourceExt + Clone>(objects: &BTreeMap<String, K>) -> Vec<K> {
    objects.values().filter(|object| object.labels().get(NODEPOOL_LABEL).is_some_and(|pool| pool == "pool")).cloned().collect()
}
