//! The validating endpoint: the same judgement on the object as it will be stored, and what is doubtful about it.

use jiff::Timestamp;
use json_patch::Patch;
use noderotation_core::policy::fault::Fault;
use noderotation_core::policy::validate::validate;
use noderotation_core::policy::warning::warnings;

use crate::judge::{Judge, Judgement};
use crate::review::{Answer, Matter, Review};
use crate::warning::fit;

/// The answer to a review at `now`, from which on windows are measured.
#[must_use]
pub fn answer(review: &Review, judge: &Judge, now: Timestamp) -> Answer {
    match review.matter() {
        Matter::Nothing => Answer::PASS,
        Matter::Unchanged => match validate(&review.object) {
            Ok(governing) => allow(warnings(&review.object, &governing, now)),
            Err(faults) => allow(faults.iter().map(reminder).collect()),
        },
        Matter::Spec => match judge.judge(review, now) {
            Judgement { faults, warnings } if faults.is_empty() => allow(warnings),
            Judgement { faults, .. } => Answer::Refuse { faults },
        },
    }
}

fn allow(warnings: Vec<String>) -> Answer {
    Answer::Allow { patch: Patch::default(), warnings: fit(warnings) }
}

/// Of a fault that was stored before there was a rule against it.
fn reminder(fault: &Fault) -> String {
    format!("not rotating by this policy until its spec is changed: {fault}")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;

    fn policy(zone: &str, end: &str) -> Value {
        let window = json!({"timezone": zone, "days": ["Wed"], "start": "02:00", "end": end});
        json!({"metadata": {"name": "api"}, "spec": {"nodePoolSelector": {}, "maintenanceWindows": [window]}})
    }

    fn asked(operation: &str, object: Value, old: Value) -> Answer {
        let judge = Judge { sight: Arc::new(|| Ok(Arc::default())), ..Judge::blind("") };
        let [uid, name, user] = ["abc", "api", "someone"].map(str::to_owned);
        answer(
            &Review { uid, operation: operation.to_owned(), kind: "RotationPolicy".to_owned(), name, user, object, old },
            &judge,
            "2026-01-01T00:00:00Z".parse().unwrap(),
        )
    }

    fn warned(answer: Answer) -> Vec<String> {
        let Answer::Allow { patch, warnings } = answer else { panic!("not allowed: {answer:?}") };
        assert_eq!(patch, Patch::default());
        warnings
    }

    #[test]
    fn c168_a_faulty_spec_is_refused_unless_it_was_there_before() {
        let (good, bad) = (policy("UTC", "06:00"), policy("Mars/Olympus", "06:00"));
        for (operation, old) in [("CREATE", Value::Null), ("UPDATE", good.clone())] {
            assert!(matches!(asked(operation, bad.clone(), old), Answer::Refuse { faults } if faults.len() == 1), "{operation}");
        }
        assert_eq!(warned(asked("UPDATE", good.clone(), bad.clone())).len(), 1);
        let labelled = json!({"metadata": {"name": "api", "labels": {"team": "a"}}, "spec": bad["spec"]});
        insta::assert_snapshot!(warned(asked("UPDATE", labelled, bad.clone())).join("\n"), @r#"not rotating by this policy until its spec is changed: spec.maintenanceWindows[0].timezone: "Mars/Olympus" is not an IANA time zone; write an IANA name such as Europe/Berlin or UTC"#);
        assert_eq!(asked("DELETE", Value::Null, bad), Answer::PASS);
        assert_eq!(asked("UPDATE", good.clone(), good), Answer::PASS);
    }

    #[test]
    fn what_is_doubtful_is_told_and_passes() {
        let warnings = warned(asked("CREATE", policy("UTC", "23:59"), Value::Null));
        assert!(matches!(warnings.as_slice(), [pools, minute] if pools.contains("NodePool") && minute.contains("23:59")), "{warnings:?}");
    }
}
