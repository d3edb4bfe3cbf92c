//! Admission reviews: whatever is sent to the endpoints, the answer is one that the API server can read (D11).

use json_patch::Patch;
use noderotation_webhook::review::{Answer, Matter, Review};
use serde_json::Value;

use crate::NOW;

/// Bytes of all warnings that the API server passes on.
const ALL_WARNINGS: usize = 4_096;

/// Holds both endpoints to an answer to the body in `input`.
pub fn check(input: &[u8]) {
    let mut review = match Review::read(input) {
        Ok(review) => review,
        Err(unreadable) => {
            assert!(!unreadable.to_string().chars().any(char::is_control), "{unreadable}");
            return;
        }
    };
    let mutating = noderotation_webhook::default::answer(&review);
    for answer in [&mutating, &noderotation_webhook::validate::answer(&review, NOW)] {
        can_be_read(&review, answer);
        assert!(review.matter() == Matter::Spec || matches!(answer, Answer::Allow { .. }), "{answer:?} to {review:?}");
    }
    if let Answer::Allow { patch: Patch(operations), .. } = mutating {
        let outcome = json_patch::patch(&mut review.object, &operations);
        assert!(outcome.is_ok(), "{outcome:?}");
        assert_eq!(noderotation_webhook::default::answer(&review), Answer::PASS, "asked again after {operations:?}");
        let validating = noderotation_webhook::validate::answer(&review, NOW);
        assert!(matches!(validating, Answer::Allow { .. }), "{validating:?} after {operations:?}");
    }
}

fn can_be_read(review: &Review, answer: &Answer) {
    let envelope = answer.write(review);
    let sent = |pointer: &str| envelope.pointer(pointer).cloned().unwrap_or_default();
    assert_eq!((sent("/apiVersion"), sent("/kind")), ("admission.k8s.io/v1".into(), "AdmissionReview".into()));
    assert_eq!(sent("/response/uid"), review.uid.as_str());
    let allowed = sent("/response/allowed");
    assert!(allowed.is_boolean());
    assert_eq!(sent("/response/patch").is_string(), sent("/response/patchType") == "JSONPatch");
    assert!(allowed == true || (sent("/response/patch").is_null() && sent("/response/status/code").is_number()), "{envelope}");
    let warnings = sent("/response/warnings");
    let lengths = warnings.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::len);
    assert!(lengths.sum::<usize>() <= ALL_WARNINGS, "{warnings}");
    // It is text on the wire and comes back as it was.
    assert_eq!(serde_json::from_str::<Value>(&envelope.to_string()).ok(), Some(envelope));
}
