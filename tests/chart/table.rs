//! The table of values in the chart's README, and where in a document a table stands.

use std::collections::BTreeSet;

use serde_yaml_ng::Value;

use super::describe::{Descriptions, joined};
use super::json;

/// A row for each value that is not a group of others.
pub(crate) fn of(values: &Value, descriptions: &Descriptions, schema: &Value) -> String {
    let mut rows = String::from("| value | default | what it is |\n| --- | --- | --- |\n");
    each(values, schema, "", &mut |path, value, group| {
        let said = descriptions.of(path).replace('|', "\\|");
        let default =
            if group { String::new() } else { format!("`{}`", json::text(value).split_whitespace().collect::<Vec<_>>().join(" ")) };
        rows.push_str(&format!("| `{path}` | {default} | {said} |\n"));
    });
    rows
}

/// The paths of all values, groups included.
pub(crate) fn names(values: &Value, schema: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    each(values, schema, "", &mut |path, _, _| {
        found.insert(path.to_owned());
    });
    found
}

/// Goes into what the schema knows the names of; what is left to Kubernetes is one value.
fn each(values: &Value, schema: &Value, path: &str, visit: &mut impl FnMut(&str, &Value, bool)) {
    for (name, value) in values.as_mapping().into_iter().flatten() {
        let name = name.as_str().unwrap();
        let property = &schema["properties"][name];
        let group = property.get("properties").is_some() && value.as_mapping().is_some_and(|all| !all.is_empty());
        let path = joined(path, name);
        visit(&path, value, group);
        if group {
            each(value, property, &path, visit);
        }
    }
}

/// `text` with another table of these things between its two marks.
pub(crate) fn replaced(text: &str, what: &str, table: &str) -> String {
    let (begin, end) = (format!("<!-- {what}: written by `make chart-docs` -->"), format!("<!-- end of {what} -->"));
    let (before, rest) = text.split_once(&begin).unwrap_or_else(|| panic!("there is no line {begin}"));
    let (_, after) = rest.split_once(&end).unwrap_or_else(|| panic!("there is no line {end}"));
    format!("{before}{begin}\n\n{table}\n{end}{after}")
}
