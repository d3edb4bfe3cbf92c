//! Whole rotations through a small world, cut off after every single write.

mod absurd;
mod drains;
mod fallback;
mod feasibility;
mod governance;
mod invariant;
mod missed_window;
mod orphans;
mod placeholders;
mod reaps;
mod releases;
mod stale;
mod stamps;
mod unfit;
mod world;

use jiff::SignedDuration;

use super::announcement::{Announcement, Notice, Outcome};
use super::effect::Effect;
use super::report::Activity;
use crate::annotation::*;
use crate::gate::Gate;
use world::{World, at, claim_named, node_named};

const OLD: &str = "old";

/// The first instant of the window, with claim `old` due.
fn world() -> World {
    World::with_claims(&[OLD])
}

fn outcomes(told: &[Announcement]) -> Vec<Outcome> {
    let outcome = |announcement: &Announcement| match announcement {
        Announcement::Completed { .. } => Some(Outcome::Success),
        Announcement::Failed { .. } => Some(Outcome::Failure),
        Announcement::Expired { .. } => Some(Outcome::Expired),
        Announcement::Started { .. }
        | Announcement::ForcefulFallback { .. }
        | Announcement::PlaceholderCreated { .. }
        | Announcement::SurgeReady { .. }
        | Announcement::DrainStarted { .. }
        | Announcement::GovernanceLost { .. }
        | Announcement::ForeignAnchor { .. }
        | Announcement::WindowMissed { .. }
        | Announcement::Swept(_)
        | Announcement::StampInFuture { .. }
        | Announcement::UnrecognisedOptOut { .. }
        | Announcement::ReservationLost { .. } => None,
    };
    told.iter().filter_map(outcome).collect()
}

/// Drives a rotation to its end, Karpenter doing its part between the passes; every write but `crash` lands.
fn drive(world: &mut World, crash: Option<usize>) -> Vec<Announcement> {
    world.crash_before_write(crash);
    let mut told = Vec::new();
    for _ in 0..12 {
        told.extend(world.pass());
        world.check();
        world.provision();
        world.advance(SignedDuration::from_secs(30));
        told.extend(world.pass());
        world.check();
        world.finish_drains();
        if !world.anchored() && world.claim(OLD).is_none() {
            break;
        }
    }
    told
}

#[test]
fn a_rotation_replaces_the_node_and_leaves_nothing_behind() {
    let mut world = world();
    let told = drive(&mut world, None);
    assert_eq!(outcomes(&told), [Outcome::Success]);
    assert!(world.claim(OLD).is_none() && world.claim("surge-1").is_some());
    world.assert_clean();
    assert!(world.pool_annotation(LAST_ROTATION_AT).is_some());
    assert_eq!(world.deleted, [OLD]);
}

#[test]
fn a_crash_before_any_write_is_made_up_for_and_counted_once() {
    let mut world = world();
    drive(&mut world, None);
    let writes = world.writes;
    assert!(writes >= 9, "{writes} writes");
    for write in 0..writes {
        let mut world = self::world();
        let told = drive(&mut world, Some(write));
        assert_eq!(outcomes(&told), [Outcome::Success], "crash before write {write}");
        assert_eq!(world.deleted, [OLD], "crash before write {write}");
        world.assert_clean();
    }
}

#[test]
fn the_mirror_stands_before_the_delete_is_sent() {
    let mut world = world();
    world.pass();
    world.provision();
    world.pass();
    let deleted_at = world.log.iter().position(|line| line == "delete NodeClaim old").unwrap();
    let mirror_at = world.log.iter().position(|line| line.contains("active-rotation-state")).unwrap();
    let anchor_at = world.log.iter().position(|line| line.contains("active-rotation=old")).unwrap();
    assert!(anchor_at == 0 && mirror_at < deleted_at);
}

#[test]
fn a_surge_that_does_not_come_is_rolled_back_and_counted_once_whatever_write_is_lost() {
    let run = |crash| {
        let mut world = world();
        let mut told = world.pass();
        world.advance(SignedDuration::from_mins(16));
        world.crash_before_write(crash);
        for _ in 0..4 {
            told.extend(world.pass());
            world.check();
        }
        (world, told)
    };
    let (clean, _) = run(None);
    for write in std::iter::once(None).chain((0..clean.writes).map(Some)) {
        let (world, told) = run(write);
        assert_eq!(outcomes(&told), [Outcome::Failure], "crash before write {write:?}");
        assert!(!world.anchored() && world.deleted.is_empty(), "crash before write {write:?}");
        assert_eq!(world.claim_annotation(OLD, STATE).as_deref(), Some("failed"));
        assert_eq!(world.claim_annotation(OLD, RETRY_COUNT).as_deref(), Some("1"));
        assert!(world.pool_annotation(LAST_FAILURE_AT).is_some());
        world.assert_no_marks_on_nodes();
    }
}

#[test]
fn the_node_launched_for_a_surge_that_came_too_late_is_reaped_unless_someone_uses_it() {
    for (workload, expected) in [(false, vec!["surge-1".to_owned()]), (true, Vec::new())] {
        let mut world = world();
        world.pass();
        world.provision();
        world.node_mut("surge-1").status = None;
        world.advance(SignedDuration::from_secs(30));
        world.pass();
        if workload {
            world.add_workload("surge-1");
        }
        world.advance(SignedDuration::from_mins(16));
        let told = world.pass();
        assert_eq!(outcomes(&told), [Outcome::Failure]);
        assert_eq!(world.deleted, expected, "workload: {workload}");
        world.assert_no_marks_on_nodes();
    }
}

#[test]
fn t78_a_claim_that_is_taken_while_pending_expires_and_is_not_selected_again() {
    let mut world = world();
    world.pass();
    world.claim_mut(OLD).metadata.deletion_timestamp = Some(world::time(world.now));
    let told = world.pass();
    assert_eq!(outcomes(&told), [Outcome::Expired]);
    assert_eq!(world.claim_annotation(OLD, STATE).as_deref(), Some("expired"));
    assert!(!world.anchored());
    assert!(world.pass().is_empty());
    world.finish_drains();
    world.pass();
    world.assert_clean();
}

#[test]
fn an_expiry_is_counted_once_whatever_write_is_lost() {
    let run = |crash| {
        let mut world = world();
        world.pass();
        world.claim_mut(OLD).metadata.deletion_timestamp = Some(world::time(world.now));
        world.crash_before_write(crash);
        let mut told = world.pass();
        told.extend(world.pass());
        (world, told)
    };
    let (clean, _) = run(None);
    assert!(clean.writes >= 4, "{} writes", clean.writes);
    for write in 0..clean.writes {
        let (world, told) = run(Some(write));
        assert_eq!(outcomes(&told), [Outcome::Expired], "crash before write {write}");
        assert!(!world.anchored(), "crash before write {write}");
        world.assert_no_marks_on_nodes();
    }
}

#[test]
fn a_failed_attempt_whose_claim_is_taken_before_the_anchor_is_released_counts_once() {
    let timed_out = || {
        let mut world = world();
        world.pass();
        world.advance(SignedDuration::from_mins(16));
        world
    };
    let mut clean = timed_out();
    let begun = clean.writes;
    clean.pass();
    assert!(clean.writes - begun >= 4, "{} writes", clean.writes - begun);
    for write in 0..clean.writes - begun {
        let mut world = timed_out();
        world.crash_before_write(Some(write));
        let mut told = world.pass();
        world.claim_mut(OLD).metadata.deletion_timestamp = Some(world::time(world.now));
        told.extend(world.pass());
        assert_eq!(outcomes(&told), [Outcome::Expired], "crash before write {write}");
    }
}

#[test]
fn a_leader_that_was_paused_with_a_ready_surge_cannot_delete_once_a_rollback_has_begun() {
    let mut world = world();
    world.pass();
    world.provision();
    world.rival = true;
    // It sees a sound reservation and is paused before its first write.
    let paused = world.decide();
    world.advance(SignedDuration::from_mins(16));
    // The next leader begins the rollback and is cut off after the fence.
    world.crash_before_write(Some(1));
    assert!(world.pass().is_empty());
    world.carry_out(paused);
    assert!(world.deleted.is_empty(), "the paused leader has deleted the claim");
    let mut told = world.pass();
    told.extend(world.pass());
    assert_eq!(outcomes(&told), [Outcome::Failure]);
    assert_eq!(world.claim_annotation(OLD, STATE).as_deref(), Some("failed"));
    assert!(!world.anchored() && !world.deleted.contains(&OLD.to_owned()));
    world.assert_no_marks_on_nodes();
}

#[test]
fn a_claim_that_says_draining_without_the_mirror_goes_back_to_pending() {
    let mut world = world();
    world.pass();
    world.claim_mut(OLD).metadata.annotations.as_mut().unwrap().insert(STATE.to_owned(), "draining".to_owned());
    world.pass();
    assert!(world.deleted.is_empty());
    assert_eq!(world.claim_annotation(OLD, STATE).as_deref(), Some("pending"));
}

#[test]
fn a_claim_that_vanished_without_a_mirror_expired() {
    let mut world = world();
    world.pass();
    world.claims.remove(OLD);
    assert_eq!(outcomes(&world.pass()), [Outcome::Expired]);
    assert!(world.pool_annotation(LAST_ROTATION_AT).is_none());
    world.assert_clean();
}

#[test]
fn stripped_claim_annotations_do_not_turn_a_drain_into_an_expiry() {
    let mut world = world();
    world.pass();
    world.provision();
    world.pass();
    world.claim_mut(OLD).metadata.annotations = None;
    world.pass();
    world.finish_drains();
    assert_eq!(outcomes(&world.pass()), [Outcome::Success]);
    world.assert_clean();
}

#[test]
fn a_delete_that_was_kept_back_is_sent_only_if_the_reservation_is_still_sound() {
    for sound in [true, false] {
        let mut world = world();
        world.pass();
        world.provision();
        world.fail_deletes = true;
        world.pass();
        assert_eq!(world.pool_annotation(ACTIVE_ROTATION_STATE).as_deref(), Some("draining"));
        world.fail_deletes = false;
        if !sound {
            world.pods.clear();
        }
        let told = world.pass();
        assert_eq!(world.deleted.len(), usize::from(sound));
        let stepped_back = told.iter().any(|a| matches!(a, Announcement::ReservationLost { .. }));
        assert_eq!(stepped_back, !sound);
        assert_eq!(world.pool_annotation(ACTIVE_ROTATION_STATE).is_some(), sound);
        world.check();
    }
}

#[test]
fn a_leader_between_its_mirror_and_its_delete_cannot_delete_once_the_mirror_is_taken_back() {
    for before_write in ["the claim's state", "the delete"] {
        let mut world = world();
        world.pass();
        world.provision();
        world.rival = true;
        let mut taken_back = false;
        let decision = world.decide();
        let told = world.carry_out_with(decision, |world, effect| {
            let state = matches!(effect, Effect::AnnotateClaim { change, .. } if change.contains_key(STATE));
            let delete = matches!(effect, Effect::DeleteClaim { .. });
            if before_write == "the claim's state" && state || before_write == "the delete" && delete {
                // The other leader's caches are behind: to it the placeholder's host is nobody's.
                let host = world.claims.remove("surge-1");
                world.pass();
                taken_back = world.pool_annotation(ACTIVE_ROTATION_STATE).is_none();
                world.claims.extend(host.map(|host| ("surge-1".to_owned(), host)));
            }
        });
        assert!(taken_back && told.is_empty() && world.deleted.is_empty(), "before {before_write}: {told:?}");
    }
}

#[test]
fn a_host_that_karpenter_takes_away_is_no_reservation() {
    let mut world = world();
    world.pass();
    world.provision();
    world.claim_mut("surge-1").metadata.deletion_timestamp = Some(world::time(world.now));
    world.pass();
    assert!(world.deleted.is_empty());
    let mut tainted = self::world();
    tainted.pass();
    tainted.provision();
    // The cache and the live read still show a sound host; the answer to the freeze does not.
    tainted.taint_on_patch = Some("surge-1".to_owned());
    tainted.pass();
    assert!(tainted.deleted.is_empty() && tainted.pool_annotation(ACTIVE_ROTATION_STATE).is_none());
}

#[test]
fn what_an_operator_has_set_on_a_node_stays() {
    let mut world = world();
    let node = world.node_mut(OLD);
    node.spec.as_mut().unwrap().unschedulable = Some(true);
    world.pass();
    world.advance(SignedDuration::from_mins(16));
    world.pass();
    let node = world.node(OLD);
    assert_eq!(node.spec.as_ref().unwrap().unschedulable, Some(true));
    world.assert_no_marks_on_nodes();

    let mut protected = self::world();
    protected.node_mut(OLD).metadata.annotations = Some([(DO_NOT_DISRUPT.to_owned(), "true".to_owned())].into());
    assert!(protected.pass().is_empty(), "a protected node is not a candidate");
}

#[test]
fn a_cordon_that_a_person_lifts_stays_lifted() {
    let mut world = world();
    world.pass();
    world.node_mut(OLD).spec.as_mut().unwrap().unschedulable = None;
    world.pass();
    world.pass();
    assert_eq!(world.node(OLD).spec.as_ref().unwrap().unschedulable, None);
    assert!(!world.node(OLD).metadata.annotations.as_ref().unwrap().contains_key(CORDONED));
}

#[test]
fn a_freeze_holds_a_pending_rotation_and_not_a_draining_one() {
    let mut world = world();
    world.pass();
    world.provision();
    world.annotate_pool(FREEZE, "2027-01-01T00:00:00Z");
    world.pass();
    assert!(world.deleted.is_empty());
    world.annotate_pool(FREEZE, "2025-01-01T00:00:00Z");
    world.pass();
    assert_eq!(world.deleted, [OLD]);
    world.annotate_pool(FREEZE, "2027-01-01T00:00:00Z");
    world.finish_drains();
    assert_eq!(outcomes(&world.pass()), [Outcome::Success]);
}

#[test]
fn t105_each_gate_keeps_a_rotation_from_starting_and_says_so() {
    type Setting = fn(&mut World);
    let rows: [(Setting, Gate); 5] = [
        (|world| world.now = at("2026-01-07T06:00:00Z"), Gate::OutOfWindow),
        (|world| world.annotate_pool(FREEZE, "2027-01-01T00:00:00Z"), Gate::Frozen),
        (|world| world.annotate_pool(FREEZE, "tomorrow"), Gate::Frozen),
        (|world| world.annotate_pool(LAST_ROTATION_AT, "2026-01-07T01:55:00Z"), Gate::CooldownAfterSuccess),
        (|world| world.annotate_pool(LAST_FAILURE_AT, "2026-01-07T01:55:00Z"), Gate::FailurePause),
    ];
    for (set, gate) in rows {
        let mut world = world();
        set(&mut world);
        assert!(world.pass().is_empty());
        assert!(matches!(world.activity(), Activity::Gated(closed) if closed.gate == gate), "{gate:?}");
    }
}

#[test]
fn the_most_urgent_claim_goes_first_and_only_one_at_a_time() {
    let mut world = World::with_claims(&["b", "a", "c"]);
    world.claim_mut("c").metadata.creation_timestamp = Some(world::time(at("2025-12-31T00:00:00Z")));
    world.pass();
    assert_eq!(world.pool_annotation(ACTIVE_ROTATION).as_deref(), Some("c"));
    world.pass();
    assert_eq!(world.log.iter().filter(|line| line.contains("active-rotation=")).count(), 1);
}

#[test]
fn caches_that_name_a_claim_that_is_taken_start_nothing_until_they_have_caught_up() {
    let mut world = World::with_claims(&["a", "b"]);
    let before = world.clone();
    world.claim_mut("a").metadata.deletion_timestamp = Some(world::time(world.now));
    assert_eq!(world.pass_after(Some(&before)), vec![]);
    assert!(!world.anchored(), "what the caches name next may be as old");
    world.pass();
    assert_eq!(world.pool_annotation(ACTIVE_ROTATION).as_deref(), Some("b"));
}

#[test]
fn limits_without_room_keep_the_rotation_from_starting() {
    let mut world = world();
    world.limit("nodes", "1", "1");
    assert!(world.pass().is_empty());
    assert!(matches!(world.activity(), Activity::NoHeadroom(_)));
    assert!(world.notices.iter().any(|n| matches!(n, Notice::InsufficientHeadroom { .. })));
    world.limit("nodes", "2", "1");
    assert!(!world.pass().is_empty());
}

#[test]
fn an_anchor_on_another_pools_claim_is_released_and_the_claim_untouched() {
    let mut world = world();
    let mut foreign = claim_named("foreign", "2026-01-01T00:00:00Z");
    foreign.metadata.labels = Some([(NODEPOOL_LABEL.to_owned(), "other".to_owned())].into());
    let before = foreign.clone();
    world.claims.insert("foreign".to_owned(), foreign);
    world.nodes.insert("foreign".to_owned(), node_named("foreign"));
    world.annotate_pool(ACTIVE_ROTATION, "foreign");
    let told = world.pass();
    assert!(matches!(told.as_slice(), [Announcement::ForeignAnchor { .. }]));
    assert!(!world.anchored());
    assert_eq!(world.claims.get("foreign"), Some(&before));
}

#[test]
fn an_absurd_state_text_is_taken_as_pending() {
    let mut world = world();
    world.pass();
    world.claim_mut(OLD).metadata.annotations.as_mut().unwrap().insert(STATE.to_owned(), "banana".to_owned());
    world.provision();
    world.pass();
    assert_eq!(world.deleted, [OLD]);
}

#[test]
fn a_failed_claim_waits_for_its_backoff_and_is_then_tried_again() {
    let mut world = world();
    world.pass();
    world.advance(SignedDuration::from_mins(16));
    world.pass();
    // Past the failure pause of ten minutes, within the backoff of thirty.
    world.advance(SignedDuration::from_mins(15));
    assert!(world.pass().is_empty());
    world.advance(SignedDuration::from_mins(15));
    let told = world.pass();
    assert!(matches!(told.first(), Some(Announcement::Started { .. })));
    world.provision();
    world.pass();
    world.finish_drains();
    assert_eq!(outcomes(&world.pass()), [Outcome::Success]);
    world.assert_clean();
}

#[test]
fn a_rotation_is_in_progress_from_its_start_until_it_ends() {
    let mut world = World::with_claims(&["a"]);
    let told = |world: &World| {
        let report = world.decide().report;
        (report.in_progress(), report.activity.claim().map(str::to_owned))
    };
    let of_a = Some("a".to_owned());
    world.now = at("2026-01-07T01:59:59Z");
    assert_eq!(told(&world), (false, None));
    world.now = at("2026-01-07T02:00:00Z");
    assert_eq!(told(&world), (true, of_a.clone()));
    world.pass();
    assert_eq!(told(&world), (true, of_a.clone()));
    world.provision();
    world.pass();
    assert_eq!(world.deleted, ["a"]);
    assert_eq!(told(&world), (true, of_a.clone()));
    world.finish_drains();
    assert_eq!(told(&world), (false, of_a), "it ends in this pass");
}
