//! AdmissionReview in and out, with every shape that it may come in.
//!
//! The envelope is read leniently, so that nothing but a policy's own faults is ever a reason to refuse it. The uid is
//! echoed on every path.

use json_patch::Patch;
use noderotation_core::policy::fault::Fault;
use serde_json::{Map, Value, json};

/// More faults than anybody reads; so many are told one by one, and of the rest how many there are.
pub const MOST_FAULTS: usize = 100;
/// The group of the one kind that is judged.
const GROUP: &str = "noderotation.io";
/// The one version that is spoken.
const VERSION: &str = "admission.k8s.io/v1";

/// What the API server asks.
#[derive(Clone, Debug, PartialEq)]
pub struct Review {
    /// To be echoed.
    pub uid: String,
    /// `CREATE`, `UPDATE`, or another that is always allowed.
    pub operation: String,
    /// Kind of the object; empty if another group has a kind of that name, or only a subresource is asked about.
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
        let ours = matches!(text("/request/kind/group").as_str(), "" | GROUP) && text("/request/subResource").is_empty();
        let object = part("/request/object");
        let name = object.pointer("/metadata/name").and_then(Value::as_str).map(str::to_owned);
        Ok(Self {
            uid: text("/request/uid"),
            operation: text("/request/operation"),
            kind: if ours { text("/request/kind/kind") } else { String::new() },
            name: name.unwrap_or_else(|| text("/request/name")),
            user: text("/request/userInfo/username"),
            object,
            old: part("/request/oldObject"),
        })
    }

    /// What the review asks for.
    #[must_use]
    pub fn matter(&self) -> Matter {
        let judged = matches!(self.operation.as_str(), "CREATE" | "UPDATE") && self.kind == "RotationPolicy";
        let going = self.object.pointer("/metadata/deletionTimestamp").is_some_and(|at| !at.is_null());
        let unchanged = self.operation == "UPDATE" && self.old.is_object() && self.old.get("spec") == self.object.get("spec");
        match (judged && !going, unchanged) {
            (false, _) => Matter::Nothing,
            (true, true) => Matter::Unchanged,
            (true, false) => Matter::Spec,
        }
    }
}

/// What of a review is to be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matter {
    /// Nothing: the object goes, or it is another kind's.
    Nothing,
    /// The spec stays as it is. Labels, finalizers and the status of a policy must stay editable even if its spec is at
    /// fault, so it is not refused.
    Unchanged,
    /// The spec is new.
    Spec,
}

/// What is answered.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// It may pass.
    Allow {
        /// What is to be changed in it.
        patch: Patch,
        /// Sentences for whoever asked.
        warnings: Vec<String>,
    },
    /// It is refused, with every fault.
    Refuse {
        /// The faults, in the order of the fields.
        faults: Vec<Fault>,
    },
    /// It is refused, since the judgement itself failed.
    Broken,
}

impl Answer {
    /// It may pass as it is.
    pub const PASS: Self = Self::Allow { patch: Patch(Vec::new()), warnings: Vec::new() };

    /// The value of the metric's label `verdict`.
    #[must_use]
    pub fn verdict(&self) -> &'static str {
        match self {
            Self::Allow { warnings, .. } if warnings.is_empty() => "allowed",
            Self::Allow { .. } => "warned",
            Self::Refuse { .. } => "refused",
            Self::Broken => "error",
        }
    }

    /// The body of the answer.
    #[must_use]
    pub fn write(&self, review: &Review) -> Value {
        let response = match self {
            Self::Allow { patch, warnings } => allowed(&review.uid, patch, warnings),
            Self::Refuse { faults } => json!({ "uid": review.uid, "allowed": false, "status": status(&review.name, faults) }),
            Self::Broken => json!({ "uid": review.uid, "allowed": false, "status": broken(&review.name) }),
        };
        json!({ "apiVersion": VERSION, "kind": "AdmissionReview", "response": response })
    }
}

fn allowed(uid: &str, patch: &Patch, warnings: &[String]) -> Value {
    let mut response = Map::new();
    response.insert("uid".to_owned(), json!(uid));
    response.insert("allowed".to_owned(), json!(true));
    if !patch.0.is_empty() {
        let bytes = k8s_openapi::ByteString(json!(patch).to_string().into_bytes());
        response.insert("patchType".to_owned(), json!("JSONPatch"));
        // Base64, as the API server wants it.
        response.insert("patch".to_owned(), json!(bytes));
    }
    if !warnings.is_empty() {
        response.insert("warnings".to_owned(), json!(warnings));
    }
    Value::Object(response)
}

/// Each fault as a line of its own. However large an object is, what is told of it is not.
#[must_use]
pub fn lines(faults: &[Fault]) -> Vec<String> {
    faults.iter().take(MOST_FAULTS).map(ToString::to_string).chain(rest(faults)).collect()
}

fn rest(faults: &[Fault]) -> Option<String> {
    let rest = faults.len().saturating_sub(MOST_FAULTS);
    (rest > 0).then(|| format!("and {} more", count(rest)))
}

/// The refusal as a Status. kubectl shows either the causes or the message, so each is complete by itself.
fn status(name: &str, faults: &[Fault]) -> Value {
    let cause = |fault: &Fault| json!({ "reason": fault.code.reason(), "field": fault.field, "message": fault.words() });
    let rest = rest(faults).map(|rest| json!({ "reason": "FieldValueInvalid", "field": "", "message": rest }));
    let list: Vec<String> = lines(faults).iter().map(|line| format!("\n* {line}")).collect();
    json!({
        "status": "Failure",
        "reason": "Invalid",
        "code": 422,
        "message": format!("RotationPolicy {name:?} has {}:{}", count(faults.len()), list.concat()),
        "details": {
            "name": name,
            "group": GROUP,
            "kind": "RotationPolicy",
            "causes": faults.iter().take(MOST_FAULTS).map(cause).chain(rest).collect::<Vec<_>>(),
        },
    })
}

/// The refusal of what could not be judged; a fault of ours must not let a bad policy pass.
fn broken(name: &str) -> Value {
    json!({
        "status": "Failure",
        "reason": "InternalError",
        "code": 500,
        "message": format!(
            "RotationPolicy {name:?} could not be judged, which is a fault of node-rotation-controller and not of the policy; \
             its log says more"
        ),
    })
}

fn count(faults: usize) -> String {
    if faults == 1 { "1 fault".to_owned() } else { format!("{faults} faults") }
}

#[cfg(test)]
mod tests;
