//! Conditions and times in the status: Kubernetes' own, within bounds.

use schemars::{Schema, SchemaGenerator, json_schema};

/// `status.conditions`, one entry a type.
pub(in crate::policy) fn conditions(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": 16,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "description": "One aspect of the policy's state.",
            "required": ["type", "status", "lastTransitionTime", "reason", "message"],
            "properties": {
                "type": { "type": "string", "minLength": 1, "maxLength": 316, "description": "Which aspect." },
                "status": { "type": "string", "enum": ["True", "False", "Unknown"], "description": "True, False or Unknown." },
                "observedGeneration": { "type": "integer", "format": "int64", "minimum": 0, "description": "The generation that this describes." },
                "lastTransitionTime": { "type": "string", "format": "date-time", "description": "When the status changed last." },
                "reason": { "type": "string", "minLength": 1, "maxLength": 1024, "description": "One word, for programs." },
                "message": { "type": "string", "maxLength": 32768, "description": "A sentence, for people." },
            },
        },
    })
}

/// An RFC 3339 time.
pub(in crate::policy) fn instant(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "format": "date-time" })
}
