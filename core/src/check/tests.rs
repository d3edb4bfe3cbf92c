//! What is told, and that it is what the other callers of the same functions say.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::policy::tests::{any_policy, good};
use crate::policy::validate::validate;
use crate::policy::warning::warnings;

fn now() -> Timestamp {
    "2026-01-06T12:00:00Z".parse().unwrap()
}

fn policy(name: &str, labels: &Value) -> Value {
    let mut policy = good();
    policy["metadata"] = json!({ "name": name });
    policy["spec"]["nodePoolSelector"] = json!({ "matchLabels": labels });
    policy
}

fn pool(name: &str, labels: &Value, expire_after: &str) -> NodePool {
    let template = json!({"spec": {"expireAfter": expire_after, "terminationGracePeriod": "1h"}});
    serde_json::from_value(json!({
        "apiVersion": "karpenter.sh/v1", "kind": "NodePool",
        "metadata": {"name": name, "labels": labels}, "spec": {"template": template}
    }))
    .unwrap()
}

fn verdict(policies: &[Value], pools: &[NodePool], strictness: Strictness) -> Report {
    check(Subjects { policies, pools, claims: &[] }, strictness, now())
}

#[test]
fn ties_and_infeasible_pools_are_told_or_refused_as_the_flags_say() {
    let policies = [policy("a", &json!({"team": "a"})), policy("b", &json!({"tier": "gold"})), policy("c", &json!({"app": "c"}))];
    let pools = [
        pool("contested", &json!({"team": "a", "tier": "gold"}), "336h"),
        pool("short", &json!({"app": "c"}), "48h"),
        pool("plain", &json!({"team": "a"}), "336h"),
    ];
    let accepted = |strictness: Strictness| verdict(&policies, &pools, strictness).policies.iter().map(|p| p.accepted).collect::<Vec<_>>();
    assert_eq!(accepted(Strictness::default()), [true, true, true]);
    assert_eq!(accepted(Strictness { deny_ties: true, deny_infeasible: false }), [false, false, true]);
    assert_eq!(accepted(Strictness { deny_ties: false, deny_infeasible: true }), [true, true, false]);
    let report = verdict(&policies, &pools, Strictness::default());
    let told: Vec<&str> = report.policies.iter().flat_map(|policy| policy.warnings.iter().map(String::as_str)).collect();
    assert_eq!(
        told,
        [
            "spec.nodePoolSelector: ties with b for NodePool contested, which is not rotated; give one selector more entries",
            "spec.nodePoolSelector: ties with a for NodePool contested, which is not rotated; give one selector more entries",
            "spec: cannot rotate NodePool short (ANonPositive): expireAfter 2d is not longer than the lead time: 2 windows at most 4d apart, and 1h17m for a rotation; add windows, raise expireAfter, or lower minRotationChances"
        ]
    );
    assert_eq!(report.policies[0].node_pools, ["plain"]);
}

#[test]
fn the_order_of_the_input_means_nothing() {
    let mut policies = vec![policy("a", &json!({"team": "a"})), policy("b", &json!({"team": "b"})), policy("c", &json!({}))];
    let mut pools = vec![pool("x", &json!({"team": "a"}), "336h"), pool("y", &json!({"team": "b"}), "48h"), pool("z", &json!({}), "Never")];
    let without_places = |mut report: Report| {
        report.policies.iter_mut().for_each(|policy| policy.index = 0);
        report
    };
    let one = without_places(verdict(&policies, &pools, Strictness::default()));
    policies.reverse();
    pools.reverse();
    assert_eq!(without_places(verdict(&policies, &pools, Strictness::default())), one);
}

#[test]
fn of_two_policies_with_one_name_the_later_one_is_refused_and_counts() {
    let policies = [policy("a", &json!({"team": "a"})), policy("a", &json!({"team": "b"}))];
    let report = verdict(&policies, &[pool("x", &json!({"team": "b"}), "336h")], Strictness::default());
    assert_eq!(report.policies.iter().map(|policy| policy.accepted).collect::<Vec<_>>(), [true, false]);
    assert_eq!(report.policies[1].faults[0].field, "metadata.name");
    assert_eq!(report.pools[0].governed_by.as_deref(), Some("a"));
}

#[test]
fn a_name_is_one_that_the_api_server_takes() {
    let faults = |metadata: Value| {
        let mut policy = good();
        policy["metadata"] = metadata;
        verdict(&[policy], &[], Strictness::default()).policies[0].faults.len()
    };
    for good in [json!({"name": "a.b-1"}), json!({"generateName": "a-"})] {
        assert_eq!(faults(good), 0);
    }
    for bad in [json!({}), json!({"name": ""}), json!({"name": "A"}), json!({"name": "a_b"}), json!({"name": "x".repeat(254)})] {
        assert_eq!(faults(bad.clone()), 1, "{bad}");
    }
}

#[test]
fn a_pool_that_no_policy_rotates_says_why() {
    let mut fixed = pool("fixed", &json!({"team": "a"}), "336h");
    fixed.spec.replicas = Some(3);
    let mut broken = policy("broken", &json!({"team": "b"}));
    broken["spec"]["surge"]["maxUnavailable"] = json!(2);
    let pools = [
        fixed,
        pool("lost", &json!({}), "336h"),
        pool("misled", &json!({"team": "b"}), "336h"),
        pool("fine", &json!({"team": "a"}), "336h"),
    ];
    let report = verdict(&[policy("a", &json!({"team": "a"})), broken], &pools, Strictness::default());
    let why: Vec<(&str, Option<&str>)> = report.pools.iter().map(|pool| (pool.name.as_str(), pool.not_rotated.as_deref())).collect();
    assert_eq!(
        why,
        [
            ("fine", None),
            ("fixed", Some("it is static (spec.replicas is set) and refills itself, so its nodes are never rotated")),
            ("lost", Some("no RotationPolicy selects it")),
            ("misled", Some("the RotationPolicy broken, which selects it, is refused")),
        ]
    );
}

proptest! {
    /// The offline verdict, the admission endpoint's and the reconcile's are one.
    #[test]
    fn the_verdict_is_that_of_the_admission_endpoint_and_of_the_reconcile(policy in any_policy()) {
        let report = check(Subjects { policies: std::slice::from_ref(&policy), pools: &[], claims: &[] }, Strictness::default(), now());
        let [told] = report.policies.as_slice() else { panic!("one policy, one verdict") };
        let judged = validate(&policy);
        let only_here = |fault: &&FaultReport| fault.field.starts_with("metadata.") || fault.message.contains("is not a field of RotationPolicy");
        let faults: Vec<String> = told.faults.iter().filter(|fault| !only_here(fault)).map(|fault| format!("{}: {}", fault.field, fault.message)).collect();
        let expected: Vec<String> = judged.as_ref().err().into_iter().flatten().map(ToString::to_string).collect();
        prop_assert_eq!(faults, expected);
        let warnings = judged.as_ref().map(|governing| warnings(&policy, governing, now())).unwrap_or_default();
        prop_assert_eq!(&told.warnings, &warnings);
        prop_assert_eq!(PolicyEntry::from_object(&policy).judgement.is_ok(), judged.is_ok());
    }
}

#[test]
fn pools_that_are_not_rotated_say_why_and_what_karpenter_would_refuse_is_a_fault() {
    let policies = [policy("a", &json!({"team": "a"}))];
    let of = |change: &dyn Fn(&mut NodePool)| {
        let mut pool = pool("p", &json!({"team": "a"}), "336h");
        change(&mut pool);
        let report = verdict(&policies, &[pool], Strictness::default());
        assert_eq!(report.accepted(), report.pools[0].faults.is_empty());
        (report.pools[0].clone(), report.pools[0].not_rotated.clone().unwrap_or_default())
    };
    assert_eq!(of(&|_| ()).1, "");
    assert!(of(&|pool| pool.spec.replicas = Some(1)).1.starts_with("it is static"));
    assert_eq!(
        of(&|pool| pool.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(now()))).1,
        "it is being deleted"
    );
    assert!(of(&|pool| pool.spec.template.spec.expire_after = Some("48h".to_owned())).1.starts_with("its schedule cannot work"));
    assert_eq!(of(&|pool| pool.metadata.labels = None).1, "no RotationPolicy selects it");
    let fields = |report: &PoolReport| report.faults.iter().map(|fault| fault.field.clone()).collect::<Vec<_>>();
    let life = |expire: &'static str, grace: &'static str| {
        of(&move |pool| {
            pool.spec.template.spec.expire_after = Some(expire.to_owned());
            pool.spec.template.spec.termination_grace_period = Some(grace.to_owned());
        })
    };
    assert_eq!(fields(&life("Never", "1h").0), [""; 0]);
    assert_eq!(fields(&life("336h", "Never").0), ["spec.template.spec.terminationGracePeriod"]);
    assert_eq!(fields(&life("soon", "1h").0), ["spec.template.spec.expireAfter"]);
    assert_eq!(life("soon", "1h").0.name, "p");
}

#[test]
fn what_defaulting_adds_is_told_by_its_path_and_nothing_that_is_written() {
    let told = |policy: &Value| verdict(std::slice::from_ref(policy), &[], Strictness::default()).policies[0].defaults.clone();
    let mut written = policy("a", &json!({"team": "a"}));
    written["spec"]["surge"] = json!({"readyTimeout": "20m", "matchNodeRequirements": {"required": ["topology.kubernetes.io/zone"]}});
    let (with, mut bare) = (told(&written), written.clone());
    assert!(with.contains(&"spec.surge.cooldownAfter: 10m".to_owned()), "{with:?}");
    assert!(!with.iter().any(|line| line.contains("readyTimeout") || line.contains("required")), "{with:?}");
    bare["spec"]["surge"] = Value::Null;
    let without = told(&bare);
    assert!(without.contains(&"spec.surge.readyTimeout: 15m".to_owned()), "{without:?}");
    assert!(
        without.iter().any(|line| line.starts_with("spec.surge.matchNodeRequirements.required: ") && line.contains(", ")),
        "{without:?}"
    );
    bare["spec"]["surge"] = json!({"readyTimeout": "soon"});
    assert_eq!(told(&bare), [""; 0], "a policy with a fault");
}

#[test]
fn claims_without_a_pool_are_named_and_durations_are_written_as_go_writes_them() {
    let claim = |pool: Option<&str>, name: &str| -> NodeClaim {
        let labels = pool.map_or_else(|| json!({}), |pool| json!({"karpenter.sh/nodepool": pool}));
        let metadata = json!({"name": name, "labels": labels, "creationTimestamp": "2026-01-01T00:00:00Z"});
        serde_json::from_value(json!({"metadata": metadata, "spec": {"expireAfter": "336h", "terminationGracePeriod": "1h"}})).unwrap()
    };
    let claims = [claim(None, "a"), claim(Some("gone"), "b"), claim(Some("gone"), "c"), claim(Some("p"), "d")];
    let (policies, pools) = ([policy("a", &json!({"team": "a"}))], [pool("p", &json!({"team": "a"}), "336h")]);
    let report = check(Subjects { policies: &policies, pools: &pools, claims: &claims }, Strictness::default(), now());
    assert_eq!(
        report.notes,
        [
            "1 NodeClaim(s) have no label karpenter.sh/nodepool and are not judged",
            "2 NodeClaim(s) belong to NodePool gone, which is not in the input, and are not judged"
        ]
    );
    assert_eq!(report.pools[0].claims.iter().map(|claim| claim.name.as_str()).collect::<Vec<_>>(), ["d"]);
    let written = serde_json::to_value(&report).unwrap();
    let schedule = &written["policies"][0]["schedule"];
    assert_eq!((&schedule["period"], &schedule["shortest"]), (&json!("96h0m0s"), &json!("4h0m0s")));
    let derived = &written["pools"][0]["derived"];
    assert_eq!((&derived["expireAfter"], &derived["terminationGracePeriod"]), (&json!("336h0m0s"), &json!("1h0m0s")));
    assert!(derived["ageThreshold"].as_str().is_some_and(|text| text.ends_with('s') && !text.starts_with('-')), "{derived}");
}
