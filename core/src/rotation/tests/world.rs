//! A small world: objects with versions, a controller that can be cut off, and Karpenter's part by hand.

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
        self.pool.status = Some(NodePoolStatus { resources: [(resource.to_owned(), Quantity(used.to_owned()))].into() });
    }

    /// A person's `do-not-disrupt` on the node.
    pub(super) fn protect(&mut self, node: &str) {
        self.node_mut(node).metadata.annotations = Some([(DO_NOT_DISRUPT.to_owned(), "true".to_owned())].into());
    }

    /// One pass as the shell makes it: until the step rests, a write is refused, or the process is cut off.
    pub(super) fn pass(&mut self) -> Vec<Announcement> {
        self.pass_after(None)
    }

    /// A pass whose first look is at the caches as they were in `before`; every further look is live.
    pub(super) fn pass_after(&mut self, before: Option<&Self>) -> Vec<Announcement> {
        let mut told = Vec::new();
        let mut first = before.map(Self::observation);
        for _ in 0..16 {
            let decision = self.decide_from(first.take().unwrap_or_else(|| self.observation()));
            invariant::hold(self, &decision);
            self.notices = decision.notices.clone();
            self.stuck = decision.report.drain_stuck;
            self.activity = Some(decision.report.activity.clone());
            let mut written = BTreeMap::new();
            for planned in decision.effects {
                if !self.write(planned, &mut written, &mut told) {
                    return told;
                }
            }
            if decision.next != Next::Again {
                return told;
            }
        }
        panic!("the step does not come to an end");
    }

    /// What a leader decides now and has not written yet.
    pub(super) fn decide(&self) -> Decision {
        self.decide_from(self.observation())
    }

    fn observation(&self) -> Observation {
        Observation {
            pool: self.pool.clone(),
            governing: resolve(self.pool.labels(), &self.policies.iter().map(PolicyEntry::from_object).collect::<Vec<_>>()),
            claims: of_pool(&self.claims),
            nodes: of_pool(&self.nodes),
            settings: Settings { namespace: "system".to_owned(), placeholder_image: "pause".to_owned(), priority_class: "low".to_owned() },
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

    fn decide_from(&self, mut observation: Observation) -> Decision {
        for _ in 0..16 {
            match step(&observation, self.now) {
                ControlFlow::Continue(decision) => return decision,
                ControlFlow::Break(look) => self.look(&mut observation, look),
            }
        }
        panic!("the step has never seen enough");
    }

    /// A leader that was paused after its decision carries it out.
    pub(super) fn carry_out(&mut self, decision: Decision) -> Vec<Announcement> {
        let (mut told, mut written) = (Vec::new(), BTreeMap::new());
        for planned in decision.effects {
            if !self.write(planned, &mut written, &mut told) {
                break;
            }
        }
        told
    }

    fn look(&self, observation: &mut Observation, look: Look) {
        self.looks.set(self.looks.get() + 1);
        let pods_on = |node: Option<&Node>| {
            let name = node.map(ResourceExt::name_any);
            self.pods.values().filter(|pod| pod.spec.as_ref().unwrap().node_name == name && name.is_some()).cloned().collect()
        };
        if let Look::CloseUp { claim } = &look {
            let found = self.claims.get(claim);
            let mut close_up = CloseUp {
                name: claim.clone(),
                claim: found.cloned(),
                node: found.and_then(|claim| self.nodes.get(claim.node_name()?)).cloned(),
                placeholder: self.pods.get(&crate::placeholder::name(claim)).cloned(),
                ..CloseUp::default()
            };
            close_up.surge_claim = match close_up.bound_to() {
                Some(host) => of_pool(&self.claims).into_iter().find(|claim| claim.node_name() == Some(host)),
                None => found.and_then(|claim| self.claims.get(&claim.marks(self.now).surge_claim?)).cloned(),
            };
            let host = close_up.bound_to().or_else(|| close_up.surge_claim.as_ref()?.node_name());
            close_up.surge_node = host.and_then(|host| self.nodes.get(host)).cloned();
            observation.pool = self.pool.clone();
            observation.close_up = Some(close_up);
            return;
        }
        if look == Look::Leftovers {
            observation.leftovers =
                Some(Leftovers { marked: self.marked(), anchored: sweep::anchored(std::slice::from_ref(&self.pool), self.now) });
            observation.pool = self.pool.clone();
            return;
        }
        let close_up = observation.close_up.as_mut().unwrap();
        match look {
            Look::CloseUp { .. } | Look::Leftovers => panic!("served above"),
            Look::PodsOnCandidate => close_up.pods_on_candidate = Some(pods_on(close_up.node.as_ref())),
            Look::Budgets => close_up.budgets = Some(self.budgets.clone()),
            Look::PodsOnSurgeNode => close_up.pods_on_surge_node = Some(pods_on(close_up.surge_node.as_ref())),
            Look::PoolNodes => close_up.pool_nodes = Some(self.marked().nodes),
        }
    }

    /// Carries one effect out as the API server would; false when the rest of the list is not to be carried out.
    fn write(&mut self, planned: Planned, written: &mut BTreeMap<String, String>, told: &mut Vec<Announcement>) -> bool {
        if self.crash_before == Some(self.writes) {
            self.crash_before = None;
            return false;
        }
        self.writes += 1;
        self.version += 1;
        let version = self.version.to_string();
        let rival = self.rival;
        let landed = match planned.effect {
            Effect::AnnotatePool { pool, change } => {
                self.log.push(format!("annotate NodePool: {}", text(&change)));
                patch(&mut self.pool.metadata, &pool, written, &version, &change, self.rival)
            }
            Effect::AnnotateClaim { claim, change } => {
                self.log.push(format!("annotate NodeClaim {}: {}", claim.name, text(&change)));
                self.claims
                    .get_mut(&claim.name)
                    .is_some_and(|object| patch(&mut object.metadata, &claim, written, &version, &change, rival))
            }
            Effect::MarkNode { node, change, unschedulable, proceed } => {
                self.log.push(format!("mark Node {}: {} {unschedulable:?}", node.name, text(&change)));
                let object = self.nodes.get_mut(&node.name).unwrap();
                if !patch(&mut object.metadata, &node, written, &version, &change, rival) {
                    return false;
                }
                let spec = object.spec.get_or_insert_default();
                if let Some(unschedulable) = unschedulable {
                    spec.unschedulable = unschedulable.then_some(true);
                }
                if self.taint_on_patch.as_ref() == Some(&node.name) {
                    let taint = Taint { key: DISRUPTED_TAINT.to_owned(), effect: "NoSchedule".to_owned(), ..Taint::default() };
                    spec.taints = Some(vec![taint]);
                }
                !(proceed == Proceed::UnlessLeaving && node_leaving(object))
            }
            Effect::CreatePlaceholder { pod } => self.create(*pod, &version),
            Effect::DeletePlaceholder { pod, .. } => {
                let found = self.pods.get(&pod.name).is_some_and(|object| object.uid() == Some(pod.uid.clone()));
                found && self.pods.remove(&pod.name).is_some()
            }
            Effect::DeleteClaim { claim } => self.delete(&claim, written),
        };
        if landed {
            told.extend(planned.then);
        }
        landed
    }

    fn create(&mut self, mut pod: Pod, version: &str) -> bool {
        let name = pod.name_any();
        self.log.push(format!("create Pod {name}"));
        pod.metadata.uid = Some(format!("uid-{name}-{version}"));
        pod.metadata.resource_version = Some(version.to_owned());
        pod.metadata.creation_timestamp = Some(time(self.now));
        pod.status = Some(PodStatus { phase: Some("Pending".to_owned()), ..PodStatus::default() });
        self.pods.insert(name, pod);
        true
    }

    fn delete(&mut self, target: &Target, written: &BTreeMap<String, String>) -> bool {
        let (now, rival) = (self.now, self.rival);
        let Some(claim) = self.claims.get_mut(&target.name).filter(|_| !self.fail_deletes) else {
            return false;
        };
        assert_eq!(claim.uid(), Some(target.uid.clone()));
        let expected = written.get(&target.uid).unwrap_or(&target.version);
        if rival && claim.resource_version().as_ref() != Some(expected) {
            return false;
        }
        assert_eq!(claim.resource_version().as_ref(), Some(expected), "a delete without the right version");
        claim.metadata.deletion_timestamp = Some(time(now));
        self.log.push(format!("delete NodeClaim {}", target.name));
        self.deleted.push(target.name.clone());
        true
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

    /// Invariants that hold between any two passes, written without the decider's own functions.
    pub(super) fn check(&self) {
        let has = |key: &str| self.pool.annotations().contains_key(key);
        for companion in [ACTIVE_ROTATION_STATE, DRAINING_AT, SURGE_WAIT, SURGE_PATH, ROTATION_MODE] {
            assert!(has(ACTIVE_ROTATION) || !has(companion), "I4: {companion} without an anchor");
        }
        let deleting =
            self.claims.values().filter(|claim| claim.metadata.deletion_timestamp.is_some() && !claim.name_any().starts_with("surge"));
        for claim in deleting {
            assert!(has(ACTIVE_ROTATION_STATE), "I2: {} is deleted without the mirror", claim.name_any());
        }
        if !has(ACTIVE_ROTATION) {
            self.assert_no_marks_on_nodes();
        }
    }

    pub(super) fn assert_no_marks_on_nodes(&self) {
        for node in self.nodes.values() {
            for key in [SURGE_FOR, DO_NOT_DISRUPT_OWNED, CORDONED] {
                assert!(!node.annotations().contains_key(key), "{key} is left on {}", node.name_any());
            }
        }
        let placeholders: Vec<_> = self.pods.keys().filter(|name| name.starts_with("noderotation-surge")).collect();
        assert!(placeholders.is_empty(), "{placeholders:?} are left");
    }

    /// Nothing of ours is left anywhere, but what the pauses need (L3).
    pub(super) fn assert_clean(&self) {
        self.assert_no_marks_on_nodes();
        let ours = |key: &&String| key.starts_with("noderotation.io/") && !key.ends_with("-at");
        assert_eq!(self.pool.annotations().keys().filter(ours).count(), 0, "{:?}", self.pool.annotations());
        for claim in self.claims.values() {
            let left: Vec<_> = claim.annotations().keys().filter(|key| key.starts_with("noderotation.io/")).collect();
            assert!(left.is_empty(), "{left:?} are left on {}", claim.name_any());
        }
    }
}

/// The objects that Karpenter's label puts into the pool.
fn of_pool<K: ResourceExt + Clone>(objects: &BTreeMap<String, K>) -> Vec<K> {
    objects.values().filter(|object| object.labels().get(NODEPOOL_LABEL).is_some_and(|pool| pool == "pool")).cloned().collect()
}

/// Merge-patches annotations under the precondition of the target's version.
fn patch(
    meta: &mut ObjectMeta,
    target: &Target,
    written: &mut BTreeMap<String, String>,
    version: &str,
    change: &Change,
    rival: bool,
) -> bool {
    let expected = written.get(&target.uid).unwrap_or(&target.version);
    if rival && meta.resource_version.as_ref() != Some(expected) {
        return false;
    }
    assert_eq!(meta.resource_version.as_ref(), Some(expected), "a stale write of {}", target.name);
    let annotations = meta.annotations.get_or_insert_default();
    for (key, value) in change {
        match value {
            Some(value) => annotations.insert((*key).to_owned(), value.clone()),
            None => annotations.remove(*key),
        };
    }
    meta.resource_version = Some(version.to_owned());
    written.insert(target.uid.clone(), version.to_owned());
    true
}

fn text(change: &Change) -> String {
    let entry = |(key, value): (&&str, &Option<String>)| {
        let key = key.trim_start_matches("noderotation.io/");
        value.as_ref().map_or_else(|| format!("-{key}"), |value| format!("{key}={value}"))
    };
    change.iter().map(entry).collect::<Vec<_>>().join(" ")
}
