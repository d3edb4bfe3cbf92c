//! The node labels that a replacement shares: legal keys, none twice, none that is always or never shared.

use serde_json::{Value, json};

use super::row::{Row, admits, refuses};

const BOTH: &str = "/spec/surge/matchNodeRequirements";
const ZONE: &str = "topology.kubernetes.io/zone";

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = [overlap(), vec![admits("no requirements", BOTH, json!({}))]].concat();
    for list in ["required", "preferred"] {
        rows.extend(legal(list));
        rows.extend(number(list));
    }
    rows
}

fn at(list: &str) -> (String, String) {
    (format!("{BOTH}/{list}"), format!("spec.surge.matchNodeRequirements.{list}"))
}

fn legal(list: &str) -> Vec<Row> {
    let (pointer, field) = at(list);
    let long = |count: usize| "a".repeat(count);
    let second = format!("{field}[1]");
    let bad = |key: &str, words: &str| refuses(&format!("{key:?} is {list}"), &pointer, json!(["rack", key]), &second, words);
    let no_key = "is not a label key; write for example topology.kubernetes.io/zone";
    let mut rows = Vec::new();
    for key in ["team", "example.com/rack", "A_1.b-c", &long(63), &format!("{}/{}", long(253), long(63))] {
        rows.push(admits(&format!("{key} is {list}"), &pointer, json!([key])));
    }
    rows.extend(["a b", "-a", "a/", "/a", "a/b/c", "A/b", "zone:eu", "r\u{e4}ck", "rack\n"].map(|key| bad(key, no_key)));
    rows.extend([
        bad(&long(64), no_key),
        bad(&format!("{}/a", long(254)), no_key),
        bad("karpenter.sh/nodepool", "is always required; leave it out"),
        bad("kubernetes.io/hostname", "names one host, which no new node could have; leave it out"),
        bad("", "should be at least 1 chars long"),
        bad(&long(318), "may not be more than 317 bytes"),
        bad("rack", "Duplicate value"),
        refuses(&format!("null is {list}"), &pointer, json!([null]), &format!("{field}[0]"), "must be of type string"),
    ]);
    rows
}

fn number(list: &str) -> Vec<Row> {
    let (pointer, field) = at(list);
    let keys = |count: usize| json!((0..count).map(|n| format!("k{n}")).collect::<Vec<_>>());
    vec![
        admits(&format!("nothing is {list}"), &pointer, json!([])),
        admits(&format!("16 keys are {list}"), &pointer, keys(16)),
        refuses(&format!("17 keys are {list}"), &pointer, keys(17), &field, "must have at most 16 items"),
    ]
}

fn overlap() -> Vec<Row> {
    let field = "spec.surge.matchNodeRequirements.preferred";
    let words = |key: &str| format!("\"{key}\" is required already; leave it out here, or write the list required without it");
    let refused = |name: &str, value: Value, key: &str| refuses(name, BOTH, value, field, &words(key));
    vec![
        admits("a preferred key beside required ones", BOTH, json!({"required": [ZONE], "preferred": ["rack"]})),
        admits("a default that is preferred instead", BOTH, json!({"required": ["rack"], "preferred": [ZONE]})),
        refused("a preferred key that is required", json!({"required": ["rack"], "preferred": ["shelf", "rack"]}), "rack"),
        refused("a preferred key that is required by default", json!({"preferred": [ZONE]}), ZONE),
        refused("a preferred key that an empty list requires", json!({"required": [], "preferred": [ZONE]}), ZONE),
        refused("a preferred key that null requires", json!({"required": null, "preferred": [ZONE]}), ZONE),
    ]
}
