//! What is left of a rotation whose anchor is gone, and that no second one begins beside it.

use super::*;
use crate::rotation::announcement::Swept;

const SECOND: &str = "second";

fn swept(told: &[Announcement]) -> Vec<Swept> {
    told.iter().filter_map(|a| if let Announcement::Swept(swept) = a { Some(swept.clone()) } else { None }).collect()
}

/// A rotation of `old` with a second claim that waits for its turn, in one of its phases.
fn in_phase(phase: &str) -> World {
    let mut world = World::with_claims(&[OLD, SECOND]);
    world.pass();
    match phase {
        "pending" => {}
        "bound" => {
            world.provision();
            world.node_mut("surge-1").status = None;
            world.pass();
        }
        "draining" => {
            world.provision();
            world.pass();
        }
        other => panic!("{other}"),
    }
    world
}

/// The pool as `kubectl replace` leaves it.
fn replace_pool(world: &mut World) {
    world.pool.metadata.annotations = None;
}

fn anchors_on(world: &World, claim: &str) -> bool {
    world.log.iter().any(|line| line.contains(&format!("active-rotation={claim}")))
}

#[test]
fn c163_a_pending_rotation_without_its_anchor_is_ended_before_another_begins_whatever_write_is_lost() {
    for phase in ["pending", "bound"] {
        let run = |crash| {
            let mut world = in_phase(phase);
            replace_pool(&mut world);
            world.crash_before_write(crash);
            let mut told = Vec::new();
            for _ in 0..3 {
                told.extend(world.pass());
            }
            (world, told)
        };
        let (clean, _) = run(None);
        assert!(clean.writes > 4, "{phase}: {:?}", clean.log);
        for write in std::iter::once(None).chain((0..clean.writes).map(Some)) {
            let (world, told) = run(write);
            let ended = swept(&told).iter().filter(|s| **s == Swept::Claim { claim: OLD.to_owned() }).count();
            assert_eq!((ended, world.deleted.len()), (1, 0), "{phase}, crash before write {write:?}");
            assert_eq!(world.claim_annotation(OLD, STATE).as_deref(), Some("failed"));
            assert_eq!((world.claim_annotation(OLD, RETRY_COUNT), world.claim_annotation(OLD, STARTED_AT)), (None, None));
            // The second one begins, and not before everything of the first is gone.
            let begin = world.log.iter().position(|line| line.contains("active-rotation=second")).unwrap();
            assert!(!world.log[begin..].iter().any(|line| line.contains("Node old") || line.contains("surge-old")), "{:?}", world.log);
            assert!(world.node(OLD).metadata.annotations.as_ref().is_none_or(std::collections::BTreeMap::is_empty));
        }
    }
}

#[test]
fn c163_a_drain_without_its_anchor_gets_it_back_and_counts_as_what_it_is() {
    for write in [None, Some(0)] {
        let mut world = in_phase("draining");
        replace_pool(&mut world);
        world.crash_before_write(write);
        world.advance(SignedDuration::from_mins(5));
        let mut told = world.pass();
        told.extend(world.pass());
        assert_eq!(swept(&told), [Swept::Anchor { claim: OLD.to_owned() }]);
        assert_eq!(world.pool_annotation(DRAINING_AT).as_deref(), Some("2026-01-07T02:00:00Z"), "as the API server dates the delete");
        assert!(!world.pods.is_empty() && !anchors_on(&world, SECOND));
        world.check();
        world.finish_drains();
        told = world.pass();
        assert_eq!(outcomes(&told), [Outcome::Success]);
        world.assert_clean();
    }
}

#[test]
fn a_drain_that_has_lost_only_its_anchor_keeps_what_the_companions_say() {
    let mut world = in_phase("draining");
    world.annotate_pool(DRAINING_AT, "2026-01-07T01:59:58Z");
    let before = world.pool.metadata.annotations.clone();
    world.pool.metadata.annotations.as_mut().unwrap().remove(ACTIVE_ROTATION);
    world.advance(SignedDuration::from_mins(5));
    world.pass();
    assert_eq!(world.pool.metadata.annotations, before);
}

#[test]
fn a_claim_that_says_draining_and_is_not_being_deleted_is_ended() {
    let mut world = in_phase("draining");
    replace_pool(&mut world);
    world.claim_mut(OLD).metadata.deletion_timestamp = None;
    let told = world.pass();
    assert_eq!(swept(&told)[0], Swept::Claim { claim: OLD.to_owned() });
    assert_eq!(world.claim_annotation(OLD, STATE).as_deref(), Some("failed"));
}

#[test]
fn a_pending_claim_without_its_anchor_that_karpenter_takes_counts_as_expired_once() {
    let mut world = in_phase("pending");
    replace_pool(&mut world);
    world.claim_mut(OLD).metadata.deletion_timestamp = Some(world::time(world.now));
    let mut told = world.pass();
    told.extend(world.pass());
    assert_eq!(outcomes(&told), [Outcome::Expired]);
    assert_eq!(world.claim_annotation(OLD, STATE).as_deref(), Some("expired"));
    assert!(anchors_on(&world, SECOND), "a claim that says expired may take a day to drain and holds up nobody");
}

#[test]
fn a_drain_whose_annotations_are_gone_altogether_is_known_by_its_surge() {
    for state in [None, Some("banana")] {
        let mut world = in_phase("draining");
        replace_pool(&mut world);
        world.claim_mut(OLD).metadata.annotations = state.map(|state| [(STATE.to_owned(), state.to_owned())].into());
        assert_eq!(swept(&world.pass()), [Swept::Anchor { claim: OLD.to_owned() }], "{state:?}");
        world.finish_drains();
        assert_eq!(outcomes(&world.pass()), [Outcome::Success], "{state:?}");
    }
}

#[test]
fn of_two_drains_without_an_anchor_none_is_taken_for_the_rotation_until_one_is_left() {
    let mut world = in_phase("draining");
    replace_pool(&mut world);
    world.claims.insert("other".to_owned(), claim_named("other", "2026-01-01T00:00:00Z"));
    world.nodes.insert("other".to_owned(), node_named("other"));
    let other = world.claim_mut("other");
    other.metadata.deletion_timestamp = Some(world::time(at("2026-01-07T01:00:00Z")));
    other.metadata.annotations = Some([(STATE.to_owned(), "draining".to_owned())].into());
    let before = world.log.len();
    assert!(world.pass().is_empty());
    assert_eq!(world.log[before..], ["annotate NodePool: window-opened-at=2026-01-07T02:00:00Z"]);
    assert!(matches!(world.activity(), Activity::OrphanDraining(_)));
    assert!(!world.pods.is_empty(), "what a drain has reserved stays");
    world.claims.remove("other");
    assert_eq!(swept(&world.pass()), [Swept::Anchor { claim: OLD.to_owned() }]);
}

#[test]
fn claims_that_say_failed_or_expired_hold_up_nobody_while_they_drain() {
    for (state, holds) in [("failed", false), ("expired", false), ("", false), ("draining", true)] {
        let mut world = World::with_claims(&[OLD, SECOND]);
        let claim = world.claim_mut(OLD);
        claim.metadata.deletion_timestamp = Some(world::time(at("2026-01-07T01:00:00Z")));
        claim.metadata.annotations = Some([(STATE.to_owned(), state.to_owned())].into());
        world.pass();
        assert_eq!(anchors_on(&world, SECOND), !holds, "{state}");
    }
}

#[test]
fn t52_what_no_rotation_owns_is_removed_and_what_a_person_has_set_is_not() {
    let mut world = world();
    world.claim_mut(OLD).metadata.creation_timestamp = Some(world::time(world.now));
    let marks = |pairs: &[(&str, &str)]| Some(pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect());
    let frozen = [(SURGE_FOR, "gone"), (DO_NOT_DISRUPT, "true"), (DO_NOT_DISRUPT_OWNED, "true"), (CORDONED, "true")];
    let rows = [
        ("frozen", marks(&frozen), None, None),
        ("cordon-only", marks(&[(CORDONED, "true")]), None, None),
        ("cordoned-and-a-persons", marks(&[(CORDONED, "true"), (DO_NOT_DISRUPT, "true")]), Some("true"), None),
        ("protected", marks(&[(SURGE_FOR, "gone"), (DO_NOT_DISRUPT, "true")]), Some("true"), None),
        ("a-persons", marks(&[(DO_NOT_DISRUPT, "true")]), Some("true"), Some(true)),
    ];
    for (name, annotations, ..) in &rows {
        let mut node = node_named(name);
        node.metadata.annotations.clone_from(annotations);
        node.spec.as_mut().unwrap().unschedulable = Some(true);
        world.nodes.insert((*name).to_owned(), node);
    }
    world.node_mut("protected").spec.as_mut().unwrap().unschedulable = Some(true);
    let told = world.pass();
    assert_eq!(swept(&told).len(), 4);
    for (name, _, protection, cordon) in rows {
        let node = world.node(name);
        assert_eq!(node.metadata.annotations.as_ref().unwrap().get(DO_NOT_DISRUPT).map(String::as_str), protection, "{name}");
        let unschedulable = node.spec.as_ref().unwrap().unschedulable;
        assert_eq!(unschedulable, if name == "protected" { Some(true) } else { cordon }, "{name}");
    }
    world.assert_no_marks_on_nodes();
    assert!(world.pass().is_empty());
}

#[test]
fn t19_a_placeholder_that_outlived_its_rotation_goes_by_the_name_that_was_listed() {
    let mut world = world();
    world.pass();
    let mut pod = world.pods.values().next().unwrap().clone();
    world.claims.remove(OLD);
    world.pass();
    pod.metadata.name = Some("of-an-older-version".to_owned());
    world.pods.insert("of-an-older-version".to_owned(), pod);
    let told = world.pass();
    assert_eq!(swept(&told), [Swept::Placeholder { claim: OLD.to_owned(), placeholder: "of-an-older-version".to_owned() }]);
    assert!(world.pods.is_empty());
}

#[test]
fn r26_companions_without_an_anchor_go_in_one_write() {
    for (key, value) in [
        (ACTIVE_ROTATION_STATE, "draining"),
        (DRAINING_AT, "2026-01-07T01:00:00Z"),
        (SURGE_WAIT, "3s"),
        (SURGE_PATH, "absorbed"),
        (ROTATION_MODE, "forceful-fallback"),
        (ACTIVE_ROTATION, ""),
    ] {
        let mut world = world();
        world.now = at("2026-01-07T07:00:00Z");
        world.annotate_pool(key, value);
        assert_eq!(swept(&world.pass()), [Swept::Companions], "{key}");
        assert_eq!(world.log.len(), 1, "{key}");
        world.assert_clean();
    }
}

#[test]
fn a_cache_that_lags_behind_makes_a_pass_look_and_not_write() {
    // The caches still show the marks of a rotation that has ended since.
    let mut world = in_phase("pending");
    world.ungovern();
    let before = world.clone();
    world.pass();
    world.pass();
    world.assert_clean();
    let mut lagging = before.clone();
    lagging.pool = world.pool.clone();
    let writes = world.log.len();
    world.pass_after(Some(&lagging));
    assert_eq!(world.log.len(), writes);

    // The caches do not show the anchor yet.
    let mut world = in_phase("pending");
    let mut lagging = world.clone();
    replace_pool(&mut lagging);
    assert_eq!(swept(&world.pass_after(Some(&lagging))), []);
    assert!(world.anchored());
}

#[test]
fn of_two_leaders_that_sweep_one_speaks() {
    for phase in ["pending", "draining"] {
        let mut world = in_phase(phase);
        replace_pool(&mut world);
        world.rival = true;
        let paused = world.decide();
        let first = swept(&world.pass()).len();
        assert!(first > 0);
        assert_eq!(swept(&world.carry_out(paused)).len(), 0, "{phase}");
    }
}
