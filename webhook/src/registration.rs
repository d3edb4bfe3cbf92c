//! The two webhook configurations as they should be.
//!
//! The chart renders shells without entries, so that nothing is asked of us before we answer. The operator fills the
//! entries in and keeps them as they should be; it may touch these two objects only.

use serde_json::{Value, json};

/// Path of the mutating endpoint.
pub const MUTATE: &str = "/mutate-noderotation-io-v1alpha1-rotationpolicy";
/// Path of the validating endpoint.
pub const VALIDATE: &str = "/validate-noderotation-io-v1alpha1-rotationpolicy";

/// Which of the two configurations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Defaults.
    Mutating,
    /// Judgement.
    Validating,
}

impl Kind {
    /// Kind of the object.
    #[must_use]
    pub fn object_kind(self) -> &'static str {
        match self {
            Self::Mutating => "MutatingWebhookConfiguration",
            Self::Validating => "ValidatingWebhookConfiguration",
        }
    }
}

/// Where the API server finds the endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Namespace of the Service.
    pub namespace: String,
    /// The Service.
    pub service: String,
    /// Port of the Service.
    pub port: i32,
    /// Roots to trust, PEM.
    pub bundle: String,
}

/// The whole object for a server-side apply. Every field that the API server would default is written out, so that what
/// is stored equals what was applied.
#[must_use]
pub fn desired(kind: Kind, name: &str, endpoint: &Endpoint) -> Value {
    let (entry, path) = match kind {
        Kind::Mutating => ("default.rotationpolicies.noderotation.io", MUTATE),
        Kind::Validating => ("validate.rotationpolicies.noderotation.io", VALIDATE),
    };
    let mut webhook = json!({
        "name": entry,
        "admissionReviewVersions": ["v1"],
        "clientConfig": {
            "caBundle": k8s_openapi::ByteString(endpoint.bundle.as_bytes().to_vec()),
            "service": { "namespace": endpoint.namespace, "name": endpoint.service, "path": path, "port": endpoint.port },
        },
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "matchConditions": conditions(),
        "namespaceSelector": {},
        "objectSelector": {},
        "rules": [{
            "apiGroups": ["noderotation.io"],
            "apiVersions": ["v1alpha1"],
            "operations": ["CREATE", "UPDATE"],
            "resources": ["rotationpolicies"],
            "scope": "Cluster",
        }],
        "sideEffects": "None",
        "timeoutSeconds": 5,
    });
    if let (Kind::Mutating, Some(webhook)) = (kind, webhook.as_object_mut()) {
        webhook.insert("reinvocationPolicy".to_owned(), json!("IfNeeded"));
    }
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind.object_kind(),
        "metadata": { "name": name },
        "webhooks": [webhook],
    })
}

/// The API server itself lets pass what would not be judged anyway, so that labels, finalizers and deletions of policies
/// do not depend on us (faults.md 0.6).
fn conditions() -> Value {
    json!([
        { "name": "spec-changes", "expression": "oldObject == null || object.spec != oldObject.spec" },
        { "name": "not-being-deleted", "expression": "!has(object.metadata.deletionTimestamp)" },
    ])
}

/// The live object has the entries of the desired one and no others.
#[must_use]
pub fn is_as_desired(live: &Value, desired: &Value) -> bool {
    live.get("webhooks") == desired.get("webhooks")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_policies_are_ever_matched() {
        let endpoint = Endpoint { namespace: "system".to_owned(), service: "webhook".to_owned(), port: 443, bundle: "PEM".to_owned() };
        for kind in [Kind::Mutating, Kind::Validating] {
            let desired = desired(kind, "name", &endpoint);
            let rules = desired["webhooks"][0]["rules"].as_array().unwrap();
            assert_eq!(rules.len(), 1);
            assert_eq!(rules[0]["resources"], json!(["rotationpolicies"]));
            assert_eq!(rules[0]["operations"], json!(["CREATE", "UPDATE"]));
            assert_eq!(desired["webhooks"][0]["clientConfig"]["caBundle"], "UEVN");
            assert!(is_as_desired(&desired, &desired));
            let mut edited = desired.clone();
            edited["webhooks"][0]["failurePolicy"] = json!("Ignore");
            assert!(!is_as_desired(&edited, &desired));
            assert!(!is_as_desired(&json!({}), &desired));
        }
    }
}
