//! Which situation makes which alerts fire, and how the recording is stretched for it.
//!
//! Each step holds one scrape for some minutes: its values are repeated as they were scraped. Two things are chosen here and
//! come from no cluster: how long a step lasts, and in one plan how late the clock is.

use anyhow::Result;
use e2e::recording::Recording;
use e2e::replay::{self, Fire, NOTHING, Play, Rules};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;

const HOUR: u32 = 60;
const DAY: u32 = 24 * HOUR;
const HOURS_OF_A_DAY: i64 = 24;
const SECONDS_OF_AN_HOUR: i64 = 3600;
const CERTIFICATE: &str = "noderotation_certificate_not_after_timestamp";

/// A recording, how it is played, and what comes of it.
pub(super) struct Plan {
    /// What is told in this way.
    pub(super) name: &'static str,
    /// The recording.
    pub(super) situation: &'static str,
    /// What is held, and for how many minutes.
    steps: &'static [(&'static str, u32)],
    /// Minutes between scrapes.
    every: u32,
    /// Days before the end of the certificate at which the play begins, where it does not begin when it was recorded.
    ahead: Option<i64>,
    /// What fires at the end.
    pub(super) fires: &'static [Expected],
    /// What has fired and is over.
    over: &'static [&'static str],
}

/// An alert that fires.
pub(super) struct Expected {
    /// Its name.
    pub(super) alert: &'static str,
    labels: &'static [(&'static str, &'static str)],
    value: Said,
}

/// What the texts of an alert say for its value.
enum Said {
    /// This, or nothing.
    Text(&'static str),
    /// The time that a series has at the last step.
    Time(&'static str),
    /// How long the certificate lasts from the end of the play on.
    Left,
    /// By how much passes have failed more often, scaled up from four minutes to the five that the alert looks back.
    Failed,
}

const fn of(alert: &'static str, labels: &'static [(&'static str, &'static str)]) -> Expected {
    Expected { alert, labels, value: Said::Text("") }
}

const fn saying(alert: &'static str, labels: &'static [(&'static str, &'static str)], value: Said) -> Expected {
    Expected { alert, labels, value }
}

const fn plan(
    name: &'static str,
    situation: &'static str,
    steps: &'static [(&'static str, u32)],
    every: u32,
    fires: &'static [Expected],
) -> Plan {
    Plan { name, situation, steps, every, ahead: None, fires, over: &[] }
}

/// All of them.
pub(super) const PLANS: &[Plan] = &[
    // Two windows of three and a half hours a few hours apart, minute by minute.
    plan(
        "quiet-day",
        "quiet",
        &[
            ("closed", 6 * HOUR),
            ("rotating-1", 30),
            ("done-1", 3 * HOUR),
            ("closed-1", 6 * HOUR),
            ("rotating-2", 30),
            ("done-2", 3 * HOUR),
            ("closed-2", 6 * HOUR),
        ],
        1,
        &[],
    ),
    // The same two windows a week apart, long enough for the alert that looks back over sixteen days.
    plan(
        "quiet-weeks",
        "quiet",
        &[
            ("closed", 3 * DAY),
            ("rotating-1", 30),
            ("done-1", 3 * HOUR + 30),
            ("closed-1", 7 * DAY - 4 * HOUR),
            ("rotating-2", 30),
            ("done-2", 3 * HOUR + 30),
            ("closed-2", 7 * DAY),
        ],
        30,
        &[],
    ),
    // Nobody renews the certificate that was served in the quiet time, and the clock comes near its end.
    Plan {
        ahead: Some(8),
        ..plan("certificate", "quiet", &[("closed", 2 * DAY)], 30, &[saying("NodeRotationCertificateExpires", &[], Said::Left)])
    },
    plan(
        "failing",
        "failing",
        &[("before", 10), ("once", 10), ("thrice", 35)],
        1,
        &[
            of("NodeRotationCompletedFailureOrExpired", &[("nodepool", "failing"), ("outcome", "failure")]),
            saying("NodeRotationRetryCountHigh", &[("nodepool", "failing")], Said::Text("3")),
            of("NodeRotationStalledInWindow", &[("nodepool", "failing")]),
        ],
    ),
    plan(
        "expired",
        "expired",
        &[("before", 10), ("expired", 10)],
        1,
        &[of("NodeRotationCompletedFailureOrExpired", &[("nodepool", "expired"), ("outcome", "expired")])],
    ),
    Plan {
        over: &["NodeRotationShortLeadNodes"],
        ..plan(
            "fallback",
            "fallback",
            &[("before", 10), ("done", 10)],
            1,
            &[of("NodeRotationForcefulFallback", &[("nodepool", "fallback")])],
        )
    },
    plan(
        "stuck",
        "stuck",
        &[("before", 10), ("draining", 10), ("stuck", 10)],
        1,
        &[of("NodeRotationDrainStuck", &[("nodepool", "stuck")])],
    ),
    Plan {
        over: &["NodeRotationDrainStuck"],
        ..plan("stuck-no-more", "stuck", &[("before", 10), ("draining", 10), ("stuck", 10), ("over", 10)], 1, &[])
    },
    // A window that is open for hours.
    plan(
        "stalled",
        "stalled",
        &[("before", 10), ("stalled", 5 * HOUR)],
        1,
        &[of("NodeRotationStalledInWindow", &[("nodepool", "stalled")])],
    ),
    // A window that is open for weeks.
    plan(
        "stalled-for-weeks",
        "stalled",
        &[("stalled", 17 * DAY)],
        30,
        &[
            of("NodeRotationStalledInWindow", &[("nodepool", "stalled")]),
            of("NodeRotationCandidatesNotDraining", &[("nodepool", "stalled")]),
        ],
    ),
    plan(
        "missed",
        "missed",
        &[("before", 10), ("missed", 10)],
        1,
        &[
            of("NodeRotationWindowMissed", &[("nodepool", "missed")]),
            of("NodeRotationCompletedFailureOrExpired", &[("nodepool", "missed"), ("outcome", "failure")]),
        ],
    ),
    plan(
        "short",
        "short",
        &[("short", 30)],
        1,
        &[
            saying("NodeRotationShortLeadNodes", &[("nodepool", "short")], Said::Text("1")),
            saying("NodeRotationExpiryBeforeWindow", &[("nodepool", "short")], Said::Time("noderotation_next_deadline_timestamp")),
        ],
    ),
    plan("infeasible", "infeasible", &[("infeasible", 30)], 1, &[of("NodeRotationInfeasible", &[("nodepool", "infeasible")])]),
    plan("conflict", "conflict", &[("before", 10), ("tied", 30)], 1, &[of("NodeRotationPolicyConflict", &[("nodepool", "conflict")])]),
    Plan {
        over: &["NodeRotationPolicyConflict"],
        ..plan("conflict-no-more", "conflict", &[("before", 10), ("tied", 30), ("after", 10)], 1, &[])
    },
    plan(
        "errors",
        "errors",
        &[
            ("before", 10),
            ("failed-1", 4),
            ("failed-2", 4),
            ("failed-3", 4),
            ("failed-4", 4),
            ("failed-5", 4),
            ("failed-6", 4),
            ("failed-7", 4),
        ],
        1,
        &[saying("NodeRotationPassesFail", &[], Said::Failed)],
    ),
    plan("leaderless", "leaderless", &[("led", 10), ("leaderless", 10)], 1, &[of("NodeRotationNoLeader", &[])]),
    plan("nobody", "leaderless", &[("led", 10), (NOTHING, 10)], 1, &[of("NodeRotationNoLeader", &[])]),
    plan("led-again", "leaderless", &[("led", 10), ("leaderless", 2), ("led-again", 10)], 1, &[]),
];

impl Plan {
    /// The test of this plan for these alerts alone.
    pub(super) fn test(&self, rules: &Rules, asked: &[&str]) -> Result<Value> {
        let recording = super::recording(self.situation)?;
        let (last, _) = self.steps.last().copied().unwrap_or((NOTHING, 0));
        let later = match self.ahead {
            None => 0,
            Some(days) => hours_until(&recording, last)? - days * HOURS_OF_A_DAY,
        };
        let play = Play { recording: &recording, steps: self.steps, every: self.every, later };
        let wanted = self.fires.iter().filter(|fire| asked.contains(&fire.alert));
        let values = wanted.clone().map(|fire| fire.value.text(&play, last)).collect::<Result<Vec<_>>>()?;
        let fires: Vec<Fire<'_>> =
            wanted.zip(&values).map(|(fire, value)| Fire { alert: fire.alert, labels: fire.labels, value }).collect();
        replay::alerts(&play, rules, asked, &fires, self.over)
    }
}

/// Whole hours from the beginning of a recording to the end of its certificate.
#[expect(clippy::cast_possible_truncation, reason = "seconds of this century")]
fn hours_until(recording: &Recording, reading: &str) -> Result<i64> {
    Ok((recording.value(CERTIFICATE, reading)? as i64 - recording.begun.as_second()) / SECONDS_OF_AN_HOUR)
}

impl Said {
    #[expect(clippy::cast_possible_truncation, reason = "seconds of this century")]
    fn text(&self, play: &Play<'_>, last: &str) -> Result<String> {
        Ok(match self {
            Self::Text(text) => (*text).to_owned(),
            Self::Time(series) => {
                let time = Timestamp::from_second(play.recording.value(series, last)? as i64)?;
                time.to_zoned(TimeZone::UTC).strftime("%Y-%m-%d %H:%M:%S +0000 UTC").to_string()
            }
            Self::Left => {
                let end = play.start()?.as_second() + i64::from(play.minutes()) * 60;
                let left = play.recording.value(CERTIFICATE, last)? as i64 - end;
                format!("{}d {}h {}m {}s", left / 86_400, left / 3600 % 24, left / 60 % 60, left % 60)
            }
            Self::Failed => {
                let (names, series) =
                    (play.recording.readings().collect::<Vec<_>>(), "noderotation_reconcile_total{pod=\"errors-1\",result=\"error\"}");
                let before = names.iter().rev().nth(1).copied().unwrap_or_default();
                let more = play.recording.value(series, last)? - play.recording.value(series, before)?;
                format!("{}", more * 5.0 / 4.0)
            }
        })
    }
}
