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
