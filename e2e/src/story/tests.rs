//! Stories from looks that were noted down.

use serde_json::json;

use super::*;
use crate::sight::{Map, Node, Pod};

fn claim(name: &str, node: &str, deleting: bool) -> Claim {
    let deleted = deleting.then_some("2026-01-01T00:00:10Z");
    Claim::from(&json!({"metadata": {"name": name, "deletionTimestamp": deleted}, "status": {"nodeName": node}}))
}

fn node(name: &str, unschedulable: bool) -> Node {
    Node::from(&json!({"metadata": {"name": name}, "spec": {"unschedulable": unschedulable}}))
}

fn pod(name: &str, node: Option<&str>, phase: &str) -> Pod {
    Pod::from(&json!({"metadata": {"name": name}, "spec": {"nodeName": node}, "status": {"phase": phase}}))
}

fn pool(entries: &[(&str, &str)]) -> Map {
    entries.iter().map(|(key, value)| (format!("noderotation.io/{key}"), (*value).to_owned())).collect()
}

fn before() -> Sight {
    Sight {
        claims: vec![claim("c1", "n1", false)],
        nodes: vec![node("n1", false)],
        pods: vec![pod("p1", Some("n1"), "Running")],
        ..Sight::default()
    }
}

fn sights() -> Vec<Sight> {
    let old = Sight { pool: pool(&[("active-rotation", "c1")]), nodes: vec![node("n1", true)], ..before() };
    let both = vec![node("n1", true), node("n2", false)];
    let waiting = Sight { placeholders: vec![pod("surge", None, "Pending")], ..old.clone() };
    let bound = Sight { placeholders: vec![pod("surge", Some("n2"), "Running")], nodes: both, ..old.clone() };
    let draining = pool(&[("active-rotation", "c1"), ("active-rotation-state", "draining")]);
    let draining = Sight { pool: draining, claims: vec![claim("c1", "n1", true)], ..bound.clone() };
    let gone = Sight { claims: vec![], nodes: vec![node("n2", false)], pods: vec![pod("p2", None, "Pending")], ..draining.clone() };
    let moved = Sight { pods: vec![pod("p2", Some("n2"), "Running")], ..gone.clone() };
    let released = Sight { pool: pool(&[("last-rotation-at", "2026-01-01T00:00:20Z")]), placeholders: vec![], ..moved.clone() };
    vec![before(), old, waiting, bound, draining, gone, moved, released]
}

fn progress() -> Progress {
    let before = before();
    Progress::new(&before, &before.claims[0])
}

#[test]
fn each_stage_is_told_once_and_in_order() {
    let mut progress = progress();
    let told: Vec<Vec<Stage>> = sights().iter().map(|sight| progress.look(sight).into_iter().map(|(stage, _)| stage).collect()).collect();
    let expected: Vec<Vec<Stage>> = std::iter::once(vec![]).chain(STAGES.map(|stage| vec![stage])).collect();
    assert_eq!(told, expected);
    assert!(progress.over());
}

#[test]
fn a_missing_stage_keeps_the_rotation_from_being_over() {
    for missing in 1..sights().len() {
        let mut progress = progress();
        for (index, sight) in sights().iter().enumerate() {
            if index != missing {
                progress.look(sight);
            }
        }
        // Stages that stay visible are seen in a later look; what must not happen is the end without one.
        assert_eq!(progress.over(), progress.seen.len() == STAGES.len(), "look {missing}");
        assert_eq!(progress.told, STAGES.iter().take_while(|stage| progress.seen.iter().any(|(seen, _)| seen == *stage)).count());
    }
}

#[test]
fn a_placeholder_on_an_old_node_is_no_new_node() {
    let mut progress = progress();
    let sight = Sight { placeholders: vec![pod("surge", Some("n1"), "Running")], ..before() };
    assert_eq!(progress.look(&sight), vec![]);
    assert_eq!(progress.surge_node(), None);
}

#[test]
fn a_mark_that_is_left_is_no_release() {
    let mut left = sights().pop().unwrap();
    left.pool.insert("noderotation.io/surge-wait".to_owned(), "3s".to_owned());
    assert!(progress().look(&left).is_empty());
}

#[test]
fn events_of_others_are_left_out() {
    let event = |reporter: &str, name: &str| {
        json!({"reportingController": reporter, "reason": "RotationStarted", "type": "Normal", "note": "Begun.",
            "eventTime": "2026-01-01T12:13:14.000000Z", "regarding": {"kind": "NodePool", "name": name}})
    };
    let own = event("noderotation.io/node-rotation-controller", "a");
    assert!(ours(&own, &["a"]) && !ours(&own, &["b"]) && !ours(&event("karpenter", "a"), &["a"]));
    insta::assert_snapshot!(happening(&own), @"12:13:14 Normal RotationStarted NodePool/a: Begun.");
}
