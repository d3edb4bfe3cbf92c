//! The mutating endpoint: refuses a policy with faults, and fills in what a good one leaves out.
//!
//! It already names every fault, because the API server's schema comes between it and the validating endpoint and would
//! hide the faults that only we can see (review 17).

use jiff::Timestamp;
use noderotation_core::policy::default;

use crate::judge::Judge;
use crate::review::{Answer, Matter, Review};

/// The answer to a review at `now`, from which on windows are measured.
#[must_use]
pub fn answer(review: &Review, judge: &Judge, now: Timestamp) -> Answer {
    match review.matter() {
        Matter::Nothing | Matter::Unchanged => return Answer::PASS,
        Matter::Spec => {}
    }
    let faults = judge.faults(review, now);
    if !faults.is_empty() {
        return Answer::Refuse { faults };
    }
    let old = Some(&review.old).filter(|old| old.is_object());
    // The least change from one object to the other.
    let patch = json_patch::diff(&review.object, &default::apply(old, &review.object));
    Answer::Allow { patch, warnings: Vec::new() }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn review(spec: &Value) -> Review {
        Review {
            uid: "abc".to_owned(),
            operation: "CREATE".to_owned(),
            kind: "RotationPolicy".to_owned(),
            name: "api".to_owned(),
            user: "someone".to_owned(),
            object: json!({"metadata": {"name": "api"}, "spec": spec}),
            old: Value::Null,
        }
    }

    fn answer(review: &Review) -> Answer {
        super::answer(review, &Judge::blind("no cluster"), Timestamp::UNIX_EPOCH)
    }

    fn window(start: &str, end: &str) -> Value {
        json!([{"timezone": "UTC", "days": ["Wed"], "start": start, "end": end}])
    }

    #[test]
    fn a_good_policy_is_filled_in_and_then_needs_nothing_more() {
        let mut review =
            review(&json!({"nodePoolSelector": {}, "maintenanceWindows": window("02:00", "06:00"), "surge": {"cooldownAfter": "20m"}}));
        let Answer::Allow { patch, .. } = answer(&review) else { panic!("refused") };
        let paths: Vec<_> = patch.iter().map(|operation| operation.path().to_string()).collect();
        let has = |path: &str| paths.iter().any(|other| other == path);
        assert!(has("/spec/surge/failurePause") && !has("/spec/surge/cooldownAfter"), "{paths:?}");
        json_patch::patch(&mut review.object, &patch).unwrap();
        assert_eq!(review.object["spec"]["surge"]["failurePause"], "20m");
        assert_eq!(answer(&review), Answer::PASS);
    }

    #[test]
    fn a_refusal_names_every_fault_in_message_and_causes() {
        let review = review(&json!({
            "nodePoolSelector": {"matchLabels": {"workload": "api"}},
            "maintenanceWindows": [{"timezone": "Europe/Berln", "days": ["Wed"], "start": "02:00", "end": "25:00"}],
            "surge": {"readyTimeout": "15 minutes"}
        }));
        let status = answer(&review).write(&review)["response"]["status"].clone();
        insta::assert_snapshot!(status["message"].as_str().unwrap(), @r#"
        RotationPolicy "api" has 3 faults:
        * spec.maintenanceWindows[0].timezone: "Europe/Berln" is not an IANA time zone; did you mean Europe/Berlin?
        * spec.maintenanceWindows[0].end: "25:00" is not a time of day; write HH:MM, 00:00 to 24:00
        * spec.surge.readyTimeout: "15 minutes" is not a duration; write numbers with units, for example 15m or 1h30m
        "#);
        assert_eq!((&status["code"], &status["reason"]), (&json!(422), &json!("Invalid")));
        assert_eq!(
            status["details"]["causes"][1],
            json!({"reason": "FieldValueInvalid", "field": "spec.maintenanceWindows[0].end", "message": "\"25:00\" is not a time of day; write HH:MM, 00:00 to 24:00"})
        );
    }

    #[test]
    fn an_object_that_is_none_is_refused_with_words() {
        let review = Review { object: Value::Null, ..review(&Value::Null) };
        let Answer::Refuse { faults } = answer(&review) else { panic!("allowed") };
        assert_eq!(faults.len(), 1);
    }
}
