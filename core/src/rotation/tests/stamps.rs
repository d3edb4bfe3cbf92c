//! Stamps and values that cannot be true, or that changed since: what they count as.

use serde_json::json;

use super::*;
use crate::rotation::Next;
use crate::rotation::announcement::Announcement as A;

const FAR: &str = "2026-02-01T00:00:00Z";

fn in_future(told: &[A]) -> Vec<(Option<String>, &'static str)> {
    told.iter().filter_map(|a| if let A::StampInFuture { claim, key, .. } = a { Some((claim.clone(), *key)) } else { None }).collect()
}

#[test]
fn r24_a_pause_that_was_written_into_the_future_begins_now_and_is_told_once() {
    for (key, gate) in [(LAST_ROTATION_AT, Gate::CooldownAfterSuccess), (LAST_FAILURE_AT, Gate::FailurePause)] {
        let mut world = world();
        world.annotate_pool(key, FAR);
        let mut told = world.pass();
        assert!(matches!(world.activity(), Activity::Gated(closed) if closed.gate == gate), "{key}");
        assert_eq!(world.pool_annotation(key).as_deref(), Some("2026-01-07T02:00:00Z"));
        told.extend(world.pass());
        assert_eq!(in_future(&told), [(None, key)]);
        world.advance(SignedDuration::from_mins(10));
        world.pass();
        assert!(world.anchored(), "{key}");
    }
}

#[test]
fn r24_a_freeze_that_is_no_time_is_told_and_one_that_is_needs_no_word() {
    for (freeze, told) in [("tomorrow", true), ("2027-01-01T00:00:00Z", false)] {
        let mut world = world();
        world.annotate_pool(FREEZE, freeze);
        world.pass();
        assert!(matches!(world.activity(), Activity::Gated(closed) if closed.gate == Gate::Frozen), "{freeze}");
        assert_eq!(world.notices.contains(&Notice::FreezeUnparsable { value: freeze.to_owned() }), told, "{freeze}");
    }
}

#[test]
fn a_backoff_that_was_written_into_the_future_begins_now() {
    let mut world = world();
    world.annotate_claim(OLD, STATE, "failed");
    world.annotate_claim(OLD, FAILED_AT, FAR);
    let told = world.pass();
    assert_eq!(in_future(&told), [(Some(OLD.to_owned()), FAILED_AT)]);
    world.advance(SignedDuration::from_mins(29));
    assert!(world.pass().is_empty());
    world.advance(SignedDuration::from_mins(1));
    world.pass();
    assert!(world.anchored());
}

#[test]
fn a_start_that_was_written_into_the_future_is_written_anew() {
    let mut world = world();
    world.pass();
    world.annotate_claim(OLD, STARTED_AT, FAR);
    assert_eq!(in_future(&world.pass()), [(Some(OLD.to_owned()), STARTED_AT)]);
    assert_eq!(world.claim_annotation(OLD, STARTED_AT).as_deref(), Some("2026-01-07T02:00:00Z"));
    world.advance(SignedDuration::from_mins(16));
    assert_eq!(outcomes(&world.pass()), [Outcome::Failure]);
}

#[test]
fn the_time_limit_is_that_of_the_policy_as_it_is_now() {
    for (timeout, failed) in [("4m", true), ("15m", false)] {
        let mut world = world();
        world.pass();
        world.advance(SignedDuration::from_mins(5));
        world.govern(&json!({"readyTimeout": timeout}));
        assert_eq!(outcomes(&world.pass()).len(), usize::from(failed), "{timeout}");
    }
}

#[test]
fn the_next_look_comes_as_soon_as_the_time_is_up() {
    for (timeout, waited, next) in [("15m", 0, 30), ("15m", 14 * 60 + 50, 11), ("5s", 0, 6), ("5s", 5, 1)] {
        let mut world = world();
        world.govern(&json!({"readyTimeout": timeout}));
        world.pass();
        if waited > 0 {
            world.advance(SignedDuration::from_secs(waited));
            assert_eq!(outcomes(&world.pass()), [], "{timeout} after {waited} s");
        }
        let Next::After(wait) = world.next else { panic!("{:?}", world.next) };
        assert_eq!(wait.as_secs(), next, "{timeout} after {waited} s");
        world.advance(SignedDuration::try_from(wait).unwrap());
        let failed = if next == 30 { 0 } else { 1 };
        assert_eq!(outcomes(&world.pass()).len(), failed, "{timeout} after {waited} s");
    }
}

#[test]
fn a_failed_claim_whose_anchor_a_crash_has_left_respects_the_pause_that_it_began() {
    // Failed eleven minutes ago and retried after a second: only the pause of ten minutes, or what is left of it, counts.
    for (failed_at, retried) in [("2026-01-07T01:49:00Z", true), ("2026-01-07T01:51:00Z", false)] {
        let mut world = world();
        world.govern(&json!({"retryBackoff": "1s"}));
        world.annotate_pool(ACTIVE_ROTATION, OLD);
        world.annotate_pool(LAST_FAILURE_AT, "2026-01-07T00:00:00Z");
        world.annotate_claim(OLD, STATE, "failed");
        world.annotate_claim(OLD, FAILED_AT, failed_at);
        world.pass();
        let state = world.claim_annotation(OLD, STATE);
        assert_eq!(state.as_deref(), Some(if retried { "pending" } else { "failed" }), "{failed_at}");
        if !retried {
            assert_eq!(world.pool_annotation(LAST_FAILURE_AT).as_deref(), Some(failed_at), "the later of the two");
        }
    }
}

#[test]
fn an_expiry_says_whether_the_deadline_had_really_come() {
    for (deleted, reached) in [("2026-01-15T00:00:00Z", true), ("2026-01-14T23:59:59Z", false)] {
        let mut world = world();
        world.pass();
        world.claim_mut(OLD).metadata.deletion_timestamp = Some(world::time(at(deleted)));
        let told = world.pass();
        assert!(matches!(told.as_slice(), [A::Expired { deadline_reached: Some(r), .. }] if *r == reached), "{deleted}");
    }
}

#[test]
fn a_candidate_that_karpenter_has_chosen_meanwhile_is_left_to_it() {
    let mut world = world();
    // Neither cache nor live read show it, but the answer to the first mark does.
    world.taint_on_patch = Some(OLD.to_owned());
    world.pass();
    assert!(world.pods.is_empty() && world.deleted.is_empty());
    world.claim_mut(OLD).metadata.deletion_timestamp = Some(world::time(world.now));
    assert_eq!(outcomes(&world.pass()), [Outcome::Expired]);
    world.assert_no_marks_on_nodes();
}
