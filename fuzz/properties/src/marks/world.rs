//! A pool with one claim that is due and one that may be its surge, and the API server's part.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Node, NodeCondition, NodeStatus, Pod, PodSpec, PodStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::ResourceExt as _;
use noderotation_core::annotation::{Change, HOSTNAME_LABEL, NODEPOOL_LABEL, SURGE_FOR};
use noderotation_core::karpenter::{Condition, NodeClaim, NodeClaimSpec, NodeClaimStatus, NodePool};
use noderotation_core::resolve::{PolicyEntry, Resolution, resolve};
use noderotation_core::rotation::effect::{Effect, Target};
use noderotation_core::rotation::observation::{CloseUp, Look, Observation, Settings};
use noderotation_core::sweep::{Leftovers, Marked, anchored};
use serde_json::{Value, json};

/// Name of the pool.
pub(super) const POOL: &str = "pool";
/// Name of the claim that is due.
pub(super) const CANDIDATE: &str = "old";
/// Namespace of the placeholders.
pub(super) const NAMESPACE: &str = "system";
/// Name of the candidate's placeholder.
const PLACEHOLDER: &str = "noderotation-surge-old";
/// Name of a Pod that does something.
const WORK: &str = "work";

/// By whom the pool is governed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Governed {
    Nobody,
    Plainly,
    Fallback,
    Tie,
    /// By a policy that waits for nothing.
    Eager,
}

/// Everything there is.
#[derive(Clone, Debug)]
pub(super) struct World {
    pub(super) now: Timestamp,
    pub(super) policy: Governed,
    pub(super) pool: NodePool,
    pub(super) claims: BTreeMap<String, NodeClaim>,
    pub(super) nodes: BTreeMap<String, Node>,
    pub(super) pods: BTreeMap<String, Pod>,
    /// Somebody has taken a claim away.
    pub(super) gone: bool,
    /// Writes until the process is cut off once; without an end if there is none.
    pub(super) left: Option<usize>,
    /// Claims whose delete was sent, in order.
    pub(super) deleted: Vec<String>,
    version: u64,
    /// Versions that came of writes of the same list, by uid.
    written: BTreeMap<String, String>,
}

static POLICIES: LazyLock<[PolicyEntry; 3]> = LazyLock::new(|| {
    let policy = |name: &str, surge: Value| {
        let windows = json!([{"timezone": "UTC", "days": ["Wed", "Sat"], "start": "02:00", "end": "06:00"}]);
        let spec = json!({"nodePoolSelector": {"matchLabels": {}}, "maintenanceWindows": windows, "surge": surge});
        PolicyEntry::from_object(&json!({"metadata": {"name": name}, "spec": spec}))
    };
    let eager = json!({"readyTimeout": "1s", "cooldownAfter": "0s", "retryBackoff": "1ns", "failurePause": "1ns"});
    [policy("plain", json!({})), policy("fallback", json!({"forcefulFallback": {"enabled": true}})), policy("eager", eager)]
});

fn metadata(name: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        uid: Some(format!("uid-of-{name}")),
        resource_version: Some("1".to_owned()),
        labels: Some([(NODEPOOL_LABEL, POOL), (HOSTNAME_LABEL, name)].map(|(key, value)| (key.to_owned(), value.to_owned())).into()),
        ..ObjectMeta::default()
    }
}

fn before(now: Timestamp, by: SignedDuration) -> Option<Time> {
    now.checked_sub(by).ok().map(Time)
}

/// A Ready claim on the node `NAME-node`.
fn claim(name: &str, created: Option<Time>) -> NodeClaim {
    let text = |text: &str| Some(text.to_owned());
    let condition = |type_: &str| Condition { type_: type_.to_owned(), status: "True".to_owned() };
    let conditions = vec![condition("Ready"), condition("Initialized")];
    NodeClaim {
        metadata: ObjectMeta { creation_timestamp: created, ..metadata(name) },
        spec: NodeClaimSpec { expire_after: text("336h"), termination_grace_period: text("1h"), ..NodeClaimSpec::default() },
        status: Some(NodeClaimStatus { node_name: Some(format!("{name}-node")), conditions, ..NodeClaimStatus::default() }),
    }
}

fn node(name: &str) -> Node {
    let ready = NodeCondition { type_: "Ready".to_owned(), status: "True".to_owned(), ..NodeCondition::default() };
    let status = NodeStatus { conditions: Some(vec![ready]), ..NodeStatus::default() };
    Node { metadata: metadata(name), spec: None, status: Some(status) }
}

impl World {
    /// Before anybody has written anything.
    pub(super) fn new(now: Timestamp) -> Self {
        let mut pool = NodePool { metadata: metadata(POOL), ..NodePool::default() };
        pool.spec.template.spec = claim(POOL, None).spec;
        let claims =
            [claim(CANDIDATE, before(now, SignedDuration::from_hours(300))), claim("new", before(now, SignedDuration::from_mins(2)))];
        Self {
            now,
            policy: Governed::Plainly,
            pool,
            claims: claims.into_iter().map(|claim| (claim.name_any(), claim)).collect(),
            nodes: ["old-node", "new-node"].into_iter().map(|name| (name.to_owned(), node(name))).collect(),
            pods: BTreeMap::new(),
            gone: false,
            left: None,
            deleted: Vec::new(),
            version: 1,
            written: BTreeMap::new(),
        }
    }

    pub(super) fn claim(&mut self, name: &str, change: impl FnOnce(&mut NodeClaim)) {
        if let Some(claim) = self.claims.get_mut(name) {
            change(claim);
        }
    }

    pub(super) fn node(&mut self, name: &str, change: impl FnOnce(&mut Node)) {
        if let Some(node) = self.nodes.get_mut(name) {
            change(node);
        }
    }

    /// A placeholder of the candidate, older than the claim `new`.
    pub(super) fn reserve(&mut self) {
        let created = before(self.now, SignedDuration::from_mins(5));
        let mut metadata = ObjectMeta { creation_timestamp: created, namespace: Some(NAMESPACE.to_owned()), ..metadata(PLACEHOLDER) };
        metadata.labels.get_or_insert_default().insert(SURGE_FOR.to_owned(), CANDIDATE.to_owned());
        let pod = Pod { metadata, spec: Some(PodSpec::default()), status: Some(PodStatus::default()) };
        self.pods.entry(PLACEHOLDER.to_owned()).or_insert(pod);
    }

    pub(super) fn placeholder(&mut self) -> Option<&mut Pod> {
        self.pods.get_mut(PLACEHOLDER)
    }

    pub(super) fn bind(&mut self, node: &str) {
        if let Some(pod) = self.placeholder() {
            pod.spec.get_or_insert_default().node_name = Some(node.to_owned());
        }
    }

    pub(super) fn phase(&mut self, phase: &str) {
        if let Some(pod) = self.placeholder() {
            pod.status.get_or_insert_default().phase = Some(phase.to_owned());
        }
    }

    /// A Pod that does something runs on the node.
    pub(super) fn work(&mut self, node: &str) {
        let spec = PodSpec { node_name: Some(node.to_owned()), ..PodSpec::default() };
        self.pods.insert(WORK.to_owned(), Pod { metadata: metadata(WORK), spec: Some(spec), status: None });
    }

    /// It runs on the node of that claim.
    pub(super) fn works_on(&self, claim: &str) -> bool {
        let node = self.claims.get(claim).and_then(|claim| claim.status.as_ref()?.node_name.as_ref());
        let at = self.pods.get(WORK).and_then(|pod| pod.spec.as_ref()?.node_name.as_ref());
        node.is_some() && node == at && node.is_some_and(|node| self.nodes.contains_key(node))
    }

    /// Somebody takes the object away.
    pub(super) fn take(&mut self, object: &str) {
        self.gone |= object == CANDIDATE;
        self.claims.remove(object);
        self.nodes.remove(object);
        if object == "pod" {
            self.pods.remove(PLACEHOLDER);
        }
    }

    /// Some time goes by: Karpenter takes away what is being deleted, and the scheduler finds the placeholder a place.
    pub(super) fn goes_on(&mut self) {
        self.now = self.now.saturating_add(SignedDuration::from_mins(10)).unwrap_or(self.now);
        let going: Vec<NodeClaim> = self.claims.values().filter(|claim| claim.metadata.deletion_timestamp.is_some()).cloned().collect();
        for claim in going {
            self.take(&claim.name_any());
            self.take(claim.status.as_ref().and_then(|status| status.node_name.as_deref()).unwrap_or_default());
        }
        let unbound = |pod: &Pod| pod.spec.as_ref().is_none_or(|spec| spec.node_name.is_none());
        if self.pods.get(PLACEHOLDER).is_some_and(unbound) {
            self.bind("new-node");
            self.phase("Running");
        }
    }

    pub(super) fn governing(&self) -> Resolution {
        let [plain, fallback, eager] = &*POLICIES;
        let policies = match self.policy {
            Governed::Nobody => Vec::new(),
            Governed::Plainly => vec![plain.clone()],
            Governed::Fallback => vec![fallback.clone()],
            Governed::Tie => vec![plain.clone(), fallback.clone()],
            Governed::Eager => vec![eager.clone()],
        };
        resolve(self.pool.labels(), &policies)
    }

    pub(super) fn observation(&self) -> Observation {
        let marked = self.marked();
        Observation {
            pool: self.pool.clone(),
            governing: self.governing(),
            claims: marked.claims,
            nodes: marked.nodes,
            placeholders: marked.placeholders,
            settings: Settings { namespace: NAMESPACE.to_owned(), placeholder_image: "pause".to_owned(), ..Settings::default() },
            close_up: None,
            leftovers: None,
        }
    }

    /// What Karpenter's label puts into the pool, and the placeholders.
    pub(super) fn marked(&self) -> Marked {
        let in_pool = |labels: &BTreeMap<String, String>| labels.get(NODEPOOL_LABEL).is_some_and(|pool| pool == POOL);
        Marked {
            placeholders: self.pods.values().filter(|pod| pod.labels().contains_key(SURGE_FOR) && in_pool(pod.labels())).cloned().collect(),
            nodes: self.nodes.values().filter(|node| in_pool(node.labels())).cloned().collect(),
            claims: self.claims.values().filter(|claim| in_pool(claim.labels())).cloned().collect(),
        }
    }

    /// Serves a look from the world as it is.
    pub(super) fn look(&self, observation: &mut Observation, look: &Look) {
        let pods_on = |node: Option<&Node>| -> Option<Vec<Pod>> {
            let name = node.map(kube::ResourceExt::name_any);
            let on = |pod: &&Pod| name.is_some() && pod.spec.as_ref().and_then(|spec| spec.node_name.clone()) == name;
            Some(self.pods.values().filter(on).cloned().collect())
        };
        let marked = self.marked();
        match (look, &mut observation.close_up) {
            (Look::CloseUp { claim }, _) => {
                observation.pool = self.pool.clone();
                observation.close_up = Some(self.close_up(claim));
            }
            (Look::Leftovers, _) => {
                observation.leftovers = Some(Leftovers { marked, anchored: anchored(std::slice::from_ref(&self.pool), self.now) });
                observation.pool = self.pool.clone();
            }
            (Look::PodsOnCandidate, Some(close_up)) => close_up.pods_on_candidate = pods_on(close_up.node.as_ref()),
            (Look::PodsOnSurgeNode, Some(close_up)) => close_up.pods_on_surge_node = pods_on(close_up.surge_node.as_ref()),
            (Look::Budgets, Some(close_up)) => close_up.budgets = Some(Vec::new()),
            (Look::PoolNodes, Some(close_up)) => close_up.pool_nodes = Some(marked.nodes),
            (Look::PodsOnCandidate | Look::PodsOnSurgeNode | Look::Budgets | Look::PoolNodes, None) => {}
        }
    }

    fn close_up(&self, name: &str) -> CloseUp {
        let claim = self.claims.get(name).cloned();
        let node_of = |claim: &NodeClaim| self.nodes.get(claim.status.as_ref()?.node_name.as_ref()?).cloned();
        let placeholder = self.pods.get(&format!("noderotation-surge-{name}")).cloned();
        let node = claim.as_ref().and_then(node_of);
        let mut close_up = CloseUp { name: name.to_owned(), claim, node, placeholder, ..CloseUp::default() };
        match close_up.bound_to().map(str::to_owned) {
            Some(host) => {
                let on = |claim: &&NodeClaim| claim.status.as_ref().is_some_and(|status| status.node_name.as_ref() == Some(&host));
                close_up.surge_claim = self.claims.values().find(on).cloned();
                close_up.surge_node = self.nodes.get(&host).cloned();
            }
            None => {
                let recorded = close_up.claim.as_ref().and_then(|claim| claim.marks(self.now).surge_claim);
                close_up.surge_claim = recorded.and_then(|name| self.claims.get(&name)).cloned();
                close_up.surge_node = close_up.surge_claim.as_ref().and_then(node_of);
            }
        }
        close_up
    }

    /// A list of writes begins.
    pub(super) fn begin(&mut self) {
        self.written.clear();
    }

    /// Carries a write out as the API server would; false if the process has ended before it.
    pub(super) fn write(&mut self, effect: Effect) -> bool {
        if let Some(left) = &mut self.left {
            let Some(fewer) = left.checked_sub(1) else {
                self.left = None;
                return false;
            };
            *left = fewer;
        }
        self.version += 1;
        let (version, now) = (self.version.to_string(), self.now);
        let written = &mut self.written;
        match effect {
            Effect::AnnotatePool { pool, change } => patch(&mut self.pool.metadata, &pool, &change, &version, written),
            Effect::AnnotateClaim { claim, change } => {
                let object = self.claims.get_mut(&claim.name).map(|object| &mut object.metadata);
                object.is_some_and(|metadata| patch(metadata, &claim, &change, &version, written))
            }
            Effect::MarkNode { node, change, unschedulable, .. } => self.nodes.get_mut(&node.name).is_some_and(|object| {
                if let Some(unschedulable) = unschedulable {
                    object.spec.get_or_insert_default().unschedulable = Some(unschedulable);
                }
                patch(&mut object.metadata, &node, &change, &version, written)
            }),
            Effect::CreatePlaceholder { mut pod } => {
                pod.metadata.uid = Some(format!("uid-{version}"));
                pod.metadata.resource_version = Some(version);
                pod.metadata.creation_timestamp = Some(Time(now));
                self.pods.entry(pod.name_any()).or_insert(*pod);
                true
            }
            Effect::DeletePlaceholder { pod, .. } => {
                let known = self.pods.get(&pod.name).is_some_and(|object| object.metadata.uid.as_ref() == Some(&pod.uid));
                assert!(known && pod.name != WORK, "{pod:?} is no placeholder that was seen");
                self.pods.remove(&pod.name).is_some()
            }
            Effect::DeleteClaim { claim } => self.claims.get_mut(&claim.name).is_some_and(|object| {
                holds(&object.metadata, &claim, written);
                object.metadata.deletion_timestamp.get_or_insert(Time(now));
                self.deleted.push(claim.name);
                true
            }),
        }
    }
}

/// The condition of a write: the very object and version that the decision was taken from.
fn holds(metadata: &ObjectMeta, target: &Target, written: &BTreeMap<String, String>) {
    let expected = written.get(&target.uid).unwrap_or(&target.version);
    assert_eq!(metadata.uid.as_ref(), Some(&target.uid), "{target:?} is another");
    assert_eq!(metadata.resource_version.as_ref(), Some(expected), "{target:?} is not as it was");
}

fn patch(metadata: &mut ObjectMeta, target: &Target, change: &Change, version: &str, written: &mut BTreeMap<String, String>) -> bool {
    holds(metadata, target, written);
    let annotations = metadata.annotations.get_or_insert_default();
    for (key, value) in change {
        match value {
            Some(value) => annotations.insert((*key).to_owned(), value.clone()),
            None => annotations.remove(*key),
        };
    }
    metadata.resource_version = Some(version.to_owned());
    written.insert(target.uid.clone(), version.to_owned());
    true
}
