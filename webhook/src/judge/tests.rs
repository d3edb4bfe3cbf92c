//! What the cluster adds to a judgement, and what is said when it cannot be seen.

use noderotation_core::karpenter::NodePool;
use serde_json::{Value, json};

use super::*;
use crate::review::Answer;
use crate::{default, validate};

fn now() -> Timestamp {
    "2026-01-06T12:00:00Z".parse().unwrap()
}

fn policy(name: &str, labels: &Value) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {
            "nodePoolSelector": {"matchLabels": labels},
            "maintenanceWindows": [{"timezone": "UTC", "days": ["Wed"], "start": "02:00", "end": "06:00"}]
        }
    })
}

fn pool(name: &str, labels: &Value, expire_after: &str) -> NodePool {
    let template = json!({"spec": {"expireAfter": expire_after, "terminationGracePeriod": "1h"}});
    serde_json::from_value(json!({"metadata": {"name": name, "labels": labels}, "spec": {"template": template}})).unwrap()
}

/// A cluster with a rival for team a and a pool that is too short for any weekly window.
fn judge(deny_ties: bool, deny_infeasible: bool) -> Judge {
    let policies = [policy("rival", &json!({"team": "a"}))];
    let pools = [pool("x", &json!({"team": "a"}), "720h"), pool("short", &json!({"app": "c"}), "48h")];
    let surroundings = Arc::new(Surroundings::new(&policies, pools));
    Judge { sight: Arc::new(move || Ok(Arc::clone(&surroundings))), strictness: Strictness { deny_ties, deny_infeasible } }
}

fn review(object: Value, old: Value) -> Review {
    let [uid, kind, name, user] = ["abc", "RotationPolicy", "api", "someone"].map(str::to_owned);
    let operation = if old.is_null() { "CREATE" } else { "UPDATE" }.to_owned();
    Review { uid, operation, kind, name, user, object, old }
}

/// Fields of the faults for which both endpoints refuse, or the warnings of the one that gives any.
fn answered(judge: &Judge, review: &Review) -> Result<Vec<String>, Vec<String>> {
    let (first, second) = (default::answer(review, judge, now()), validate::answer(review, judge, now()));
    match (first, second) {
        (Answer::Allow { warnings: none, .. }, Answer::Allow { warnings, .. }) => {
            assert_eq!(none, Vec::<String>::new());
            Ok(warnings)
        }
        (Answer::Refuse { faults: first }, Answer::Refuse { faults }) => {
            assert_eq!(first, faults);
            Err(faults.iter().map(|fault| fault.field.clone()).collect())
        }
        (first, second) => panic!("{first:?} and {second:?}"),
    }
}

#[test]
fn a_tie_and_a_pool_that_cannot_be_rotated_are_told_or_refused_as_the_flags_say() {
    let tying = review(policy("api", &json!({"team": "a"})), Value::Null);
    let stuck = review(policy("api", &json!({"app": "c"})), Value::Null);
    for (review, field, word) in [(&tying, "spec.nodePoolSelector", "ties with rival"), (&stuck, "spec", "ANonPositive")] {
        for (deny_ties, deny_infeasible) in [(false, false), (true, false), (false, true), (true, true)] {
            let denied = if word == "ANonPositive" { deny_infeasible } else { deny_ties };
            match answered(&judge(deny_ties, deny_infeasible), review) {
                Ok(warnings) => assert!(!denied && warnings[0].contains(word), "{warnings:?}"),
                Err(fields) => assert!(denied && fields == [field], "{fields:?}"),
            }
        }
    }
}

#[test]
fn a_tie_is_told_beside_the_faults_of_the_object_itself() {
    let mut object = policy("api", &json!({"team": "a"}));
    object["spec"]["surge"] = json!({"readyTimeout": "soon"});
    let review = review(object, Value::Null);
    assert_eq!(answered(&judge(true, true), &review).unwrap_err(), ["spec.surge.readyTimeout", "spec.nodePoolSelector"]);
    assert_eq!(answered(&judge(false, false), &review).unwrap_err(), ["spec.surge.readyTimeout"]);
}

#[test]
fn an_update_that_does_not_introduce_its_tie_passes_with_a_warning() {
    let old = policy("api", &json!({"team": "a"}));
    let mut new = old.clone();
    new["spec"]["minRotationChances"] = json!(3);
    let warnings = answered(&judge(true, true), &review(new, old)).unwrap();
    assert!(warnings[0].contains("ties with rival"), "{warnings:?}");
}

#[test]
fn a_rule_that_cannot_be_evaluated_refuses_nothing_and_says_so_once() {
    let strictness = Strictness { deny_ties: true, deny_infeasible: true };
    let judge = Judge { strictness, ..Judge::blind("the API server cannot be reached") };
    let mut object = policy("api", &json!({"team": "a"}));
    object["spec"]["minRotationChances"] = json!(1);
    let warnings = answered(&judge, &review(object, Value::Null)).unwrap();
    insta::assert_snapshot!(warnings.join("\n"), @r"
    not checked against the NodePools and the other RotationPolicies: the API server cannot be reached
    spec.minRotationChances: 1 leaves no second window when a rotation fails; 2 is the default
    ");
}

#[test]
fn without_flags_the_mutating_endpoint_does_not_look_at_the_cluster() {
    let judge = Judge { sight: Arc::new(|| panic!("looked")), ..Judge::blind("") };
    assert!(matches!(default::answer(&review(policy("api", &json!({})), Value::Null), &judge, now()), Answer::Allow { .. }));
}
