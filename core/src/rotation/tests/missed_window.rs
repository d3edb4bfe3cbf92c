//! Openings that went by unused: when they are told, that they are told once, and what is written for them.

use serde_json::json;

use super::world::policy_named;
use super::*;

const OPENED: &str = "2026-01-07T02:00:00Z";
const CLOSED: &str = "2026-01-07T06:00:00Z";

fn missed(told: &[Announcement]) -> usize {
    told.iter().filter(|announcement| matches!(announcement, Announcement::WindowMissed { .. })).count()
}

/// Claim `old` is due, and the limits leave no room for another node.
fn full() -> World {
    let mut world = world();
    world.limit("nodes", "1", "1");
    world
}

/// Passes every half hour until an hour after the window has closed.
fn through_the_window(world: &mut World) -> Vec<Announcement> {
    let mut told = Vec::new();
    while world.now <= at("2026-01-07T07:00:00Z") {
        told.extend(world.pass());
        world.advance(SignedDuration::from_mins(30));
    }
    told
}

#[test]
fn a_window_without_a_rotation_takes_two_writes_and_is_told_once() {
    let mut world = full();
    let told = through_the_window(&mut world);
    assert!(matches!(told.as_slice(), [Announcement::WindowMissed { eligible: 1, in_backoff: 0, .. }]), "{told:?}");
    let writes = ["annotate NodePool: window-opened-at=2026-01-07T02:00:00Z", "annotate NodePool: -window-opened-at"];
    assert_eq!(world.log, writes);
}

#[test]
fn a_pool_with_nothing_to_rotate_is_not_written_to() {
    let mut world = world();
    world.claim_mut(OLD).metadata.creation_timestamp = Some(world::time(at(OPENED)));
    assert_eq!(missed(&through_the_window(&mut world)), 0);
    assert!(world.log.is_empty(), "{:?}", world.log);
}

#[test]
fn the_stamp_goes_with_the_anchor_in_one_write_and_a_success_keeps_the_window_silent() {
    let mut world = World::with_claims(&[OLD, "second"]);
    let told = drive(&mut world, None);
    assert!(world.log[0].contains("active-rotation=old") && world.log[0].contains("window-opened-at"), "{}", world.log[0]);
    assert_eq!(outcomes(&told), [Outcome::Success]);
    world.annotate_pool(FREEZE, OPENED);
    world.limit("nodes", "1", "1");
    assert_eq!(missed(&through_the_window(&mut world)), 0);
    assert_eq!(world.pool_annotation(WINDOW_OPENED_AT), None);
}

#[test]
fn t74_t75_a_window_with_failures_only_is_missed() {
    let mut world = world();
    world.govern(&json!({"retryBackoff": "24h"}));
    let mut told = world.pass();
    world.advance(SignedDuration::from_mins(16));
    told.extend(world.pass());
    told.extend(through_the_window(&mut world));
    assert_eq!((outcomes(&told), missed(&told)), (vec![Outcome::Failure], 1));
    assert!(told.iter().any(|a| matches!(a, Announcement::WindowMissed { eligible: 0, in_backoff: 1, .. })));
}

#[test]
fn an_infeasible_schedule_is_told_by_its_windows_too() {
    let mut world = world();
    world.pool.spec.template.spec.expire_after = Some("24h".to_owned());
    assert_eq!(missed(&through_the_window(&mut world)), 1);
}

#[test]
fn t26_a_missed_window_is_told_once_whatever_write_is_lost() {
    for write in 0..3 {
        let mut world = full();
        world.crash_before_write(Some(write));
        assert_eq!(missed(&through_the_window(&mut world)), 1, "crash before write {write}");
        assert_eq!(world.pool_annotation(WINDOW_OPENED_AT), None);
    }
}

#[test]
fn of_two_leaders_that_see_it_close_one_speaks() {
    let mut world = full();
    world.rival = true;
    world.pass();
    world.now = at(CLOSED);
    let paused = world.decide();
    let first = world.pass();
    let second = world.carry_out(paused);
    assert_eq!((missed(&first), missed(&second)), (1, 0));
}

#[test]
fn while_a_rotation_is_in_flight_nothing_is_decided() {
    for succeeds in [true, false] {
        let mut world = world();
        world.now = at("2026-01-07T05:50:00Z");
        world.pass();
        world.now = at(CLOSED);
        assert_eq!(missed(&world.pass()), 0);
        assert!(world.pool_annotation(WINDOW_OPENED_AT).is_some());
        if succeeds {
            world.provision();
            world.pass();
            world.finish_drains();
        } else {
            world.advance(SignedDuration::from_mins(16));
        }
        let mut told = world.pass();
        assert_eq!(outcomes(&told).len(), 1);
        told.extend(world.pass());
        assert_eq!(missed(&told), usize::from(!succeeds), "succeeds: {succeeds}");
        assert_eq!(world.pool_annotation(WINDOW_OPENED_AT), None);
    }
}

#[test]
fn a_freeze_and_a_pool_that_is_never_rotated_are_silent() {
    type Setting = fn(&mut World);
    let rows: [(&str, Setting, usize); 4] = [
        ("nothing", |_| {}, 1),
        ("frozen", |world| world.annotate_pool(FREEZE, "2027-01-01T00:00:00Z"), 0),
        ("static", |world| world.pool.spec.replicas = Some(1), 0),
        ("ungoverned", World::ungovern, 0),
    ];
    for (name, set, expected) in rows {
        let mut world = full();
        world.pass();
        world.now = at(CLOSED);
        set(&mut world);
        assert_eq!(missed(&world.pass()), expected, "{name}");
        assert_eq!(world.pool_annotation(WINDOW_OPENED_AT), None, "{name}");
    }
}

#[test]
fn a_conflict_at_the_close_is_decided_when_it_is_over() {
    let mut world = full();
    world.pass();
    world.now = at(CLOSED);
    world.policies.push(policy_named("rival", &json!({}), &json!({})));
    assert!(world.pass().is_empty() && world.pool_annotation(WINDOW_OPENED_AT).is_some());
    world.policies.pop();
    assert_eq!(missed(&world.pass()), 1);
}

#[test]
fn a_close_that_nobody_saw_is_told_in_the_next_window_with_the_anchor() {
    let mut world = full();
    world.pass();
    world.now = at("2026-01-10T03:00:00Z");
    world.limit("nodes", "2", "1");
    let told = world.pass();
    assert_eq!(missed(&told), 1);
    assert!(matches!(told.first(), Some(Announcement::WindowMissed { .. })));
    assert_eq!(world.pool_annotation(WINDOW_OPENED_AT).as_deref(), Some("2026-01-10T02:00:00Z"));
    assert!(world.anchored());
}

#[test]
fn an_unreadable_stamp_heals_in_silence() {
    for (text, now) in [("soon", CLOSED), ("", CLOSED), ("2027-01-01T00:00:00Z", CLOSED), ("soon", OPENED)] {
        let mut world = full();
        world.now = at(now);
        world.annotate_pool(WINDOW_OPENED_AT, text);
        assert!(world.pass().is_empty(), "{text:?} at {now}");
        let expected = (now == OPENED).then(|| OPENED.to_owned());
        assert_eq!(world.pool_annotation(WINDOW_OPENED_AT), expected, "{text:?} at {now}");
    }
}
