//! The start gates, in order; the first that is closed has the word (§5.2 step 2, D6).
//!
//! A gate stops starts only. A rotation in flight goes on.

use std::time::Duration;

use jiff::Timestamp;

use crate::annotation::{Freeze, PoolMarks};
use crate::policy::governing::Governing;

/// Why a rotation may not start now. Declared in the order of judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gate {
    /// No maintenance window is open.
    OutOfWindow,
    /// An operator of the cluster froze the pool.
    Frozen,
    /// Gate A: the pool settles after a success.
    CooldownAfterSuccess,
    /// Gate B: the pool pauses after a failure.
    FailurePause,
}

impl Gate {
    /// Every gate, in the order of judgement.
    pub const ALL: [Self; 4] = [Self::OutOfWindow, Self::Frozen, Self::CooldownAfterSuccess, Self::FailurePause];

    /// The name that the log line and the commands print.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::OutOfWindow => "outOfWindow",
            Self::Frozen => "frozen",
            Self::CooldownAfterSuccess => "cooldownAfterSuccess",
            Self::FailurePause => "failurePause",
        }
    }
}

/// A closed gate and when it opens by itself, where that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed {
    /// Which one.
    pub gate: Gate,
    /// When it opens by itself; `None` where a person must act or no opening is in sight.
    pub until: Option<Timestamp>,
}

/// The first closed gate, or `None` when a rotation may start at `now`.
///
/// `failed_at` is the later failure stamp of an anchored failed claim, which gate B must respect even if the
/// pool's own stamp was not written yet.
#[must_use]
pub fn first_closed(governing: &Governing, marks: &PoolMarks, failed_at: Option<Timestamp>, now: Timestamp) -> Option<Closed> {
    closed(governing, marks, failed_at, now).next()
}

/// Every gate that is closed at `now`, in the order of judgement; work is done as they are asked for.
pub fn closed<'a>(
    governing: &'a Governing,
    marks: &'a PoolMarks,
    failed_at: Option<Timestamp>,
    now: Timestamp,
) -> impl Iterator<Item = Closed> + 'a {
    let judge = move |gate| match gate {
        Gate::OutOfWindow => (!governing.windows.contains(now)).then(|| governing.windows.next_open(now)),
        Gate::Frozen => match marks.freeze {
            Freeze::None => None,
            Freeze::Until(until) => Some(Some(until)),
            Freeze::Unreadable(_) => Some(None),
        },
        Gate::CooldownAfterSuccess => open_again(marks.last_rotation_at, governing.cooldown_after, now).map(Some),
        Gate::FailurePause => open_again(marks.last_failure_at.max(failed_at), governing.failure_pause, now).map(Some),
    };
    Gate::ALL.into_iter().filter_map(move |gate| judge(gate).map(|until| Closed { gate, until }))
}

/// When `pause` after `since` ends, if it has not ended. A missing stamp counts as long ago.
fn open_again(since: Option<Timestamp>, pause: Duration, now: Timestamp) -> Option<Timestamp> {
    let until = since?.checked_add(pause).ok()?;
    (now < until).then_some(until)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::annotation::{FREEZE, LAST_FAILURE_AT, LAST_ROTATION_AT};
    use crate::policy::validate::validate;

    /// When the window of the base policy opens.
    const OPEN: &str = "2026-01-07T02:00:00Z";

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn policy(zone: &str, days: &[&str], start: &str, end: &str) -> Governing {
        let window = json!({"timezone": zone, "days": days, "start": start, "end": end});
        validate(&json!({"spec": {"nodePoolSelector": {}, "maintenanceWindows": [window]}})).unwrap()
    }

    fn marks(pairs: &[(&str, &str)], now: &str) -> PoolMarks {
        PoolMarks::read(&pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(), at(now))
    }

    /// The closed gate and when it opens again, on the base policy.
    fn closed(pairs: &[(&str, &str)], now: &str) -> Option<(Gate, Option<Timestamp>)> {
        let governing = policy("UTC", &["Wed", "Sat"], "02:00", "06:00");
        first_closed(&governing, &marks(pairs, now), None, at(now)).map(|closed| (closed.gate, closed.until))
    }

    #[test]
    fn the_first_closed_gate_has_the_word() {
        let all = [(FREEZE, "2026-02-01T00:00:00Z"), (LAST_ROTATION_AT, "2026-01-07T01:55:00Z"), (LAST_FAILURE_AT, "2026-01-07T01:50:01Z")];
        assert_eq!(closed(&all, "2026-01-07T01:59:59Z"), Some((Gate::OutOfWindow, Some(at(OPEN)))));
        assert_eq!(closed(&all, OPEN), Some((Gate::Frozen, Some(at("2026-02-01T00:00:00Z")))));
        assert_eq!(closed(&all[1..], OPEN), Some((Gate::CooldownAfterSuccess, Some(at("2026-01-07T02:05:00Z")))));
        assert_eq!(closed(&all[2..], OPEN), Some((Gate::FailurePause, Some(at("2026-01-07T02:00:01Z")))));
        assert_eq!(closed(&all[2..], "2026-01-07T02:00:01Z"), None);
        assert_eq!(closed(&[(LAST_ROTATION_AT, "never"), (LAST_FAILURE_AT, "")], OPEN), None);
    }

    #[test]
    fn a_failure_that_only_the_claim_knows_pauses_the_pool_too() {
        let governing = policy("UTC", &["Wed", "Sat"], "02:00", "06:00");
        let gate = |failed_at| first_closed(&governing, &marks(&[], OPEN), Some(at(failed_at)), at(OPEN)).map(|closed| closed.gate);
        assert_eq!(gate("2026-01-07T01:59:00Z"), Some(Gate::FailurePause));
        assert_eq!(gate("2026-01-07T01:50:00Z"), None);
    }

    #[test]
    fn t63_each_pause_has_its_own_length() {
        let mut governing = policy("UTC", &["Wed", "Sat"], "02:00", "06:00");
        (governing.cooldown_after, governing.failure_pause) = (Duration::from_secs(20 * 60), Duration::from_secs(30 * 60));
        let open_again = |key| {
            let now = "2026-01-07T03:10:00Z";
            first_closed(&governing, &marks(&[(key, "2026-01-07T03:00:00Z")], now), None, at(now)).and_then(|closed| closed.until)
        };
        assert_eq!(open_again(LAST_ROTATION_AT), Some(at("2026-01-07T03:20:00Z")));
        assert_eq!(open_again(LAST_FAILURE_AT), Some(at("2026-01-07T03:30:00Z")));
    }

    #[test]
    fn c013_a_freeze_that_has_run_out_has_no_effect() {
        let now = "2026-01-07T03:00:00Z";
        assert_eq!(closed(&[(FREEZE, "2026-01-07T02:59:59Z")], now), None);
        assert_eq!(marks(&[(FREEZE, "2026-01-07T02:59:59Z")], now).freeze, Freeze::None, "which the gauge shows as 0");
        assert_eq!(closed(&[(FREEZE, "2026-01-07T03:00:01Z")], now), Some((Gate::Frozen, Some(at("2026-01-07T03:00:01Z")))));
    }

    #[test]
    fn a_freeze_that_is_no_time_stays_until_a_person_acts() {
        assert_eq!(closed(&[(FREEZE, "next week")], OPEN), Some((Gate::Frozen, None)));
    }

    #[test]
    fn c031_the_second_pass_of_a_repeated_hour_is_no_new_start() {
        // Open 05:30 to 06:00 and again 06:30 to 08:00.
        let governing = policy("America/New_York", &["Sun"], "01:30", "03:00");
        let gate = |rotated, now| first_closed(&governing, &marks(&[(LAST_ROTATION_AT, rotated)], now), None, at(now)).map(|c| c.gate);
        assert_eq!(gate("2026-11-01T05:59:00Z", "2026-11-01T06:29:00Z"), Some(Gate::OutOfWindow));
        assert_eq!(gate("2026-11-01T06:25:00Z", "2026-11-01T06:30:00Z"), Some(Gate::CooldownAfterSuccess));
        assert_eq!(gate("2026-11-01T06:25:00Z", "2026-11-01T06:35:00Z"), None);
    }
}
