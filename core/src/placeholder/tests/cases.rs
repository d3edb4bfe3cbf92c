//! Public fault reports about what is reserved and where, each named by its number.

use super::*;
use crate::karpenter::NodePool;

const ZONE: &str = "topology.kubernetes.io/zone";
const CAPACITY: &str = "karpenter.sh/capacity-type";
const RACK: &str = "example.com/rack";

fn asks(pairs: &Value) -> Value {
    json!({"name": "c", "resources": {"requests": pairs}})
}

/// The effective requests of a Pod, as `name=value` in a line.
fn effective(spec: &Value) -> String {
    let list: Vec<String> = effective_requests(&pod(spec)).iter().map(|(name, amount)| format!("{name}={amount}")).collect();
    list.join(" ")
}

/// The node of the scene with other labels.
fn labelled(pairs: &[(&str, &str)]) -> Node {
    let labels: BTreeMap<String, String> = pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    serde_json::from_value(json!({"metadata": {"name": "ip-10-0-0-1", "labels": labels}})).unwrap()
}

/// The values of `key` that the placeholder asks for on a node with these labels, and whether the key is named as
/// left out.
fn asked(scene: &Scene, node: &Node, key: &str) -> (Option<String>, bool) {
    let keys = [key.to_owned()];
    let placeholder = scene.with(|request| build(&Request { node, required_keys: &keys, ..request.clone() }));
    let pod = serde_json::to_value(&placeholder.pod).unwrap();
    let terms = &pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"];
    let expressions = terms[0]["matchExpressions"].as_array().unwrap();
    let values = expressions.iter().find(|expression| expression["key"] == key).map(|expression| {
        assert_eq!(expression["operator"], "In");
        let values: Vec<&str> = expression["values"].as_array().unwrap().iter().map(|value| value.as_str().unwrap()).collect();
        assert!(!values.is_empty(), "a term without values admits no node");
        values.join(",")
    });
    (values, placeholder.sizing.skipped_keys.contains(&key.to_owned()))
}

fn of_pool(requirements: Vec<Requirement>) -> Scene {
    Scene { pool_requirements: requirements, ..Scene::new(&[]) }
}

#[test]
fn c089_a_value_that_the_pool_does_not_allow_is_left_out_and_named() {
    let node = labelled(&[(CAPACITY, "spot")]);
    assert_eq!(asked(&of_pool(vec![requirement(CAPACITY, "In", &["xspot"])]), &node, CAPACITY), (None, true));
    assert_eq!(asked(&of_pool(vec![requirement(CAPACITY, "In", &["spot"])]), &node, CAPACITY), (Some("spot".to_owned()), false));
}

#[test]
fn c091_an_operator_that_nobody_knows_is_readable_and_leaves_the_key_out() {
    let pool: NodePool = serde_json::from_value(json!({"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "np0"},
        "spec": {"template": {"spec": {"requirements": [{"key": ZONE, "operator": "Approximately", "values": ["zone-b"], "minValues": 1}]}}}}))
    .unwrap();
    let node = labelled(&[(ZONE, "zone-b"), (CAPACITY, "spot")]);
    let scene = of_pool(pool.spec.template.spec.requirements);
    assert_eq!(asked(&scene, &node, ZONE), (None, true));
    assert_eq!(asked(&scene, &node, CAPACITY), (Some("spot".to_owned()), false), "the other keys are judged as ever");
}

#[test]
fn c093_t35_gt_and_lt_compare_integers() {
    let scene = of_pool(vec![requirement("cores", "Gt", &["4"])]);
    for (label, kept) in [("4", None), ("5", Some("5".to_owned())), ("4.0", None), ("5.0", None)] {
        assert_eq!(asked(&scene, &labelled(&[("cores", label)]), "cores"), (kept.clone(), kept.is_none()), "{label}");
    }
    assert_eq!(asked(&scene, &labelled(&[]), "cores"), (None, true), "missing");
    // As texts 10 comes before 9.
    for (more, less, cores, kept) in [("9", "11", "9", false), ("9", "11", "10", true), ("9", "11", "11", false), ("8", "10", "9", true)] {
        let scene = of_pool(vec![requirement("cores", "Gt", &[more]), requirement("cores", "Lt", &[less])]);
        assert_eq!(asked(&scene, &labelled(&[("cores", cores)]), "cores").0.is_some(), kept, "{more} < {cores} < {less}");
    }
}

#[test]
fn c094_exists_copies_the_nodes_value_and_invents_none() {
    let scene = of_pool(vec![requirement("example.com/gpu", "Exists", &[])]);
    assert_eq!(asked(&scene, &labelled(&[("example.com/gpu", "a100")]), "example.com/gpu"), (Some("a100".to_owned()), false));
    assert_eq!(asked(&scene, &labelled(&[]), "example.com/gpu"), (None, true));
}

#[test]
fn c096_t29_each_taint_is_tolerated_and_no_startup_taint() {
    let pool: NodePool = serde_json::from_value(json!({"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "np0"},
    "spec": {"template": {"spec": {
        "taints": [{"key": "dedicated", "value": "db", "effect": "NoSchedule"}, {"key": "x", "effect": "NoExecute"}],
        "startupTaints": [{"key": "agent-not-ready", "effect": "NoExecute"}]
    }}}}))
    .unwrap();
    let scene = Scene { taints: pool.spec.template.spec.taints, ..Scene::new(&[]) };
    let tolerations = serde_json::to_value(scene.with(build).pod.spec.unwrap().tolerations).unwrap();
    let expected = json!([
        {"key": "dedicated", "operator": "Equal", "value": "db", "effect": "NoSchedule"},
        {"key": "x", "operator": "Equal", "value": "", "effect": "NoExecute"}
    ]);
    assert_eq!(tolerations, expected);
}

#[test]
fn c100_only_a_node_of_the_same_pool_can_take_the_placeholder() {
    assert_eq!(asked(&Scene::new(&[]), &node(), "karpenter.sh/nodepool").0.as_deref(), Some("api"));
}

#[test]
fn c101_r14_the_capacity_type_stays_unless_it_is_only_preferred() {
    let required = |keys: &[String], preferred: &[String]| {
        let pod = Scene::new(&[]).with(|request| build(&Request { required_keys: keys, preferred_keys: preferred, ..request.clone() })).pod;
        let affinity = serde_json::to_value(pod).unwrap()["spec"]["affinity"]["nodeAffinity"].clone();
        ["requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"]
            .map(|kind| affinity[kind].to_string().contains("\"karpenter.sh/capacity-type\",\"operator\":\"In\",\"values\":[\"spot\"]"))
    };
    let key = [CAPACITY.to_owned()];
    assert_eq!(required(&key, &[]), [true, false]);
    assert_eq!(required(&[], &key), [false, true]);
}

#[test]
fn c115_t37_a_requirement_that_only_the_claim_has_is_asked_for_within_the_pool() {
    let claim = |pool| Scene { claim_requirements: vec![requirement(RACK, "In", &["r1", "r2"])], ..of_pool(pool) };
    assert_eq!(asked(&claim(vec![]), &labelled(&[]), RACK).0.as_deref(), Some("r1,r2"));
    assert_eq!(asked(&claim(vec![requirement(RACK, "In", &["r2", "r3"])]), &labelled(&[]), RACK).0.as_deref(), Some("r2"));
    assert_eq!(asked(&claim(vec![]), &labelled(&[(RACK, "r9")]), RACK).0.as_deref(), Some("r9"), "the label of the node wins");
}

#[test]
fn c116_t36_the_bounds_of_gte_and_lte_are_inside() {
    let scene = of_pool(vec![requirement("cores", "Gte", &["4"]), requirement("cores", "Lte", &["16"])]);
    for (cores, kept) in [("3", false), ("4", true), ("16", true), ("17", false)] {
        assert_eq!(asked(&scene, &labelled(&[("cores", cores)]), "cores").0.is_some(), kept, "{cores}");
    }
}

#[test]
fn its_image_is_pulled_with_the_secrets_that_were_named() {
    let pull_secrets = |names: &[&str]| {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        let scene = Scene { pull_secrets: names, ..Scene::new(&[]) };
        serde_json::to_value(scene.with(build).pod).unwrap()["spec"]["imagePullSecrets"].clone()
    };
    assert_eq!(pull_secrets(&["mirror", "other"]), json!([{"name": "mirror"}, {"name": "other"}]));
    assert_eq!(pull_secrets(&[]), Value::Null);
}

#[test]
fn t30_r12_a_namespace_that_enforces_the_restricted_profile_lets_the_placeholder_in() {
    let spec = serde_json::to_value(Scene::new(&[requests(&json!({"cpu": "1"}))]).with(build).pod).unwrap()["spec"].clone();
    assert_eq!(spec["automountServiceAccountToken"], false);
    assert_eq!(spec["securityContext"]["runAsNonRoot"], true);
    assert_eq!(spec["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
    let container = &spec["containers"][0]["securityContext"];
    assert_eq!(container["allowPrivilegeEscalation"], false);
    assert_eq!(container["capabilities"], json!({"drop": ["ALL"]}));
    for of_the_host in ["hostNetwork", "hostPID", "hostIPC", "volumes"] {
        assert!(spec.get(of_the_host).is_none(), "{of_the_host}");
    }
}

/// A Pod of a DaemonSet that asks for so much cpu, in this phase.
fn daemon(cpu: &str, phase: &str) -> Pod {
    let owner = json!([{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "d", "controller": true}]);
    let (metadata, status) = (json!({"name": "d", "ownerReferences": owner}), json!({"phase": phase}));
    serde_json::from_value(json!({"metadata": metadata, "spec": requests(&json!({"cpu": cpu})), "status": status})).unwrap()
}

#[test]
fn t38_t41_t46_no_more_is_asked_for_than_the_claim_offers_beside_running_daemon_sets() {
    // The Pods fill 3900m of a node that offers 4, though its claim says 3800m.
    let mut scene = Scene::new(&[requests(&json!({"cpu": "3500m"}))]).allocatable(&[("cpu", "3800m")]);
    scene.pods.extend([daemon("400m", "Running"), daemon("2", "Succeeded"), daemon("2", "Failed")]);
    let mut filled = node();
    filled.status.get_or_insert_default().allocatable = Some([("cpu".to_owned(), Quantity("4".to_owned()))].into());
    let sized = |scene: &Scene| scene.with(|request| build(&Request { node: &filled, ..request.clone() })).sizing;
    let sizing = sized(&scene);
    assert_eq!(sizing.requests_line(), "cpu=3400m");
    let lowered: Vec<String> =
        sizing.lowered().iter().map(|l| format!("{} {} {} {}", l.demand, l.limit, l.shortfall, l.band_exceeded)).collect();
    assert_eq!(lowered, ["3500m 3400m 100m false"]);
    assert_eq!(sizing.pods, [(Kind::Reschedulable, 1), (Kind::DaemonSet, 1), (Kind::Completed, 2)].into());
    // Without the DaemonSet's Pod that runs there is nothing to lower.
    scene.pods.remove(1);
    assert_eq!((sized(&scene).requests_line().as_str(), sized(&scene).lowered().len()), ("cpu=3500m", 0));
}

#[test]
fn t44_pods_that_ask_for_nothing_are_refused_a_node_of_which_nothing_is_left() {
    for (whole_node, refused) in [(false, vec!["cpu"]), (true, vec!["cpu", "memory"])] {
        let nothing = [json!({"containers": [{"name": "c"}]})];
        let mut scene = Scene { whole_node, ..Scene::new(&nothing).allocatable(&[("cpu", "2"), ("memory", "0")]) };
        scene.pods.push(daemon("2", "Running"));
        let sizing = scene.with(build).sizing;
        assert_eq!(sizing.refused(), refused, "whole node: {whole_node}");
        assert!(sizing.requests.values().all(|quantity| Amount::parse(&quantity.0).unwrap() > Amount::ZERO), "{:?}", sizing.requests);
    }
}

#[test]
fn c133_an_init_smaller_than_the_sum_adds_nothing() {
    let spec = json!({
        "initContainers": [asks(&json!({"cpu": "300m", "memory": "300Mi"}))],
        "containers": [
            asks(&json!({"cpu": "1260m", "memory": "6Gi"})),
            asks(&json!({"cpu": "50m", "memory": "128Mi"})),
            asks(&json!({"cpu": "300m", "memory": "300Mi"}))
        ]
    });
    assert_eq!(effective(&spec), "cpu=1610m memory=6572Mi");
}

#[test]
fn c134_the_pods_own_requests_stand_for_its_containers_resource_by_resource() {
    let containers = json!([asks(&json!({"cpu": "500m", "memory": "1Gi", "hugepages-2Mi": "64Mi"}))]);
    let own = json!({"resources": {"requests": {"cpu": "2"}}, "containers": containers});
    assert_eq!(effective(&own), "cpu=2 hugepages-2Mi=64Mi memory=1Gi");
    let pages = json!({"resources": {"requests": {"cpu": "2", "hugepages-2Mi": "128Mi"}}, "containers": containers});
    assert_eq!(effective(&pages), "cpu=2 hugepages-2Mi=128Mi memory=1Gi");
}

#[test]
fn c135_the_overhead_of_the_runtime_class_adds() {
    let spec = json!({"overhead": {"cpu": "250m", "memory": "120Mi"}, "containers": [asks(&json!({"cpu": "1"}))]});
    assert_eq!(effective(&spec), "cpu=1250m memory=120Mi");
}

#[test]
fn c138_r12_what_needs_limits_has_limits_and_what_needs_cpu_has_cpu() {
    let pages = requests(&json!({"hugepages-2Mi": "64Mi"}));
    let accelerator = requests(&json!({"nvidia.com/gpu": "1"}));
    let scene = Scene::new(&[pages, accelerator]);
    let resources = scene.with(build).pod.spec.unwrap().containers[0].resources.clone().unwrap();
    let line = |list: Option<BTreeMap<String, Quantity>>| {
        list.unwrap_or_default().into_iter().map(|(name, quantity)| format!("{name}={}", quantity.0)).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(line(resources.requests), "cpu=1m hugepages-2Mi=64Mi nvidia.com/gpu=1");
    assert_eq!(line(resources.limits), "hugepages-2Mi=64Mi nvidia.com/gpu=1");
}

#[test]
fn c141_ephemeral_storage_adds_up_and_is_cut_only_where_the_claim_knows_it() {
    let pods = vec![requests(&json!({"cpu": "1", "ephemeral-storage": "5Gi"})); 4];
    assert_eq!(Scene::new(&pods).allocatable(&[("cpu", "8")]).requests(), "cpu=4 ephemeral-storage=20Gi");
    assert_eq!(Scene::new(&pods).allocatable(&[("cpu", "8"), ("ephemeral-storage", "15Gi")]).requests(), "cpu=4 ephemeral-storage=15Gi");
}

#[test]
fn c142_c145_what_is_done_or_the_kubelets_own_needs_no_place() {
    let of = |metadata: &Value, status: &Value| -> Pod {
        let spec = requests(&json!({"cpu": "1"}));
        serde_json::from_value(json!({"metadata": metadata, "spec": spec, "status": status})).unwrap()
    };
    let plain = json!({"name": "p"});
    let scene = Scene {
        pods: vec![
            of(&plain, &json!({"phase": "Running"})),
            of(&plain, &json!({"phase": "Succeeded"})),
            of(&plain, &json!({"phase": "Failed"})),
            of(&json!({"name": "m", "annotations": {"kubernetes.io/config.mirror": "x"}}), &json!({"phase": "Running"})),
        ],
        ..Scene::new(&[])
    };
    // The first has no owner and counts all the same.
    assert_eq!(scene.requests(), "cpu=1");
}

#[test]
fn c148_the_zone_of_a_volume_is_required() {
    // Leaving the zone out of the required keys is warned of: `policy/warning.rs`.
    assert_eq!(asked(&Scene::new(&[]), &labelled(&[(ZONE, "zone-1c")]), ZONE).0.as_deref(), Some("zone-1c"));
}

#[test]
fn many_pods_that_request_nothing_make_a_placeholder_that_is_more_than_nothing() {
    let tiny = vec![json!({"containers": [{"name": "c"}]}); 30];
    let scene = Scene::new(&tiny).allocatable(&[("cpu", "4"), ("memory", "8Gi"), ("pods", "33")]);
    assert_eq!((scene.requests(), scene.with(build).sizing.count(Kind::Reschedulable)), ("cpu=1m".to_owned(), 30));
}
