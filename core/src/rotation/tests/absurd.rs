//! Whatever can be written into the objects, a step comes to an end, keeps the invariants, and leaves nothing behind.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod, PodSpec, PodStatus, Taint};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

use super::world::policy_named;
use super::*;

/// One value of each annotation, or none.
type Annotations = Vec<(&'static str, Option<&'static str>)>;

const STAMPS: [&str; 8] = [
    "2026-01-06T00:00:00Z",
    "2026-01-07T01:59:30Z",
    "2026-01-07T02:00:00Z",
    "2026-01-07T02:10:00Z",
    "2026-01-14T23:00:00Z",
    "2027-01-01T00:00:00Z",
    "soon",
    "",
];

fn text(key: &'static str, values: &'static [&'static str]) -> BoxedStrategy<(&'static str, Option<&'static str>)> {
    of(select(values)).prop_map(move |value| (key, value)).boxed()
}

fn pool_annotations() -> BoxedStrategy<Annotations> {
    vec![
        text(ACTIVE_ROTATION, &["old", "other", "foreign", "gone", ""]),
        text(ACTIVE_ROTATION_STATE, &["draining", "draining", "banana", ""]),
        text(ROTATION_MODE, &["forceful-fallback", "banana"]),
        text(SURGE_WAIT, &["3s", "banana"]),
        text(SURGE_PATH, &["absorbed"]),
        text(DRAINING_AT, &STAMPS),
        text(LAST_ROTATION_AT, &STAMPS),
        text(LAST_FAILURE_AT, &STAMPS),
        text(WINDOW_OPENED_AT, &STAMPS),
        prop_oneof![4 => Just((FREEZE, None)), 1 => text(FREEZE, &STAMPS)].boxed(),
    ]
    .boxed()
}

fn claim_annotations() -> BoxedStrategy<Annotations> {
    vec![
        text(STATE, &["pending", "draining", "failed", "expired", "banana", ""]),
        text(STARTED_AT, &STAMPS),
        text(FAILED_AT, &STAMPS),
        text(RETRY_COUNT, &["1", "4000000000", "-3", "99999999999999999999", ""]),
        text(SURGE_CLAIM, &["surge-1", "old", "other", "gone", ""]),
        prop_oneof![4 => Just((ROLLBACK, None)), 1 => text(ROLLBACK, &["governanceLost", "readyTimeout", ""])].boxed(),
        text(TERMINATION_TIMESTAMP, &STAMPS),
    ]
    .boxed()
}

fn node_annotations() -> BoxedStrategy<Annotations> {
    vec![
        text(SURGE_FOR, &["old", "other", "gone", ""]),
        text(CORDONED, &["true", ""]),
        text(DO_NOT_DISRUPT, &["true", "false", "4h"]),
        text(DO_NOT_DISRUPT_OWNED, &["true"]),
    ]
    .boxed()
}

#[derive(Clone, Debug)]
struct AbsurdClaim {
    exists: bool,
    annotations: Annotations,
    deleted: Option<&'static str>,
    created: Option<&'static str>,
    life: Option<&'static str>,
    grace: Option<&'static str>,
    node: Option<&'static str>,
    ready: bool,
}

fn claim(names: &'static [&'static str]) -> BoxedStrategy<AbsurdClaim> {
    let created = of(select(&["2026-01-01T00:00:00Z", "2025-12-24T02:05:00Z", "2026-01-07T02:00:01Z", "2030-01-01T00:00:00Z"][..]));
    let rest = (of(select(&["336h", "336h", "Never", "soon", "1h"][..])), of(select(&["1h", "0s", "soon"][..])));
    (
        prop_oneof![9 => Just(true), 1 => Just(false)],
        claim_annotations(),
        prop_oneof![3 => Just(None), 1 => select(&STAMPS[..6]).prop_map(Some)],
        created,
        rest,
        of(select(names)),
        prop_oneof![4 => Just(true), 1 => Just(false)],
    )
        .prop_map(|(exists, annotations, deleted, created, (life, grace), node, ready)| AbsurdClaim {
            exists,
            annotations,
            deleted,
            created,
            life,
            grace,
            node,
            ready,
        })
        .boxed()
}

#[derive(Clone, Debug)]
struct AbsurdNode {
    exists: bool,
    annotations: Annotations,
    unschedulable: Option<bool>,
    bare: bool,
    ready: bool,
    going: bool,
    tainted: bool,
}

fn node() -> BoxedStrategy<AbsurdNode> {
    let rarely = || prop_oneof![6 => Just(false), 1 => Just(true)];
    (rarely(), node_annotations(), of(any::<bool>()), rarely(), rarely(), rarely(), rarely())
        .prop_map(|(missing, annotations, unschedulable, bare, unready, going, tainted)| AbsurdNode {
            exists: !missing,
            annotations,
            unschedulable,
            bare,
            ready: !unready,
            going,
            tainted,
        })
        .boxed()
}

#[derive(Clone, Debug)]
struct AbsurdPod {
    annotations: Annotations,
    labelled: bool,
    phase: &'static str,
    host: Option<&'static str>,
    going: bool,
}

fn pod() -> BoxedStrategy<AbsurdPod> {
    let annotations =
        (text(SURGE_FOR, &["old", "other"]), text(REQUESTS, &["cpu=1m", "cpu=9", "banana", ""])).prop_map(|(a, b)| vec![a, b]);
    (
        annotations,
        prop_oneof![4 => Just(true), 1 => Just(false)],
        select(&["Pending", "Running", "Running", "Running", "Failed", ""][..]),
        of(select(&["surge-1", "surge-1", "old", "other", "gone", ""][..])),
        prop_oneof![5 => Just(false), 1 => Just(true)],
    )
        .prop_map(|(annotations, labelled, phase, host, going)| AbsurdPod { annotations, labelled, phase, host, going })
        .boxed()
}

#[derive(Clone, Debug)]
struct Absurd {
    now: &'static str,
    policy: usize,
    pool: Annotations,
    replicas: Option<i64>,
    going: bool,
    claims: [AbsurdClaim; 4],
    nodes: [AbsurdNode; 4],
    pods: [Option<AbsurdPod>; 3],
    /// What happens between the passes.
    moves: Vec<u8>,
}

const NAMES: [&str; 4] = ["old", "other", "foreign", "surge-1"];

fn absurd() -> BoxedStrategy<Absurd> {
    let claims = [
        claim(&["old", "old", "other", "", "gone"]),
        claim(&["other", "other", "old"]),
        claim(&["foreign"]),
        claim(&["surge-1", "surge-1", "old"]),
    ];
    let rarely = || prop_oneof![6 => Just(false), 1 => Just(true)];
    (
        select(&["2026-01-07T02:00:00Z", "2026-01-07T05:59:00Z", "2026-01-07T06:00:00Z", "2026-01-07T03:00:00Z"][..]),
        0..5_usize,
        pool_annotations(),
        prop_oneof![6 => Just(None), 1 => Just(Some(2))],
        rarely(),
        claims,
        [node(), node(), node(), node()],
        [of(pod()), of(pod()), of(pod())],
        vec(0..6_u8, 0..6),
    )
        .prop_map(|(now, policy, pool, replicas, going, claims, nodes, pods, moves)| Absurd {
            now,
            policy,
            pool,
            replicas,
            going,
            claims,
            nodes,
            pods,
            moves,
        })
        .boxed()
}

fn map(annotations: &Annotations) -> Option<std::collections::BTreeMap<String, String>> {
    Some(annotations.iter().filter_map(|(key, value)| Some(((*key).to_owned(), (*value)?.to_owned()))).collect())
}

fn stamped(text: Option<&str>) -> Option<k8s_openapi::apimachinery::pkg::apis::meta::v1::Time> {
    text?.parse::<Timestamp>().ok().map(world::time)
}

impl Absurd {
    /// The same, but the rotation of `old` is in flight and has found a host, as far as the rest lets it.
    fn in_flight(mut self) -> Self {
        self.pool.retain(|(key, _)| ![ACTIVE_ROTATION, ACTIVE_ROTATION_STATE, ROTATION_MODE].contains(key));
        self.pool.push((ACTIVE_ROTATION, Some("old")));
        let [old, _, _, surge] = &mut self.claims;
        (old.exists, old.deleted, old.node, old.ready) = (true, None, Some("old"), true);
        old.annotations.retain(|(key, _)| ![STATE, ROLLBACK].contains(key));
        old.annotations.push((STATE, Some("pending")));
        (surge.exists, surge.node, surge.ready) = (true, Some("surge-1"), true);
        let [placeholder, ..] = &mut self.pods;
        *placeholder = Some(AbsurdPod { annotations: Vec::new(), labelled: true, phase: "Running", host: Some("surge-1"), going: false });
        self
    }

    fn world(&self) -> World {
        let mut world = World::with_claims(&[]);
        world.now = at(self.now);
        let plain = policy_named("policy", &json!({}), &json!({}));
        let surgeless = policy_named("policy", &json!({}), &json!({"forcefulFallback": {"enabled": true}}));
        world.policies = match self.policy {
            0 => vec![plain],
            1 => vec![surgeless],
            2 => vec![],
            3 => vec![plain.clone(), policy_named("rival", &json!({}), &json!({}))],
            _ => vec![policy_named("policy", &json!({}), &json!({"readyTimeout": "soon"}))],
        };
        world.pool.metadata.annotations = map(&self.pool);
        world.pool.spec.replicas = self.replicas;
        world.pool.metadata.deletion_timestamp = self.going.then(|| world::time(world.now));
        for (name, claim) in NAMES.iter().zip(&self.claims).filter(|(_, claim)| claim.exists) {
            world.claims.insert((*name).to_owned(), claim.build(name));
        }
        for (name, node) in NAMES.iter().zip(&self.nodes).filter(|(_, node)| node.exists) {
            world.nodes.insert((*name).to_owned(), node.build(name, world.now));
        }
        for (name, pod) in ["noderotation-surge-old", "noderotation-surge-other", "noderotation-surge-gone"].iter().zip(&self.pods) {
            world.pods.extend(pod.as_ref().map(|pod| ((*name).to_owned(), pod.build(name, world.now))));
        }
        world
    }
}

impl AbsurdClaim {
    fn build(&self, name: &str) -> crate::karpenter::NodeClaim {
        let mut claim = claim_named(name, "2026-01-01T00:00:00Z");
        claim.metadata.annotations = map(&self.annotations);
        claim.metadata.deletion_timestamp = stamped(self.deleted);
        claim.metadata.creation_timestamp = stamped(self.created);
        claim.spec.expire_after = self.life.map(str::to_owned);
        claim.spec.termination_grace_period = self.grace.map(str::to_owned);
        let status = claim.status.as_mut().unwrap();
        status.node_name = self.node.map(str::to_owned);
        status.conditions.truncate(if self.ready { 2 } else { 0 });
        if name == "foreign" {
            claim.metadata.labels.as_mut().unwrap().insert(NODEPOOL_LABEL.to_owned(), "elsewhere".to_owned());
        }
        claim
    }
}

impl AbsurdNode {
    fn build(&self, name: &str, now: Timestamp) -> Node {
        let mut node = node_named(name);
        node.metadata.annotations = map(&self.annotations);
        node.metadata.deletion_timestamp = self.going.then(|| world::time(now));
        let spec = node.spec.as_mut().unwrap();
        spec.unschedulable = self.unschedulable;
        let taint = || Taint { key: DISRUPTED_TAINT.to_owned(), effect: "NoSchedule".to_owned(), ..Taint::default() };
        spec.taints = self.tainted.then(|| vec![taint()]);
        if !self.ready {
            node.status = None;
        }
        if self.bare {
            (node.spec, node.status) = (None, None);
        }
        node
    }
}

impl AbsurdPod {
    fn build(&self, name: &str, now: Timestamp) -> Pod {
        let mut pod = Pod {
            spec: Some(PodSpec { node_name: self.host.map(str::to_owned), ..PodSpec::default() }),
            status: Some(PodStatus { phase: Some(self.phase.to_owned()), ..PodStatus::default() }),
            ..Pod::default()
        };
        pod.metadata.name = Some(name.to_owned());
        pod.metadata.uid = Some(format!("uid-of-{name}"));
        pod.metadata.resource_version = Some("1".to_owned());
        pod.metadata.creation_timestamp = Some(world::time(at("2026-01-07T01:59:00Z")));
        pod.metadata.deletion_timestamp = self.going.then(|| world::time(now));
        pod.metadata.annotations = map(&self.annotations);
        let claim = name.trim_start_matches("noderotation-surge-").to_owned();
        pod.metadata.labels = self.labelled.then(|| [(SURGE_FOR.to_owned(), claim), (NODEPOOL_LABEL.to_owned(), "pool".to_owned())].into());
        pod
    }
}

/// Karpenter and the scheduler do their part, and Pods and Nodes that are going are gone.
fn settle(world: &mut World) {
    world.provision();
    world.finish_drains();
    world.pods.retain(|_, pod| pod.metadata.deletion_timestamp.is_none());
    world.nodes.retain(|_, node| node.metadata.deletion_timestamp.is_none());
}

/// Passes with something in between, and then until the world is at rest.
fn live_through(absurd: &Absurd) {
    let mut world = absurd.world();
    for happens in &absurd.moves {
        world.pass();
        match happens {
            0 => settle(&mut world),
            1 => world.advance(SignedDuration::from_mins(16)),
            2 => world.ungovern(),
            3 => world.crash_before_write(Some(1)),
            4 => world.annotate_pool(FREEZE, "soon"),
            _ => world.advance(SignedDuration::from_secs(30)),
        }
    }
    // With the window closed and everybody doing their part, whatever was in flight comes to its end (L1, L3).
    world.now = at("2026-01-07T12:00:00Z");
    world.crash_before_write(None);
    for _ in 0..12 {
        world.pass();
        settle(&mut world);
        world.advance(SignedDuration::from_mins(16));
    }
    assert!(!world.anchored(), "L1: {:?}", world.pool.metadata.annotations);
    // A stranger's Pod may have any name.
    world.pods.retain(|_, pod| pod.metadata.labels.is_some());
    world.assert_no_marks_on_nodes();
    for claim in world.claims.values().filter(|claim| claim.pool() == Some("pool")) {
        let state = claim.marks(world.now).state;
        assert!(!matches!(state, ClaimState::Pending | ClaimState::Draining), "L1: {claim:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_observation_has_an_outcome_that_keeps_the_invariants_and_comes_to_rest(absurd in absurd()) {
        live_through(&absurd);
    }

    #[test]
    fn so_has_every_observation_of_a_rotation_in_flight(absurd in absurd()) {
        live_through(&absurd.in_flight());
    }
}
