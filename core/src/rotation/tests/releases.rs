//! How a rotation ends: by one, once, with the numbers that were written, and with nothing left of the anchor.

use super::world::policy_named;
use super::*;

/// A rotation of `old` that times out in the next pass.
fn timed_out() -> World {
    let mut world = world();
    world.pass();
    world.advance(SignedDuration::from_mins(16));
    world
}

fn drained() -> World {
    let mut world = world();
    world.pass();
    world.provision();
    world.pass();
    world.finish_drains();
    world
}

fn taken_while_pending() -> World {
    let mut world = world();
    world.pass();
    world.claim_mut(OLD).metadata.deletion_timestamp = Some(world::time(world.now));
    world
}

/// The attempt has failed, its anchor was not released, and Karpenter takes the claim.
fn taken_after_a_failure() -> World {
    let mut world = timed_out();
    world.crash_before_write(Some(4));
    world.pass();
    assert_eq!((world.claim_annotation(OLD, STATE).as_deref(), world.anchored()), (Some("failed"), true));
    world.claim_mut(OLD).metadata.deletion_timestamp = Some(world::time(world.now));
    world
}

fn ungoverned() -> World {
    let mut world = world();
    world.pass();
    world.ungovern();
    world
}

fn foreign() -> World {
    let mut world = world();
    let mut foreign = claim_named("foreign", "2026-01-01T00:00:00Z");
    foreign.metadata.labels = Some([(NODEPOOL_LABEL.to_owned(), "other".to_owned())].into());
    world.claims.insert("foreign".to_owned(), foreign);
    world.claim_mut(OLD).metadata.creation_timestamp = Some(world::time(world.now));
    world.annotate_pool(ACTIVE_ROTATION, "foreign");
    world
}

type Ending = (&'static str, fn() -> World);

/// A world each whose next pass releases the anchor.
const ENDINGS: [Ending; 6] = [
    ("completion", drained),
    ("expiry while pending", taken_while_pending),
    ("expiry after a failure", taken_after_a_failure),
    ("failure", timed_out),
    ("loss of the policy", ungoverned),
    ("foreign anchor", foreign),
];

/// What a release tells, each told once: the outcome, the loss of the policy, or the foreign anchor.
fn endings(told: &[Announcement]) -> usize {
    let other = |a: &&Announcement| matches!(a, Announcement::GovernanceLost { .. } | Announcement::ForeignAnchor { .. });
    outcomes(told).len() + told.iter().filter(other).count()
}

#[test]
fn t1_t3_t4_t22_no_view_however_old_ends_a_rotation_twice() {
    for (name, ending) in ENDINGS {
        let mut world = ending();
        let before = world.clone();
        assert_eq!(endings(&world.pass()), 1, "{name}");
        let (log, rotated) = (world.log.len(), world.pool_annotation(LAST_ROTATION_AT));
        // Neither the same caches again, nor those with one write less.
        for passes in 0..3 {
            assert_eq!(endings(&world.pass_after(Some(&before))), 0, "{name}, {passes} passes later");
        }
        let written: Vec<&String> = world.log[log..].iter().filter(|line| !line.contains("window-opened-at")).collect();
        assert_eq!(written, Vec::<&String>::new(), "{name}");
        assert_eq!(world.pool_annotation(LAST_ROTATION_AT), rotated, "{name}");
    }
}

#[test]
fn t1_t3_t4_t22_of_two_leaders_one_ends_it() {
    for (name, ending) in ENDINGS {
        let mut world = ending();
        world.rival = true;
        let paused = world.decide();
        let first = endings(&world.pass());
        let second = endings(&world.carry_out(paused));
        assert_eq!((first, second), (1, 0), "{name}");
    }
}

#[test]
fn t27_every_release_takes_all_companions_along() {
    for (name, ending) in ENDINGS {
        let mut world = ending();
        for (key, value) in
            [(ROTATION_MODE, "forceful-fallback"), (SURGE_WAIT, "3s"), (SURGE_PATH, "absorbed"), (DRAINING_AT, "2026-01-07T01:00:00Z")]
        {
            world.annotate_pool(key, value);
        }
        assert_eq!(endings(&world.pass()), 1, "{name}");
        let left: Vec<_> = [ACTIVE_ROTATION, ACTIVE_ROTATION_STATE, DRAINING_AT, SURGE_WAIT, SURGE_PATH, ROTATION_MODE]
            .into_iter()
            .filter(|key| world.pool_annotation(key).is_some())
            .collect();
        assert_eq!(left, Vec::<&str>::new(), "{name}");
    }
}

fn failure(told: &[Announcement]) -> (u32, String) {
    let mut told = told.iter();
    let Some(Announcement::Failed { retry_count, next_attempt, .. }) = told.find(|a| matches!(a, Announcement::Failed { .. })) else {
        panic!("nothing failed");
    };
    (*retry_count, next_attempt.unwrap().to_string())
}

#[test]
fn t8_t10_a_failure_is_told_with_the_count_and_the_second_that_were_written() {
    for (failures, written, next) in [("0", "1", "2026-01-07T02:46:00Z"), ("2", "3", "2026-01-07T04:16:00Z")] {
        let mut world = world();
        world.annotate_claim(OLD, RETRY_COUNT, failures);
        world.pass();
        let before = world.clone();
        world.advance(SignedDuration::from_mins(16) + SignedDuration::from_millis(900));
        // The caches still show the claim as it was before its last failures.
        let mut lagging = before.clone();
        lagging.claim_mut(OLD).metadata.annotations = None;
        let told = world.pass_after(Some(&lagging));
        assert_eq!(world.claim_annotation(OLD, RETRY_COUNT).as_deref(), Some(written));
        assert_eq!(world.claim_annotation(OLD, FAILED_AT).as_deref(), Some("2026-01-07T02:16:00Z"));
        assert_eq!(failure(&told), (written.parse().unwrap(), next.to_owned()));
        // And that is when it begins.
        world.now = at(next) - SignedDuration::from_secs(1);
        assert!(world.pass().is_empty(), "{failures} failures");
        world.now = at(next);
        assert!(matches!(world.pass().first(), Some(Announcement::Started { .. })), "{failures} failures");
    }
}

#[test]
fn t9_a_claim_that_goes_during_its_rollback_has_expired_and_not_failed() {
    let mut world = timed_out();
    world.crash_before_write(Some(1));
    world.pass();
    let decision = world.decide();
    let told = world.carry_out_with(decision, |world, effect| {
        if matches!(effect, Effect::AnnotateClaim { .. }) {
            world.claims.remove(OLD);
            world.nodes.remove(OLD);
        }
    });
    assert_eq!((told, world.anchored()), (vec![], true));
    assert_eq!(outcomes(&world.pass()), [Outcome::Expired]);
    assert_eq!(world.pool_annotation(LAST_FAILURE_AT), None, "no pause begins");
    world.assert_clean();
}

#[test]
fn marks_that_came_late_are_taken_off_before_the_anchor_of_a_failed_attempt_is_released() {
    let mut world = timed_out();
    // Everything of the rollback but its last write.
    let mut before_last = timed_out();
    let begun = before_last.writes;
    before_last.pass();
    world.crash_before_write(Some(before_last.writes - begun - 1));
    world.pass();
    assert!(world.anchored() && world.claim_annotation(OLD, STATE).as_deref() == Some("failed"));
    let marks = [(SURGE_FOR, OLD), (DO_NOT_DISRUPT, "true"), (DO_NOT_DISRUPT_OWNED, "true")];
    let annotations = world.node_mut(OLD).metadata.annotations.get_or_insert_default();
    annotations.extend(marks.map(|(key, value)| (key.to_owned(), value.to_owned())));
    let from = world.log.len();
    world.pass();
    let place = |part: &str| world.log[from..].iter().position(|line| line.contains(part)).unwrap_or(usize::MAX);
    let (thaw, release) = (place("Node old"), place("active-rotation-"));
    assert!(thaw < release && release < usize::MAX, "{:?}", &world.log[from..]);
}

#[test]
fn t23_a_drain_whose_begin_is_not_known_is_not_measured() {
    for (text, known) in [(Some("2026-01-07T01:59:00Z"), true), (None, false), (Some("soon"), false), (Some("2027-01-01T00:00:00Z"), false)]
    {
        let mut world = world();
        world.pass();
        world.provision();
        world.pass();
        let annotations = world.pool.metadata.annotations.as_mut().unwrap();
        annotations.remove(DRAINING_AT);
        annotations.extend(text.map(|text| (DRAINING_AT.to_owned(), text.to_owned())));
        let before = world.log.len();
        for _ in 0..3 {
            world.advance(SignedDuration::from_mins(30));
            world.pass();
        }
        assert_eq!(world.log.len(), before, "{text:?}: nothing is filled in");
        world.finish_drains();
        let told = world.pass();
        let drain = told.iter().find_map(|a| if let Announcement::Completed { drain, .. } = a { Some(drain.is_some()) } else { None });
        assert_eq!(drain, Some(known), "{text:?}");
    }
}

#[test]
fn t77_an_attempt_that_failed_is_retried_under_its_anchor_only_where_a_start_is_allowed() {
    type Setting = fn(&mut World);
    let rows: [(&str, Setting, bool); 5] = [
        ("nothing", |_| {}, true),
        ("t77 a schedule that cannot work", |world| world.pool.spec.template.spec.expire_after = Some("24h".to_owned()), false),
        ("no room", |world| world.limit("nodes", "1", "1"), false),
        ("a freeze", |world| world.annotate_pool(FREEZE, "2027-01-01T00:00:00Z"), false),
        ("a tie", |world| world.policies.push(policy_named("rival", &serde_json::json!({}), &serde_json::json!({}))), false),
    ];
    for (name, set, retried) in rows {
        let mut world = world();
        world.annotate_pool(ACTIVE_ROTATION, OLD);
        world.annotate_pool(LAST_FAILURE_AT, "2026-01-07T01:00:00Z");
        world.annotate_claim(OLD, STATE, "failed");
        world.annotate_claim(OLD, FAILED_AT, "2026-01-07T01:00:00Z");
        set(&mut world);
        world.pass();
        let state = world.claim_annotation(OLD, STATE);
        assert_eq!((state.as_deref() == Some("pending"), world.anchored()), (retried, retried), "{name}");
    }
}

#[test]
fn t76_a_retry_that_does_not_fit_is_told_under_its_anchor_and_without() {
    for anchored in [true, false] {
        let mut world = world();
        if anchored {
            world.annotate_pool(ACTIVE_ROTATION, OLD);
        }
        world.annotate_pool(LAST_FAILURE_AT, "2026-01-07T01:00:00Z");
        world.annotate_claim(OLD, STATE, "failed");
        world.annotate_claim(OLD, FAILED_AT, "2026-01-07T01:00:00Z");
        world.limit("nodes", "1", "1");
        world.pass();
        world.advance(SignedDuration::from_mins(1));
        world.pass();
        let headroom = |n: &Notice| matches!(n, Notice::InsufficientHeadroom { claim, .. } if claim == OLD);
        assert!(world.notices.iter().any(headroom), "anchored: {anchored}");
        assert_eq!(world.claim_annotation(OLD, STATE).as_deref(), Some("failed"), "anchored: {anchored}");
    }
}
