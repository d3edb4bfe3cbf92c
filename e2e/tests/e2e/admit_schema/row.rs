//! One policy of the table: where it differs from the good one, and who must say what of it.

use anyhow::{Context as _, Result};
use serde_json::{Map, Value, json};

/// A policy that differs from the good one in one place.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// Unique; the id of a public case first, where it is one.
    pub(crate) name: String,
    /// Where, as a JSON pointer.
    pub(crate) pointer: String,
    /// What is there instead; nothing if `None`.
    pub(crate) value: Option<Value>,
    /// Who must say what.
    pub(crate) verdict: Verdict,
}

/// Who must say what of a row.
#[derive(Clone, Debug)]
pub(crate) enum Verdict {
    /// Server and validation admit it.
    Admitted,
    /// Both refuse it; the words are the server's.
    Refused(Words),
    /// Webhook-only: the server admits it, validation refuses it with these words.
    EndpointOnly(Words),
    /// Server-only: the server refuses it with these words, validation cannot see it.
    ServerOnly(Words),
}

/// What is said of which field.
#[derive(Clone, Debug)]
pub(crate) struct Words {
    /// Its path; empty if the server names none.
    pub(crate) field: String,
    /// A part of the sentence.
    pub(crate) fragment: String,
}

impl Words {
    fn new(field: &str, fragment: &str) -> Self {
        Self { field: field.to_owned(), fragment: fragment.to_owned() }
    }
}

/// A policy that is good in every field that has to be there.
pub(crate) fn good() -> Value {
    json!({
        "apiVersion": "noderotation.io/v1alpha1",
        "kind": "RotationPolicy",
        "metadata": {"name": "schema"},
        "spec": {
            "nodePoolSelector": {"matchLabels": {"team": "a"}, "matchExpressions": [{"key": "tier", "operator": "Exists"}]},
            "maintenanceWindows": [{"timezone": "UTC", "days": ["Wed"], "start": "02:00", "end": "06:00"}],
        },
    })
}

impl Row {
    fn new(name: &str, pointer: &str, value: impl Into<Option<Value>>, verdict: Verdict) -> Self {
        Self { name: name.to_owned(), pointer: pointer.to_owned(), value: value.into(), verdict }
    }

    /// The id of the public case that it is, as `c054`.
    pub(crate) fn case(&self) -> Option<String> {
        let word = self.name.split(' ').next()?;
        let digits = word.strip_prefix('c')?;
        (digits.len() == 3 && digits.bytes().all(|byte| byte.is_ascii_digit())).then(|| word.to_owned())
    }

    /// The policy.
    ///
    /// # Errors
    /// When the pointer leads nowhere.
    pub(crate) fn policy(&self) -> Result<Value> {
        let leading_nowhere = || format!("{}: {} leads nowhere", self.name, self.pointer);
        let mut policy = good();
        let (leading, last) = self.pointer.rsplit_once('/').with_context(leading_nowhere)?;
        let mut place = &mut policy;
        for step in leading.split('/').skip(1) {
            place = enter(place, step).with_context(leading_nowhere)?;
        }
        if let Some(value) = &self.value {
            *enter(place, last).with_context(leading_nowhere)? = value.clone();
        } else {
            place.as_object_mut().with_context(leading_nowhere)?.remove(last);
        }
        Ok(policy)
    }
}

/// What is at a step, made where it is not there.
fn enter<'a>(place: &'a mut Value, step: &str) -> Option<&'a mut Value> {
    let Ok(index) = step.parse::<usize>() else {
        return Some(place.as_object_mut()?.entry(step).or_insert_with(|| json!({})));
    };
    if place.as_object().is_some_and(Map::is_empty) {
        *place = json!([]);
    }
    let items = place.as_array_mut()?;
    items.resize_with(items.len().max(index + 1), || json!({}));
    items.get_mut(index)
}

/// Server and validation admit it.
pub(crate) fn admits(name: &str, pointer: &str, value: impl Into<Option<Value>>) -> Row {
    Row::new(name, pointer, value, Verdict::Admitted)
}

/// Both refuse it; the server says so of `field`.
pub(crate) fn refuses(name: &str, pointer: &str, value: impl Into<Option<Value>>, field: &str, fragment: &str) -> Row {
    Row::new(name, pointer, value, Verdict::Refused(Words::new(field, fragment)))
}

/// Only validation refuses it, and says so of `field`.
pub(crate) fn endpoint_refuses(name: &str, pointer: &str, value: impl Into<Option<Value>>, field: &str, fragment: &str) -> Row {
    Row::new(name, pointer, value, Verdict::EndpointOnly(Words::new(field, fragment)))
}

/// Only the server refuses it, since validation never sees it.
pub(crate) fn server_refuses(name: &str, pointer: &str, value: impl Into<Option<Value>>, field: &str, fragment: &str) -> Row {
    Row::new(name, pointer, value, Verdict::ServerOnly(Words::new(field, fragment)))
}
