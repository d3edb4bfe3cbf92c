//! A report as JSON, for `/debug/state`.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::Report;
use crate::annotation::stamp;
use crate::duration::human;
use crate::policy::NextWindow;
use crate::schedule::Derived;
use crate::selection::{Candidate, Survey};

impl Report {
    /// Everything in it: times in RFC 3339, durations as people write them, null for what there is not.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "policy": self.policy.as_ref().map(|policy| policy.name.as_str()),
            "state": self.activity.state().name(),
            "sentence": self.activity.sentence(),
            "nodeClaim": self.activity.claim(),
            "drainStuck": self.drain_stuck,
            "windowOpen": self.window_open,
            "nextWindow": self.next_window.map(NextWindow::from),
            "freezeUntil": time(self.freeze_until),
            "claims": self.survey.as_ref().map(claims),
            "schedule": self.derived.as_ref().map(schedule),
        })
    }
}

fn time(at: Option<Timestamp>) -> Value {
    at.map(stamp).into()
}

fn claims(survey: &Survey) -> Value {
    let census: Map<String, Value> = survey.census.iter().map(|(standing, count)| (format!("{standing:?}"), json!(count))).collect();
    let listed = |candidates: &[Candidate]| -> Value {
        candidates.iter().map(|candidate| json!({"name": candidate.name, "deadline": time(candidate.deadline)})).collect()
    };
    json!({
        "census": census,
        "eligible": listed(&survey.eligible),
        "inBackoff": listed(&survey.in_backoff),
        "failed": survey.failed,
        "highestRetryCount": survey.highest_retry_count,
        "shortLead": survey.short_lead,
        "nextDeadline": time(survey.next_deadline),
        "nextChange": time(survey.next_change),
    })
}

fn schedule(derived: &Derived) -> Value {
    let sign = if derived.age_threshold.is_negative() { "-" } else { "" };
    let findings = derived.findings.iter();
    let findings: Value =
        findings.map(|finding| json!({"code": finding.code.to_string(), "level": finding.level, "sentence": finding.sentence})).collect();
    json!({
        "ageThreshold": format!("{sign}{}", human(derived.age_threshold.unsigned_abs())),
        "rotationChances": derived.chances,
        "throughputCapacity": derived.capacity,
        "tRotEstimate": human(derived.t_rot_estimate),
        "tRotBound": human(derived.t_rot),
        "windowPeriod": derived.period.map(human),
        "findings": findings,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::{Closed, Gate};
    use crate::policy::finding::{Finding, FindingCode};
    use crate::rotation::report::Activity;
    use crate::selection::Standing;
    use crate::window::Occurrence;

    #[test]
    fn everything_that_a_pass_has_seen_is_there() {
        let at = |text: &str| -> Timestamp { text.parse().unwrap() };
        let open = at("2026-01-07T02:00:00Z");
        let candidate =
            Candidate { name: "api-1".to_owned(), deadline: Some(at("2026-01-09T00:00:00Z")), created: at("2026-01-01T00:00:00Z") };
        let survey = Survey {
            census: [(Standing::Eligible, 1), (Standing::NotTriggered, 3)].into(),
            eligible: vec![candidate],
            next_deadline: Some(at("2026-01-09T00:00:00Z")),
            ..Survey::default()
        };
        let derived = Derived {
            age_threshold: jiff::SignedDuration::from_hours(100),
            chances: 2,
            period: Some(std::time::Duration::from_secs(96 * 3600)),
            findings: vec![Finding::new(FindingCode::TGPUnset, "no grace period".to_owned())],
            ..Derived::default()
        };
        let report = Report {
            policy: None,
            activity: Activity::Gated(Closed { gate: Gate::OutOfWindow, until: Some(open) }),
            window_open: false,
            next_window: Some(Occurrence { open, close: at("2026-01-07T06:00:00Z") }),
            freeze_until: None,
            survey: Some(survey),
            derived: Some(derived),
            drain_stuck: false,
            policy_conflict: false,
        };
        insta::assert_snapshot!(serde_json::to_string_pretty(&report.to_json()).unwrap());
    }
}
