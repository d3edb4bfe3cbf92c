//! Passes that begin from caches which lag behind what was written: they may be late, and never wrong.

use super::*;

const PLACEHOLDER: &str = "noderotation-surge-old";

/// What a world holds, without the versions of a log.
fn written(world: &World) -> usize {
    world.log.len()
}

#[test]
fn t5_a_view_of_before_the_rollback_begins_nothing_anew() {
    let mut world = world();
    world.pass();
    let before = world.clone();
    world.advance(SignedDuration::from_mins(16));
    world.pass();
    let (claim, writes) = (world.claims[OLD].clone(), written(&world));
    for _ in 0..3 {
        assert_eq!(world.pass_after(Some(&before)), vec![]);
    }
    assert_eq!((world.claims.get(OLD), written(&world)), (Some(&claim), writes));
    assert_eq!(
        [STATE, RETRY_COUNT, STARTED_AT].map(|key| world.claim_annotation(OLD, key)),
        [Some("failed".to_owned()), Some("1".to_owned()), None]
    );
}

#[test]
fn t6_a_view_of_before_the_drain_adds_nothing_and_takes_nothing_away() {
    // A minute later, and when the view would have timed out.
    for minutes in [1, 16] {
        let mut world = world();
        world.pass();
        let before = world.clone();
        world.provision();
        world.pass();
        world.advance(SignedDuration::from_mins(minutes));
        let (pods, nodes, writes) = (world.pods.clone(), world.nodes.clone(), written(&world));
        assert!(pods.contains_key(PLACEHOLDER));
        assert_eq!(world.pass_after(Some(&before)), vec![], "{minutes} minutes");
        assert_eq!((&world.pods, &world.nodes, written(&world)), (&pods, &nodes, writes), "{minutes} minutes");
        // The placeholder has given way to a Pod meanwhile, which is what it is there for.
        world.pods.clear();
        world.pass_after(Some(&before));
        assert!(world.pods.is_empty(), "{minutes} minutes: no second surge for a drain");
    }
}

#[test]
fn t7_a_view_of_before_the_retry_does_not_begin_it_again() {
    let mut world = world();
    world.annotate_pool(ACTIVE_ROTATION, OLD);
    world.annotate_pool(LAST_FAILURE_AT, "2026-01-07T01:00:00Z");
    for (key, value) in [(STATE, "failed"), (FAILED_AT, "2026-01-07T01:00:00Z"), (RETRY_COUNT, "1")] {
        world.annotate_claim(OLD, key, value);
    }
    let before = world.clone();
    world.pass();
    let started_at = world.claim_annotation(OLD, STARTED_AT);
    assert_eq!(started_at.as_deref(), Some("2026-01-07T02:00:00Z"));
    let writes = written(&world);
    for _ in 0..3 {
        world.advance(SignedDuration::from_mins(4));
        world.pass_after(Some(&before));
    }
    assert_eq!((world.claim_annotation(OLD, STARTED_AT), written(&world)), (started_at, writes));
    // So the attempt comes to its end.
    world.advance(SignedDuration::from_mins(4));
    assert_eq!(outcomes(&world.pass_after(Some(&before))), [Outcome::Failure]);
    assert_eq!(world.claim_annotation(OLD, RETRY_COUNT).as_deref(), Some("2"));
}

#[test]
fn t11_an_attempt_whose_start_nobody_can_read_is_a_fresh_one() {
    for text in [None, Some(""), Some("a moment ago")] {
        let mut world = world();
        world.pass();
        let annotations = world.claim_mut(OLD).metadata.annotations.as_mut().unwrap();
        annotations.remove(STARTED_AT);
        annotations.extend(text.map(|text| (STARTED_AT.to_owned(), text.to_owned())));
        world.advance(SignedDuration::from_mins(20));
        assert_eq!(world.pass(), vec![], "{text:?}");
        assert_eq!(world.claim_annotation(OLD, STARTED_AT).as_deref(), Some("2026-01-07T02:20:00Z"), "{text:?}");
        world.advance(SignedDuration::from_mins(15));
        assert_eq!(world.pass(), vec![], "{text:?}");
        world.advance(SignedDuration::from_secs(1));
        assert_eq!(outcomes(&world.pass()), [Outcome::Failure], "{text:?}");
    }
    // The caches do not show the stamp that was written a moment ago.
    let mut world = world();
    world.pass();
    let mut before = world.clone();
    before.claim_mut(OLD).metadata.annotations = None;
    let writes = written(&world);
    world.advance(SignedDuration::from_secs(30));
    assert_eq!((world.pass_after(Some(&before)), written(&world)), (vec![], writes));
}

#[test]
fn r7_the_template_says_nothing_of_the_claims_that_there_are() {
    for grace in [Some("24h"), None, Some("0s")] {
        let changed = |mut world: World| {
            world.pool.spec.template.spec.termination_grace_period = grace.map(str::to_owned);
            world
        };
        // The last instant at which the claim is too young, by its own hour: 336 h less 8 d 1 h 17 min after its creation.
        for (now, due) in [("2026-01-07T02:00:00Z", false), ("2026-01-07T02:00:01Z", true)] {
            let mut young = changed(self::world());
            young.claim_mut(OLD).metadata.creation_timestamp = Some(world::time(at("2026-01-01T03:17:00Z")));
            young.now = at(now);
            young.pass();
            assert_eq!(young.anchored(), due, "{grace:?} at {now}");
        }
        // readyTimeout and the buffer, whatever the grace period.
        for (seconds_left, surgeless) in [(17 * 60, false), (17 * 60 - 1, true)] {
            let mut late = changed(self::world());
            late.govern(&serde_json::json!({"forcefulFallback": {"enabled": true}}));
            let deadline = late.now + SignedDuration::from_secs(seconds_left);
            late.claim_mut(OLD).metadata.creation_timestamp = Some(world::time(deadline - SignedDuration::from_hours(336)));
            late.pass();
            assert_eq!(late.deleted.len(), usize::from(surgeless), "{grace:?}, {seconds_left} seconds left");
        }
        // The claim's own hour and the buffer.
        let mut draining = changed(self::world());
        draining.pass();
        draining.provision();
        draining.pass();
        for (seconds, stuck) in [(62 * 60, false), (1, true)] {
            draining.advance(SignedDuration::from_secs(seconds));
            draining.pass();
            assert_eq!(draining.stuck, stuck, "{grace:?}");
        }
    }
}
