//! NodePools that lose their policy, whichever way, in every phase of a rotation.

use serde_json::json;

use super::world::policy_named;
use super::*;

type Loss = (&'static str, fn(&mut World), &'static str);

/// Each way to lose a policy, and what is said of it.
const LOSSES: [Loss; 4] = [
    ("deleted policy", World::ungovern, "no RotationPolicy selects the NodePool"),
    (
        "relabelled pool",
        |world| {
            world.pool.metadata.labels.as_mut().unwrap().remove("team");
        },
        "no RotationPolicy selects the NodePool",
    ),
    ("tie", |world| world.policies.push(policy_named("rival", &json!({"tier": "gold"}), &json!({}))), "policy, rival"),
    ("invalid winner", |world| world.policies[0]["spec"]["surge"]["readyTimeout"] = json!("15 minutes"), "policy is invalid"),
];

/// A pool that is governed by its labels.
fn governed() -> World {
    let mut world = world();
    world.policies = vec![policy_named("policy", &json!({"team": "a"}), &json!({}))];
    let labels = [("team", "a"), ("tier", "gold")].map(|(k, v)| (k.to_owned(), v.to_owned()));
    world.pool.metadata.labels.as_mut().unwrap().extend(labels);
    world
}

fn lost(told: &[Announcement]) -> Vec<String> {
    let why = |a: &Announcement| if let Announcement::GovernanceLost { why, .. } = a { Some(why.clone()) } else { None };
    told.iter().filter_map(why).collect()
}

#[test]
fn losing_the_policy_rolls_a_pending_rotation_back_without_counting_a_failure() {
    let mut world = world();
    world.pass();
    world.ungovern();
    let told = world.pass();
    assert!(matches!(told.as_slice(), [Announcement::GovernanceLost { .. }]));
    assert_eq!(world.claim_annotation(OLD, STATE), None);
    assert_eq!(world.claim_annotation(OLD, RETRY_COUNT), None);
    world.assert_clean();
}

#[test]
fn r2_losing_the_policy_in_mid_drain_changes_nothing() {
    for (way, lose, _) in LOSSES {
        let mut world = governed();
        world.pass();
        world.provision();
        world.pass();
        lose(&mut world);
        assert!(world.pass().is_empty() && world.anchored() && !world.pods.is_empty(), "{way}");
        // Also in a pass that looks closely.
        world.advance(SignedDuration::from_mins(63));
        assert!(world.pass().is_empty() && world.anchored() && !world.pods.is_empty(), "{way}");
        world.finish_drains();
        assert_eq!(outcomes(&world.pass()), [Outcome::Success], "{way}");
        world.assert_clean();
    }
}

#[test]
fn c077_t79_a_pending_rotation_is_rolled_back_and_told_once_whichever_way_and_whatever_write_is_lost() {
    for (way, lose, words) in LOSSES {
        let run = |crash| {
            let mut world = governed();
            world.pass();
            world.provision();
            world.node_mut("surge-1").status = None;
            world.pass();
            lose(&mut world);
            world.crash_before_write(crash);
            let mut told = Vec::new();
            for _ in 0..3 {
                told.extend(world.pass());
                world.check();
            }
            (world, told)
        };
        let (clean, _) = run(None);
        for write in std::iter::once(None).chain((0..clean.writes).map(Some)) {
            let (mut world, told) = run(write);
            let said = lost(&told);
            assert!(said.len() == 1 && said[0].contains(words), "{way}, crash before write {write:?}: {said:?}");
            assert!(outcomes(&told).is_empty(), "{way}, crash before write {write:?}");
            world.finish_drains();
            world.assert_clean();
        }
    }
}

#[test]
fn t50_what_a_person_has_set_survives_the_loss_of_the_policy() {
    let mut world = governed();
    world.node_mut(OLD).spec.as_mut().unwrap().unschedulable = Some(true);
    world.pass();
    world.protect(OLD);
    world.pass();
    world.ungovern();
    world.pass();
    assert!(!world.anchored());
    let node = world.node(OLD);
    assert_eq!(node.spec.as_ref().unwrap().unschedulable, Some(true));
    assert_eq!(node.metadata.annotations.as_ref().unwrap().get(DO_NOT_DISRUPT).map(String::as_str), Some("true"));
}

#[test]
fn r1_a_pool_that_is_governed_again_is_rotated_at_once() {
    let mut world = governed();
    let policies = world.policies.clone();
    world.pass();
    world.ungovern();
    world.pass();
    world.policies = policies;
    assert_eq!(outcomes(&drive(&mut world, None)), [Outcome::Success]);
    world.assert_clean();
}

#[test]
fn a_rollback_that_the_loss_began_ends_as_one_when_the_policy_is_back() {
    let mut world = governed();
    let policies = world.policies.clone();
    world.pass();
    world.ungovern();
    world.crash_before_write(Some(1));
    world.pass();
    assert!(world.claim_annotation(OLD, ROLLBACK).is_some());
    world.policies = policies;
    world.advance(SignedDuration::from_mins(16));
    let told = world.pass();
    assert_eq!((lost(&told).len(), outcomes(&told)), (1, vec![]));
    assert_eq!(world.claim_annotation(OLD, RETRY_COUNT), None);
    world.assert_clean();
}

#[test]
fn a_rollback_of_a_timeout_that_loses_its_policy_too_still_ends() {
    let mut world = governed();
    world.pass();
    world.advance(SignedDuration::from_mins(16));
    world.crash_before_write(Some(1));
    world.pass();
    world.ungovern();
    let told = world.pass();
    assert_eq!(lost(&told).len(), 1);
    world.assert_clean();
}

#[test]
fn a_conflict_is_reported_in_every_phase() {
    let mut world = governed();
    world.pass();
    world.provision();
    world.pass();
    let (_, tie, _) = LOSSES[2];
    tie(&mut world);
    for draining in [true, false] {
        assert!(world.decide().report.policy_conflict, "draining: {draining}");
        assert!(world.decide().notices.iter().any(|notice| matches!(notice, Notice::PolicyConflict { .. })));
        world.finish_drains();
        world.pass();
    }
    world.ungovern();
    assert!(!world.decide().report.policy_conflict);
}

#[test]
fn t22_of_two_leaders_that_roll_back_one_speaks() {
    let mut world = governed();
    world.rival = true;
    world.pass();
    world.ungovern();
    world.crash_before_write(Some(1));
    world.pass();
    let paused = world.decide();
    let first = world.pass();
    let second = world.carry_out(paused);
    assert_eq!((lost(&first).len(), lost(&second).len()), (1, 0));
    world.assert_clean();
}
