//! A mistake that a person made in a policy: where, what was given, what is wrong, what to write instead.

use std::fmt;

use serde_json::Value;

/// The kind of a fault, as the API server names causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultCode {
    /// A required field is missing.
    Required,
    /// The value is of another type.
    TypeInvalid,
    /// The value is not one that can be.
    Invalid,
    /// The value is none of those that there are.
    NotSupported,
    /// The value is there twice.
    Duplicate,
    /// The value must not be there.
    Forbidden,
}

impl FaultCode {
    /// The reason of a cause in a `Status`.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Forbidden => "FieldValueForbidden",
        }
    }
}

/// One mistake. Its `Display` is the whole sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Path of the field, for example `spec.maintenanceWindows[1].end`.
    pub field: String,
    /// The given value as JSON, cut if long; empty if nothing is given.
    pub value: String,
    /// What is wrong.
    pub sentence: String,
    /// What to write instead.
    pub remedy: String,
    /// Its kind.
    pub code: FaultCode,
}

/// A value longer than this is cut in the message.
const LONGEST_VALUE: usize = 80;

impl Fault {
    /// A fault of `value` at `field`. `words` is `what is wrong; what to write instead`.
    #[must_use]
    pub fn of(code: FaultCode, field: &str, value: &Value, words: &str) -> Self {
        let text = if value.is_null() { String::new() } else { value.to_string() };
        let value = if text.chars().count() > LONGEST_VALUE {
            let head: String = text.chars().take(LONGEST_VALUE).collect();
            format!("{head}…")
        } else {
            text
        };
        let (field, value) = (one_line(field), one_line(&value));
        let (sentence, remedy) = words.split_once("; ").unwrap_or((words, ""));
        Self { field, value, sentence: sentence.to_owned(), remedy: remedy.to_owned(), code }
    }

    /// A required field that is missing. `what` is what to write.
    #[must_use]
    pub fn missing(field: &str, what: &str) -> Self {
        Self::of(FaultCode::Required, field, &Value::Null, &format!("is required; {what}"))
    }

    /// The words without the field's path, as a cause carries them.
    #[must_use]
    pub fn words(&self) -> String {
        let value = if self.value.is_empty() { String::new() } else { format!("{} ", self.value) };
        let remedy = if self.remedy.is_empty() { String::new() } else { format!("; {}", self.remedy) };
        format!("{value}{}{remedy}", self.sentence)
    }
}

/// The text with its control characters spelt out. A fault is one line in a message, a log and a terminal, whatever key or
/// value it is about.
#[must_use]
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
    line
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.words())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_fault_is_one_line_whatever_it_is_about() {
        let fault = Fault::of(FaultCode::Invalid, "spec.matchLabels[a\n* b]", &json!("x\u{1b}[31m\u{7f}"), "is not good");
        assert_eq!(fault.to_string(), "spec.matchLabels[a\\n* b]: \"x\\u001b[31m\\u{7f}\" is not good");
        let plain = Fault::of(FaultCode::Invalid, "spec.matchLabels[a b]", &json!("é"), "is not good");
        assert_eq!(plain.to_string(), "spec.matchLabels[a b]: \"é\" is not good");
    }
}
