//! Rotations without a surge: when they begin, that nothing of them is lost, and how they are counted.

use serde_json::json;

use super::*;

/// Claim `old` in the pool of a policy that asks for the fallback, `minutes` and `seconds` before its deadline.
fn before_deadline(minutes: i64, seconds: i64) -> World {
    let mut world = world();
    world.govern(&json!({"forcefulFallback": {"enabled": true}}));
    let deadline = world.now + SignedDuration::from_mins(minutes) + SignedDuration::from_secs(seconds);
    world.claim_mut(OLD).metadata.creation_timestamp = Some(world::time(deadline - SignedDuration::from_hours(336)));
    world
}

fn fallbacks(told: &[Announcement]) -> usize {
    told.iter().filter(|announcement| matches!(announcement, Announcement::ForcefulFallback { .. })).count()
}

fn surgeless(told: &[Announcement]) -> Option<bool> {
    told.iter().find_map(|a| if let Announcement::Started { surgeless, .. } = a { Some(*surgeless) } else { None })
}

#[test]
fn c109_r6_at_the_threshold_a_surge_begins_and_a_second_later_a_drain_without_one() {
    // readyTimeout 15m and the buffer of 2m; the grace period of 1h does not count.
    for (minutes, seconds, expected) in [(17, 1, false), (17, 0, false), (16, 59, true), (0, 1, true), (-5, 0, true)] {
        let mut world = before_deadline(minutes, seconds);
        let told = world.pass();
        assert_eq!(surgeless(&told), Some(expected), "{minutes}m{seconds}s before the deadline");
        assert_eq!(world.deleted.len(), usize::from(expected), "{minutes}m{seconds}s before the deadline");
        world.check();
    }
    let mut off = before_deadline(16, 59);
    off.govern(&json!({}));
    assert_eq!(surgeless(&off.pass()), Some(false));
}

#[test]
fn a_fallback_writes_pool_claim_and_delete_and_nothing_else() {
    let mut world = before_deadline(10, 0);
    let told = world.pass();
    assert_eq!(
        world.log,
        [
            "annotate NodePool: active-rotation=old active-rotation-state=draining draining-at=2026-01-07T02:00:00Z rotation-mode=forceful-fallback window-opened-at=2026-01-07T02:00:00Z",
            "annotate NodeClaim old: state=draining",
            "delete NodeClaim old",
        ]
    );
    assert_eq!(fallbacks(&told), 1);
    assert!(told.iter().any(|a| matches!(a, Announcement::DrainStarted { forceful_fallback: true, .. })));
    world.advance(SignedDuration::from_mins(20));
    assert!(world.pass().is_empty() && world.anchored(), "the gate is held while the claim drains");
    world.finish_drains();
    let told = world.pass();
    assert!(matches!(told.as_slice(), [Announcement::Completed { forceful_fallback: true, surge_wait: None, drain: Some(_), .. }]));
    assert!(world.pool_annotation(LAST_ROTATION_AT).is_some());
    world.assert_clean();
}

#[test]
fn a_fallback_that_was_cut_off_goes_on_as_one_whatever_write_is_lost() {
    for write in 0..4 {
        let mut world = before_deadline(10, 0);
        let told = drive(&mut world, Some(write));
        assert_eq!(outcomes(&told), [Outcome::Success], "crash before write {write}");
        assert_eq!((fallbacks(&told), &world.deleted), (1, &vec![OLD.to_owned()]), "crash before write {write}");
        assert!(!world.log.iter().any(|line| line.starts_with("create")), "crash before write {write}");
        world.assert_clean();
    }
}

#[test]
fn r9_a_torn_fallback_is_drained_whatever_its_claim_says_and_never_counts_as_expired() {
    for state in ["", "pending", "draining", "failed", "expired", "banana"] {
        for rollback in [false, true] {
            let mut world = before_deadline(10, 0);
            world.annotate_pool(ACTIVE_ROTATION, OLD);
            world.annotate_pool(ACTIVE_ROTATION_STATE, "draining");
            world.annotate_pool(ROTATION_MODE, "forceful-fallback");
            let mut annotations = vec![(STATE.to_owned(), state.to_owned()), (FAILED_AT.to_owned(), "2026-01-07T01:59:00Z".to_owned())];
            annotations.extend(rollback.then(|| (ROLLBACK.to_owned(), "2026-01-07T01:59:00Z".to_owned())));
            world.claim_mut(OLD).metadata.annotations = Some(annotations.into_iter().collect());
            // The policy that asked for it may have changed since.
            world.ungovern();
            world.pass();
            assert_eq!(world.deleted, [OLD], "{state} {rollback}");
            assert_eq!(world.claim_annotation(OLD, STATE).as_deref(), Some("draining"));
            world.finish_drains();
            assert_eq!(outcomes(&world.pass()), [Outcome::Success], "{state} {rollback}");
            world.assert_clean();
        }
    }
}

#[test]
fn only_the_pauses_of_failed_attempts_do_not_hold_a_fallback_up() {
    type Setting = fn(&mut World);
    let failed: Setting = |world| {
        let now = stamp(world.now);
        let annotations = [(STATE, "failed"), (FAILED_AT, now.as_str()), (RETRY_COUNT, "3")];
        world.claim_mut(OLD).metadata.annotations = Some(annotations.map(|(k, v)| (k.to_owned(), v.to_owned())).into());
    };
    let rows: [(&str, Setting, bool); 8] = [
        ("nothing", |_| {}, true),
        ("backoff", failed, true),
        ("failure pause", |world| world.annotate_pool(LAST_FAILURE_AT, "2026-01-07T01:59:00Z"), true),
        ("no room under the limits", |world| world.limit("nodes", "1", "1"), true),
        ("cooldown", |world| world.annotate_pool(LAST_ROTATION_AT, "2026-01-07T01:59:00Z"), false),
        ("freeze", |world| world.annotate_pool(FREEZE, "2027-01-01T00:00:00Z"), false),
        ("a person's protection", |world| world.protect(OLD), false),
        ("window", |world| world.now = at("2026-01-07T01:59:59Z"), false),
    ];
    for (name, set, expected) in rows {
        let mut world = before_deadline(10, 0);
        set(&mut world);
        world.pass();
        assert_eq!(world.deleted.len(), usize::from(expected), "{name}");
    }
}

#[test]
fn a_protection_that_the_cache_has_not_seen_yet_is_respected() {
    let before = before_deadline(10, 0);
    let mut world = before.clone();
    world.protect(OLD);
    assert!(world.pass_after(Some(&before)).is_empty() && world.deleted.is_empty());
    let mut gone = before.clone();
    gone.nodes.remove(OLD);
    assert!(gone.pass_after(Some(&before)).is_empty() && gone.deleted.is_empty());
    // Their twin without the change.
    assert!(!before.clone().pass_after(Some(&before)).is_empty());
}

#[test]
fn the_last_instant_of_the_last_window_before_the_deadline_counts() {
    // The window closes at 06:00 and opens again on Saturday.
    let rows = [
        ("2026-01-07T05:43:00Z", "2026-01-08T12:00:00Z", false),
        ("2026-01-07T05:43:01Z", "2026-01-08T12:00:00Z", true),
        ("2026-01-07T05:43:01Z", "2026-01-10T02:00:00Z", true),
        ("2026-01-07T05:43:01Z", "2026-01-10T02:00:01Z", false),
    ];
    for (now, deadline, expected) in rows {
        let mut world = before_deadline(0, 0);
        world.now = at(now);
        world.claim_mut(OLD).metadata.creation_timestamp = Some(world::time(at(deadline) - SignedDuration::from_hours(336)));
        assert_eq!(surgeless(&world.pass()), Some(expected), "{now}, deadline {deadline}");
    }
}

#[test]
fn a_claim_that_never_expires_is_never_drained_without_a_surge() {
    let mut world = before_deadline(0, 0);
    world.policies[0]["spec"]["ageThreshold"] = json!("24h");
    world.claim_mut(OLD).spec.expire_after = Some("Never".to_owned());
    assert_eq!(surgeless(&world.pass()), Some(false));
}

#[test]
fn a_pending_rotation_converts_when_only_the_buffer_is_left() {
    let mut world = before_deadline(17, 0);
    world.pass();
    // The attempt may wait a second longer than to the last chance, which so comes first.
    world.advance(SignedDuration::from_mins(15) - SignedDuration::from_secs(1));
    assert_eq!(fallbacks(&world.pass()), 0);
    world.advance(SignedDuration::from_secs(1));
    let told = world.pass();
    assert!(told.iter().any(|a| matches!(a, Announcement::ForcefulFallback { converted: true, .. })), "{told:?}");
    assert_eq!(world.deleted, [OLD]);
    world.advance(SignedDuration::from_secs(30));
    world.pass();
    assert!(world.pods.is_empty(), "a placeholder without a node is of no use to the drain");
    world.finish_drains();
    assert_eq!(outcomes(&world.pass()), [Outcome::Success]);
    world.assert_clean();
}

#[test]
fn a_conversion_is_made_up_for_and_counted_once_whatever_write_is_lost() {
    let run = |crash| {
        let mut world = before_deadline(17, 0);
        world.pass();
        world.advance(SignedDuration::from_mins(15));
        world.crash_before_write(crash);
        let mut told = Vec::new();
        for _ in 0..3 {
            told.extend(world.pass());
            world.check();
        }
        let writes = world.writes;
        world.finish_drains();
        told.extend(world.pass());
        (world, told, writes)
    };
    let (_, _, writes) = run(None);
    for write in 0..writes {
        let (world, told, _) = run(Some(write));
        assert_eq!(outcomes(&told), [Outcome::Success], "crash before write {write}");
        assert_eq!((fallbacks(&told), &world.deleted), (1, &vec![OLD.to_owned()]), "crash before write {write}");
        world.assert_clean();
    }
}

#[test]
fn a_surge_that_is_ready_at_the_last_chance_is_used() {
    let mut world = before_deadline(17, 0);
    world.pass();
    world.provision();
    world.advance(SignedDuration::from_mins(16));
    let told = world.pass();
    assert_eq!((fallbacks(&told), &world.deleted), (0, &vec![OLD.to_owned()]));
    assert_eq!(world.pool_annotation(ROTATION_MODE), None);
}

#[test]
fn a_freeze_and_a_rollback_that_has_begun_keep_a_pending_rotation_from_converting() {
    let mut frozen = before_deadline(17, 0);
    frozen.pass();
    frozen.annotate_pool(FREEZE, "2027-01-01T00:00:00Z");
    frozen.advance(SignedDuration::from_mins(15));
    frozen.pass();
    assert!(frozen.deleted.is_empty() && frozen.anchored());

    let mut world = before_deadline(30, 0);
    world.pass();
    world.advance(SignedDuration::from_mins(16));
    // Cut off after the fence; the rollback comes to its end, and the next rotation is the fallback.
    world.crash_before_write(Some(1));
    world.pass();
    world.advance(SignedDuration::from_mins(12));
    let mut told = world.pass();
    assert_eq!((outcomes(&told), fallbacks(&told)), (vec![Outcome::Failure], 0));
    told = world.pass();
    assert_eq!((fallbacks(&told), &world.deleted), (1, &vec![OLD.to_owned()]));
}

#[test]
fn of_two_leaders_that_begin_the_same_fallback_one_does() {
    let mut world = before_deadline(10, 0);
    world.rival = true;
    let paused = world.decide();
    let first = world.pass();
    let second = world.carry_out(paused);
    assert_eq!((fallbacks(&first), fallbacks(&second), world.deleted.len()), (1, 0, 1));
}
