//! An opening that went by unused (D14).
//!
//! A stamp on the NodePool says that an occurrence was seen open while claims waited for it. Once it has closed, the stamp
//! is removed, and whoever removes it tells what became of the occurrence. A pool without claims to rotate is never
//! written to.

use jiff::Timestamp;

use crate::annotation::OpenedAt;
use crate::window::Windows;

/// A pool without a rotation in flight.
#[derive(Clone, Copy, Debug)]
pub struct Circumstances<'a> {
    /// Its policy's windows.
    pub windows: &'a Windows,
    /// The stamp.
    pub opened: OpenedAt,
    /// Claims that are due: eligible, or held by nothing but their backoff.
    pub outstanding: usize,
    /// A person has frozen the pool.
    pub frozen: bool,
    /// Its last success.
    pub last_rotation_at: Option<Timestamp>,
}

/// What becomes of the stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamp {
    /// It stays as it is.
    Keep,
    /// It says that the occurrence opened then.
    Write(Timestamp),
    /// It goes.
    Remove,
}

/// What becomes of the stamp, and what is to be told once that has landed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The write.
    pub stamp: Stamp,
    /// When the occurrence opened that went by unused.
    pub missed: Option<Timestamp>,
}

/// Judges the stamp at `now`.
///
/// A success since the opening is progress, a failed attempt is not. An occurrence that nobody saw close is judged when
/// somebody looks again, in the next one if need be.
#[must_use]
pub fn judge(circumstances: &Circumstances<'_>, now: Timestamp) -> Judgement {
    let Circumstances { windows, opened, outstanding, frozen, last_rotation_at } = *circumstances;
    let waiting = outstanding > 0 && !frozen;
    if opened == OpenedAt::Missing && !waiting {
        return Judgement { stamp: Stamp::Keep, missed: None };
    }
    let current = windows.occurrence(now);
    if windows.never_closes(now) {
        // One that never closes is never missed.
        let stamp = if opened == OpenedAt::Missing { Stamp::Keep } else { Stamp::Remove };
        return Judgement { stamp, missed: None };
    }
    let before = match opened {
        OpenedAt::At(at) if current.is_some_and(|current| at >= current.open) => return Judgement { stamp: Stamp::Keep, missed: None },
        OpenedAt::At(at) => Some(at),
        OpenedAt::Missing | OpenedAt::Unreadable => None,
    };
    let stamp = match current.filter(|_| waiting) {
        Some(current) => Stamp::Write(current.open),
        None if opened == OpenedAt::Missing => Stamp::Keep,
        None => Stamp::Remove,
    };
    Judgement { stamp, missed: before.filter(|at| waiting && last_rotation_at.is_none_or(|last| last < *at)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::validate::validate;

    /// Wednesday and Saturday, 02:00 to 06:00.
    fn windows() -> Windows {
        open(&["Wed", "Sat"], "02:00", "06:00")
    }

    fn open(days: &[&str], start: &str, end: &str) -> Windows {
        let policy = serde_json::json!({
            "metadata": {"name": "p"},
            "spec": {
                "nodePoolSelector": {},
                "maintenanceWindows": [{"timezone": "UTC", "days": days, "start": start, "end": end}]
            }
        });
        validate(&policy).unwrap().windows
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    const WED: &str = "2026-01-07T02:00:00Z";
    const IN: &str = "2026-01-07T03:00:00Z";
    const AFTER: &str = "2026-01-07T06:00:00Z";
    const SAT: &str = "2026-01-10T02:00:00Z";

    #[test]
    fn every_stamp_has_an_outcome() {
        let windows = windows();
        let opened = |text: &str| match text {
            "" => OpenedAt::Missing,
            "?" => OpenedAt::Unreadable,
            text => OpenedAt::At(at(text)),
        };
        type Row = (&'static str, &'static str, &'static str, usize, bool, &'static str, Stamp, bool);
        let write = |text: &str| Stamp::Write(at(text));
        let rows: Vec<Row> = vec![
            ("nothing to rotate", "", IN, 0, false, "", Stamp::Keep, false),
            ("seen open", "", IN, 1, false, "", write(WED), false),
            ("at its first instant", "", WED, 1, false, "", write(WED), false),
            ("frozen", "", IN, 1, true, "", Stamp::Keep, false),
            ("closed and never seen open", "", AFTER, 1, false, "", Stamp::Keep, false),
            ("still open", WED, IN, 1, false, "", Stamp::Keep, false),
            ("still open, nothing left", WED, IN, 0, false, "", Stamp::Keep, false),
            ("missed", WED, AFTER, 1, false, "", Stamp::Remove, true),
            ("nothing left", WED, AFTER, 0, false, "", Stamp::Remove, false),
            ("frozen at the close", WED, AFTER, 1, true, "", Stamp::Remove, false),
            ("progress", WED, AFTER, 1, false, IN, Stamp::Remove, false),
            ("progress at its first instant", WED, AFTER, 1, false, WED, Stamp::Remove, false),
            ("progress before it", WED, AFTER, 1, false, "2026-01-07T01:59:59Z", Stamp::Remove, true),
            ("nobody saw it close", WED, SAT, 1, false, "", write(SAT), true),
            ("nobody saw it close, nothing left", WED, SAT, 0, false, "", Stamp::Remove, false),
            ("unreadable, closed", "?", AFTER, 1, false, "", Stamp::Remove, false),
            ("unreadable, open", "?", IN, 1, false, "", write(WED), false),
            ("unreadable, open, nothing to rotate", "?", IN, 0, false, "", Stamp::Remove, false),
        ];
        for (name, stamp, now, outstanding, frozen, last, expected, missed) in rows {
            let last_rotation_at = Some(last).filter(|last| !last.is_empty()).map(at);
            let circumstances = Circumstances { windows: &windows, opened: opened(stamp), outstanding, frozen, last_rotation_at };
            let judgement = judge(&circumstances, at(now));
            assert_eq!(judgement, Judgement { stamp: expected, missed: missed.then(|| at(WED)) }, "{name}");
        }
    }

    #[test]
    fn a_window_that_never_closes_is_never_stamped() {
        let windows = open(&["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"], "00:00", "24:00");
        for (opened, stamp) in
            [(OpenedAt::Missing, Stamp::Keep), (OpenedAt::Unreadable, Stamp::Remove), (OpenedAt::At(at(WED)), Stamp::Remove)]
        {
            let circumstances = Circumstances { windows: &windows, opened, outstanding: 1, frozen: false, last_rotation_at: None };
            assert_eq!(judge(&circumstances, at(SAT)), Judgement { stamp, missed: None }, "{opened:?}");
        }
    }
}
