//! What the form CycloneDX 1.5 asks of a bill of materials, as far as ours uses it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// Properties that an object may have; those that it must have are marked with `!`.
const BILL: &[&str] = &["$schema", "bomFormat!", "specVersion!", "version", "metadata", "components", "dependencies"];
const METADATA: &[&str] = &["component", "properties"];
const COMPONENT: &[&str] =
    &["type!", "bom-ref", "name!", "version", "description", "scope", "hashes", "licenses", "purl", "externalReferences"];
const HASH: &[&str] = &["alg!", "content!"];
const REFERENCE: &[&str] = &["type!", "url!"];
const PROPERTY: &[&str] = &["name", "value"];
const DEPENDENCY: &[&str] = &["ref!", "dependsOn"];
/// An expression stands alone; a list of licences would be another form.
const LICENCE: &[&str] = &["expression!"];

/// Every fault of a bill, each with its place.
pub(crate) fn faults(bill: &Value) -> Vec<String> {
    let mut faults = Faults(Vec::new());
    faults.object("bill", bill, BILL);
    faults.same("bomFormat", &bill["bomFormat"], &["CycloneDX"]);
    faults.same("specVersion", &bill["specVersion"], &["1.5"]);
    faults.when("version", bill["version"].as_u64().is_some_and(|version| version >= 1));
    faults.object("metadata", &bill["metadata"], METADATA);
    for property in list(&bill["metadata"]["properties"]) {
        faults.object("metadata.properties", property, PROPERTY);
    }
    let main = &bill["metadata"]["component"];
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for component in list(&bill["components"]).chain([main]) {
        faults.component(component);
        let reference = component["bom-ref"].as_str().unwrap_or_default();
        faults.when(&format!("{reference}: bom-ref"), !reference.is_empty() && seen.insert(reference));
    }
    let mut told: BTreeMap<&str, usize> = BTreeMap::new();
    for dependency in list(&bill["dependencies"]) {
        let reference = dependency["ref"].as_str().unwrap_or_default();
        faults.object(&format!("dependency {reference}"), dependency, DEPENDENCY);
        *told.entry(reference).or_default() += 1;
        let needs: Vec<&str> = list(&dependency["dependsOn"]).filter_map(Value::as_str).collect();
        let distinct: BTreeSet<&str> = needs.iter().copied().collect();
        faults.when(&format!("dependency {reference}: dependsOn"), distinct.len() == needs.len() && distinct.is_subset(&seen));
    }
    faults.when("dependencies: one of each", told.keys().copied().collect::<BTreeSet<_>>() == seen && told.values().all(|n| *n == 1));
    faults.0
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

struct Faults(Vec<String>);

impl Faults {
    fn when(&mut self, place: &str, right: bool) {
        if !right {
            self.0.push(place.to_owned());
        }
    }

    fn same(&mut self, place: &str, value: &Value, words: &[&str]) {
        self.when(&format!("{place}: {value}"), value.as_str().is_some_and(|text| words.contains(&text)));
    }

    /// No property but these, and every one that must be there.
    fn object(&mut self, place: &str, value: &Value, properties: &[&str]) {
        let Some(object) = value.as_object() else { return self.when(place, false) };
        for name in object.keys() {
            self.when(&format!("{place}: {name} is no property"), properties.iter().any(|known| known.trim_end_matches('!') == name));
        }
        for name in properties.iter().filter_map(|known| known.strip_suffix('!')) {
            self.when(&format!("{place}: {name} is required"), object.contains_key(name));
        }
    }

    fn component(&mut self, component: &Value) {
        let place = component["bom-ref"].as_str().unwrap_or_default().to_owned();
        self.object(&place, component, COMPONENT);
        self.same(&format!("{place}: type"), &component["type"], &["application", "library"]);
        self.when(&format!("{place}: name"), component["name"].as_str().is_some_and(|name| !name.is_empty()));
        if component.get("scope").is_some() {
            self.same(&format!("{place}: scope"), &component["scope"], &["required", "optional", "excluded"]);
        }
        for hash in list(&component["hashes"]) {
            self.object(&place, hash, HASH);
            self.same(&format!("{place}: alg"), &hash["alg"], &["SHA-256"]);
            let hex = |text: &str| text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
            self.when(&format!("{place}: content"), hash["content"].as_str().is_some_and(hex));
        }
        self.when(&format!("{place}: licenses"), list(&component["licenses"]).count() == 1);
        for licence in list(&component["licenses"]) {
            self.object(&place, licence, LICENCE);
            self.when(&format!("{place}: {licence}"), licence["expression"].as_str().is_some_and(is_expression));
        }
        for reference in list(&component["externalReferences"]) {
            self.object(&place, reference, REFERENCE);
            self.same(&format!("{place}: type"), &reference["type"], &["vcs", "website"]);
            self.when(&format!("{place}: url"), reference["url"].as_str().is_some_and(|url| url.starts_with("https://")));
        }
        if component.get("purl").is_some() {
            self.when(&format!("{place}: purl"), component["purl"].as_str().is_some_and(is_address));
        }
    }
}

/// SPDX: names of licences, between them `AND`, `OR` and `WITH`, and brackets that match.
fn is_expression(text: &str) -> bool {
    let spaced = text.replace('(', " ( ").replace(')', " ) ");
    let (mut depth, mut wants_name) = (0_usize, true);
    for word in spaced.split_whitespace() {
        match word {
            "(" if wants_name => depth += 1,
            ")" if !wants_name && depth > 0 => depth -= 1,
            "AND" | "OR" | "WITH" if !wants_name => wants_name = true,
            "(" | ")" | "AND" | "OR" | "WITH" => return false,
            name if wants_name && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '+')) => wants_name = false,
            _ => return false,
        }
    }
    depth == 0 && !wants_name
}

/// `pkg:cargo/NAME@VERSION`, in which nothing needs to be written otherwise.
fn is_address(text: &str) -> bool {
    let plain = |text: &str, more: &[char]| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(&c));
    let parts = text.strip_prefix("pkg:cargo/").and_then(|rest| rest.split_once('@'));
    parts.is_some_and(|(name, version)| plain(name, &['-', '_']) && plain(&version.replace("%2B", ""), &['.', '-']))
}

#[test]
fn expressions_and_addresses_are_told_from_what_is_none() {
    for good in ["MIT", "MIT OR Apache-2.0", "(MIT OR ISC) AND Unicode-3.0", "Apache-2.0 WITH LLVM-exception OR MIT"] {
        assert!(is_expression(good), "{good}");
    }
    for bad in ["", "MIT/ISC", "MIT OR", "OR MIT", "(MIT", "MIT)", "MIT ISC", "MIT, ISC"] {
        assert!(!is_expression(bad), "{bad}");
    }
    for good in ["pkg:cargo/serde@1.0.1", "pkg:cargo/a_b-c@0.9.34%2Bdeprecated", "pkg:cargo/a@1.0.0-rc.1"] {
        assert!(is_address(good), "{good}");
    }
    for bad in ["serde@1.0.1", "pkg:cargo/serde", "pkg:cargo/@1", "pkg:cargo/a@1+b", "pkg:npm/a@1"] {
        assert!(!is_address(bad), "{bad}");
    }
}
