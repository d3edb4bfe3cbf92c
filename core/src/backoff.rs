//! How long a failed claim waits before it is tried again (§5.2 step 3, D6).
//!
//! The wait doubles with each failure up to eight times the base. It is shortened where the whole of it would
//! outlive the window in which the attempt failed, so that the rest of the window is not lost. One function serves
//! selection, the retry of an anchored claim and the announcement of the next attempt.

use std::time::Duration;

use jiff::Timestamp;

use crate::policy::governing::Governing;

/// The steps of the ladder, as multiples of `retryBackoff`.
const LADDER: [u32; 4] = [1, 2, 4, 8];

/// The full wait after the `retry_count`-th failure: base · 2^(n−1), at most 8 times the base.
#[must_use]
pub fn full(base: Duration, retry_count: u32) -> Duration {
    let index = usize::try_from(retry_count.saturating_sub(1)).unwrap_or(usize::MAX);
    let factor = LADDER.get(index).copied().unwrap_or(8);
    base.saturating_mul(factor)
}

/// When the next attempt of a claim that failed at `failed_at` (as stored, whole seconds) may begin, judged at `now`.
#[must_use]
pub fn next_attempt(governing: &Governing, failed_at: Timestamp, retry_count: u32, now: Timestamp) -> Timestamp {
    let base = governing.retry_backoff;
    let whole = full(base, retry_count);
    let after = |wait: Duration| failed_at.checked_add(wait).unwrap_or(Timestamp::MAX);
    let Some(occurrence) = governing.windows.occurrence(now) else {
        return after(whole);
    };
    if failed_at < occurrence.open || failed_at >= occurrence.close || after(whole) < occurrence.close {
        return after(whole);
    }
    LADDER
        .iter()
        .rev()
        .map(|factor| base.saturating_mul(*factor))
        .filter(|step| *step < whole)
        .map(after)
        .find(|at| *at < occurrence.close)
        .unwrap_or_else(|| after(whole))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::policy::validate::validate;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    /// Half an hour as the base; open on Wednesday and Saturday from 02:00 to 06:00.
    fn policy() -> Governing {
        let window = json!({"timezone": "UTC", "days": ["Wed", "Sat"], "start": "02:00", "end": "06:00"});
        validate(&json!({"spec": {"nodePoolSelector": {}, "maintenanceWindows": [window], "surge": {"retryBackoff": "30m"}}})).unwrap()
    }

    #[test]
    fn the_backoff_doubles_up_to_eight_times() {
        let minutes = |count| full(Duration::from_secs(30 * 60), count).as_secs() / 60;
        assert_eq!([1, 2, 3, 4, 5].map(minutes), [30, 60, 120, 240, 240]);
        // A count that was lost or is absurd.
        assert_eq!([0, 6, u32::MAX].map(minutes), [30, 240, 240]);
    }

    #[test]
    fn t70_the_backoff_is_cut_to_the_window_in_which_the_attempt_failed() {
        let rows = [
            ("fits whole", "2026-01-07T02:00:00Z", 3, "2026-01-07T03:00:00Z", "2026-01-07T04:00:00Z"),
            ("two hours do not fit, one does", "2026-01-07T04:30:00Z", 3, "2026-01-07T05:00:00Z", "2026-01-07T05:30:00Z"),
            ("four hours do not fit, two do", "2026-01-07T03:00:00Z", 4, "2026-01-07T03:10:00Z", "2026-01-07T05:00:00Z"),
            ("the end itself does not fit", "2026-01-07T05:00:00Z", 2, "2026-01-07T05:10:00Z", "2026-01-07T05:30:00Z"),
            (
                "a smaller step may not end with the window either",
                "2026-01-07T05:00:00Z",
                3,
                "2026-01-07T05:10:00Z",
                "2026-01-07T05:30:00Z",
            ),
            ("a second before the end fits", "2026-01-07T04:59:59Z", 2, "2026-01-07T05:10:00Z", "2026-01-07T05:59:59Z"),
            ("not even the base fits", "2026-01-07T05:45:00Z", 2, "2026-01-07T05:50:00Z", "2026-01-07T06:45:00Z"),
            ("the base is never cut", "2026-01-07T05:45:00Z", 1, "2026-01-07T05:50:00Z", "2026-01-07T06:15:00Z"),
            ("failed in an earlier window", "2026-01-03T05:45:00Z", 4, "2026-01-07T02:00:00Z", "2026-01-03T09:45:00Z"),
            ("failed at the end of a window", "2026-01-07T06:00:00Z", 2, "2026-01-07T06:10:00Z", "2026-01-07T07:00:00Z"),
            ("judged outside any window", "2026-01-07T05:00:00Z", 3, "2026-01-07T07:00:00Z", "2026-01-07T07:00:00Z"),
        ];
        for (name, failed_at, count, now, expected) in rows {
            assert_eq!(next_attempt(&policy(), at(failed_at), count, at(now)), at(expected), "{name}");
        }
    }

    #[test]
    fn t70_only_an_attempt_that_failed_in_the_window_is_cut_to_it() {
        let mut policy = policy();
        policy.retry_backoff = Duration::from_secs(3600);
        let now = at("2026-01-07T02:30:00Z");
        // Eight hours reach beyond the window from either; the first attempt failed before it opened.
        assert_eq!(next_attempt(&policy, at("2026-01-07T01:59:59Z"), 4, now), at("2026-01-07T09:59:59Z"));
        assert_eq!(next_attempt(&policy, at("2026-01-07T02:00:00Z"), 4, now), at("2026-01-07T04:00:00Z"));
    }

    #[test]
    fn a_stamp_at_the_end_of_time_waits_for_ever_and_does_not_panic() {
        let now = at("2026-01-07T03:00:00Z");
        assert_eq!(next_attempt(&policy(), Timestamp::MAX, 4, now), Timestamp::MAX);
        assert!(next_attempt(&policy(), Timestamp::MIN, 4, now) < now);
    }
}
