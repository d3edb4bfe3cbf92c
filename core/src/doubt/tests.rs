//! What is doubted of a policy in a cluster, in which words, and that the words stay short.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::governance::governance;
use crate::policy::tests::{any_policy, good};

fn now() -> Timestamp {
    "2026-01-06T12:00:00Z".parse().unwrap()
}

fn policy(name: &str, labels: &Value) -> PolicyEntry {
    let mut policy = good();
    policy["metadata"] = json!({ "name": name });
    policy["spec"]["nodePoolSelector"] = json!({ "matchLabels": labels });
    PolicyEntry::from_object(&policy)
}

fn pool(name: &str, labels: &Value, expire_after: &str) -> NodePool {
    let template = json!({"spec": {"expireAfter": expire_after, "terminationGracePeriod": "1h"}});
    serde_json::from_value(json!({
        "apiVersion": "karpenter.sh/v1", "kind": "NodePool",
        "metadata": {"name": name, "labels": labels}, "spec": {"template": template}
    }))
    .unwrap()
}

/// What is doubted of the first policy.
fn doubted(policies: &[PolicyEntry], pools: &[NodePool]) -> Vec<Doubt> {
    let all = governance(policies, pools.iter().map(|pool| (pool.name(), pool.labels())));
    let pools: Vec<(&NodePool, usize)> = pools.iter().map(|pool| (pool, 1)).collect();
    let none = Governance::default();
    doubts(&policies[0], all.get(&policies[0].name).unwrap_or(&none), Among { policies, pools: &pools }, now())
}

fn sentences(policies: &[PolicyEntry], pools: &[NodePool]) -> String {
    doubted(policies, pools).iter().map(|doubt| doubt.fault().to_string()).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_policy_that_governs_a_pool_well_is_not_doubted() {
    assert_eq!(doubted(&[policy("a", &json!({"team": "a"}))], &[pool("x", &json!({"team": "a"}), "336h")]), []);
}

#[test]
fn a_tie_names_pools_and_rivals_and_is_not_told_again_as_a_twin() {
    let (one, two) = (policy("one", &json!({"team": "a"})), policy("two", &json!({"team": "a"})));
    let pools: Vec<NodePool> = (0..12).map(|n| pool(&format!("p{n:02}"), &json!({"team": "a"}), "336h")).collect();
    let policies = [one, two];
    insta::assert_snapshot!(sentences(&policies, &pools[..1]), @"spec.nodePoolSelector: ties with two for NodePool p00, which is not rotated; give one selector more entries");
    insta::assert_snapshot!(sentences(&policies, &pools), @"spec.nodePoolSelector: ties with two for 12 NodePools, e.g. p00, p01, p02, which are not rotated; give one selector more entries");
}

#[test]
fn a_twin_is_told_also_where_there_is_no_pool_to_tie_for() {
    let (one, two) = (policy("one", &json!({"team": "a"})), policy("two", &json!({"team": "a"})));
    insta::assert_snapshot!(sentences(&[one.clone(), two.clone()], &[]), @r"
    spec.nodePoolSelector: selects no NodePool, since there is none yet
    spec.nodePoolSelector: is that of RotationPolicy two as well, and a tie rotates nothing; give one selector more entries
    ");
    // One that governs the only pool for both leaves the tie waiting.
    let both = policy("both", &json!({"team": "a", "tier": "gold"}));
    insta::assert_snapshot!(sentences(&[one, two, both], &[pool("x", &json!({"team": "a", "tier": "gold"}), "336h")]), @r"
    spec.nodePoolSelector: governs no NodePool: a more specific policy governs the one that it selects
    spec.nodePoolSelector: is that of RotationPolicy two as well, and a tie rotates nothing; give one selector more entries
    ");
}

#[test]
fn a_policy_that_selects_no_pool_is_told_so() {
    let pools = [pool("x", &json!({"team": "b"}), "336h"), pool("y", &json!({}), "336h")];
    insta::assert_snapshot!(sentences(&[policy("a", &json!({"team": "a"}))], &pools), @"spec.nodePoolSelector: selects none of the 2 NodePools there are, so it rotates nothing; compare it with their labels");
}

#[test]
fn findings_are_told_once_a_code_with_the_pools_that_they_are_about() {
    let short = |name: &str, life: &str| pool(name, &json!({}), life);
    let one = [policy("a", &json!({}))];
    insta::assert_snapshot!(sentences(&one, &[short("x", "48h")]), @"spec: cannot rotate NodePool x (ANonPositive): expireAfter 2d is not longer than the lead time: 2 windows at most 4d apart, and 1h17m for a rotation; add windows, raise expireAfter, or lower minRotationChances");
    // The gravest first, and where the numbers differ those of the first pool.
    let mut pools = vec![short("y", "24h"), short("x", "48h"), short("fine", "336h"), short("long", "720h"), short("z", "12h")];
    pools[2].spec.template.spec.termination_grace_period = None;
    insta::assert_snapshot!(sentences(&one, &pools), @r"
    spec: cannot rotate NodePools x, y, z (ANonPositive): at x, expireAfter 2d is not longer than the lead time: 2 windows at most 4d apart, and 1h17m for a rotation; add windows, raise expireAfter, or lower minRotationChances
    spec: for NodePool fine (TGPUnset): the NodePool's template sets no terminationGracePeriod, so a drain may never end; set one (1h is assumed)
    spec: for NodePool long (HardCapExceeded): expireAfter and terminationGracePeriod are 30d1h together; EKS Auto Mode ends a node's life at 21d
    ");
}

#[test]
fn long_names_make_room_for_the_sentence() {
    let pools: Vec<NodePool> = ["a", "b", "c"].map(|letter| pool(&letter.repeat(30), &json!({}), "48h")).into();
    let line = sentences(&[policy("p", &json!({}))], &pools);
    assert!(line.len() <= LONGEST, "{} bytes", line.len());
    assert!(line.contains("3 NodePools, e.g. aaa") && !line.contains("bbb") && line.ends_with("lower minRotationChances"), "{line}");
}

#[test]
fn what_no_policy_can_rotate_is_not_held_against_one() {
    let mut fixed = pool("fixed", &json!({}), "48h");
    assert_eq!(doubted(&[policy("a", &json!({}))], std::slice::from_ref(&fixed)).len(), 1);
    fixed.spec.replicas = Some(3);
    assert_eq!(doubted(&[policy("a", &json!({}))], &[fixed]), []);
}

#[test]
fn only_ties_and_infeasible_pools_can_be_denied_and_each_by_its_own_flag() {
    let denied = |deny_ties, deny_infeasible| {
        let strictness = Strictness { deny_ties, deny_infeasible };
        [Matter::Tie, Matter::Infeasible, Matter::NoPool, Matter::SameSelector, Matter::Finding]
            .map(|matter| Doubt { matter, words: String::new() }.is_denied(strictness))
    };
    assert_eq!(denied(false, false), [false; 5]);
    assert_eq!(denied(true, false), [true, false, false, false, false]);
    assert_eq!(denied(false, true), [false, true, false, false, false]);
}

proptest! {
    /// As the API server passes them on (review 21), with names of an ordinary length.
    #[test]
    fn each_doubt_is_a_short_line_and_no_two_are_alike(
        policies in prop::collection::vec(any_policy(), 1..4),
        lives in prop::collection::vec(prop::sample::select(vec!["1h", "48h", "336h", "720h", "Never"]), 0..40),
        length in 1_usize..60,
    ) {
        let policies: Vec<PolicyEntry> = policies.iter().enumerate().map(|(n, policy)| {
            PolicyEntry { name: format!("{}-{n}", "q".repeat(length)), ..PolicyEntry::from_object(policy) }
        }).collect();
        let labels = json!({"workload": "api"});
        let pools: Vec<NodePool> =
            lives.iter().enumerate().map(|(n, life)| pool(&format!("{}-{n:02}", "p".repeat(length / 2)), &labels, life)).collect();
        let doubts = doubted(&policies, &pools);
        for doubt in &doubts {
            let line = doubt.fault().to_string();
            prop_assert!(line.len() <= LONGEST && !line.chars().any(char::is_control), "{} bytes: {}", line.len(), line);
        }
        prop_assert!(doubts.is_sorted_by_key(|doubt| doubt.matter == Matter::Finding));
    }
}

#[test]
fn a_doubt_is_about_the_field_that_would_have_to_change() {
    let field = |matter: Matter| Doubt { matter, words: String::new() }.field();
    assert_eq!([Matter::Tie, Matter::NoPool, Matter::SameSelector].map(field), ["spec.nodePoolSelector"; 3]);
    assert_eq!([Matter::Infeasible, Matter::Finding].map(field), ["spec"; 2]);
}
