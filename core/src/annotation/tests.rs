//! What the values of annotations mean, whatever somebody wrote there.

use super::*;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn map(pairs: &[(&str, &str)]) -> Map {
    pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
}

const NOW: &str = "2026-01-07T02:00:00Z";

#[test]
fn a_stamp_is_stored_to_the_second_in_utc() {
    let precise = at("2026-01-07T02:00:00.987Z");
    assert_eq!(stamp(precise), "2026-01-07T02:00:00Z");
    assert_eq!(stamp(stored(precise)), stamp(precise));
    assert_eq!(stamp(precise).parse::<Timestamp>().unwrap(), stored(precise));
}

#[test]
fn freeze_in_the_future_is_in_force_in_the_past_is_not_and_garbage_is() {
    for (value, frozen) in [
        ("2026-01-07T02:00:01Z", true),
        ("2026-01-07T04:00:00+01:00", true),
        ("2026-01-07T02:00:00Z", false),
        ("2025-12-31T00:00:00Z", false),
        ("next week", true),
        ("", false),
    ] {
        let marks = PoolMarks::read(&map(&[(FREEZE, value)]), at(NOW));
        assert_eq!(marks.frozen(), frozen, "{value}");
    }
}

#[test]
fn a_stamp_far_ahead_counts_as_now_and_a_little_ahead_as_written() {
    let read = |value| PoolMarks::read(&map(&[(LAST_ROTATION_AT, value)]), at(NOW)).last_rotation_at;
    assert_eq!(read("2027-01-01T00:00:00Z"), Some(at(NOW)));
    assert_eq!(read("2026-01-07T02:10:00Z"), Some(at("2026-01-07T02:10:00Z")));
    assert_eq!(read("yesterday"), None);
}

#[test]
fn stamps_that_cannot_be_true_are_named() {
    let far = "2026-01-07T02:15:01Z";
    let keys = |found: Vec<Ahead>| found.into_iter().map(|ahead| ahead.key).collect::<Vec<_>>();
    let pool = [(LAST_ROTATION_AT, far), (LAST_FAILURE_AT, "2026-01-07T02:15:00Z"), (DRAINING_AT, far)];
    let pool = PoolMarks::read(&map(&pool), at(NOW));
    assert_eq!((keys(pool.ahead), pool.draining_at), (vec![LAST_ROTATION_AT], None));
    let claim = ClaimMarks::read(&map(&[(STARTED_AT, far), (FAILED_AT, "soon")]), at(NOW));
    assert_eq!(keys(claim.ahead), [STARTED_AT]);
}

#[test]
fn every_state_text_has_a_meaning() {
    for (text, state) in [
        ("", ClaimState::Fresh),
        ("pending", ClaimState::Pending),
        ("draining", ClaimState::Draining),
        ("failed", ClaimState::Failed),
        ("expired", ClaimState::Expired),
        ("Pending", ClaimState::Unknown("Pending".to_owned())),
    ] {
        assert_eq!(ClaimMarks::read(&map(&[(STATE, text)]), at(NOW)).state, state);
    }
}

#[test]
fn an_unreadable_or_absurd_claim_value_reads_as_absent() {
    let marks = ClaimMarks::read(
        &map(&[(STARTED_AT, "2030-01-01T00:00:00Z"), (RETRY_COUNT, "-3"), (FAILED_AT, "soon"), (SURGE_CLAIM, "")]),
        at(NOW),
    );
    assert_eq!((marks.started_at, marks.retry_count, marks.failed_at, marks.surge_claim), (None, 0, None, None));
}

#[test]
fn a_rollback_is_one_whatever_its_text() {
    for (text, expected) in [
        (Some("governanceLost"), Some(Rollback::GovernanceLost)),
        (Some("readyTimeout"), Some(Rollback::ReadyTimeout)),
        (Some(""), Some(Rollback::ReadyTimeout)),
        (None, None),
    ] {
        let annotations = text.map(|text| (ROLLBACK.to_owned(), text.to_owned())).into_iter().collect();
        assert_eq!(ClaimMarks::read(&annotations, at(NOW)).rollback, expected);
    }
    assert_eq!([Rollback::GovernanceLost, Rollback::ReadyTimeout].map(Rollback::text), ["governanceLost", "readyTimeout"]);
}

#[test]
fn clearing_the_anchor_removes_every_companion() {
    let keys: Vec<_> = clear_anchor().into_iter().collect();
    assert_eq!(keys.len(), 6);
    assert!(keys.iter().all(|(_, value)| value.is_none()));
}

#[test]
fn a_key_of_ours_is_told_without_what_all_begin_with_and_anothers_as_it_is() {
    assert_eq!([short(FREEZE), short(DO_NOT_DISRUPT), short("x")], ["freeze", "karpenter.sh/do-not-disrupt", "x"]);
}

#[test]
fn only_the_exact_words_make_a_mirror_and_a_mode() {
    let read = |key, value| PoolMarks::read(&map(&[(key, value)]), at(NOW));
    for (value, draining) in [("draining", true), ("Draining", false), ("", false), ("done", false)] {
        assert_eq!(read(ACTIVE_ROTATION_STATE, value).draining, draining, "{value}");
    }
    for (value, surgeless) in [("forceful-fallback", true), ("forceful", false), ("", false)] {
        assert_eq!(read(ROTATION_MODE, value).forceful_fallback, surgeless, "{value}");
    }
}
