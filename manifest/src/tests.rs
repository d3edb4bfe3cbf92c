//! What people write, what they write wrong, and where it says so.

use serde_json::json;

use super::yaml::documents;
use super::*;

/// The documents, and where and why reading ended.
fn read_yaml(text: &str) -> (Vec<Value>, Option<String>) {
    let (documents, broken) = documents(text);
    let broken = broken.map(|broken| format!("{}: {}", broken.place, broken.message));
    (documents.into_iter().map(|document| document.value).collect(), broken)
}

fn manifest(text: &str) -> Manifest {
    let mut manifest = Manifest::default();
    manifest.add("file", text);
    manifest
}

#[test]
fn values_are_those_that_kubectl_sends() {
    let rows = [
        (
            "a: yes\nb: 'yes'\nc: !!str yes\nd: 1_0\ne: 02:00\nf:",
            json!({"a": true, "b": "yes", "c": "yes", "d": 10, "e": "02:00", "f": null}),
        ),
        ("{\"a\": [1, 2.5, \"x\"], \"b\": null}", json!({"a": [1, 2.5, "x"], "b": null})),
        ("a: |\n  one\n  two\nb: >-\n  one\n  two", json!({"a": "one\ntwo\n", "b": "one two"})),
        ("a: &x {k: 1, l: 2}\nb: *x\nc: {<<: *x, l: 3}", json!({"a": {"k": 1, "l": 2}, "b": {"k": 1, "l": 2}, "c": {"k": 1, "l": 3}})),
        ("a: &x {k: 1}\nb: &y {k: 2, m: 2}\nc:\n  <<: [*x, *y]", json!({"a": {"k": 1}, "b": {"k": 2, "m": 2}, "c": {"k": 1, "m": 2}})),
        ("1: a\ntrue: b", json!({"1": "a", "true": "b"})),
    ];
    for (text, value) in rows {
        assert_eq!(read_yaml(text), (vec![value], None), "{text}");
    }
}

#[test]
fn empty_documents_are_none_and_those_before_a_mistake_count() {
    assert_eq!(read_yaml("# nothing\n---\n---\na: 1\n...\n---\nb: 2\n"), (vec![json!({"a": 1}), json!({"b": 2})], None));
    assert_eq!(read_yaml(""), (vec![], None));
    let (values, broken) = read_yaml("a: 1\n---\nb: [1\nc: 2\n");
    assert_eq!(values, [json!({"a": 1})]);
    assert!(broken.is_some_and(|broken| broken.starts_with("4:")));
    let (_, broken) = read_yaml("a: 1\nb \"c");
    assert!(broken.is_some_and(|broken| broken.starts_with("2:5: ")));
    assert!(manifest("?   ").errors[0].starts_with("file:1:5: "));
}

#[test]
fn what_no_json_can_carry_is_refused_with_its_place() {
    let rows = [
        ("a: 1\nb:\n  a: 1\n  a: 2\n", "4:3: b.a: is there twice, first in line 3; write it once"),
        ("a: .nan\n", "1:4: .nan is a number that JSON does not have"),
        ("[1]: 2\n", "1:1: has a key that is not text"),
        ("a: !Ref b\n", "1:4: has the tag !Ref, which Kubernetes does not know; leave it out"),
        ("a: !!set {b}\n", "1:4: has the tag tag:yaml.org,2002:set, which Kubernetes does not know; leave it out"),
        ("<<: 3\n", "1:5: <<: merges something that is no object"),
        ("a: &x [*x]\n", "1:8: refers to a value that contains it or that there is none of"),
    ];
    for (text, sentence) in rows {
        assert_eq!(read_yaml(text), (vec![], Some(sentence.to_owned())), "{text}");
    }
}

#[test]
fn depth_and_aliases_are_bounded() {
    let deep = "[".repeat(100);
    assert!(read_yaml(&deep).1.is_some_and(|broken| broken.ends_with("nested more than 64 levels deep")));
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let alias = format!("*a{}", level - 1);
        bomb.push_str(&format!("a{level}: &a{level} [{}]\n", [alias.as_str(); 10].join(", ")));
    }
    assert!(read_yaml(&bomb).1.is_some_and(|broken| broken.ends_with("those that aliases repeat included")));
}

#[test]
fn every_field_has_a_place_and_what_is_missing_has_that_of_what_is_around_it() {
    let text = "# first\nkind: List\napiVersion: v1\nitems:\n- apiVersion: noderotation.io/v1alpha1\n  kind: RotationPolicy\n  spec:\n    nodePoolSelector:\n      matchLabels: {example.com/team: a}\n    maintenanceWindows:\n      - end: \"25:00\"\n";
    let manifest = manifest(text);
    let [policy] = manifest.policies.as_slice() else { panic!("{manifest:?}") };
    let rows = [
        ("", "file:5:3"),
        ("spec", "file:7:3"),
        ("spec.maintenanceWindows[0].end", "file:11:14"),
        ("spec.maintenanceWindows[0].start", "file:11:9"),
        ("spec.maintenanceWindows[7]", "file:10:5"),
        ("spec.nodePoolSelector.matchLabels[example.com/team]", "file:9:7"),
        ("metadata.name", "file:5:3"),
    ];
    for (field, at) in rows {
        assert_eq!(policy.at(field), at, "{field}");
    }
    assert_eq!(policy.line(), "file:5");
}

#[test]
fn kinds_are_told_apart_and_mistyped_ones_are_no_strangers() {
    let sentence = |version: &str, kind: &str| {
        let manifest = manifest(&format!("apiVersion: {version}\nkind: {kind}\nspec: {{}}\n"));
        let counts = (manifest.policies.len(), manifest.pools.len(), manifest.claims.len());
        let told: Vec<String> = manifest.notes.into_iter().chain(manifest.errors).collect();
        format!("{counts:?} {}", told.join(" | "))
    };
    insta::assert_snapshot!([
        sentence("noderotation.io/v1alpha1", "RotationPolicy"),
        sentence("karpenter.sh/v1", "NodePool"),
        sentence("karpenter.sh/v1", "NodeClaim"),
        sentence("karpenter.sh/v1", "NodeOverlay"),
        sentence("noderotation.io/v1", "RotationPolicy"),
        sentence("noderotation.io/v1alpha1", "rotationpolicy"),
        sentence("example.com/v1", "RotationPolicies"),
        sentence("karpenter.sh/v1beta1", "NodePool"),
        sentence("apps/v1", "Deployment"),
        sentence("noderotation.io/v1alpha1", "RotationPolicyList"),
        sentence("v1", "\"\""),
        sentence("1", "x"),
    ].join("\n"), @r#"
    (1, 0, 0) 
    (0, 0, 0) file:1:1: cannot be read as a NodePool: missing field `metadata`
    (0, 0, 0) file:1:1: cannot be read as a NodeClaim: missing field `metadata`
    (0, 0, 0) file:1:1: NodeOverlay of karpenter.sh/v1 is not judged here
    (0, 0, 0) file:1:13: apiVersion: "noderotation.io/v1" has no RotationPolicy; write noderotation.io/v1alpha1
    (0, 0, 0) file:2:7: kind: "rotationpolicy" is not a kind of noderotation.io/v1alpha1; write RotationPolicy
    (0, 0, 0) file:2:7: kind: "RotationPolicies" of "example.com/v1" is not known; did you mean RotationPolicy of noderotation.io/v1alpha1?
    (0, 0, 0) file:1:13: apiVersion: "karpenter.sh/v1beta1" is not read; write karpenter.sh/v1, as Karpenter 1.0 and later serve it
    (0, 0, 0) file:1:1: Deployment of apps/v1 is not judged here
    (0, 0, 0) file:1:1: items: is required in a list; write the objects of the list
    (0, 0, 0) file:2:7: kind: "" is not text; write for example RotationPolicy
    (0, 0, 0) file:1:13: apiVersion: 1 is not text; write for example noderotation.io/v1alpha1
    "#);
    assert_eq!(manifest("apiVersion: \"v1\\n\"\nkind: \"a\\tb\"\n").notes, ["file:1:1: a\\tb of v1\\n is not judged here"]);
    // JSON leaves these as they are, and a terminal takes them for orders.
    let orders = manifest("apiVersion: v1\nkind: [\"\\u009b2J\\u0085\"]\n").errors;
    assert_eq!(orders, [r#"file:2:1: kind: ["\u{9b}2J\u{85}"] is not text; write for example RotationPolicy"#]);
    insta::assert_snapshot!(manifest("- 1\n---\nscalar\n").errors.join("\n"), @r"
    file:1:1: is not an object; write apiVersion, kind, metadata and spec
    file:3:1: is not an object; write apiVersion, kind, metadata and spec
    ");
}

/// A Pod, a Node and a budget as `kubectl get -o yaml` and `-o json` print them.
const RUNNING: &str = r#"{"apiVersion": "v1", "kind": "List", "items": [
    {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}},
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "a"}, "spec": {"containers": [], "nodeName": "n"}},
    {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}, "status": {"disruptionsAllowed": 0}},
    {"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": {"name": "c"}, "spec": {"expireAfter": "336h"}}]}"#;

#[test]
fn what_runs_in_a_cluster_is_read_by_who_asks_for_it() {
    // A word of ours makes the reader of YAML read the same.
    let yaml = format!("{RUNNING} # RotationPolicy");
    for text in [RUNNING, &yaml] {
        let mut whole = Manifest::of_a_cluster();
        whole.add("file", text);
        assert_eq!((whole.nodes.len(), whole.pods.len(), whole.budgets.len(), whole.claims.len()), (1, 1, 1, 1), "{whole:?}");
        assert!(whole.notes.is_empty() && whole.errors.is_empty(), "{whole:?}");
        let part = manifest(text);
        assert_eq!((part.nodes.len(), part.pods.len(), part.budgets.len(), part.claims.len()), (0, 0, 0, 1));
        assert_eq!(part.notes.len(), 3, "{:?}", part.notes);
        assert!(part.notes[1].ends_with("Pod of v1 is not judged here"), "{:?}", part.notes);
    }
}

#[test]
fn json_with_a_fault_is_told_where_as_any_text_is() {
    let rows = [
        (r#"{"apiVersion": "v1", "apiVersion": "v1"}"#, "file:1:22: apiVersion: is there twice, first in line 1; write it once"),
        (r#"{"apiVersion": "karpenter.sh/v1beta1", "kind": "NodeClaim"}"#, "as Karpenter 1.0 and later serve it"),
    ];
    for (text, end) in rows {
        let errors = manifest(text).errors;
        assert!(errors.len() == 1 && errors[0].ends_with(end), "{errors:?}");
    }
}

#[test]
fn json_that_yaml_cannot_read_is_read_all_the_same() {
    let policy =
        |name: &str| format!(r#"{{"apiVersion": "noderotation.io/v1alpha1", "kind": "RotationPolicy", "metadata": {{"name": {name}}}}}"#);
    // As programs write what is beyond the first 65,536 characters; half of a pair is nothing to anybody.
    let read = manifest(&policy(r#""\ud83d\ude80""#));
    assert_eq!((read.policies[0].value["metadata"]["name"].as_str(), read.errors.len()), (Some("\u{1f680}"), 0));
    assert_eq!(read.policies[0].at("metadata.name"), "file:1:1");
    assert_eq!(manifest(&policy(r#""\ud83d""#)).errors.len(), 1);
    let plain = manifest(&policy(r#""a""#));
    assert_eq!(plain.policies[0].at("metadata.name"), "file:1:91");
}

#[test]
fn a_place_far_down_is_told_wherever_it_is_asked_for() {
    let list = |items: &str| format!("apiVersion: v1\nkind: List\nitems:\n{items}");
    let broken =
        "- apiVersion: karpenter.sh/v1\n  kind: NodeClaim\n  metadata: {name: c}\n  spec: {requirements: [{a: {b: {c: 1, c: 2}}}]}\n";
    assert_eq!(
        manifest(&list(broken)).errors,
        ["file:7:40: items[0].spec.requirements[0].a.b.c: is there twice, first in line 7; write it once"]
    );
    let mistyped = "- apiVersion: karpenter.sh/v1\n  kind: NodePools\n- apiVersion: karpenter.sh/v1beta1\n  kind: NodePool\n";
    let manifest = manifest(&list(mistyped));
    assert_eq!(manifest.notes, ["file:4:3: NodePools of karpenter.sh/v1 is not judged here"]);
    assert!(manifest.errors[0].starts_with("file:6:15: apiVersion: "), "{:?}", manifest.errors);
}
