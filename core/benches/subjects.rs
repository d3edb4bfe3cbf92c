//! What is measured, both by the clock and in instructions.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "nothing but benchmarks uses it")]

mod windows;

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Node;
use noderotation_core::doubt::Strictness;
use noderotation_core::karpenter::{NodeClaim, NodePool};
use noderotation_core::policy::governing::Governing;
use noderotation_core::policy::validate::validate;
use noderotation_core::resolve::{PolicyEntry, Resolution, resolve};
use noderotation_core::rotation::observation::{Observation, Settings};
use noderotation_core::rotation::step;
use noderotation_core::selection::{Nodes, survey};
use noderotation_core::surroundings::Surroundings;
use serde_json::{Value, json};

/// One thing to be measured.
pub(crate) struct Subject {
    /// What people call it.
    pub(crate) name: String,
    /// Does it once.
    pub(crate) run: Box<dyn Fn()>,
}

impl Subject {
    fn new<T>(name: impl Into<String>, run: impl Fn() -> T + 'static) -> Self {
        let run = move || drop(black_box(run()));
        Self { name: name.into(), run: Box::new(run) }
    }
}

/// All of them, made when they are asked for: some take a while.
pub(crate) const ALL: [fn() -> Vec<Subject>; 5] = [windows::subjects, resolution, surroundings, selection, passes];

fn now() -> Timestamp {
    "2026-06-15T12:34:56Z".parse().unwrap()
}

fn policy(name: &str, selector: &Value, windows: &Value) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {"nodePoolSelector": {"matchLabels": selector}, "maintenanceWindows": windows}
    })
}

fn governing(windows: &Value) -> Governing {
    validate(&policy("bench", &json!({}), windows)).unwrap()
}

fn one_window() -> Value {
    json!([{"timezone": "America/New_York", "days": ["Wed", "Sat"], "start": "02:00", "end": "06:00"}])
}

fn resolution() -> Vec<Subject> {
    let policies: Vec<PolicyEntry> = (0..100)
        .map(|index| {
            PolicyEntry::from_object(&policy(&format!("p{index}"), &json!({"team": format!("t{index}"), "tier": "gold"}), &one_window()))
        })
        .collect();
    let pools: Vec<BTreeMap<String, String>> = (0..1000)
        .map(|index| {
            let labels = [("team", format!("t{}", index % 120)), ("tier", "gold".to_owned()), ("zone", format!("z{}", index % 3))];
            labels.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
        })
        .collect();
    vec![Subject::new("resolution of 1,000 pools among 100 policies", move || {
        pools.iter().map(|labels| resolve(black_box(labels), &policies)).collect::<Vec<_>>()
    })]
}

/// A policy that selects every pool, changed beside others: what a review of the admission endpoint costs at the most.
fn surroundings() -> Vec<Subject> {
    let others: Vec<Value> =
        (0..100).map(|index| policy(&format!("p{index}"), &json!({"team": format!("t{index}")}), &one_window())).collect();
    let pools = (0..1000).map(|index| {
        let life = json!({"spec": {"expireAfter": if index % 2 == 0 { "336h" } else { "24h" }}});
        pool(&format!("pool-{index}"), &json!({"team": format!("t{}", index % 120)}), &life)
    });
    let surroundings = Surroundings::new(&others, pools);
    let (entry, now) = (PolicyEntry::from_object(&policy("all", &json!({}), &one_window())), now());
    vec![Subject::new("a policy beside 1,000 pools and 100 policies", move || {
        surroundings.judge(Some(&entry), black_box(&entry), Strictness::default(), now)
    })]
}

fn pool(name: &str, labels: &Value, template: &Value) -> NodePool {
    serde_json::from_value(json!({"metadata": {"name": name, "labels": labels}, "spec": {"template": template}})).unwrap()
}

/// Claims of one pool, one born a minute after the other; of every tenth an attempt has failed.
fn claims(number: u32) -> Vec<NodeClaim> {
    let claim = |index: u32| {
        let created = now() - SignedDuration::from_mins(i64::from(index));
        let failed = json!({"noderotation.io/state": "failed", "noderotation.io/failed-at": "2026-06-15T12:00:00Z", "noderotation.io/retry-count": "2"});
        let annotations = if index.is_multiple_of(10) { failed } else { json!({}) };
        let claim = json!({
            "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
            "metadata": {"name": format!("claim-{index}"), "creationTimestamp": created.to_string(), "annotations": annotations},
            "spec": {"expireAfter": "240h", "terminationGracePeriod": "1h"},
            "status": {"nodeName": format!("node-{index}"), "conditions": [{"type": "Ready", "status": "True"}]}
        });
        serde_json::from_value(claim).unwrap()
    };
    (0..number).map(claim).collect()
}

fn nodes(number: u32) -> Vec<Node> {
    (0..number).map(|index| serde_json::from_value(json!({"metadata": {"name": format!("node-{index}")}})).unwrap()).collect()
}

fn selection() -> Vec<Subject> {
    let governing = governing(&one_window());
    let (claims, nodes, now) = (claims(10_000), nodes(10_000), now());
    let period = Duration::from_secs(4 * 24 * 3600);
    vec![Subject::new("selection over 10,000 claims", move || {
        survey(&governing, period, black_box(&claims), &Nodes::new(&nodes), now).eligible.len()
    })]
}

/// Passes over a pool that waits for its window: what is done again and again, for every pool.
fn passes() -> Vec<Subject> {
    let now = now();
    let pass = |number: u32| {
        let life = json!({"spec": {"expireAfter": "240h", "terminationGracePeriod": "1h"}});
        let observation = Observation {
            pool: pool("bench", &json!({}), &life),
            governing: Resolution::Governed(governing(&one_window()).into()),
            claims: claims(number),
            nodes: nodes(number),
            placeholders: Vec::new(),
            settings: Settings::default(),
            close_up: None,
            leftovers: None,
        };
        Subject::new(format!("a pass over a pool of {number} nodes"), move || step(black_box(&observation), now).is_continue())
    };
    vec![pass(10), pass(1000)]
}
