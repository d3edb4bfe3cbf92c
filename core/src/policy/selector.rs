//! Which NodePools a policy selects, with the API server's own rules for label selectors (D3, D6).

use std::collections::{BTreeMap, BTreeSet};

use super::fault::{Fault, FaultCode};
use super::reader::{Field, Reader};
use crate::name::{is_label_key, is_label_name};

/// More entries than anybody writes, of `matchLabels` and of `matchExpressions` each; as the schema has it.
pub(super) const MOST_REQUIREMENTS: usize = 64;
/// More values of one requirement than anybody writes; as the schema has it.
pub(super) const MOST_VALUES: usize = 256;

/// A label selector that obeys the rules. Without requirements it selects every pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    requirements: Vec<Requirement>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    operator: Operator,
    values: BTreeSet<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
}

impl Selector {
    /// Every requirement holds for `labels`. `NotIn` holds when the key is missing.
    #[must_use]
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.requirements.iter().all(|requirement| {
            let value = labels.get(&requirement.key);
            match requirement.operator {
                Operator::In => value.is_some_and(|value| requirement.values.contains(value)),
                Operator::NotIn => value.is_none_or(|value| !requirement.values.contains(value)),
                Operator::Exists => value.is_some(),
                Operator::DoesNotExist => value.is_none(),
            }
        })
    }

    /// The same requirements, in whatever order and spelling.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        let within = |one: &Self, other: &Self| one.requirements.iter().all(|requirement| other.requirements.contains(requirement));
        self.specificity() == other.specificity() && within(self, other) && within(other, self)
    }

    /// Number of entries of `matchLabels` and `matchExpressions`; the highest wins a pool (§5.4).
    #[must_use]
    pub fn specificity(&self) -> usize {
        self.requirements.len()
    }
}

/// Reads `spec.nodePoolSelector`; `None` when it is missing or has a fault.
pub(super) fn read(reader: &mut Reader, field: &Field<'_>) -> Option<Selector> {
    let before = reader.faults.len();
    if field.is_absent() {
        reader.faults.push(Fault::missing(&field.path, "write matchLabels of the NodePools to rotate, or {} for all of them"));
        return None;
    }
    reader.object(field)?;
    let mut requirements = match_labels(reader, &field.child("matchLabels"));
    requirements.extend(match_expressions(reader, &field.child("matchExpressions")));
    (reader.faults.len() == before).then_some(Selector { requirements })
}

fn match_labels(reader: &mut Reader, field: &Field<'_>) -> Vec<Requirement> {
    let Some(labels) = reader.object(field) else {
        return Vec::new();
    };
    at_most(reader, field, labels.len(), MOST_REQUIREMENTS, "entries");
    let mut requirements = Vec::new();
    for (key, value) in labels {
        let entry = Field { path: format!("{}[{key}]", field.path), value };
        check_key(reader, &Field { path: entry.path.clone(), value: &key.as_str().into() });
        if let Some(text) = reader.text(&entry, "api") {
            check_value(reader, &entry, text);
            requirements.push(Requirement { key: key.clone(), operator: Operator::In, values: [text.to_owned()].into() });
        } else if value.is_null() {
            reader.fault(FaultCode::Required, &entry, "has no value; write one, or \"\" for the empty value");
        }
    }
    requirements
}

fn match_expressions(reader: &mut Reader, field: &Field<'_>) -> Vec<Requirement> {
    let items = reader.list(field).unwrap_or_default();
    at_most(reader, field, items.len(), MOST_REQUIREMENTS, "entries");
    items.iter().filter_map(|item| expression(reader, item)).collect()
}

fn at_most(reader: &mut Reader, field: &Field<'_>, count: usize, most: usize, what: &str) {
    if count > most {
        reader.fault_without_value(FaultCode::Invalid, field, &format!("has {count} {what}; write at most {most}"));
    }
}

fn expression(reader: &mut Reader, item: &Field<'_>) -> Option<Requirement> {
    if item.is_absent() {
        reader.fault(FaultCode::Required, item, "is empty; write key and operator");
        return None;
    }
    reader.object(item)?;
    let key_field = item.child("key");
    let key = reader.text(&key_field, "team");
    if key_field.is_absent() {
        reader.faults.push(Fault::missing(&key_field.path, "write a label key"));
    } else if key.is_some() {
        check_key(reader, &key_field);
    }
    let operator = operator(reader, &item.child("operator"));
    let values_field = item.child("values");
    let mut values = BTreeSet::new();
    let items = reader.list(&values_field).unwrap_or_default();
    at_most(reader, &values_field, items.len(), MOST_VALUES, "values");
    for value in items {
        if let Some(text) = reader.item_text(&value, "api") {
            check_value(reader, &value, text);
            values.insert(text.to_owned());
        }
    }
    let operator = operator?;
    match operator {
        Operator::In | Operator::NotIn if values.is_empty() => {
            reader.fault(FaultCode::Required, &values_field, "is empty; In and NotIn need at least one value");
        }
        Operator::Exists | Operator::DoesNotExist if !values.is_empty() => {
            reader.fault(FaultCode::Forbidden, &values_field, "must not be there; Exists and DoesNotExist take no values");
        }
        Operator::In | Operator::NotIn | Operator::Exists | Operator::DoesNotExist => {}
    }
    Some(Requirement { key: key?.to_owned(), operator, values })
}

fn operator(reader: &mut Reader, field: &Field<'_>) -> Option<Operator> {
    if field.is_absent() {
        reader.faults.push(Fault::missing(&field.path, "write In, NotIn, Exists or DoesNotExist"));
        return None;
    }
    match reader.text(field, "In")? {
        "In" => Some(Operator::In),
        "NotIn" => Some(Operator::NotIn),
        "Exists" => Some(Operator::Exists),
        "DoesNotExist" => Some(Operator::DoesNotExist),
        _ => {
            reader.fault(FaultCode::NotSupported, field, "is not an operator; write In, NotIn, Exists or DoesNotExist");
            None
        }
    }
}

fn check_value(reader: &mut Reader, field: &Field<'_>, text: &str) {
    if !text.is_empty() && !is_label_name(text) {
        reader.fault(
            FaultCode::Invalid,
            field,
            "is not a label value; write at most 63 letters, digits, '-', '_' or '.', with a letter or digit at both ends",
        );
    }
}

fn check_key(reader: &mut Reader, field: &Field<'_>) {
    if !field.value.as_str().is_some_and(is_label_key) {
        reader.fault(FaultCode::Invalid, field, "is not a label key; write a name such as team, or prefix/name such as example.com/team");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn selector(value: &Value) -> Result<Selector, Vec<String>> {
        let mut reader = Reader::default();
        let selector = read(&mut reader, &Field::new("s", value));
        selector.ok_or_else(|| reader.faults.iter().map(ToString::to_string).collect())
    }

    fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    }

    #[test]
    fn matching_follows_the_api_server() {
        let not_in = selector(&json!({"matchExpressions": [{"key": "env", "operator": "NotIn", "values": ["prod"]}]})).unwrap();
        assert!(not_in.matches(&labels(&[])) && not_in.matches(&labels(&[("env", "dev")])));
        assert!(!not_in.matches(&labels(&[("env", "prod")])));
        let absent = selector(&json!({"matchExpressions": [{"key": "env", "operator": "DoesNotExist"}]})).unwrap();
        assert!(!absent.matches(&labels(&[("env", "")])) && absent.matches(&labels(&[])));
        let empty = selector(&json!({"matchLabels": null, "matchExpressions": null})).unwrap();
        assert!(empty.matches(&labels(&[("any", "thing")])));
        assert_eq!(empty.specificity(), 0);
        let twice = selector(&json!({"matchLabels": {"a": "1"}, "matchExpressions": [{"key": "a", "operator": "Exists"}]})).unwrap();
        assert_eq!(twice.specificity(), 2);
    }

    #[test]
    fn no_selector_is_without_bounds() {
        let labels = |count| (0..count).map(|n| (format!("k{n}"), json!("v"))).collect::<serde_json::Map<String, Value>>();
        let expressions = |count, values| {
            let values: Vec<String> = (0..values).map(|n| format!("v{n}")).collect();
            json!({"matchExpressions": vec![json!({"key": "team", "operator": "In", "values": values}); count]})
        };
        assert!(selector(&json!({"matchLabels": labels(64)})).is_ok() && selector(&expressions(64, 256)).is_ok());
        for (bad, sentence) in [
            (json!({"matchLabels": labels(65)}), "s.matchLabels: has 65 entries; write at most 64"),
            (expressions(65, 1), "s.matchExpressions: has 65 entries; write at most 64"),
            (expressions(1, 257), "s.matchExpressions[0].values: has 257 values; write at most 256"),
        ] {
            assert_eq!(selector(&bad).unwrap_err(), [sentence]);
        }
    }

    #[test]
    fn every_fault_is_named() {
        let faults = selector(&json!({
            "matchLabels": {"bad key!": "x", "ok": "bad value!"},
            "matchExpressions": [
                {"key": "team", "operator": "In", "values": []},
                {"key": "team", "operator": "Exists", "values": ["a"]},
                {"key": "team", "operator": "Equals", "values": ["a"]},
                {"operator": "Exists"}
            ]
        }))
        .unwrap_err();
        insta::assert_snapshot!(faults.join("\n"), @r#"
        s.matchLabels[bad key!]: "bad key!" is not a label key; write a name such as team, or prefix/name such as example.com/team
        s.matchLabels[ok]: "bad value!" is not a label value; write at most 63 letters, digits, '-', '_' or '.', with a letter or digit at both ends
        s.matchExpressions[0].values: [] is empty; In and NotIn need at least one value
        s.matchExpressions[1].values: ["a"] must not be there; Exists and DoesNotExist take no values
        s.matchExpressions[2].operator: "Equals" is not an operator; write In, NotIn, Exists or DoesNotExist
        s.matchExpressions[3].key: is required; write a label key
        "#);
    }
}
