//! Reads a raw policy, or another file that people write, field by field and collects every fault on the way.
//!
//! The raw JSON is judged, not a decoded type: a wrong type is a fault like any other, with a path and a remedy, and
//! no policy is too malformed to be judged.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::duration;
use crate::policy::fault::{Fault, FaultCode};

/// Characters of a duration, as the schema has it; no spelling that is meant needs more.
pub const LONGEST_DURATION: usize = 32;

/// Faults found so far.
#[derive(Debug, Default)]
pub struct Reader {
    /// In the order in which they were found.
    pub faults: Vec<Fault>,
}

/// A value and the path that leads to it.
#[derive(Clone, Debug)]
pub struct Field<'a> {
    /// As faults name it.
    pub path: String,
    /// `null` if nothing is there.
    pub value: &'a Value,
}

impl<'a> Field<'a> {
    /// The field of a path.
    #[must_use]
    pub fn new(path: &str, value: &'a Value) -> Self {
        Self { path: path.to_owned(), value }
    }

    /// The field `key` of an object.
    #[must_use]
    pub fn child(&self, key: &str) -> Self {
        let path = if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) };
        Self { path, value: self.value.get(key).unwrap_or(&Value::Null) }
    }

    /// Nothing is there, or `null`.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        self.value.is_null()
    }
}

impl Reader {
    /// Notes a fault; `words` is `what is wrong; what to write instead`.
    pub fn fault(&mut self, code: FaultCode, field: &Field<'_>, words: &str) {
        self.faults.push(Fault::of(code, &field.path, field.value, words));
    }

    /// A fault that would be told worse with the value, which is long.
    pub fn fault_without_value(&mut self, code: FaultCode, field: &Field<'_>, words: &str) {
        self.faults.push(Fault::of(code, &field.path, &Value::Null, words));
    }

    fn wrong_type(&mut self, field: &Field<'_>, wanted: &str) {
        let is = match field.value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "text",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
        };
        self.fault(FaultCode::TypeInvalid, field, &format!("is {is}; write {wanted}"));
    }

    /// An object; absent is `None` without a fault.
    pub fn object<'a>(&mut self, field: &Field<'a>) -> Option<&'a Map<String, Value>> {
        if field.is_absent() {
            return None;
        }
        let object = field.value.as_object();
        if object.is_none() {
            self.wrong_type(field, "an object with fields");
        }
        object
    }

    /// A list with the path of each item; absent is `None` without a fault.
    pub fn list<'a>(&mut self, field: &Field<'a>) -> Option<Vec<Field<'a>>> {
        if field.is_absent() {
            return None;
        }
        let Some(items) = field.value.as_array() else {
            self.wrong_type(field, "a list");
            return None;
        };
        let item = |(index, value)| Field { path: format!("{}[{index}]", field.path), value };
        Some(items.iter().enumerate().map(item).collect())
    }

    /// Text; absent is `None` without a fault.
    pub fn text<'a>(&mut self, field: &Field<'a>, example: &str) -> Option<&'a str> {
        if field.is_absent() {
            return None;
        }
        let text = field.value.as_str();
        if text.is_none() {
            self.wrong_type(field, &format!("text, for example {example:?}"));
        }
        text
    }

    /// The text of an item of a list, where `null` is a fault too.
    pub fn item_text<'a>(&mut self, item: &Field<'a>, example: &str) -> Option<&'a str> {
        if item.is_absent() {
            self.fault(FaultCode::TypeInvalid, item, &format!("is null; write text, for example {example:?}, or leave the item out"));
        }
        self.text(item, example)
    }

    /// A boolean; absent is `default`.
    pub fn boolean(&mut self, field: &Field<'_>, default: bool) -> bool {
        match field.value {
            Value::Null => default,
            Value::Bool(value) => *value,
            Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
                self.wrong_type(field, "true or false");
                default
            }
        }
    }

    /// A whole number, also as `2.0`, which the API server reads as 2; absent is `None` without a fault.
    pub fn integer(&mut self, field: &Field<'_>) -> Option<i64> {
        if field.is_absent() {
            return None;
        }
        let number = field.value.as_i64().or_else(|| whole(field.value.as_f64()?));
        if number.is_none() && field.value.is_number() {
            self.fault(FaultCode::TypeInvalid, field, "is not a whole number within bounds; write for example 1");
        } else if number.is_none() {
            self.wrong_type(field, "a whole number");
        }
        number
    }

    /// A Go duration; absent is `None` without a fault.
    pub fn duration(&mut self, field: &Field<'_>, example: &str, zero: Zero) -> Option<Duration> {
        let text = self.text(field, example)?;
        if text.chars().count() > LONGEST_DURATION {
            self.fault(FaultCode::Invalid, field, &format!("has more than {LONGEST_DURATION} characters; write for example {example}"));
            return None;
        }
        match duration::parse(text) {
            Ok(value) if value.is_zero() && zero == Zero::Refused => {
                self.fault(FaultCode::Invalid, field, &format!("must be longer than zero; write for example {example}"));
                None
            }
            Ok(value) => Some(value),
            Err(fault) => {
                self.fault(FaultCode::Invalid, field, &fault.to_string());
                None
            }
        }
    }
}

/// The number without its point, if nothing is behind it.
fn whole(number: f64) -> Option<i64> {
    if number.fract() == 0.0 { format!("{number:.0}").parse().ok() } else { None }
}

/// Whether a duration may be zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zero {
    /// It may.
    Allowed,
    /// It is a fault.
    Refused,
}
