//! What is read of a review, what of it is judged, and how an answer is written.

use super::*;

fn body(request: &Value) -> Vec<u8> {
    json!({ "apiVersion": VERSION, "kind": "AdmissionReview", "request": request }).to_string().into_bytes()
}

fn review(operation: &str, object: &Value, old: &Value) -> Review {
    let kind = json!({ "kind": "RotationPolicy" });
    Review::read(&body(&json!({ "uid": "abc", "operation": operation, "kind": kind, "object": object, "oldObject": old }))).unwrap()
}

#[test]
fn a_body_that_cannot_be_answered_says_why() {
    assert!(Review::read(b"{").unwrap_err().to_string().starts_with("the body is not JSON"));
    let beta = br#"{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","request":{"uid":"abc"}}"#;
    let words =
        "the body is \"admission.k8s.io/v1beta1\", not an AdmissionReview of admission.k8s.io/v1; set admissionReviewVersions to [v1]";
    assert_eq!(Review::read(beta).unwrap_err().to_string(), words);
    assert_eq!(Review::read(br#"{"apiVersion":"admission.k8s.io/v1","request":null}"#).unwrap_err(), Unreadable::NoRequest);
    assert_eq!(Review::read(&body(&json!({}))).unwrap().uid, "");
}

#[test]
fn only_a_new_spec_is_judged() {
    let (one, two) = (json!({"spec": {"a": 1}}), json!({"spec": {"a": 2}, "metadata": {"labels": {"x": "y"}}}));
    let going = json!({"spec": {"a": 3}, "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
    let rows = [
        ("CREATE", &one, &Value::Null, Matter::Spec),
        ("UPDATE", &two, &one, Matter::Spec),
        // Without what was before it cannot be told to be the same.
        ("UPDATE", &Value::Null, &Value::Null, Matter::Spec),
        ("UPDATE", &two, &json!({"spec": {"a": 2}}), Matter::Unchanged),
        ("UPDATE", &going, &one, Matter::Nothing),
        ("DELETE", &Value::Null, &one, Matter::Nothing),
        ("CONNECT", &two, &one, Matter::Nothing),
    ];
    for (operation, object, old, matter) in rows {
        assert_eq!(review(operation, object, old).matter(), matter, "{operation} {object}");
    }
    let other = Review { kind: "Pod".to_owned(), ..review("CREATE", &one, &Value::Null) };
    assert_eq!(other.matter(), Matter::Nothing);
}

#[test]
fn the_uid_is_echoed_and_a_patch_is_base64() {
    let review = review("CREATE", &json!({}), &Value::Null);
    let patch = json_patch::diff(&json!({}), &json!({"x": 1}));
    let answer = Answer::Allow { patch, warnings: vec!["careful".to_owned()] };
    assert_eq!(
        answer.write(&review)["response"],
        json!({"uid": "abc", "allowed": true, "patchType": "JSONPatch", "patch": "W3sib3AiOiJhZGQiLCJwYXRoIjoiL3giLCJ2YWx1ZSI6MX1d", "warnings": ["careful"]})
    );
    assert_eq!(Answer::PASS.write(&review)["response"], json!({"uid": "abc", "allowed": true}));
}

#[test]
fn each_answer_has_its_verdict() {
    let warned = Answer::Allow { patch: Patch::default(), warnings: vec!["careful".to_owned()] };
    let verdicts = [Answer::PASS, warned, Answer::Refuse { faults: Vec::new() }, Answer::Broken].map(|answer| answer.verdict());
    assert_eq!(verdicts, crate::server::VERDICTS);
}

#[test]
fn what_could_not_be_judged_is_refused_with_words() {
    let answer = Answer::Broken.write(&review("CREATE", &json!({"metadata": {"name": "api"}}), &Value::Null));
    insta::assert_json_snapshot!(answer, @r#"
    {
      "apiVersion": "admission.k8s.io/v1",
      "kind": "AdmissionReview",
      "response": {
        "allowed": false,
        "status": {
          "code": 500,
          "message": "RotationPolicy \"api\" could not be judged, which is a fault of node-rotation-controller and not of the policy; its log says more",
          "reason": "InternalError",
          "status": "Failure"
        },
        "uid": "abc"
      }
    }
    "#);
}
