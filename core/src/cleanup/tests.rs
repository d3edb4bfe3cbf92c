//! What is taken off, what stays and is named, and whose marks are left alone.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::*;
use crate::annotation::{ACTIVE_ROTATION_STATE, CORDONED, DO_NOT_DISRUPT, DO_NOT_DISRUPT_OWNED, FREEZE, RETRY_COUNT, STATE, SURGE_CLAIM};
use crate::sweep::tests::{claim, lines, node, now, placeholder_for, pool};

const ORPHANS: Scope<'_> = Scope { namespace: "system", rival: false, everything: false };
const EVERYTHING: Scope<'_> = Scope { everything: true, ..ORPHANS };

/// A rotation of `a1` in pool `a`.
fn rotating() -> (Marked, Vec<NodePool>) {
    let mut old = claim("a1", "a", "pending");
    old.metadata.annotations.as_mut().unwrap().insert(SURGE_CLAIM.to_owned(), "a9".to_owned());
    let mut launched = claim("a9", "a", "");
    launched.metadata.annotations = None;
    let marked = Marked {
        placeholders: vec![placeholder_for("a1", "a")],
        nodes: vec![node("old", "a", "a1"), node("host", "a", "a1")],
        claims: vec![old, launched],
    };
    let marks = [(ACTIVE_ROTATION, "a1"), (ACTIVE_ROTATION_STATE, "draining"), (LAST_ROTATION_AT, "x"), (FREEZE, "2030-01-01T00:00:00Z")];
    (marked, vec![pool("a", &marks), pool("b", &[])])
}

fn drained(mut marked: Marked) -> Marked {
    marked.claims[0].metadata.deletion_timestamp = Some(Time(now()));
    marked.nodes[0].metadata.deletion_timestamp = Some(Time(now()));
    marked
}

fn change<'a>(plan: &'a Plan, what: impl Fn(&'a Effect) -> Option<&'a Change>) -> Vec<&'static str> {
    let effects = plan.repairs.iter().flat_map(|repair| &repair.effects);
    effects.filter_map(|planned| what(&planned.effect)).flat_map(|change| change.keys().copied()).collect()
}

#[test]
fn a_rotation_in_flight_keeps_what_is_its_own_unless_everything_goes() {
    let (marked, pools) = rotating();
    let orphans = plan(&marked, &pools, ORPHANS, now());
    assert_eq!(orphans.repairs, []);
    assert_eq!(orphans.left, [Left::Rotation { pool: "a".to_owned(), claim: "a1".to_owned() }].into());

    let all = plan(&marked, &pools, EVERYTHING, now());
    let expected = "a: annotate NodeClaim a1, delete Pod noderotation-surge-a1, mark Node old Some(false), \
                    mark Node host Some(false), annotate NodePool a";
    assert_eq!(lines(&all.repairs), [expected]);
    assert_eq!(all.left, [Left::Launched { claim: "a9".to_owned(), instead_of: "a1".to_owned() }].into());
    // What a person has written stays.
    let keys = change(&all, |effect| if let Effect::AnnotatePool { change, .. } = effect { Some(change) } else { None });
    assert_eq!(keys, [ACTIVE_ROTATION, ACTIVE_ROTATION_STATE, LAST_ROTATION_AT]);
}

#[test]
fn a_drain_goes_on_and_its_node_is_not_opened_again() {
    let (marked, pools) = rotating();
    let all = plan(&drained(marked), &pools, EVERYTHING, now());
    assert!(lines(&all.repairs)[0].contains("mark Node old None, mark Node host Some(false)"), "{:?}", lines(&all.repairs));
    assert!(!lines(&all.repairs)[0].contains("delete NodeClaim"));
    assert!(all.repairs[0].effects.iter().all(|planned| !matches!(planned.effect, Effect::DeleteClaim { .. })));
}

#[test]
fn a_drain_without_its_anchor_is_left_to_the_operator_unless_everything_goes() {
    let (mut marked, _) = rotating();
    marked.claims[0].metadata.annotations = Some([(STATE.to_owned(), "draining".to_owned())].into());
    let marked = drained(marked);
    let orphans = plan(&marked, &[pool("a", &[])], ORPHANS, now());
    assert_eq!((orphans.repairs.len(), orphans.left), (0, [Left::Drain { claim: "a1".to_owned() }].into()));
    let all = plan(&marked, &[pool("a", &[])], EVERYTHING, now());
    assert_eq!((all.repairs.len(), all.left), (1, [Left::Drain { claim: "a1".to_owned() }].into()));
}

#[test]
fn what_no_rotation_owns_is_what_the_sweep_says() {
    let marked = Marked {
        placeholders: vec![placeholder_for("a2", "a")],
        nodes: vec![node("n", "a", "a2"), node("m", "gone", "g1")],
        claims: vec![claim("a2", "a", "pending"), claim("a3", "a", "failed")],
    };
    let pools = [pool("a", &[(ACTIVE_ROTATION_STATE, "draining"), (LAST_ROTATION_AT, "x")])];
    let orphans = plan(&marked, &pools, ORPHANS, now());
    assert_eq!(orphans.repairs, sweep::of_cluster(&marked, &pools, now()));
    assert_eq!(orphans.repairs.len(), 3);
}

#[test]
fn what_is_remembered_goes_with_everything_and_what_people_have_set_does_not() {
    let mut failed = claim("a1", "a", "failed");
    failed.metadata.annotations.as_mut().unwrap().insert(RETRY_COUNT.to_owned(), "2".to_owned());
    let mut theirs = node("n", "a", "");
    theirs.metadata.annotations = Some([(DO_NOT_DISRUPT.to_owned(), "true".to_owned())].into());
    // Of two marks one is ours: the cordon of a person stays.
    let mut protected = node("m", "a", "a1");
    protected.metadata.annotations.as_mut().unwrap().remove(CORDONED);
    let marked = Marked { nodes: vec![theirs, protected], claims: vec![failed], ..Marked::default() };
    let pools = [pool("a", &[(FREEZE, "2030-01-01T00:00:00Z")])];
    assert_eq!(lines(&plan(&marked, &pools, EVERYTHING, now()).repairs), ["a: annotate NodeClaim a1, mark Node m None"]);
    assert_eq!(lines(&plan(&marked, &pools, ORPHANS, now()).repairs), ["a: mark Node m None"]);
    let keys =
        change(
            &plan(&marked, &pools, EVERYTHING, now()),
            |effect| {
                if let Effect::MarkNode { change, .. } = effect { Some(change) } else { None }
            },
        );
    assert_eq!(keys, [DO_NOT_DISRUPT, DO_NOT_DISRUPT_OWNED, SURGE_FOR]);
}

#[test]
fn a_claim_with_a_placeholder_elsewhere_is_anothers_with_all_that_is_marked_for_it() {
    let (mut marked, pools) = rotating();
    marked.placeholders[0].metadata.namespace = Some("elsewhere".to_owned());
    for scope in [ORPHANS, EVERYTHING] {
        let plan = plan(&marked, &pools, scope, now());
        assert_eq!(plan.repairs, []);
        let named = |kind, name: &str| Left::Foreign { kind, name: name.to_owned() };
        let placeholder = Left::Placeholder { namespace: "elsewhere".to_owned(), name: "noderotation-surge-a1".to_owned() };
        assert_eq!(
            plan.left.into_iter().collect::<Vec<_>>(),
            [placeholder, named("Node", "host"), named("Node", "old"), named("NodeClaim", "a1"), named("NodePool", "a")]
        );
    }
}

#[test]
fn while_another_installation_leads_only_marks_that_are_certainly_ours_are_taken_off() {
    let (mut marked, pools) = rotating();
    marked.claims.truncate(1);
    marked.nodes.push(node("other", "b", "b1"));
    let scope = Scope { rival: true, ..EVERYTHING };
    let with = plan(&marked, &pools, scope, now());
    assert!(lines(&with.repairs)[0].ends_with("annotate NodePool a"), "{:?}", lines(&with.repairs));
    assert_eq!(with.repairs.len(), 1);
    assert!(with.left.contains(&Left::Foreign { kind: "Node", name: "other".to_owned() }));
    // Its twin without a placeholder, and the twin without a rival.
    marked.placeholders.clear();
    assert_eq!(plan(&marked, &pools, scope, now()).repairs, []);
    assert_eq!(plan(&marked, &pools, EVERYTHING, now()).repairs.len(), 2);
}

#[test]
fn after_it_nothing_is_left_to_do() {
    let (marked, pools) = rotating();
    let mut taken = marked;
    taken.placeholders.clear();
    for metadata in taken.nodes.iter_mut().map(|node| &mut node.metadata).chain(taken.claims.iter_mut().map(|claim| &mut claim.metadata)) {
        metadata.annotations = None;
    }
    let bare: Vec<NodePool> = pools.iter().map(|object| pool(&object.name_any(), &[])).collect();
    assert_eq!(plan(&taken, &bare, EVERYTHING, now()), Plan::default());
}
