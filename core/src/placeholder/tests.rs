//! Sizes, replicated requirements, names, and the whole Pod.

mod cases;

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{Node, Pod, Taint};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::clamp::clamp;
use super::requirement::{Requirement, replicated};
use super::size::{Amounts, Kind, effective_requests, kind};
use super::*;

fn pod(spec: &Value) -> Pod {
    serde_json::from_value(json!({"metadata": {"name": "p", "namespace": "default"}, "spec": spec})).unwrap()
}

fn container(cpu: &str) -> Value {
    json!({"name": "c", "resources": {"requests": {"cpu": cpu}}})
}

fn sidecar(cpu: &str) -> Value {
    json!({"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": cpu}}})
}

fn cpu(spec: &Value) -> String {
    effective_requests(&pod(spec)).get("cpu").map(ToString::to_string).unwrap_or_default()
}

#[test]
fn effective_requests_follow_the_scheduler() {
    let rows: [(&str, Value, &str); 9] = [
        ("containers add up", json!({"containers": [container("1260m"), container("50m"), container("300m")]}), "1610m"),
        ("a larger init counts alone", json!({"initContainers": [container("2")], "containers": [container("500m")]}), "2"),
        ("a smaller init does not count", json!({"initContainers": [container("300m")], "containers": [container("500m")]}), "500m"),
        ("c132 sidecars add", json!({"initContainers": [sidecar("250m")], "containers": [container("4")]}), "4250m"),
        (
            "c131 an init runs beside the sidecar before it",
            json!({"initContainers": [sidecar("100m"), container("200m")], "containers": [container("100m")]}),
            "300m",
        ),
        (
            "c131 an init runs without the sidecar after it",
            json!({"initContainers": [container("200m"), sidecar("100m")], "containers": [container("100m")]}),
            "200m",
        ),
        ("c135 overhead adds", json!({"overhead": {"cpu": "250m"}, "containers": [container("1")]}), "1250m"),
        (
            "c134 the Pod's own request replaces the sum",
            json!({"resources": {"requests": {"cpu": "2"}}, "containers": [container("500m")]}),
            "2",
        ),
        ("nothing requested", json!({"containers": [{"name": "c"}]}), ""),
    ];
    for (name, spec, expected) in rows {
        assert_eq!(cpu(&spec), expected, "{name}");
    }
}

#[test]
fn pod_level_requests_leave_the_other_resources_to_the_containers() {
    let spec =
        json!({"resources": {"requests": {"cpu": "2"}}, "containers": [{"name": "c", "resources": {"requests": {"memory": "1Gi"}}}]});
    assert_eq!(effective_requests(&pod(&spec))["memory"].to_string(), "1Gi");
}

fn node() -> Node {
    let labels = json!({
        "kubernetes.io/hostname": "worker-1", "karpenter.sh/nodepool": "api", "topology.kubernetes.io/zone": "zone-b",
        "kubernetes.io/arch": "arm64", "karpenter.sh/capacity-type": "spot", "cores": "8"
    });
    serde_json::from_value(json!({"metadata": {"name": "ip-10-0-0-1", "labels": labels}})).unwrap()
}

fn pinned(values: &[&str]) -> Value {
    let term = |value: &&str| json!({"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [value]}]});
    let terms: Vec<Value> = values.iter().map(term).collect();
    json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}, "containers": []})
}

#[test]
fn each_kind_of_pod_is_recognised() {
    let with = |change: &dyn Fn(&mut Value)| {
        let mut object = json!({"metadata": {"name": "p"}, "spec": {"containers": []}});
        change(&mut object);
        serde_json::from_value::<Pod>(object).unwrap()
    };
    let owner =
        |kind: &str, controller: bool| json!([{"apiVersion": "apps/v1", "kind": kind, "name": "o", "uid": "u", "controller": controller}]);
    let hostname_term = |term: &Value| {
        let mut spec = pinned(&["worker-1"]);
        let expression = &mut spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"][0]["matchExpressions"]
            [0];
        *expression = term.clone();
        expression["key"] = json!("kubernetes.io/hostname");
        pod(&spec)
    };
    let mut in_zone_or_here = pinned(&["worker-1", "worker-1"]);
    in_zone_or_here["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"][1] =
        json!({"matchExpressions": [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["zone-b"]}]});
    let in_zone_or_here = pod(&in_zone_or_here);
    let preference = json!({"weight": 1, "preference": {
        "matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["worker-1"]}]
    }});
    let would_rather =
        pod(&json!({"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [preference]}}, "containers": []}));
    let rows: Vec<(&str, Pod, Kind)> = vec![
        ("c145 a bare Pod", with(&|_| {}), Kind::Reschedulable),
        ("a DaemonSet's", with(&|o| o["metadata"]["ownerReferences"] = owner("DaemonSet", true)), Kind::DaemonSet),
        (
            "owned, not controlled by a DaemonSet",
            with(&|o| o["metadata"]["ownerReferences"] = owner("DaemonSet", false)),
            Kind::Reschedulable,
        ),
        ("a ReplicaSet's", with(&|o| o["metadata"]["ownerReferences"] = owner("ReplicaSet", true)), Kind::Reschedulable),
        ("c145 a mirror", with(&|o| o["metadata"]["annotations"] = json!({"kubernetes.io/config.mirror": "x"})), Kind::Mirror),
        ("c142 succeeded", with(&|o| o["status"] = json!({"phase": "Succeeded"})), Kind::Completed),
        ("c142 failed", with(&|o| o["status"] = json!({"phase": "Failed"})), Kind::Completed),
        ("c144 terminating", with(&|o| o["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z")), Kind::Reschedulable),
        ("selects this host", with(&|o| o["spec"]["nodeSelector"] = json!({"kubernetes.io/hostname": "worker-1"})), Kind::NodePinned),
        (
            "c129 selects the node's name, which is another host",
            with(&|o| o["spec"]["nodeSelector"] = json!({"kubernetes.io/hostname": "ip-10-0-0-1"})),
            Kind::Reschedulable,
        ),
        ("may run here only", pod(&pinned(&["worker-1"])), Kind::NodePinned),
        ("t32 may run here in either term", pod(&pinned(&["worker-1", "worker-1"])), Kind::NodePinned),
        ("t33 may run on one other host", pod(&pinned(&["worker-2"])), Kind::Reschedulable),
        ("t32 may run here or there", pod(&pinned(&["worker-1", "worker-2"])), Kind::Reschedulable),
        ("t32 keeps off one host", hostname_term(&json!({"operator": "NotIn", "values": ["worker-2"]})), Kind::Reschedulable),
        ("t32 may run on any host", hostname_term(&json!({"operator": "Exists"})), Kind::Reschedulable),
        ("t32 may run here, or wherever the zone is right", in_zone_or_here, Kind::Reschedulable),
        ("t32 would rather run here", would_rather, Kind::Reschedulable),
    ];
    for (name, pod, expected) in rows {
        assert_eq!(kind(&pod, &node()), expected, "{name}");
    }
}

struct Scene {
    pods: Vec<Pod>,
    allocatable: BTreeMap<String, Quantity>,
    pool_requirements: Vec<Requirement>,
    claim_requirements: Vec<Requirement>,
    required: Vec<String>,
    taints: Vec<Taint>,
    whole_node: bool,
    pull_secrets: Vec<String>,
}

impl Scene {
    fn new(pods: &[Value]) -> Self {
        let required = ["topology.kubernetes.io/zone", "kubernetes.io/arch", "karpenter.sh/capacity-type"];
        Self {
            pods: pods.iter().map(pod).collect(),
            allocatable: BTreeMap::new(),
            pool_requirements: Vec::new(),
            claim_requirements: Vec::new(),
            required: required.iter().map(|key| (*key).to_owned()).collect(),
            taints: Vec::new(),
            whole_node: false,
            pull_secrets: Vec::new(),
        }
    }

    fn with<T>(&self, with: impl FnOnce(&Request<'_>) -> T) -> T {
        let excluded: BTreeSet<String> = ["worker-1".to_owned()].into();
        with(&Request {
            claim: "api-x7k2p",
            pool: "api",
            namespace: "node-rotation-system",
            image: "registry.k8s.io/pause:3.10",
            image_pull_secrets: &self.pull_secrets,
            priority_class: "noderotation-placeholder",
            pool_taints: &self.taints,
            pool_requirements: &self.pool_requirements,
            claim_requirements: &self.claim_requirements,
            claim_allocatable: &self.allocatable,
            node: &node(),
            pods: &self.pods,
            excluded_hostnames: &excluded,
            required_keys: &self.required,
            preferred_keys: &["cores".to_owned()],
            whole_node_reservation: self.whole_node,
        })
    }

    fn requests(&self) -> String {
        let placeholder = self.with(build);
        let list: Vec<String> = placeholder.sizing.requests.iter().map(|(name, quantity)| format!("{name}={}", quantity.0)).collect();
        list.join(" ")
    }

    fn allocatable(mut self, pairs: &[(&str, &str)]) -> Self {
        self.allocatable = pairs.iter().map(|(k, v)| ((*k).to_owned(), Quantity((*v).to_owned()))).collect();
        self
    }
}

fn requests(pairs: &Value) -> Value {
    json!({"containers": [{"name": "c", "resources": {"requests": pairs, "limits": pairs}}]})
}

#[test]
fn the_size_is_that_of_the_pods_within_what_a_node_can_give() {
    let big = requests(&json!({"cpu": "3", "memory": "6Gi"}));
    let rows: Vec<(&str, Scene, &str)> = vec![
        ("the sum", Scene::new(&[big.clone(), big.clone()]), "cpu=6 memory=12Gi"),
        ("nothing to land", Scene::new(&[]), "cpu=1m"),
        ("Pods that request nothing", Scene::new(&[json!({"containers": []})]), "cpu=1m"),
        ("lowered", Scene::new(std::slice::from_ref(&big)).allocatable(&[("cpu", "2"), ("memory", "8Gi")]), "cpu=2 memory=6Gi"),
        (
            "not lowered where the claim says nothing",
            Scene::new(std::slice::from_ref(&big)).allocatable(&[("cpu", "2")]),
            "cpu=2 memory=6Gi",
        ),
        ("t39 refused, so the whole demand stays", Scene::new(std::slice::from_ref(&big)).allocatable(&[("cpu", "0")]), "cpu=3 memory=6Gi"),
        (
            "a whole node",
            Scene {
                whole_node: true,
                ..Scene::new(&[json!({"containers": []})]).allocatable(&[("cpu", "4"), ("memory", "8Gi"), ("pods", "110")])
            },
            "cpu=4 memory=8Gi",
        ),
        (
            "t43 a whole node for Pods that ask for memory only",
            Scene {
                whole_node: true,
                ..Scene::new(&[requests(&json!({"memory": "1Gi"}))]).allocatable(&[("cpu", "4"), ("memory", "8Gi"), ("pods", "110")])
            },
            "cpu=4 memory=8Gi",
        ),
        ("no whole node for nobody", Scene { whole_node: true, ..Scene::new(&[]).allocatable(&[("cpu", "4")]) }, "cpu=1m"),
    ];
    for (name, scene, expected) in rows {
        assert_eq!(scene.requests(), expected, "{name}");
    }
}

fn requirement(key: &str, operator: &str, values: &[&str]) -> Requirement {
    Requirement { key: key.to_owned(), operator: operator.to_owned(), values: values.iter().map(|v| (*v).to_owned()).collect() }
}

#[test]
fn a_label_is_replicated_only_as_far_as_the_pool_permits_it() {
    let zone = "topology.kubernetes.io/zone";
    let rows: Vec<(&str, &str, Vec<Requirement>, Option<&str>)> = vec![
        ("not mentioned", zone, vec![], Some("zone-b")),
        ("In", zone, vec![requirement(zone, "In", &["zone-a", "zone-b"])], Some("zone-b")),
        ("not In", zone, vec![requirement(zone, "In", &["zone-a"])], None),
        ("NotIn", zone, vec![requirement(zone, "NotIn", &["zone-b"])], None),
        ("Exists", zone, vec![requirement(zone, "Exists", &[])], Some("zone-b")),
        ("DoesNotExist", zone, vec![requirement(zone, "DoesNotExist", &[])], None),
        ("every requirement", zone, vec![requirement(zone, "Exists", &[]), requirement(zone, "NotIn", &["zone-b"])], None),
        ("Gt", "cores", vec![requirement("cores", "Gt", &["7"])], Some("8")),
        ("not Gt", "cores", vec![requirement("cores", "Gt", &["8"])], None),
        ("Gte", "cores", vec![requirement("cores", "Gte", &["8"])], Some("8")),
        ("Lt", "cores", vec![requirement("cores", "Lt", &["8"])], None),
        ("Lte", "cores", vec![requirement("cores", "Lte", &["8"])], Some("8")),
        ("a bound that is no number", "cores", vec![requirement("cores", "Gt", &["many"])], None),
        ("two bounds", "cores", vec![requirement("cores", "Gt", &["1", "2"])], None),
        ("c091 an operator of a later version", "cores", vec![requirement("cores", "Near", &["8"])], None),
        ("a label that the node lacks", "rack", vec![], None),
    ];
    for (name, key, requirements, expected) in rows {
        let scene = Scene { pool_requirements: requirements, ..Scene::new(&[]) };
        assert_eq!(scene.with(|request| replicated(request, key)).map(|v| v.join(",")).as_deref(), expected, "{name}");
    }
    let of_claim = Scene { claim_requirements: vec![requirement("rack", "In", &["2", "1"])], ..Scene::new(&[]) };
    assert_eq!(of_claim.with(|request| replicated(request, "rack")), Some(vec!["1".to_owned(), "2".to_owned()]));
}

#[test]
fn r25_a_key_that_cannot_be_replicated_is_named() {
    let mut scene = Scene::new(&[]);
    scene.required.push("rack".to_owned());
    assert_eq!(scene.with(build).sizing.skipped_keys, ["rack"]);
}

#[test]
fn t42_r13_names_and_labels_stay_legal_however_long_the_claim() {
    for length in [1, 40, 63, 64, 200, 253] {
        let claim = format!("{}z", "a.".repeat(127).chars().take(length - 1).collect::<String>());
        let (name, label) = (name(&claim), label_value(&claim));
        assert!(name.len() <= 253 && label.len() <= 63, "{length}");
        assert!(!name.contains(".-") && !name.contains("--"), "{name}");
        let pod = Scene::new(&[]).with(|request| build(&Request { claim: &claim, ..request.clone() })).pod;
        assert!(belongs_to(&pod, &claim) && !belongs_to(&pod, "other"));
    }
    assert_ne!(name(&"a".repeat(300)), name(&"a".repeat(301)));
}

/// What people see of a long name is its beginning, as much as there is room for before the hash.
#[test]
fn a_name_that_is_too_long_keeps_its_beginning() {
    let claim = "abcdefghij".repeat(25);
    let (name, label) = (name(&claim), label_value(&claim));
    assert!(name.starts_with("noderotation-surge-abcdefghij") && name.len() == 253, "{name}");
    assert!(label.starts_with("abcdefghij") && label.len() == 63, "{label}");
    let (name_head, name_hash) = name.rsplit_once('-').unwrap();
    let (label_head, label_hash) = label.rsplit_once('-').unwrap();
    assert!(name_hash == label_hash && name_hash.len() == 16, "{name} {label}");
    assert!(claim.starts_with(label_head) && format!("noderotation-surge-{claim}").starts_with(name_head));
    // Two that differ behind the cut are told apart, and nothing ends in a dash or a dot before the hash.
    assert_ne!(label_value(&format!("{claim}x")), label);
    let dotted = label_value(&format!("{}{}", "a".repeat(44), ".-".repeat(20)));
    assert_eq!(dotted.len(), 44 + 17);
}

#[test]
fn c149_t28_no_hostname_term_is_ever_required() {
    let pod = serde_json::to_value(Scene::new(&[]).with(build).pod).unwrap();
    let affinity = &pod["spec"]["affinity"]["nodeAffinity"];
    assert!(!affinity["requiredDuringSchedulingIgnoredDuringExecution"].to_string().contains("hostname"));
    let preferred = &affinity["preferredDuringSchedulingIgnoredDuringExecution"][0];
    assert_eq!((&preferred["weight"], preferred["preference"].to_string().contains("hostname")), (&json!(100), true));
}

#[test]
fn the_whole_pod() {
    let taint = Taint { key: "team".to_owned(), value: Some("api".to_owned()), effect: "NoSchedule".to_owned(), ..Taint::default() };
    let scene = Scene { taints: vec![taint], ..Scene::new(&[requests(&json!({"cpu": "1"}))]) };
    insta::assert_json_snapshot!(scene.with(build).pod);
}

proptest! {
    /// Whenever the scheduler itself could have placed the Pods on the node, what the clamp takes away is no more than
    /// the Node offers beyond its claim.
    #[test]
    fn the_shortfall_stays_within_the_band(claim in 1_u32..10_000, extra in 0_u32..2_000, daemons in 0_u32..2_000, demand in 0_u32..12_000) {
        let cpu = |milli: u32| Amounts::from([("cpu".to_owned(), Amount::milli(milli))]);
        prop_assume!(demand + daemons <= claim + extra);
        let (requests, outcome) = clamp(&cpu(demand), &cpu(claim), &cpu(daemons), &cpu(claim + extra));
        if let ClampOutcome::Lowered(lowered) = outcome {
            prop_assert!(!lowered[0].band_exceeded);
            prop_assert_eq!(requests["cpu"], Amount::milli(claim - daemons));
        } else {
            prop_assert_eq!(requests["cpu"], Amount::milli(demand));
        }
    }
}
