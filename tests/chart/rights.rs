//! The table of rights in docs/rights.md: every rule of every role, with the reason that stands above it.

use serde_yaml_ng::Value;

/// Full name of the release that was rendered; what stands for it in the document.
const RENDERED: (&str, &str) = ("values-node-rotation-controller", "FULLNAME");

/// A row for each rule, of a chart that was rendered with the defaults; no other values grant more.
pub(crate) fn of(rendered: &str) -> String {
    let mut rows = String::from("| account | where | resource | verbs | why |\n| --- | --- | --- | --- | --- |\n");
    for document in
        rendered.split("\n---\n").filter(|document| document.contains("\nkind: Role\n") || document.contains("\nkind: ClusterRole\n"))
    {
        let role: Value = serde_yaml_ng::from_str(document).unwrap();
        let rules = role["rules"].as_sequence().unwrap();
        let reasons = reasons(document);
        assert_eq!(rules.len(), reasons.len(), "a rule without a reason in\n{document}");
        let name = role["metadata"]["name"].as_str().unwrap().replace(RENDERED.0, RENDERED.1);
        let account = if name.ends_with("-crds") { "hook for the definition" } else { "operator" };
        let place = match role["metadata"]["namespace"].as_str() {
            None => "the whole cluster",
            Some("default") => "namespace `default`",
            Some(_) => "namespace of the release",
        };
        for (rule, reason) in rules.iter().zip(reasons) {
            rows.push_str(&format!("| {account} | {place} | {} | {} | {reason} |\n", resources(rule), words(rule, "verbs")));
        }
    }
    rows
}

/// The comments above the rules, each as one line.
fn reasons(document: &str) -> Vec<String> {
    let (_, rules) = document.split_once("\nrules:\n").unwrap();
    let (mut found, mut reason) = (Vec::new(), Vec::new());
    for line in rules.lines().map(str::trim) {
        if let Some(comment) = line.strip_prefix("# ") {
            reason.push(comment);
        } else if line.starts_with("- apiGroups:") && !reason.is_empty() {
            found.push(std::mem::take(&mut reason).join(" ").replace('|', "\\|"));
        }
    }
    found
}

/// The group is left out where there is none; the names follow.
fn resources(rule: &Value) -> String {
    let group = match rule["apiGroups"].as_sequence().unwrap().as_slice() {
        [group] => group.as_str().unwrap(),
        groups => panic!("more than one group in a rule: {groups:?}"),
    };
    let all: Vec<&str> = rule["resources"].as_sequence().unwrap().iter().map(|resource| resource.as_str().unwrap()).collect();
    let of_group = if group.is_empty() { String::new() } else { format!(" of `{group}`") };
    let of_name = if rule.get("resourceNames").is_some() { format!(", only {}", words(rule, "resourceNames")) } else { String::new() };
    format!("`{}`{of_group}{of_name}", all.join("`, `"))
}

fn words(rule: &Value, key: &str) -> String {
    let all: Vec<String> = rule[key].as_sequence().unwrap().iter().map(|word| format!("`{}`", word.as_str().unwrap())).collect();
    all.join(", ").replace(RENDERED.0, RENDERED.1)
}
