//! Admission reviews: whatever is sent to the endpoints, the answer is one that the API server can read (D11).

use std::sync::{Arc, LazyLock};

use json_patch::{Patch, PatchOperation};
use noderotation_core::doubt::Strictness;
use noderotation_core::karpenter::NodePool;
use noderotation_core::surroundings::Surroundings;
use noderotation_webhook::judge::Judge;
use noderotation_webhook::review::{Answer, Matter, Review};
use serde_json::{Value, json};

use crate::NOW;

/// Bytes of all warnings that the API server passes on.
const ALL_WARNINGS: usize = 4_096;

/// One that sees nothing and one that sees a small cluster and refuses what it can.
static JUDGES: LazyLock<[Judge; 2]> = LazyLock::new(|| {
    let windows = json!([{"timezone": "UTC", "days": ["Wed"], "start": "02:00", "end": "06:00"}]);
    let policy = |name: &str, labels: Value| json!({"metadata": {"name": name}, "spec": {"nodePoolSelector": {"matchLabels": labels}, "maintenanceWindows": windows}});
    let pool = |name: &str, labels: Value, life: &str| {
        let template = json!({"spec": {"expireAfter": life}});
        serde_json::from_value::<NodePool>(json!({"metadata": {"name": name, "labels": labels}, "spec": {"template": template}}))
    };
    let pools = [
        pool("plain", json!({}), "336h"),
        pool("short", json!({"workload": "api"}), "48h"),
        pool("long", json!({"workload": "api", "tier": "gold"}), "720h"),
    ];
    let policies = [policy("all", json!({})), policy("api", json!({"workload": "api"})), policy("gold", json!({"tier": "gold"}))];
    let surroundings = Arc::new(Surroundings::new(&policies, pools.into_iter().flatten()));
    let strictness = Strictness { deny_ties: true, deny_infeasible: true };
    [Judge::blind("no cluster"), Judge { sight: Arc::new(move || Ok(Arc::clone(&surroundings))), strictness }]
});

/// Holds both endpoints to an answer to the body in `input`.
pub fn check(input: &[u8]) {
    let review = match Review::read(input) {
        Ok(review) => review,
        Err(unreadable) => {
            assert!(!unreadable.to_string().chars().any(char::is_control), "{unreadable}");
            return;
        }
    };
    for judge in JUDGES.iter() {
        answers_agree(review.clone(), judge);
    }
}

fn answers_agree(mut review: Review, judge: &Judge) {
    let mutating = noderotation_webhook::default::answer(&review, judge, NOW);
    let validating = noderotation_webhook::validate::answer(&review, judge, NOW);
    for answer in [&mutating, &validating] {
        can_be_read(&review, answer);
        assert!(review.matter() == Matter::Spec || matches!(answer, Answer::Allow { .. }), "{answer:?} to {review:?}");
    }
    // Nothing is left for the second to find that the first has not told (review 17).
    match (&mutating, &validating) {
        (Answer::Refuse { faults: first }, Answer::Refuse { faults: second }) => assert_eq!(first, second),
        (Answer::Allow { .. }, Answer::Allow { .. }) => {}
        (first, second) => assert_eq!(first, second, "to {review:?}"),
    }
    if let Answer::Allow { patch: Patch(operations), .. } = mutating {
        each_change_is_needed(&review, judge, &operations);
        let outcome = json_patch::patch(&mut review.object, &operations);
        assert!(outcome.is_ok(), "{outcome:?}");
        assert_eq!(noderotation_webhook::default::answer(&review, judge, NOW), Answer::PASS, "asked again after {operations:?}");
        let validating = noderotation_webhook::validate::answer(&review, judge, NOW);
        assert!(matches!(validating, Answer::Allow { .. }), "{validating:?} after {operations:?}");
    }
}

/// A patch is minimal: without any one of its changes the endpoint would ask for it again. But for the record of what was
/// derived, without which a derived value is taken for a person's.
fn each_change_is_needed(review: &Review, judge: &Judge, operations: &[PatchOperation]) {
    for (index, left_out) in operations.iter().enumerate() {
        let path = left_out.path().to_string();
        if path.starts_with("/metadata") {
            assert!(path == "/metadata" || path.starts_with("/metadata/annotations"), "{path} is not ours");
            continue;
        }
        assert!(path.starts_with("/spec/"), "{path} is not ours");
        let mut partly = review.clone();
        for (_, operation) in operations.iter().enumerate().filter(|(other, _)| *other != index) {
            let outcome = json_patch::patch(&mut partly.object, std::slice::from_ref(operation));
            assert!(outcome.is_ok(), "{outcome:?} without {left_out:?}");
        }
        assert_ne!(
            noderotation_webhook::default::answer(&partly, judge, NOW),
            Answer::PASS,
            "{left_out:?} of {operations:?} is for nothing"
        );
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
