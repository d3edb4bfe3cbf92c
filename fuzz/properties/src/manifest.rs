//! Files: any text is read to an end, what cannot be read is told in a line with its place, and a text in JSON is read as the
//! same text in YAML is (D3).

use noderotation_manifest::Manifest;
use serde_json::Value;

/// What makes the reader of YAML read what the one of JSON would have read.
const OURS: &str = "RotationPolicy";

/// Reads `input` as a file of policies and as a file of a whole cluster.
pub fn check(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let (part, whole) = (read(Manifest::default(), &text), read(Manifest::of_a_cluster(), &text));
    for manifest in [&part, &whole] {
        faults_have_a_place(manifest, &text);
    }
    assert!(part.nodes.is_empty() && part.pods.is_empty() && part.budgets.is_empty(), "{part:?}");
    assert_eq!(objects(&part).get(..3), objects(&whole).get(..3), "what runs in a cluster changes what is judged");
    fields_have_a_place(&whole, &text);
    if !text.contains(OURS) && serde_json::from_str::<Value>(&text).is_ok_and(|value| value.is_object()) {
        json_is_read_as_yaml(&text);
    }
}

fn read(mut manifest: Manifest, text: &str) -> Manifest {
    manifest.add("file", text);
    manifest
}

/// One line each, about a line that there is.
fn faults_have_a_place(manifest: &Manifest, text: &str) {
    for line in manifest.errors.iter().chain(&manifest.notes) {
        assert!(!line.chars().any(char::is_control), "{line:?} is more than one line");
        let told = line.strip_prefix("file:").and_then(|rest| rest.split_once(':')).and_then(|(number, _)| number.parse().ok());
        is_a_line(told.unwrap_or_default(), text, line);
    }
}

/// Lines end as YAML has it, in a carriage return too.
fn is_a_line(number: usize, text: &str, of: &str) {
    let lines = text.split(['\n', '\r']).count();
    assert!((1..=lines).contains(&number), "{of:?} is in none of the {lines} lines");
}

fn fields_have_a_place(manifest: &Manifest, text: &str) {
    for policy in &manifest.policies {
        let paths = ["", "spec", "spec.maintenanceWindows[0].days[1]", "spec.nodePoolSelector.matchLabels.a.b/c", "[", "."];
        for path in paths {
            let told = policy.at(path);
            let line = told.strip_prefix("file:").and_then(|rest| rest.split(':').next()?.parse().ok());
            is_a_line(line.unwrap_or_default(), text, &told);
        }
    }
}

/// All that was read, by kind.
fn objects(manifest: &Manifest) -> [Vec<Value>; 6] {
    fn values<T: serde::Serialize>(objects: &[T]) -> Vec<Value> {
        objects.iter().map(|object| serde_json::to_value(object).unwrap_or_default()).collect()
    }
    [
        manifest.policies.iter().map(|policy| policy.value.clone()).collect(),
        values(&manifest.pools),
        values(&manifest.claims),
        values(&manifest.nodes),
        values(&manifest.pods),
        values(&manifest.budgets),
    ]
}

/// Whoever has written a policy in JSON may have every other object in it too.
fn json_is_read_as_yaml(text: &str) {
    let (json, yaml) = (read(Manifest::of_a_cluster(), text), read(Manifest::of_a_cluster(), &with_a_word_of_ours(text)));
    assert_eq!(objects(&json), objects(&yaml), "the readers differ: {:?}, {:?}", json.errors, yaml.errors);
    assert_eq!(json.errors.is_empty(), yaml.errors.is_empty(), "the readers differ: {:?}, {:?}", json.errors, yaml.errors);
}

/// The same text in JSON with one more field, which nobody reads.
fn with_a_word_of_ours(text: &str) -> String {
    let (before, after) = text.split_once('{').unwrap_or(("", text));
    let comma = if after.trim_start().starts_with('}') { "" } else { "," };
    format!("{before}{{\"{OURS}\":null{comma}{after}")
}
