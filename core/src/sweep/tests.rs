//! The sweep over a whole cluster: what belongs to whom, and what is left alone.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};

use super::*;
use crate::annotation::DO_NOT_DISRUPT;

pub(crate) fn now() -> Timestamp {
    "2026-01-07T02:00:00Z".parse().unwrap()
}

pub(crate) fn meta(name: &str, pool: &str, annotations: &[(&str, &str)]) -> ObjectMeta {
    let map = |pairs: &[(&str, &str)]| Some(pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect());
    ObjectMeta {
        name: Some(name.to_owned()),
        uid: Some(format!("uid-{name}")),
        resource_version: Some("7".to_owned()),
        labels: map(&[(NODEPOOL_LABEL, pool)]),
        annotations: map(annotations),
        ..ObjectMeta::default()
    }
}

pub(crate) fn pool(name: &str, annotations: &[(&str, &str)]) -> NodePool {
    NodePool { metadata: meta(name, name, annotations), ..NodePool::default() }
}

pub(crate) fn claim(name: &str, pool: &str, state: &str) -> NodeClaim {
    NodeClaim { metadata: meta(name, pool, &[(STATE, state)]), ..NodeClaim::default() }
}

pub(crate) fn node(name: &str, pool: &str, claim: &str) -> Node {
    let marks = [(SURGE_FOR, claim), (DO_NOT_DISRUPT, "true"), (DO_NOT_DISRUPT_OWNED, "true"), (CORDONED, "true")];
    Node { metadata: meta(name, pool, &marks), ..Node::default() }
}

pub(crate) fn placeholder_for(claim: &str, pool: &str) -> Pod {
    let mut metadata = meta(&placeholder::name(claim), pool, &[(SURGE_FOR, claim)]);
    metadata.namespace = Some("system".to_owned());
    metadata.labels.as_mut().unwrap().insert(SURGE_FOR.to_owned(), placeholder::label_value(claim));
    Pod { metadata, ..Pod::default() }
}

/// `pool: verb kind name, …` for each repair.
pub(crate) fn lines(repairs: &[Repair]) -> Vec<String> {
    let word = |planned: &Planned| match &planned.effect {
        Effect::AnnotatePool { pool, .. } => format!("annotate NodePool {}", pool.name),
        Effect::AnnotateClaim { claim, .. } => format!("annotate NodeClaim {}", claim.name),
        Effect::MarkNode { node, unschedulable, .. } => format!("mark Node {} {unschedulable:?}", node.name),
        Effect::CreatePlaceholder { .. } => "create Pod".to_owned(),
        Effect::DeletePlaceholder { pod, .. } => format!("delete Pod {}", pod.name),
        Effect::DeleteClaim { claim } => format!("delete NodeClaim {}", claim.name),
    };
    repairs.iter().map(|repair| format!("{}: {}", repair.pool, repair.effects.iter().map(word).collect::<Vec<_>>().join(", "))).collect()
}

#[test]
fn t17_each_pool_keeps_what_its_anchor_owns_and_loses_the_rest() {
    let marked = Marked {
        placeholders: vec![placeholder_for("a1", "a"), placeholder_for("a2", "a"), placeholder_for("b1", "b")],
        nodes: vec![node("na1", "a", "a1"), node("na2", "a", "a2"), node("nb1", "b", "b1"), node("ngone", "gone", "g1")],
        claims: vec![claim("a1", "a", "pending"), claim("a2", "a", "pending"), claim("b1", "b", "failed"), claim("g1", "gone", "")],
    };
    let pools = [pool("a", &[(ACTIVE_ROTATION, "a1")]), pool("b", &[(ACTIVE_ROTATION_STATE, "draining")])];
    let expected = [
        "a: annotate NodeClaim a2, delete Pod noderotation-surge-a2, mark Node na2 Some(false)",
        "b: annotate NodePool b",
        "b: delete Pod noderotation-surge-b1, mark Node nb1 Some(false)",
        "gone: mark Node ngone Some(false)",
    ];
    assert_eq!(lines(&of_cluster(&marked, &pools, now())), expected);
}

#[test]
fn a_claim_that_the_anchor_of_another_pool_names_is_owned() {
    // The node was relabelled in the middle of a rotation.
    let marked = Marked { nodes: vec![node("n", "b", "a1")], ..Marked::default() };
    let pools = [pool("a", &[(ACTIVE_ROTATION, "a1")]), pool("b", &[])];
    assert_eq!(of_cluster(&marked, &pools, now()), []);
    assert_eq!(of_cluster(&marked, &pools[1..], now()).len(), 1);
}

#[test]
fn a_mark_without_a_claim_is_left_to_the_rotation_in_flight() {
    let mut half = node("n", "a", "a1");
    half.metadata.annotations.as_mut().unwrap().remove(SURGE_FOR);
    let marked = Marked { nodes: vec![half], ..Marked::default() };
    assert_eq!(of_cluster(&marked, &[pool("a", &[(ACTIVE_ROTATION, "a1")])], now()), []);
    assert_eq!(lines(&of_cluster(&marked, &[pool("a", &[])], now())), ["a: mark Node n Some(false)"]);
}

#[test]
fn t21_what_was_done_to_a_node_is_told_by_what_was_on_it() {
    let rows: [(&[&str], (bool, bool)); 5] = [
        (&[SURGE_FOR, DO_NOT_DISRUPT_OWNED, CORDONED], (true, true)),
        (&[SURGE_FOR, DO_NOT_DISRUPT_OWNED], (true, false)),
        (&[SURGE_FOR], (true, false)),
        (&[DO_NOT_DISRUPT_OWNED], (true, false)),
        (&[CORDONED], (false, true)),
    ];
    for (marks, expected) in rows {
        let mut node = node("n", "a", "a1");
        node.metadata.annotations.as_mut().unwrap().retain(|key, _| marks.contains(&key.as_str()));
        let repairs = of_cluster(&Marked { nodes: vec![node], ..Marked::default() }, &[pool("a", &[])], now());
        let told = repairs.iter().flat_map(|repair| &repair.effects).flat_map(|planned| &planned.then);
        let words: Vec<(bool, bool)> = told
            .filter_map(|a| {
                if let Announcement::Swept(Swept::Node { thawed, uncordoned, .. }) = a { Some((*thawed, *uncordoned)) } else { None }
            })
            .collect();
        assert_eq!(words, [expected], "{marks:?}");
    }
}

#[test]
fn a_drain_whose_pool_is_gone_keeps_its_reservation_until_the_claim_is_gone() {
    let mut draining = claim("g1", "gone", "draining");
    draining.metadata.deletion_timestamp = Some(Time(now()));
    let mut marked =
        Marked { placeholders: vec![placeholder_for("g1", "gone")], nodes: vec![node("n", "gone", "g1")], claims: vec![draining] };
    assert_eq!(of_cluster(&marked, &[], now()), []);
    // With the pool back, the anchor is the only thing that is written.
    let back = [pool("gone", &[])];
    assert_eq!(lines(&of_cluster(&marked, &back, now())), ["gone: annotate NodePool gone"]);
    // Beside another rotation there is no anchor to give back.
    assert_eq!(of_cluster(&marked, &[pool("gone", &[(ACTIVE_ROTATION, "g2")])], now()), []);
    marked.claims.clear();
    assert_eq!(lines(&of_cluster(&marked, &[], now())).len(), 1);
}

#[test]
fn a_placeholder_is_matched_by_the_whole_name_of_its_claim() {
    let (long, other) = (format!("{}-1", "n".repeat(80)), format!("{}-2", "n".repeat(80)));
    let marked = Marked { placeholders: vec![placeholder_for(&long, "a")], ..Marked::default() };
    assert_eq!(of_cluster(&marked, &[pool("a", &[(ACTIVE_ROTATION, &long)])], now()), []);
    assert_eq!(of_cluster(&marked, &[pool("a", &[(ACTIVE_ROTATION, &other)])], now()).len(), 1);
    // An older controller wrote the label alone.
    let mut labelled = placeholder_for("a1", "a");
    labelled.metadata.annotations = None;
    let marked = Marked { placeholders: vec![labelled], ..Marked::default() };
    assert_eq!(of_cluster(&marked, &[pool("a", &[(ACTIVE_ROTATION, "a1")])], now()), []);
    assert_eq!(of_cluster(&marked, &[pool("a", &[(ACTIVE_ROTATION, "a2")])], now()).len(), 1);
}

#[test]
fn what_is_going_already_is_not_deleted_again_and_what_is_not_marked_is_not_touched() {
    let mut going = placeholder_for("a1", "a");
    going.metadata.deletion_timestamp = Some(Time(now()));
    let mut plain = node("n", "a", "a1");
    plain.metadata.annotations = Some([(DO_NOT_DISRUPT.to_owned(), "true".to_owned())].into());
    let claims = ["", "failed", "expired"].map(|state| claim("a1", "a", state)).into();
    let marked = Marked { placeholders: vec![going], nodes: vec![plain], claims };
    assert_eq!(of_cluster(&marked, &[pool("a", &[])], now()), []);
}

#[test]
fn anything_that_may_be_left_is_looked_at_and_a_pool_without_it_is_not() {
    let none = Marked::default();
    assert!(!suspected(None, &none, now()) && !suspected(Some(&pool("a", &[])), &none, now()));
    assert!(suspected(Some(&pool("a", &[(DRAINING_AT, "x")])), &none, now()), "a companion");
    assert!(suspected(None, &Marked { placeholders: vec![placeholder_for("a1", "a")], ..Marked::default() }, now()), "a placeholder");
    let nodes = |node: Node| Marked { nodes: vec![node], ..Marked::default() };
    assert!(suspected(None, &nodes(node("a1", "a", "a1")), now()), "a marked Node");
    assert!(!suspected(None, &nodes(Node { metadata: meta("a1", "a", &[]), ..Node::default() }), now()), "a Node");
    let states = [("pending", true), ("draining", true), ("what?", true), ("", false), ("failed", false), ("expired", false)];
    for (state, expected) in states {
        let marked = Marked { claims: vec![claim("a1", "a", state)], ..Marked::default() };
        assert_eq!(suspected(None, &marked, now()), expected, "{state}");
    }
}
