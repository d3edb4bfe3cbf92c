//! The table is whole: each rule and each bound of the schema refuses a policy in it.

use std::collections::BTreeSet;

use anyhow::{Result, bail, ensure};
use serde_json::Value;

use super::row::{Row, Verdict, Words};
use super::shape::places;

/// Fewer rows cannot meet each bound from both sides.
const FEWEST_ROWS: usize = 150;

/// Compares the table with the schema.
pub(crate) fn judge(table: &[(&str, Vec<Row>)]) -> Result<()> {
    let rows: Vec<&Row> = table.iter().flat_map(|(_, rows)| rows).collect();
    ensure!(rows.len() >= FEWEST_ROWS, "only {} rows", rows.len());
    let names: BTreeSet<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    ensure!(names.len() == rows.len(), "{} rows share their names with others", rows.len() - names.len());
    let refusals: Vec<&Words> = rows.iter().filter_map(|row| words(row)).collect();
    let mut missing = Vec::new();
    let places = places();
    ensure!(places.len() > 30, "the schema has only {} places", places.len());
    for place in places {
        for (field, message) in expected(&place.field, &place.schema) {
            let alike = |words: &Words| message.contains(&words.fragment) || words.fragment.contains(&message);
            let said = |words: &&Words| general(&words.field) == general(&field) && alike(words);
            if !refusals.iter().any(said) {
                missing.push(format!("{field}: {message}"));
            }
        }
    }
    if !missing.is_empty() {
        bail!("no row is refused by:\n{}", missing.join("\n"));
    }
    Ok(())
}

fn words(row: &Row) -> Option<&Words> {
    match &row.verdict {
        Verdict::Refused(words) => Some(words),
        Verdict::Admitted | Verdict::EndpointOnly(_) | Verdict::ServerOnly(_) => None,
    }
}

/// What the server can say of a place: of which field, in which words.
fn expected(field: &str, schema: &Value) -> Vec<(String, String)> {
    let mut expected = Vec::new();
    let mut say = |field: String, message: String| expected.push((field, message));
    let bounds = [
        ("type", "must be of type ", ""),
        ("enum", "Unsupported value", ""),
        ("minimum", "should be greater than or equal to ", ""),
        ("maximum", "should be less than or equal to ", ""),
        ("minLength", "should be at least ", " chars long"),
        ("maxLength", "may not be more than ", " bytes"),
        ("minItems", "should have at least ", " items"),
        ("maxItems", "must have at most ", " items"),
        ("maxProperties", "must have at most ", " items"),
    ];
    for (keyword, before, after) in bounds {
        if let Some(bound) = schema.get(keyword) {
            // A number is written without a fraction, a list of values not at all.
            let bound = bound.as_str().map(str::to_owned).or_else(|| bound.as_f64().map(|number| number.to_string())).unwrap_or_default();
            say(field.to_owned(), format!("{before}{bound}{after}"));
        }
    }
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        say(format!("{field}.{name}"), "Required value".to_owned());
    }
    if schema["x-kubernetes-list-type"] == "set" {
        say(format!("{field}[0]"), "Duplicate value".to_owned());
    }
    for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
        let field = format!("{field}{}", rule["fieldPath"].as_str().unwrap_or_default());
        // What a sentence has besides its fixed words is a value.
        let message = rule["message"].as_str().unwrap_or_default().trim_start_matches("has a key that ");
        say(field, message.to_owned());
    }
    expected
}

/// Without indices, and with a map's key as a list's index.
fn general(field: &str) -> String {
    let field = field.replace(".team", "[team]");
    let parts = field.split('[').map(|part| part.split_once(']').map_or(part, |(_, rest)| rest));
    parts.collect::<Vec<_>>().join("[]")
}
