//! AdmissionReview in and out, with every shape that it may come in.
//!
//! The envelope is read leniently, so that nothing but a policy's own faults is ever a reason to refuse it. The uid is
//! echoed on every path.

use noderotation_core::policy::fault::Fault;
use serde_json::{Map, Value, json};

/// The one version that is spoken.
const VERSION: &str = "admission.k8s.io/v1";

/// What the API server asks.
#[derive(Clone, Debug, PartialEq)]
pub struct Review {
    /// To be echoed.
    pub uid: String,
    /// `CREATE`, `UPDATE`, or another that is always allowed.
    pub operation: String,
    /// Kind of the object.
    pub kind: String,
    /// Name of the object; empty while the server still has to make one.
    pub name: String,
    /// Who asks.
    pub user: String,
    /// The object as it is to be; `null` on a deletion.
    pub object: Value,
    /// The object as it is; `null` on a creation.
    pub old: Value,
}

/// Why a body is no review that can be answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// Not JSON.
    #[error("the body is not JSON: {0}")]
    NotJson(String),
    /// Another version, or none.
    #[error("the body is {0:?}, not an AdmissionReview of {VERSION}; set admissionReviewVersions to [v1]")]
    Version(String),
    /// No request in it.
    #[error("the AdmissionReview has no request")]
    NoRequest,
}

impl Review {
    /// Reads the body of a request.
    ///
    /// # Errors
    /// When there is no review in it that could be answered.
    pub fn read(body: &[u8]) -> Result<Self, Unreadable> {
        let envelope: Value = serde_json::from_slice(body).map_err(|error| Unreadable::NotJson(error.to_string()))?;
        let text = |pointer: &str| envelope.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let version = text("/apiVersion");
        if version != VERSION {
            return Err(Unreadable::Version(version));
        }
        if !envelope.get("request").is_some_and(Value::is_object) {
            return Err(Unreadable::NoRequest);
        }
        let part = |pointer: &str| envelope.pointer(pointer).cloned().unwrap_or(Value::Null);
        let object = part("/request/object");
        let name = object.pointer("/metadata/name").and_then(Value::as_str).map(str::to_owned);
        Ok(Self {
            uid: text("/request/uid"),
            operation: text("/request/operation"),
            kind: text("/request/kind/kind"),
            name: name.unwrap_or_else(|| text("/request/name")),
            user: text("/request/userInfo/username"),
            object,
            old: part("/request/oldObject"),
        })
    }

    /// There is nothing to judge: the object goes, or is another kind's, or its spec stays as it is.
    ///
    /// Labels, finalizers and the status of a policy must stay editable even if its spec has become faulty.
    #[must_use]
    pub fn needs_no_judgement(&self) -> bool {
        let judged = matches!(self.operation.as_str(), "CREATE" | "UPDATE") && self.kind == "RotationPolicy";
        let going = self.object.pointer("/metadata/deletionTimestamp").is_some_and(|at| !at.is_null());
        let unchanged = self.operation == "UPDATE" && self.old.is_object() && self.old.get("spec") == self.object.get("spec");
        !judged || going || unchanged
    }
}

/// What is answered.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// It may pass.
    Allow {
        /// JSON Patch operations; none if nothing is to be changed.
        patch: Vec<Value>,
        /// Sentences for whoever asked.
        warnings: Vec<String>,
    },
    /// It is refused, with every fault.
    Refuse {
        /// The faults, in the order of the fields.
        faults: Vec<Fault>,
    },
}

impl Answer {
    /// It may pass as it is.
    pub const PASS: Self = Self::Allow { patch: Vec::new(), warnings: Vec::new() };

    /// The value of the metric's label `verdict`.
    #[must_use]
    pub fn verdict(&self) -> &'static str {
        match self {
            Self::Allow { .. } => "allowed",
            Self::Refuse { .. } => "refused",
        }
    }

    /// The body of the answer.
    #[must_use]
    pub fn write(&self, review: &Review) -> Value {
        let response = match self {
            Self::Allow { patch, warnings } => allowed(&review.uid, patch, warnings),
            Self::Refuse { faults } => json!({ "uid": review.uid, "allowed": false, "status": status(&review.name, faults) }),
        };
        json!({ "apiVersion": VERSION, "kind": "AdmissionReview", "response": response })
    }
}

fn allowed(uid: &str, patch: &[Value], warnings: &[String]) -> Value {
    let mut response = Map::new();
    response.insert("uid".to_owned(), json!(uid));
    response.insert("allowed".to_owned(), json!(true));
    if !patch.is_empty() {
        let bytes = k8s_openapi::ByteString(Value::from(patch.to_vec()).to_string().into_bytes());
        response.insert("patchType".to_owned(), json!("JSONPatch"));
        // Base64, as the API server wants it.
        response.insert("patch".to_owned(), json!(bytes));
    }
    if !warnings.is_empty() {
        response.insert("warnings".to_owned(), json!(warnings));
    }
    Value::Object(response)
}

/// The refusal as a Status. kubectl shows either the causes or the message, so each is complete by itself.
fn status(name: &str, faults: &[Fault]) -> Value {
    let cause = |fault: &Fault| json!({ "reason": fault.code.reason(), "field": fault.field, "message": fault.words() });
    let list: Vec<String> = faults.iter().map(|fault| format!("\n* {fault}")).collect();
    json!({
        "status": "Failure",
        "reason": "Invalid",
        "code": 422,
        "message": format!("RotationPolicy {name:?} has {}:{}", count(faults.len()), list.concat()),
        "details": {
            "name": name,
            "group": "noderotation.io",
            "kind": "RotationPolicy",
            "causes": faults.iter().map(cause).collect::<Vec<_>>(),
        },
    })
}

fn count(faults: usize) -> String {
    if faults == 1 { "1 fault".to_owned() } else { format!("{faults} faults") }
}

#[cfg(test)]
mod tests {
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
    fn what_does_not_change_a_policy_is_not_judged() {
        let (good, bad) = (json!({"spec": {"a": 1}}), json!({"spec": {"a": 2}, "metadata": {"labels": {"x": "y"}}}));
        assert!(!review("CREATE", &good, &Value::Null).needs_no_judgement());
        assert!(!review("UPDATE", &bad, &good).needs_no_judgement());
        assert!(review("UPDATE", &bad, &json!({"spec": {"a": 2}})).needs_no_judgement());
        assert!(review("DELETE", &Value::Null, &good).needs_no_judgement());
        assert!(review("CONNECT", &bad, &good).needs_no_judgement());
        assert!(
            review("UPDATE", &json!({"spec": {"a": 3}, "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}), &good)
                .needs_no_judgement()
        );
        let other = Review { kind: "Pod".to_owned(), ..review("CREATE", &good, &Value::Null) };
        assert!(other.needs_no_judgement());
    }

    #[test]
    fn the_uid_is_echoed_and_a_patch_is_base64() {
        let review = review("CREATE", &json!({}), &Value::Null);
        let answer = Answer::Allow { patch: vec![json!({"op": "add", "path": "/x", "value": 1})], warnings: vec!["careful".to_owned()] };
        assert_eq!(
            answer.write(&review)["response"],
            json!({"uid": "abc", "allowed": true, "patchType": "JSONPatch", "patch": "W3sib3AiOiJhZGQiLCJwYXRoIjoiL3giLCJ2YWx1ZSI6MX1d", "warnings": ["careful"]})
        );
        assert_eq!(Answer::PASS.write(&review)["response"], json!({"uid": "abc", "allowed": true}));
    }
}
