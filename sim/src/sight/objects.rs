//! The objects of a sight as the product reads them.
//!
//! Each copy of an object has its number as `resourceVersion`, so that a write says from which copy it was decided, and
//! the same decision serves every sight with the same content.

use k8s_openapi::api::core::v1::{
    Container, Node as KubeNode, NodeCondition, NodeSpec, NodeStatus, Pod as KubePod, PodSpec, PodStatus, ResourceRequirements, Taint,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use noderotation_core::annotation::{DISRUPTED_TAINT, HOSTNAME_LABEL, Map, NODEPOOL_LABEL, SURGE_FOR};
use noderotation_core::karpenter::{Condition, NodeClaim, NodeClaimSpec, NodeClaimStatus, NodePool, NodePoolSpec, NodePoolStatus};
use noderotation_core::placeholder::{self, Amount};
use noderotation_core::resolve;
use noderotation_core::rotation::observation::{CloseUp as KubeCloseUp, Observation, Settings};
use noderotation_core::sweep::{Leftovers as KubeLeftovers, Marked};

use super::{CloseUp, Leftovers, Sight};
use crate::annotation::{Annotations, CLAIM, Key, NODE, POOL, Value};
use crate::instant::Instant;
use crate::setup::{SELECTED, Setup};
use crate::world::object::{Claim, Node, Phase, Pod, Pool, Role, Stage};

/// Namespace of the placeholders.
const NAMESPACE: &str = "system";

/// Hands out numbers in the order of [`copies`].
struct Numbers(u32);

impl Numbers {
    fn next(&mut self) -> String {
        let number = self.0;
        self.0 += 1;
        number.to_string()
    }

    fn number<T, K>(&mut self, object: Option<&T>, build: impl Fn(&T, String) -> K) -> Option<K> {
        let number = self.next();
        object.map(|object| build(object, number))
    }
}

/// Version and uid of every copy, in the order in which [`observation`] numbers them.
pub(super) fn copies(sight: &Sight) -> Vec<Option<(u32, u32)>> {
    let mut copies = vec![Some((sight.pool.version, 0))];
    copies.extend(sight.claims.iter().map(|claim| Some((claim.version, 0))));
    copies.extend(sight.nodes.iter().map(|node| Some((node.version, 0))));
    copies.extend(sight.placeholders.iter().map(|pod| Some((pod.version, pod.uid))));
    if let Some(close_up) = &sight.close_up {
        copies_of_close_up(close_up, &mut copies);
    }
    if let Some(leftovers) = &sight.leftovers {
        copies.extend(leftovers.placeholders.iter().map(|pod| Some((pod.version, pod.uid))));
        copies.extend(leftovers.nodes.iter().map(|node| Some((node.version, 0))));
        copies.extend(leftovers.claims.iter().map(|claim| Some((claim.version, 0))));
    }
    copies
}

fn copies_of_close_up(close_up: &CloseUp, copies: &mut Vec<Option<(u32, u32)>>) {
    copies.push(close_up.claim.map(|claim| (claim.version, 0)));
    copies.push(close_up.node.map(|node| (node.version, 0)));
    copies.push(close_up.placeholder.map(|pod| (pod.version, pod.uid)));
    copies.push(close_up.surge_claim.map(|claim| (claim.version, 0)));
    copies.push(close_up.surge_node.map(|node| (node.version, 0)));
    copies.extend(close_up.pool_nodes.iter().flatten().map(|node| Some((node.version, 0))));
}

pub(super) fn observation(sight: &Sight, setup: &Setup) -> Observation {
    let mut numbers = Numbers(0);
    let labels = labels(sight.pool.selected.then_some(SELECTED));
    Observation {
        pool: pool(&sight.pool, numbers.next(), &labels, sight, setup),
        governing: resolve::resolve(&labels, setup.entries(sight.policy)),
        claims: sight.claims.iter().map(|object| claim(object, numbers.next(), setup)).collect(),
        nodes: sight.nodes.iter().map(|object| node(object, numbers.next())).collect(),
        placeholders: sight.placeholders.iter().map(|object| pod(object, numbers.next(), None)).collect(),
        settings: Settings {
            namespace: NAMESPACE.to_owned(),
            placeholder_image: "pause".to_owned(),
            priority_class: "low".to_owned(),
            ..Settings::default()
        },
        close_up: sight.close_up.as_ref().map(|object| close_up(object, &mut numbers, setup)),
        leftovers: sight.leftovers.as_ref().map(|object| leftovers(object, &mut numbers, setup)),
    }
}

fn close_up(seen: &CloseUp, numbers: &mut Numbers, setup: &Setup) -> KubeCloseUp {
    let of_pod = |object: &Pod, number: String| pod(object, number, seen.placeholder.as_ref());
    let pods = |list: &Option<Vec<Pod>>| list.as_ref().map(|list| list.iter().map(|object| of_pod(object, String::new())).collect());
    KubeCloseUp {
        name: seen.name.text(),
        claim: numbers.number(seen.claim.as_ref(), |object, number| claim(object, number, setup)),
        node: numbers.number(seen.node.as_ref(), node),
        placeholder: numbers.number(seen.placeholder.as_ref(), of_pod),
        surge_claim: numbers.number(seen.surge_claim.as_ref(), |object, number| claim(object, number, setup)),
        surge_node: numbers.number(seen.surge_node.as_ref(), node),
        pods_on_candidate: pods(&seen.pods_on_candidate),
        pods_on_surge_node: pods(&seen.pods_on_surge_node),
        budgets: seen.budgets.then(Vec::new),
        // By metadata alone.
        pool_nodes: seen.pool_nodes.as_ref().map(|list| list.iter().map(|object| bare_node(object, numbers.next())).collect()),
    }
}

/// By metadata alone.
fn leftovers(seen: &Leftovers, numbers: &mut Numbers, setup: &Setup) -> KubeLeftovers {
    let placeholder = |object: &Pod, number| KubePod { metadata: pod(object, number, None).metadata, ..KubePod::default() };
    let of_claim = |object: &Claim, number| NodeClaim { metadata: claim(object, number, setup).metadata, ..NodeClaim::default() };
    KubeLeftovers {
        marked: Marked {
            placeholders: seen.placeholders.iter().map(|object| placeholder(object, numbers.next())).collect(),
            nodes: seen.nodes.iter().map(|object| bare_node(object, numbers.next())).collect(),
            claims: seen.claims.iter().map(|object| of_claim(object, numbers.next())).collect(),
        },
        anchored: seen.anchored.iter().map(|name| name.text()).collect(),
    }
}

fn bare_node(object: &Node, version: String) -> KubeNode {
    KubeNode { metadata: node(object, version).metadata, ..KubeNode::default() }
}

fn labels<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Map {
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

fn annotations(values: &Annotations, keys: &[Key]) -> Option<Map> {
    let present = keys.iter().filter(|key| values.has(**key));
    Some(present.map(|key| (key.spelling().to_owned(), values.get(*key).text())).collect())
}

/// Go durations of the specs.
fn go(seconds: u32) -> String {
    format!("{seconds}s")
}

fn cpu(milli: u32) -> Quantity {
    Quantity(Amount::milli(milli).to_string())
}

fn pool(object: &Pool, version: String, labels: &Map, sight: &Sight, setup: &Setup) -> NodePool {
    let name = format!("pool-{}", object.id);
    let mut pool = NodePool::new(&name, NodePoolSpec::default());
    pool.metadata.uid = Some(format!("uid-{name}"));
    pool.metadata.resource_version = Some(version);
    pool.metadata.labels = Some(labels.clone());
    pool.metadata.annotations = annotations(&object.annotations, &POOL);
    // The template of the claims to come.
    if let Some(seed) = setup.seeds.iter().find(|seed| seed.pool == object.id) {
        pool.spec.template.spec.expire_after = Some(go(seed.expire_after));
        pool.spec.template.spec.termination_grace_period = (seed.grace > 0).then(|| go(seed.grace));
    }
    pool.spec.replicas = object.fixed.then_some(1);
    if object.full {
        let count = Quantity(sight.nodes.len().to_string());
        pool.spec.limits = [("nodes".to_owned(), count.clone())].into();
        pool.status = Some(NodePoolStatus { resources: [("nodes".to_owned(), count)].into(), ..NodePoolStatus::default() });
    }
    pool
}

fn claim(object: &Claim, version: String, setup: &Setup) -> NodeClaim {
    let name = Value::claim(object.id).text();
    let spec = NodeClaimSpec {
        expire_after: Some(if object.expire_after == 0 { "Never".to_owned() } else { go(object.expire_after) }),
        termination_grace_period: (object.grace > 0).then(|| go(object.grace)),
        ..NodeClaimSpec::default()
    };
    let mut claim = NodeClaim::new(&name, spec);
    claim.metadata = ObjectMeta {
        uid: Some(format!("uid-{name}")),
        resource_version: Some(version),
        creation_timestamp: Some(time(object.created)),
        deletion_timestamp: object.deleted.map(time),
        labels: Some(labels([(NODEPOOL_LABEL, format!("pool-{}", object.pool).as_str())])),
        annotations: annotations(&object.annotations, &CLAIM),
        name: Some(name),
        ..ObjectMeta::default()
    };
    let condition =
        |type_: &str, holds: bool| Condition { type_: type_.to_owned(), status: if holds { "True" } else { "False" }.to_owned() };
    let ready = object.stage == Stage::Ready;
    let mut conditions = vec![condition("Ready", ready), condition("Initialized", ready)];
    conditions.extend(object.disrupted.then(|| condition("DisruptionReason", true)));
    claim.status = Some(NodeClaimStatus {
        node_name: object.has_node().then(|| node_name(object.id)),
        allocatable: [("cpu".to_owned(), cpu(setup.node_milli))].into(),
        conditions,
    });
    claim
}

fn node_name(id: u16) -> String {
    format!("node-{id}")
}

fn node(object: &Node, version: String) -> KubeNode {
    let name = node_name(object.id);
    let taint = Taint { key: DISRUPTED_TAINT.to_owned(), effect: "NoSchedule".to_owned(), ..Taint::default() };
    let status = if object.ready { "True" } else { "False" };
    let ready = NodeCondition { type_: "Ready".to_owned(), status: status.to_owned(), ..NodeCondition::default() };
    KubeNode {
        metadata: ObjectMeta {
            uid: Some(format!("uid-{name}")),
            resource_version: Some(version),
            labels: Some(labels([(NODEPOOL_LABEL, format!("pool-{}", object.pool).as_str()), (HOSTNAME_LABEL, name.as_str())])),
            annotations: annotations(&object.annotations, &NODE),
            deletion_timestamp: object.deleting.then(|| time(Instant(0))),
            name: Some(name),
            ..ObjectMeta::default()
        },
        spec: Some(NodeSpec {
            unschedulable: object.unschedulable.then_some(true),
            taints: object.tainted.then(|| vec![taint]),
            ..NodeSpec::default()
        }),
        status: Some(NodeStatus { conditions: Some(vec![ready]), ..NodeStatus::default() }),
    }
}

/// Of a Pod's uid only whether it is that of the placeholder can matter.
fn pod(object: &Pod, version: String, placeholder: Option<&Pod>) -> KubePod {
    let same = placeholder.is_some_and(|placeholder| placeholder.uid == object.uid);
    let (name, namespace, claim) = match object.role {
        Role::Placeholder(id) => {
            let claim = Value::claim(id).text();
            (placeholder::name(&claim), NAMESPACE, Some(claim).filter(|_| object.labelled))
        }
        Role::Work(id) => (format!("work-{id}"), "apps", None),
    };
    let mark = claim.as_deref().map(|claim| labels([(SURGE_FOR, claim)]));
    let asks_for = object.pool.map(|pool| (NODEPOOL_LABEL.to_owned(), format!("pool-{pool}"))).into_iter();
    let container = Container {
        name: "main".to_owned(),
        resources: Some(ResourceRequirements {
            requests: Some([("cpu".to_owned(), cpu(object.milli))].into()),
            ..ResourceRequirements::default()
        }),
        ..Container::default()
    };
    let phase = match object.phase {
        Phase::Pending => "Pending",
        Phase::Running => "Running",
        Phase::Failed => "Failed",
    };
    KubePod {
        metadata: ObjectMeta {
            uid: Some(if same { "uid-placeholder".to_owned() } else { format!("uid-of-another-{name}") }),
            name: Some(name),
            namespace: Some(namespace.to_owned()),
            resource_version: Some(version),
            creation_timestamp: Some(time(object.created)),
            deletion_timestamp: object.terminating.then(|| time(object.created)),
            labels: Some(mark.clone().unwrap_or_default().into_iter().chain(asks_for).collect()),
            annotations: mark,
            ..ObjectMeta::default()
        },
        spec: Some(PodSpec { node_name: object.node.map(node_name), containers: vec![container], ..PodSpec::default() }),
        status: Some(PodStatus { phase: Some(phase.to_owned()), ..PodStatus::default() }),
    }
}

fn time(at: Instant) -> Time {
    Time(at.timestamp())
}
