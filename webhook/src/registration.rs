//! The two webhook configurations as they should be.
//!
//! The chart renders shells without entries, so that nothing is asked of us before we answer. The operator fills the
//! entries in and keeps them as they should be; it may touch these two objects only.

use k8s_openapi::ByteString;
use noderotation_cert::bundle::Bundle;
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
    /// Its value as a label of series.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Mutating => "mutating",
            Self::Validating => "validating",
        }
    }

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
    /// Roots to trust.
    pub bundle: Bundle,
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
            "caBundle": ByteString(endpoint.bundle.to_string().into_bytes()),
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
        { "name": "spec-changes", "expression": "oldObject == null || object.?spec != oldObject.?spec" },
        { "name": "not-being-deleted", "expression": "!has(object.metadata.deletionTimestamp)" },
    ])
}

/// The live object has the entries of the desired one and no others.
#[must_use]
pub fn is_as_desired(live: &Value, desired: &Value) -> bool {
    live.get("webhooks") == desired.get("webhooks")
}

/// What the API server trusts by a live object; `None` if nothing is registered there.
#[must_use]
pub fn trusted(live: &Value) -> Option<Bundle> {
    let entry = live.get("webhooks")?.as_array()?.first()?;
    let bytes = entry.pointer("/clientConfig/caBundle").and_then(|text| serde_json::from_value::<ByteString>(text.clone()).ok());
    Some(bytes.map(|bytes| Bundle::parse(&String::from_utf8_lossy(&bytes.0))).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::admissionregistration::v1::{MutatingWebhookConfiguration, ValidatingWebhookConfiguration};

    use super::*;

    const ROOT: &str = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";

    fn object(kind: Kind) -> Value {
        let bundle = Bundle::parse(ROOT);
        desired(kind, "name", &Endpoint { namespace: "system".to_owned(), service: "webhook".to_owned(), port: 443, bundle })
    }

    #[test]
    fn the_entries_are_these() {
        let mutating = object(Kind::Mutating);
        let mut entry = mutating["webhooks"][0].clone();
        entry["clientConfig"]["caBundle"] = json!("…");
        insta::assert_yaml_snapshot!(entry, @r#"
        admissionReviewVersions:
          - v1
        clientConfig:
          caBundle: …
          service:
            name: webhook
            namespace: system
            path: /mutate-noderotation-io-v1alpha1-rotationpolicy
            port: 443
        failurePolicy: Fail
        matchConditions:
          - expression: oldObject == null || object.?spec != oldObject.?spec
            name: spec-changes
          - expression: "!has(object.metadata.deletionTimestamp)"
            name: not-being-deleted
        matchPolicy: Equivalent
        name: default.rotationpolicies.noderotation.io
        namespaceSelector: {}
        objectSelector: {}
        reinvocationPolicy: IfNeeded
        rules:
          - apiGroups:
              - noderotation.io
            apiVersions:
              - v1alpha1
            operations:
              - CREATE
              - UPDATE
            resources:
              - rotationpolicies
            scope: Cluster
        sideEffects: None
        timeoutSeconds: 5
        "#);
        let mut validating = object(Kind::Validating);
        validating["webhooks"][0]["reinvocationPolicy"] = json!("IfNeeded");
        for field in ["/webhooks/0/name", "/webhooks/0/clientConfig/service/path"] {
            let told = validating.pointer_mut(field).map(std::mem::take).unwrap();
            assert!(told.as_str().is_some_and(|text| text.trim_start_matches('/').starts_with("validate")), "{told}");
            *validating.pointer_mut(field).unwrap() = mutating.pointer(field).cloned().unwrap();
        }
        assert_eq!(validating["webhooks"], mutating["webhooks"]);
    }

    /// Otherwise what is read would never equal what is wanted, and would be written for ever.
    #[test]
    fn they_survive_the_types_that_they_are_read_with() {
        let read: MutatingWebhookConfiguration = serde_json::from_value(object(Kind::Mutating)).unwrap();
        assert!(is_as_desired(&serde_json::to_value(read).unwrap(), &object(Kind::Mutating)));
        let read: ValidatingWebhookConfiguration = serde_json::from_value(object(Kind::Validating)).unwrap();
        assert!(is_as_desired(&serde_json::to_value(read).unwrap(), &object(Kind::Validating)));
    }

    #[test]
    fn an_edit_of_any_field_is_seen() {
        let wanted = object(Kind::Mutating);
        assert!(is_as_desired(&wanted, &wanted));
        let edits = [
            ("/webhooks/0/failurePolicy", json!("Ignore")),
            ("/webhooks/0/clientConfig/caBundle", Value::Null),
            ("/webhooks/0/matchConditions/0/expression", json!("false")),
            ("/webhooks/0/objectSelector", json!({"matchLabels": {"a": "b"}})),
            ("/webhooks", json!([])),
        ];
        for (field, value) in edits {
            let mut edited = wanted.clone();
            *edited.pointer_mut(field).unwrap() = value;
            assert!(!is_as_desired(&edited, &wanted), "{field}");
        }
        assert!(!is_as_desired(&json!({}), &wanted));
    }

    #[test]
    fn what_is_trusted_is_read_from_the_entry() {
        assert_eq!(trusted(&object(Kind::Validating)), Some(Bundle::parse(ROOT)));
        let mut emptied = object(Kind::Validating);
        emptied["webhooks"][0]["clientConfig"]["caBundle"] = Value::Null;
        assert_eq!(trusted(&emptied), Some(Bundle::default()));
        assert_eq!(trusted(&json!({"webhooks": []})), None);
        assert_eq!(trusted(&json!({})), None);
    }
}
