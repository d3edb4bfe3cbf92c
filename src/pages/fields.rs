//! The fields of a RotationPolicy: the tables of docs/policy.md and docs/status.md beside the schema that is served.

use serde_yaml_ng::Value;

use super::markdown::{Page, Row, code};
use super::{Names, assert_same, names, read};

const POLICY: &str = "docs/policy.md";

fn version() -> Value {
    let definition: Value = serde_yaml_ng::from_str(&read("crds/rotationpolicies.noderotation.io.yaml")).unwrap();
    definition["spec"]["versions"][0].clone()
}

/// What kubectl shows of a policy.
pub(super) fn columns() -> Names {
    let version = version();
    names(version["additionalPrinterColumns"].as_sequence().unwrap().iter().map(|column| column["name"].as_str().unwrap()))
}

/// Path and schema of every field below `spec` or `status`.
pub(super) fn fields(part: &str) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    walk(&version()["schema"]["openAPIV3Schema"]["properties"][part], "", &mut found);
    assert!(found.len() > 10, "only {} fields were found in {part}", found.len());
    found
}

fn walk(schema: &Value, path: &str, found: &mut Vec<(String, Value)>) {
    for (name, field) in schema.get("properties").and_then(Value::as_mapping).into_iter().flatten() {
        let path = format!("{path}{}{}", if path.is_empty() { "" } else { "." }, name.as_str().unwrap());
        found.push((path.clone(), field.clone()));
        walk(field, &path, found);
        if let Some(items) = field.get("items") {
            walk(items, &format!("{path}[]"), found);
        }
    }
}

/// Those that a reader looks for: not the fields of Kubernetes' own conditions.
fn documented(part: &str) -> Names {
    names(fields(part).into_iter().map(|(path, _)| path).filter(|path| !path.starts_with("conditions[]")))
}

#[test]
fn every_field_of_a_policy_has_a_row_with_its_type_and_its_default() {
    let rows = Page::new(POLICY).rows();
    assert_same(POLICY, &rows.iter().flat_map(Row::subjects).collect(), &documented("spec"));
    for (path, schema) in fields("spec") {
        let row = rows.iter().find(|row| row.subjects() == [path.as_str()]).unwrap();
        assert_eq!(Some(row.cell("type")), schema["type"].as_str(), "{POLICY}: {path}");
        let default = match &schema["default"] {
            Value::Null | Value::Mapping(_) | Value::Sequence(_) => Vec::new(),
            Value::String(text) => vec![text.clone()],
            Value::Bool(on) => vec![on.to_string()],
            Value::Number(number) => vec![number.to_string()],
            other @ Value::Tagged(_) => panic!("{path}: {other:?}"),
        };
        assert_eq!(code(row.cell("default")), default, "{POLICY}: {path}");
    }
}

#[test]
fn a_field_is_told_to_be_required_where_it_is() {
    let version = version();
    let spec = &version["schema"]["openAPIV3Schema"]["properties"]["spec"];
    let of = |schema: &Value, path: &str| {
        let required = schema["required"].as_sequence().cloned().unwrap_or_default();
        required.iter().map(|name| format!("{path}{}", name.as_str().unwrap())).collect::<Vec<_>>()
    };
    let mut required = of(spec, "");
    for (path, field) in fields("spec") {
        required.extend(of(&field, &format!("{path}.")));
        required.extend(field.get("items").into_iter().flat_map(|items| of(items, &format!("{path}[]."))));
    }
    let rows = Page::new(POLICY).rows();
    let told = rows.iter().filter(|row| row.cell("default") == "required").flat_map(Row::subjects);
    assert_same(POLICY, &told.collect(), &names(required));
}

#[test]
fn every_field_of_the_status_has_a_row() {
    let rows = Page::new("docs/status.md").rows();
    let of_page = rows.iter().filter(|row| row.section == "Fields").flat_map(Row::subjects);
    assert_same("docs/status.md", &of_page.collect(), &documented("status"));
}
