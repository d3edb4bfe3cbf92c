//! Any value that a structural schema admits, rules aside.

use proptest::prelude::*;
use proptest::string::string_regex;
use serde_json::{Map, Value};

/// Values of a schema. Lists and maps stay short: their bounds are tested by the rows of `e2e`.
pub(super) fn by(schema: &Value) -> BoxedStrategy<Value> {
    let number = |keyword: &str| schema[keyword].as_f64();
    let size = |keyword: &str| schema[keyword].as_u64().and_then(|size| usize::try_from(size).ok());
    match schema["type"].as_str().unwrap() {
        "boolean" => any::<bool>().prop_map(Value::from).boxed(),
        "integer" => {
            #[expect(clippy::cast_possible_truncation, reason = "the bounds are whole numbers")]
            let bound = |keyword| number(keyword).unwrap() as i64;
            let (least, most) = (bound("minimum"), bound("maximum"));
            prop_oneof![Just(least), Just(most), least..=most].prop_map(Value::from).boxed()
        }
        "string" => text(schema, size("minLength").unwrap_or(0), size("maxLength")),
        "array" => {
            let (least, most) = (size("minItems").unwrap_or(0), size("maxItems").unwrap());
            let unique = schema["x-kubernetes-list-type"] == "set";
            prop::collection::vec(by(&schema["items"]), least..=most.min(least + 3))
                .prop_map(move |mut items| {
                    if unique {
                        let mut seen = Vec::new();
                        items.retain(|item| {
                            !seen.contains(item) && {
                                seen.push(item.clone());
                                true
                            }
                        });
                    }
                    Value::from(items)
                })
                .boxed()
        }
        "object" if schema["additionalProperties"].is_object() => {
            let entries = prop::collection::btree_map(name(), by(&schema["additionalProperties"]), 0..4);
            entries.prop_map(|entries| entries.into_iter().collect::<Value>()).boxed()
        }
        "object" => object(schema),
        other => panic!("{other} is no type of this schema"),
    }
}

fn object(schema: &Value) -> BoxedStrategy<Value> {
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut fields: BoxedStrategy<Map<String, Value>> = Just(Map::new()).boxed();
    for (field, property) in schema["properties"].as_object().unwrap() {
        let (field, always) = (field.clone(), required.contains(&field.as_str()));
        fields = (fields, by(property), any::<bool>())
            .prop_map(move |(mut fields, value, there)| {
                if there || always {
                    fields.insert(field.clone(), value);
                }
                fields
            })
            .boxed();
    }
    fields.prop_map(Value::from).boxed()
}

fn text(schema: &Value, least: usize, most: Option<usize>) -> BoxedStrategy<Value> {
    if let Some(values) = schema["enum"].as_array() {
        return prop::sample::select(values.clone()).boxed();
    }
    let most = most.unwrap();
    if let Some(pattern) = schema["pattern"].as_str() {
        let inner = pattern.strip_prefix('^').and_then(|pattern| pattern.strip_suffix('$')).unwrap();
        let fits = move |text: &String| (least..=most).contains(&text.chars().count());
        return string_regex(inner).unwrap().prop_filter("longer than the schema admits", fits).prop_map(Value::from).boxed();
    }
    let anything = string_regex(&format!("\\PC{{{least},{}}}", most.min(16))).unwrap();
    prop_oneof![anything, name().prop_filter("shorter", move |name| name.len() >= least)].prop_map(Value::from).boxed()
}

/// Often a good name.
fn name() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{1,3}", "[a-z]{1,3}[./][a-zA-Z_-]{1,3}", "\\PC{0,4}"]
}

/// The path of a field without indices, as the schema has it.
pub(super) fn generalized(path: &str) -> String {
    // In brackets a map has a key, which may be any text.
    let labels = "spec.nodePoolSelector.matchLabels";
    if path.starts_with(labels) {
        return labels.to_owned();
    }
    let parts = path.split('[').map(|part| part.split_once(']').map_or(part, |(_, rest)| rest));
    parts.collect::<Vec<_>>().join("[]")
}
