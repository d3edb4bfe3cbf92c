//! Labels in the schema: the selector of NodePools, and the node labels that a replacement shares.
//!
//! The API server's own schema of a selector bounds nothing and judges nothing; here a selector that it could not use is
//! refused when it is written.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use super::object;
use crate::annotation::{HOSTNAME_LABEL, NODEPOOL_LABEL};
use crate::policy::MatchNodeRequirements;
use crate::policy::selector::{MOST_REQUIREMENTS, MOST_VALUES};
use crate::policy::validate::{DEFAULT_REQUIRED_KEYS, MOST_KEYS};

/// A prefix of 253, a slash, a name of 63.
const LONGEST_KEY: usize = 317;
const LONGEST_NAME: usize = 63;
/// A label's value, and what follows the prefix of its key.
const NAME: &str = "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?";
/// A DNS subdomain, but for its length.
const PREFIX: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*";

const NO_KEY: &str = "is not a label key; write a name such as team, or prefix/name such as example.com/team";
const NO_VALUE: &str = "has no value; write one, or \"\" for the empty value";

/// Whether the text `of` is a label key. A pattern cannot bound the length of what it also looks into, hence two.
fn is_key(of: &str) -> String {
    format!("{of}.matches('^([^/]{{1,253}}/)?{NAME}$') && {of}.matches('^({PREFIX}/)?[^/]+$')")
}

/// `nodePoolSelector`.
pub(in crate::policy) fn selector(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        // As of every label selector: one writer owns it whole, so that two cannot mix their entries.
        "x-kubernetes-map-type": "atomic",
        "properties": { "matchLabels": match_labels(), "matchExpressions": match_expressions() },
    })
}

fn match_labels() -> Value {
    let mut label = value();
    // Else the API server would drop a label without a value unseen, and the selector would select more than was meant.
    label.insert("nullable".to_owned(), json!(true));
    json!({
        "type": "object",
        "description": format!("Labels that a NodePool must have, each with this value. At most {MOST_REQUIREMENTS}."),
        "maxProperties": MOST_REQUIREMENTS,
        "additionalProperties": label,
        "x-kubernetes-validations": [
            {
                "rule": format!("self.all(key, {})", is_key("key")),
                "message": format!("has a key that {NO_KEY}"),
                "messageExpression": format!("'\"' + self.filter(key, !({}))[0] + '\" {NO_KEY}'", is_key("key")),
            },
            {
                "rule": "self.all(key, dyn(self[key]) != null)",
                "message": format!("has a key that {NO_VALUE}"),
                "messageExpression": format!("'\"' + self.filter(key, dyn(self[key]) == null)[0] + '\" {NO_VALUE}'"),
            },
        ],
    })
}

fn match_expressions() -> Value {
    json!({
        "type": "array",
        "description": format!("Conditions on labels that a NodePool must meet, all of them. At most {MOST_REQUIREMENTS}."),
        "maxItems": MOST_REQUIREMENTS,
        "items": {
            "type": "object",
            "description": "A condition on one label.",
            "required": ["key", "operator"],
            "properties": {
                "key": {
                    "type": "string",
                    "description": "Key of the label, a name or prefix/name.",
                    "minLength": 1,
                    "maxLength": LONGEST_KEY,
                    "x-kubernetes-validations": [{ "rule": is_key("self"), "message": NO_KEY }],
                },
                "operator": {
                    "type": "string",
                    "description": "In: it has one of the values. NotIn: it has none of them, or the label is missing. Exists: \
                                    it is there. DoesNotExist: it is missing.",
                    "enum": ["In", "NotIn", "Exists", "DoesNotExist"],
                },
                "values": {
                    "type": "array",
                    "description": format!("One to {MOST_VALUES} values for In and NotIn, none for Exists and DoesNotExist."),
                    "maxItems": MOST_VALUES,
                    "items": value(),
                },
            },
            "x-kubernetes-validations": [
                {
                    "rule": "self.operator in ['Exists', 'DoesNotExist'] || (has(self.values) && size(self.values) > 0)",
                    "message": "is empty; In and NotIn need at least one value",
                    "fieldPath": ".values",
                },
                {
                    "rule": "self.operator in ['In', 'NotIn'] || !has(self.values) || size(self.values) == 0",
                    "message": "must not be there; Exists and DoesNotExist take no values",
                    "fieldPath": ".values",
                },
            ],
        },
    })
}

/// A label's value, which may be empty.
fn value() -> Schema {
    json_schema!({
        "type": "string",
        "maxLength": LONGEST_NAME,
        "x-kubernetes-validations": [{
            "rule": format!("self.matches('^({NAME})?$')"),
            "message": "is not a label value; write at most 63 letters, digits, '-', '_' or '.', with a letter or digit at both ends",
        }],
    })
}

/// A list of node label keys.
pub(in crate::policy) fn keys(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": MOST_KEYS,
        "x-kubernetes-list-type": "set",
        "items": {
            "type": "string",
            "minLength": 1,
            "maxLength": LONGEST_KEY,
            "x-kubernetes-validations": [
                { "rule": is_key("self"), "message": "is not a label key; write for example topology.kubernetes.io/zone" },
                { "rule": format!("self != '{NODEPOOL_LABEL}'"), "message": "is always required; leave it out" },
                {
                    "rule": format!("self != '{HOSTNAME_LABEL}'"),
                    "message": "names one host, which no new node could have; leave it out",
                },
            ],
        },
    })
}

/// `matchNodeRequirements.required`.
pub(in crate::policy) fn required_keys(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = keys(generator);
    schema.insert("default".to_owned(), json!(DEFAULT_REQUIRED_KEYS));
    schema
}

/// `surge.matchNodeRequirements`; the empty default lets the defaults of its fields apply.
pub(in crate::policy) fn match_node_requirements(generator: &mut SchemaGenerator) -> Schema {
    let words = "is required already; leave it out here, or write the list required without it";
    let defaults: Vec<String> = DEFAULT_REQUIRED_KEYS.iter().map(|key| format!("'{key}'")).collect();
    // An empty list stands for the default keys.
    let required = format!("(has(self.required) && size(self.required) > 0 ? self.required : [{}])", defaults.join(", "));
    let mut schema = object::<MatchNodeRequirements>(generator);
    schema.insert(
        "x-kubernetes-validations".to_owned(),
        json!([{
            "rule": format!("!has(self.preferred) || self.preferred.all(key, !(key in {required}))"),
            "message": format!("has a key that {words}"),
            "messageExpression": format!("'\"' + self.preferred.filter(key, key in {required})[0] + '\" {words}'"),
            "fieldPath": ".preferred",
        }]),
    );
    schema.insert("default".to_owned(), json!({}));
    schema
}
