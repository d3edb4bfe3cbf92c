//! Policies: whoever is asked about an object says the same, and defaults change no verdict (D3, D11).

use json_patch::Patch;
use noderotation_core::check::{FaultReport, Strictness, Subjects};
use noderotation_core::policy::default;
use noderotation_core::policy::fault::Fault;
use noderotation_core::policy::governing::Governing;
use noderotation_core::policy::validate::validate;
use noderotation_core::policy::warning::warnings;
use noderotation_core::resolve::PolicyEntry;
use noderotation_manifest::Manifest;
use noderotation_webhook::judge::Judge;
use noderotation_webhook::review::{Answer, MOST_FAULTS, Review};
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::NOW;

/// More documents than these show nothing that fewer do not.
const MOST_DOCUMENTS: usize = 4;

/// Nothing, or the whole sentence of every fault.
type Verdict = Result<(), Vec<String>>;

/// Holds the verdicts on the YAML documents in `input` against each other. Each is also taken for a change of the one
/// before it.
pub fn check(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    reading_ends(&text);
    let mut old = Value::Null;
    for document in serde_yaml_ng::Deserializer::from_str(&text).take(MOST_DOCUMENTS) {
        let Ok(mut object) = Value::deserialize(document) else {
            return;
        };
        // The API server lets nobody create what is going already.
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("deletionTimestamp");
        }
        let Some(review) = asked("CREATE", &object, &Value::Null) else {
            return;
        };
        verdicts_agree(&review);
        warnings_are_short(&review.object);
        defaults_change_no_verdict(&review.object, &old);
        old = review.object;
    }
}

/// Everybody who judges an object, and what they say of it. Another party gets a line here and nothing else.
fn parties(review: &Review) -> Vec<(&'static str, Verdict)> {
    let judge = Judge::blind("no cluster");
    vec![
        ("the rules", verdict(&validate(&review.object))),
        ("the operator", verdict(&PolicyEntry::from_object(&review.object).judgement)),
        ("the mutating endpoint", answered(review, &noderotation_webhook::default::answer(review, &judge, NOW))),
        ("the validating endpoint", answered(review, &noderotation_webhook::validate::answer(review, &judge, NOW))),
        ("the offline check", offline(&review.object)),
    ]
}

/// What `check` says of an object, but for what only the reader of a file can see: a name that is missing, and fields that
/// the API server drops.
fn offline(object: &Value) -> Verdict {
    let subjects = Subjects { policies: std::slice::from_ref(object), pools: &[], claims: &[] };
    let report = noderotation_core::check::check(subjects, Strictness::default(), NOW);
    let unseen = |fault: &&FaultReport| {
        assert!(!fault.message.chars().any(char::is_control) && !fault.field.chars().any(char::is_control), "{fault:?}");
        fault.field == "metadata.name" || fault.message.contains("is not a field of RotationPolicy")
    };
    let faults = report.policies.iter().flat_map(|policy| &policy.faults).filter(|fault| !unseen(fault));
    let sentences: Vec<String> = faults.map(|fault| format!("{}: {}", fault.field, fault.message)).collect();
    if sentences.is_empty() { Ok(()) } else { Err(sentences) }
}

/// Any text is read to an end, and what cannot be read is one line with its place.
fn reading_ends(text: &str) {
    let mut manifest = Manifest::default();
    manifest.add("file", text);
    for line in manifest.errors.iter().chain(&manifest.notes) {
        assert!(line.starts_with("file:") && !line.chars().any(char::is_control), "{line:?}");
    }
    for policy in &manifest.policies {
        assert!(policy.at("spec.surge.readyTimeout").starts_with("file:"));
        let _verdict = offline(&policy.value);
    }
}

fn verdicts_agree(review: &Review) {
    let parties = parties(review);
    for ((one, said), (other, says)) in parties.iter().zip(parties.iter().skip(1)) {
        assert_eq!(said, says, "{one} and {other} of {}", review.object);
    }
}

/// A review as the API server sends it; `None` of an object that is nested too deep to be sent.
fn asked(operation: &str, object: &Value, old: &Value) -> Option<Review> {
    let envelope = json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {"uid": "abc", "operation": operation, "kind": {"kind": "RotationPolicy"}, "object": object, "oldObject": old},
    });
    Review::read(envelope.to_string().as_bytes()).ok()
}

fn verdict<Policy>(judgement: &Result<Policy, Vec<Fault>>) -> Verdict {
    judgement.as_ref().map(|_| ()).map_err(|faults| sentences(faults))
}

fn sentences(faults: &[Fault]) -> Vec<String> {
    assert!(!faults.is_empty(), "a refusal without a fault");
    let sentences: Vec<String> = faults.iter().map(ToString::to_string).collect();
    for sentence in &sentences {
        assert!(!sentence.chars().any(char::is_control), "{sentence:?} is more than one line");
    }
    sentences
}

/// The verdict in an answer as it is sent: every fault stands in the message and among the causes.
fn answered(review: &Review, answer: &Answer) -> Verdict {
    let envelope = answer.write(review);
    let sent = |pointer: &str| envelope.pointer(pointer).cloned().unwrap_or_default();
    assert_eq!(sent("/response/uid"), "abc");
    assert_eq!(sent("/response/allowed"), matches!(answer, Answer::Allow { .. }));
    match answer {
        Answer::Allow { .. } => Ok(()),
        Answer::Refuse { faults } => {
            let sentences = sentences(faults);
            let message = sent("/response/status/message");
            let listed: Vec<&str> = message.as_str().map(|message| message.split("\n* ").skip(1).collect()).unwrap_or_default();
            let told: Vec<&String> = sentences.iter().take(MOST_FAULTS).collect();
            assert_eq!(listed.get(..told.len()).unwrap_or_default(), told, "{message}");
            assert_eq!(listed.len(), told.len() + usize::from(sentences.len() > MOST_FAULTS), "{message}");
            assert_eq!(sent("/response/status/details/causes").as_array().map(Vec::len), Some(listed.len()));
            Err(sentences)
        }
        Answer::Broken => Err(vec!["broken".to_owned()]),
    }
}

/// As the API server passes them on (review 21).
fn warnings_are_short(object: &Value) {
    let told = validate(object).map(|governing| warnings(object, &governing, NOW)).unwrap_or_default();
    for warning in told {
        assert!(warning.len() <= 256 && !warning.chars().any(char::is_control), "{warning:?}");
    }
}

fn defaults_change_no_verdict(object: &Value, old: &Value) {
    let filled = default::apply(None, object);
    assert_eq!(default::apply(None, &filled), filled, "defaults of {object}");
    let judged = validate(object);
    match &judged {
        Ok(governing) => assert_eq!(validate(&filled), Ok(with_estimate(governing, &filled)), "{filled}"),
        Err(_) => assert_eq!(verdict(&validate(&filled)), verdict(&judged), "{filled}"),
    }
    the_patch_leads_there(object, &Value::Null, &filled);
    if old.is_object() {
        let changed = default::apply(Some(old), object);
        assert_eq!(verdict(&validate(&changed)), verdict(&judged), "{changed} after {old}");
        assert_eq!(default::apply(Some(&changed), &changed), changed, "defaults of {object} after {old}");
        // The API server asks again within one change if somebody else has changed something too.
        assert_eq!(default::apply(Some(old), &changed), changed, "defaults of {object} after {old}");
        the_patch_leads_there(object, old, &changed);
    }
}

/// A default spells out the estimate that was only implied before; nothing else of what governs may differ.
fn with_estimate(governing: &Governing, filled: &Value) -> Governing {
    let spelt = filled.pointer("/spec/surge/provisioningEstimate").and_then(Value::as_str);
    let spelt = spelt.and_then(|text| noderotation_core::duration::parse(text).ok());
    Governing { provisioning_estimate: governing.provisioning_estimate.or(spelt), ..governing.clone() }
}

/// The mutating endpoint's patch makes `filled` of `object`.
fn the_patch_leads_there(object: &Value, old: &Value, filled: &Value) {
    let operation = if old.is_null() { "CREATE" } else { "UPDATE" };
    let judge = Judge::blind("no cluster");
    let answer = asked(operation, object, old).map(|review| noderotation_webhook::default::answer(&review, &judge, NOW));
    let Some(Answer::Allow { patch: Patch(operations), .. }) = answer else {
        return;
    };
    if old.get("spec").is_some() && old.get("spec") == object.get("spec") {
        assert!(operations.is_empty(), "a spec that stays is changed: {operations:?}");
        return;
    }
    let mut patched = object.clone();
    let outcome = json_patch::patch(&mut patched, &operations);
    assert!(outcome.is_ok(), "{outcome:?}");
    assert_eq!(&patched, filled);
}
