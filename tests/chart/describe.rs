//! The comments of values.yaml: the description of each value.

use std::collections::{BTreeMap, BTreeSet};

use serde_yaml_ng::Value;

/// The description of each value, by its path with dots.
pub(crate) struct Descriptions(BTreeMap<String, String>);

impl Descriptions {
    /// A comment right above a name describes it, up to an empty comment line.
    pub(crate) fn read(values: &str) -> Self {
        let mut found = BTreeMap::new();
        let (mut path, mut comment) = (Vec::<(usize, String)>::new(), Vec::<String>::new());
        for line in values.lines() {
            let text = line.trim_start();
            let indent = line.len() - text.len();
            if let Some(said) = text.strip_prefix('#') {
                comment.push(said.trim().to_owned());
                continue;
            }
            if let Some((name, _)) = text.split_once(':').filter(|(name, _)| name.chars().all(char::is_alphanumeric)) {
                path.retain(|(depth, _)| *depth < indent);
                path.push((indent, name.to_owned()));
                let paragraph: Vec<String> = comment.iter().take_while(|line| !line.is_empty()).cloned().collect();
                let names: Vec<&str> = path.iter().map(|(_, name)| name.as_str()).collect();
                found.insert(names.join("."), paragraph.join(" "));
            }
            comment.clear();
        }
        Self(found)
    }

    pub(crate) fn of(&self, path: &str) -> &str {
        self.0.get(path).map_or("", String::as_str)
    }

    /// Writes them into a schema, each first of its property.
    pub(crate) fn write_to(&self, schema: &mut Value) {
        self.fill(schema, "");
    }

    fn fill(&self, object: &mut Value, path: &str) {
        let Some(properties) = object.get_mut("properties").and_then(Value::as_mapping_mut) else { return };
        for (name, property) in properties.iter_mut() {
            let path = joined(path, name.as_str().unwrap());
            // What others define has its description in the schema.
            if !self.of(&path).is_empty() {
                let old = std::mem::take(property.as_mapping_mut().unwrap());
                let new = property.as_mapping_mut().unwrap();
                new.insert("description".into(), self.of(&path).into());
                new.extend(old.into_iter().filter(|(key, _)| key != "description"));
            }
            self.fill(property, &path);
        }
    }
}

pub(crate) fn joined(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// The paths of all properties of a schema that are values of their own, not parts of an element of a list.
pub(crate) fn properties(schema: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    collect(schema, "", &mut found);
    found
}

fn collect(object: &Value, path: &str, found: &mut BTreeSet<String>) {
    for (name, property) in object.get("properties").and_then(Value::as_mapping).into_iter().flatten() {
        // What others define, such as an issuer, is a value as a whole.
        let path = joined(path, name.as_str().unwrap());
        if path != "certificates.certManager.issuerRef" {
            collect(property, &path, found);
        }
        found.insert(path);
    }
}

/// Calls `visit` for each object of the schema, elements of lists and definitions included.
pub(crate) fn each_object(schema: &Value, visit: &mut impl FnMut(&str, &Value)) {
    walk(schema, "", visit);
}

fn walk(node: &Value, path: &str, visit: &mut impl FnMut(&str, &Value)) {
    match node {
        Value::Mapping(mapping) => {
            visit(path, node);
            for (name, child) in mapping {
                walk(child, &joined(path, name.as_str().unwrap()), visit);
            }
        }
        Value::Sequence(list) => list.iter().for_each(|child| walk(child, path, visit)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Tagged(_) => {}
    }
}
