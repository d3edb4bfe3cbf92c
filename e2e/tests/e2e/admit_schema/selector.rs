//! The selector of NodePools, held against the API server's own rules for selectors as well.

use anyhow::{Result, bail};
use e2e::cluster::Cluster;
use libtest_mimic::Trial;
use serde_json::{Map, Value, json};

use super::row::{Row, Verdict, admits, refuses};
use super::server::{Answer, Server, Unknown};
use crate::bed::Bed;

const NETWORK_POLICIES: &str = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies";

const LABELS: &str = "/spec/nodePoolSelector/matchLabels";
const LABELS_FIELD: &str = "spec.nodePoolSelector.matchLabels";
const EXPRESSIONS: &str = "/spec/nodePoolSelector/matchExpressions";
const EXPRESSIONS_FIELD: &str = "spec.nodePoolSelector.matchExpressions";
const FIRST: &str = "spec.nodePoolSelector.matchExpressions[0]";

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    vec![bed.trial("admit_schema::selector::each_is_judged_as_the_servers_own_are", each_is_judged_as_the_servers_own_are)]
}

pub(crate) fn rows() -> Vec<Row> {
    [judged_alike(), numbers()].concat()
}

/// What the API server says of any selector; the bounds are ours alone.
fn judged_alike() -> Vec<Row> {
    [whole(), keys(), values(), operators()].concat()
}

/// A NetworkPolicy has a selector of the API server's own.
async fn each_is_judged_as_the_servers_own_are(cluster: &Cluster) -> Result<()> {
    let server = Server::alone(cluster).await?;
    let mut differing = Vec::new();
    for row in judged_alike() {
        let policy = row.policy()?;
        // Without one it selects all, which ours may not leave out; and there a null is the empty value.
        let Some(selector) = policy["spec"].get("nodePoolSelector").filter(|selector| !selector.to_string().contains("null")) else {
            continue;
        };
        let network_policy = json!({
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": {"name": "selector"},
            "spec": {"podSelector": selector},
        });
        let answer = server.post_to(NETWORK_POLICIES, &network_policy, Unknown::Strict).await?;
        let (theirs, ours) = (matches!(answer, Answer::Admitted(_)), matches!(row.verdict, Verdict::Admitted));
        if theirs != ours {
            differing.push(format!("{}: {answer:?}", row.name));
        }
    }
    if !differing.is_empty() {
        bail!("the API server judges its own selectors otherwise:\n{}", differing.join("\n"));
    }
    Ok(())
}

fn whole() -> Vec<Row> {
    let pointer = "/spec/nodePoolSelector";
    vec![
        admits("an empty selector", pointer, json!({})),
        refuses("no selector", pointer, None, "spec.nodePoolSelector", "Required value"),
        admits("a selector without entries", pointer, json!({"matchLabels": {}, "matchExpressions": []})),
        admits(
            "the same key twice",
            pointer,
            json!({"matchLabels": {"team": "a"}, "matchExpressions": [{"key": "team", "operator": "Exists"}]}),
        ),
    ]
}

/// Keys that are legal, and keys that are not; they are the same in maps and in expressions.
fn keys() -> Vec<Row> {
    let long = |count: usize| "a".repeat(count);
    let good = [
        "team".to_owned(),
        "A_1.b-c".to_owned(),
        "0".to_owned(),
        "example.com/team".to_owned(),
        "a-b.c/D".to_owned(),
        long(63),
        // A prefix is bounded as a whole, not part by part.
        format!("{}/a", long(64)),
        format!("{}/{}", long(253), long(63)),
    ];
    let bad = [
        "a b".to_owned(),
        "-a".to_owned(),
        "a-".to_owned(),
        "a/b/c".to_owned(),
        "/a".to_owned(),
        "a/".to_owned(),
        "Example.com/a".to_owned(),
        "a..b/c".to_owned(),
        "a_b/c".to_owned(),
        "t\u{e4}am".to_owned(),
        "*".to_owned(),
        long(64),
        format!("{}/a", long(254)),
    ];
    let words = "is not a label key; write a name such as team, or prefix/name such as example.com/team";
    let mut rows = Vec::new();
    for key in &good {
        rows.push(admits(&format!("a label with the key {key}"), LABELS, json!({key: "a"})));
        rows.push(admits(&format!("an expression with the key {key}"), EXPRESSIONS, json!([{"key": key, "operator": "Exists"}])));
    }
    for key in &bad {
        rows.push(refuses(
            &format!("a label with the key {key:?}"),
            LABELS,
            json!({key: "a"}),
            LABELS_FIELD,
            &format!("\"{key}\" {words}"),
        ));
        let expression = json!([{"key": key, "operator": "Exists"}]);
        rows.push(refuses(&format!("an expression with the key {key:?}"), EXPRESSIONS, expression, &format!("{FIRST}.key"), words));
    }
    let empty = json!([{"key": "", "operator": "Exists"}]);
    let endless = json!([{"key": long(318), "operator": "Exists"}]);
    rows.extend([
        // A sentence of the server that would have a line break goes without the key.
        refuses("a label with the key \"team\\n\"", LABELS, json!({"team\n": "a"}), LABELS_FIELD, words),
        refuses("a label with an empty key", LABELS, json!({"": "a"}), LABELS_FIELD, words),
        refuses("a bad key among good ones", LABELS, json!({"a": "1", "b c": "2", "d": "3"}), LABELS_FIELD, "\"b c\" is not a label key"),
        refuses("an expression with an empty key", EXPRESSIONS, empty, &format!("{FIRST}.key"), "should be at least 1 chars long"),
        refuses("an expression with a key of 318 letters", EXPRESSIONS, endless, &format!("{FIRST}.key"), "may not be more than 317 bytes"),
        refuses("an expression without a key", EXPRESSIONS, json!([{"operator": "Exists"}]), &format!("{FIRST}.key"), "Required value"),
    ]);
    rows
}

fn values() -> Vec<Row> {
    let long = |count: usize| "a".repeat(count);
    let words = "is not a label value; write at most 63 letters, digits, '-', '_' or '.'";
    let of = |value: &str| json!([{"key": "team", "operator": "In", "values": ["b", value]}]);
    let second = format!("{FIRST}.values[1]");
    let mut rows = Vec::new();
    for value in ["", "a", "A_1.b-c", "0", &long(63)] {
        rows.push(admits(&format!("a label with the value {value:?}"), LABELS, json!({"team": value})));
        rows.push(admits(&format!("an expression with the value {value:?}"), EXPRESSIONS, of(value)));
    }
    for value in ["a b", "-a", "a.", "a/b", "t\u{e4}am", "a\n", " "] {
        let field = format!("{LABELS_FIELD}[team]");
        rows.push(refuses(&format!("a label with the value {value:?}"), LABELS, json!({"team": value}), &field, words));
        rows.push(refuses(&format!("an expression with the value {value:?}"), EXPRESSIONS, of(value), &second, words));
    }
    let too_long = "may not be more than 63 bytes";
    let no_value = "\"team\" has no value; write one, or \"\" for the empty value";
    rows.extend([
        refuses("a label with a value of 64 letters", LABELS, json!({"team": long(64)}), &format!("{LABELS_FIELD}.team"), too_long),
        refuses("an expression with a value of 64 letters", EXPRESSIONS, of(&long(64)), &second, too_long),
        // Dropped as elsewhere, it would leave a selector of more NodePools than was meant.
        refuses("a label without a value", LABELS, json!({"tier": "a", "team": null}), LABELS_FIELD, no_value),
    ]);
    rows
}

fn operators() -> Vec<Row> {
    let of = |operator: &str, values: Value| json!([{"key": "team", "operator": operator, "values": values}]);
    let values = format!("{FIRST}.values");
    let operator = format!("{FIRST}.operator");
    let mut rows = Vec::new();
    for name in ["In", "NotIn"] {
        rows.extend([
            admits(&format!("{name} with a value"), EXPRESSIONS, of(name, json!(["a"]))),
            admits(&format!("{name} with a value twice"), EXPRESSIONS, of(name, json!(["a", "a"]))),
            refuses(&format!("{name} with no values"), EXPRESSIONS, of(name, json!([])), &values, "In and NotIn need at least one value"),
            refuses(
                &format!("{name} without values"),
                EXPRESSIONS,
                json!([{"key": "team", "operator": name}]),
                &values,
                "In and NotIn need at least one value",
            ),
        ]);
    }
    for name in ["Exists", "DoesNotExist"] {
        rows.extend([
            admits(&format!("{name} without values"), EXPRESSIONS, json!([{"key": "team", "operator": name}])),
            admits(&format!("{name} with no values"), EXPRESSIONS, of(name, json!([]))),
            refuses(
                &format!("{name} with a value"),
                EXPRESSIONS,
                of(name, json!(["a"])),
                &values,
                "Exists and DoesNotExist take no values",
            ),
        ]);
    }
    for name in ["in", "Equals", "Gt", "", "="] {
        rows.push(refuses(&format!("the operator {name:?}"), EXPRESSIONS, of(name, json!(["a"])), &operator, "Unsupported value"));
    }
    rows.push(refuses("no operator", EXPRESSIONS, json!([{"key": "team", "values": ["a"]}]), &operator, "Required value"));
    rows
}

fn numbers() -> Vec<Row> {
    let labels = |count: usize| (0..count).map(|n| (format!("k{n}"), json!("v"))).collect::<Map<String, Value>>();
    let expressions = |count: usize| json!(vec![json!({"key": "team", "operator": "Exists"}); count]);
    let values = |count: usize| {
        let values: Vec<String> = (0..count).map(|n| format!("v{n}")).collect();
        json!([{"key": "team", "operator": "In", "values": values}])
    };
    vec![
        admits("64 labels", LABELS, json!(labels(64))),
        refuses("65 labels", LABELS, json!(labels(65)), LABELS_FIELD, "must have at most 64 items"),
        admits("64 expressions", EXPRESSIONS, expressions(64)),
        refuses("65 expressions", EXPRESSIONS, expressions(65), EXPRESSIONS_FIELD, "must have at most 64 items"),
        admits("256 values", EXPRESSIONS, values(256)),
        refuses("257 values", EXPRESSIONS, values(257), &format!("{FIRST}.values"), "must have at most 256 items"),
    ]
}
