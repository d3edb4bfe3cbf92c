//! JSON in the order in which it was written, short things on one line.

use serde_yaml_ng::Value;

const WIDTH: usize = 120;

pub(crate) fn text(value: &Value) -> String {
    lines(value, 0, 0)
}

fn lines(value: &Value, indent: usize, before: usize) -> String {
    let short = inline(value);
    let nested =
        |value: &Value| value.get("description").is_some() || value.as_mapping().is_some_and(|all| all.values().any(Value::is_mapping));
    if indent + before + short.len() < WIDTH && !nested(value) {
        return short;
    }
    let (inner, outer) = (" ".repeat(indent + 2), " ".repeat(indent));
    match value {
        Value::Mapping(mapping) => {
            let entries: Vec<String> = mapping
                .iter()
                .map(|(name, value)| {
                    let name = inline(name);
                    format!("{inner}{name}: {}", lines(value, indent + 2, name.len() + 2))
                })
                .collect();
            format!("{{\n{}\n{outer}}}", entries.join(",\n"))
        }
        Value::Sequence(list) => {
            let entries: Vec<String> = list.iter().map(|value| format!("{inner}{}", lines(value, indent + 2, 0))).collect();
            format!("[\n{}\n{outer}]", entries.join(",\n"))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Tagged(_) => short,
    }
}

fn inline(value: &Value) -> String {
    match value {
        Value::Mapping(mapping) if mapping.is_empty() => "{}".to_owned(),
        Value::Mapping(mapping) => {
            let entries: Vec<String> = mapping.iter().map(|(name, value)| format!("{}: {}", inline(name), inline(value))).collect();
            format!("{{ {} }}", entries.join(", "))
        }
        Value::Sequence(list) => format!("[{}]", list.iter().map(inline).collect::<Vec<_>>().join(", ")),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Tagged(_) => serde_json::to_string(value).unwrap(),
    }
}
