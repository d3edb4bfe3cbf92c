//! The comparison, on the chart as it is rendered and on logs in which each right is used once.

use super::exception::Exception;
use super::*;

/// The chart with its defaults, as a trial holds it to be.
const GOLDEN: &str = include_str!("../../tests/e2e/chart_values/golden/defaults.yaml");
const ACCOUNT: &str = "system:serviceaccount:node-rotation-system:account";

fn of_the_chart() -> BTreeSet<Right> {
    let rights = rendered::rights(GOLDEN).unwrap();
    assert_eq!(twice(&rights), []);
    assert!(rights.len() > 30, "only {} rights were found", rights.len());
    rights.into_iter().collect()
}

/// What takes this right and no less than it.
fn uses(right: &Right) -> Vec<Request> {
    let of = |name: &str| Request {
        user: right.account.clone(),
        verb: right.verb.clone(),
        group: right.group.clone(),
        resource: right.resource.clone(),
        namespace: right.namespace.clone().unwrap_or_default(),
        name: name.to_owned(),
        allowed_by: "of the chart".to_owned(),
        ..Request::default()
    };
    match &right.name {
        Some(name) => vec![of(name)],
        None => vec![of("one"), of("another")],
    }
}

fn log(granted: &BTreeSet<Right>) -> Vec<Request> {
    granted.iter().flat_map(uses).collect()
}

fn right(verb: &str, resource: &str, namespace: Option<&str>, name: Option<&str>) -> Right {
    let [account, group, resource, verb] = [ACCOUNT, "", resource, verb].map(str::to_owned);
    Right { account, group, resource, verb, namespace: namespace.map(str::to_owned), name: name.map(str::to_owned) }
}

fn told(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(ToString::to_string).collect()
}

#[test]
fn c210_one_verb_more_or_less_in_any_rule_of_the_chart_is_told() {
    let granted = of_the_chart();
    let log = log(&granted);
    assert_eq!(judge(&granted, &log, &[], Seen::Everything), []);
    let mut added = 0;
    for right in &granted {
        let mut fewer = granted.clone();
        fewer.remove(right);
        let found = judge(&fewer, &log, &[], Seen::Everything);
        assert!(
            matches!(found.as_slice(), [Finding::NotGranted(lacking, ..)] if (&lacking.verb, &lacking.resource) == (&right.verb, &right.resource)),
            "without {right}: {found:?}"
        );
        for verb in ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"] {
            let more = Right { verb: verb.to_owned(), ..right.clone() };
            if !granted.contains(&more) {
                added += 1;
                let wider: BTreeSet<Right> = granted.iter().cloned().chain([more.clone()]).collect();
                let found = judge(&wider, &log, &[], Seen::Everything);
                // Beside the right for one name, one for any name is too much in another way.
                assert!(
                    matches!(found.as_slice(), [Finding::NeverUsed(told) | Finding::TooWide(told, _)] if *told == more),
                    "with {more}: {found:?}"
                );
            }
        }
    }
    assert!(added > 100, "only {added} verbs were added");
}

#[test]
fn what_is_wrong_is_told_with_verb_resource_place_and_account() {
    let granted: BTreeSet<Right> = [
        right("get", "services", Some("node-rotation-system"), Some("webhook")),
        right("create", "events", None, None),
        right("delete", "pods", Some("node-rotation-system"), None),
        right("list", "nodes", None, None),
    ]
    .into();
    let request = |verb: &str, resource: &str, namespace: &str, name: &str| {
        let [user, verb, resource, namespace, name] = [ACCOUNT, verb, resource, namespace, name].map(str::to_owned);
        Request { user, verb, resource, namespace, name, allowed_by: r#"Role "r""#.to_owned(), ..Request::default() }
    };
    let mut log = vec![
        request("create", "events", "default", "a.1"),
        request("create", "events", "node-rotation-system", "b.2"),
        request("delete", "pods", "node-rotation-system", "placeholder"),
        request("list", "nodes", "", ""),
        request("list", "secrets", "kube-system", ""),
        request("list", "secrets", "kube-system", ""),
        request("create", "selfsubjectaccessreviews", "", ""),
    ];
    let path = Request { uri: "/logs?a".to_owned(), ..request("get", "", "", "") };
    log.push(path);
    insta::assert_snapshot!(told(&judge(&granted, &log, &[], Seen::Everything)).join("\n"), @r#"
    used and not granted: get /logs in the whole cluster, for account (requests: 1, one on "")
    used and not granted: list secrets in namespace kube-system, for account (requests: 2, one on "")
    used and not granted: create selfsubjectaccessreviews in the whole cluster, for account (requests: 1, one on "")
    granted more widely than used: create events in the whole cluster, for account; only in default and node-rotation-system
    granted more widely than used: delete pods in namespace node-rotation-system, for account; only on "placeholder"
    granted and never used: get services "webhook" in namespace node-rotation-system, for account
    "#);
    // A part of a run only tells what was used.
    assert_eq!(judge(&granted, &log, &[], Seen::Part).len(), 3);
    // What everybody may do takes no right of the chart.
    for request in &mut log {
        request.allowed_by = r#"ClusterRole "system:basic-user""#.to_owned();
    }
    assert_eq!(judge(&granted, &log, &[], Seen::Part), []);
}

#[test]
fn a_right_over_what_has_no_fixed_name_is_not_too_wide() {
    let (create, patch) = (right("create", "pods", Some("default"), None), right("patch", "events", Some("default"), None));
    let log: Vec<Request> = [&create, &patch].into_iter().map(|right| uses(right).remove(0)).collect();
    assert_eq!(judge(&[create, patch].into(), &log, &[], Seen::Everything), []);
}

#[test]
fn an_exception_has_to_be_granted_and_unused() {
    let granted: BTreeSet<Right> = [right("list", "nodes", None, None), right("list", "pods", None, None)].into();
    let exception = |right: &'static str| Exception { right, reason: "a reason" };
    let (nodes, pods) = ("list nodes in the whole cluster, for account", "list pods in the whole cluster, for account");
    let log = uses(&right("list", "pods", None, None));
    let judged = |exceptions: &[Exception]| told(&judge(&granted, &log, exceptions, Seen::Everything));
    assert_eq!(judged(&[exception(nodes)]), [""; 0]);
    assert_eq!(judged(&[exception(nodes), exception(pods)]), [format!("an exception that is used: {pods}; take it out of the list")]);
    let gone = "list secrets in the whole cluster, for account";
    assert_eq!(
        judged(&[exception(gone)]),
        [format!("an exception for what is not granted: {gone}; take it out of the list"), format!("granted and never used: {nodes}"),]
    );
}

#[test]
fn every_exception_has_a_reason() {
    for Exception { right, reason } in exception::ALL {
        assert!(reason.len() > 20 && reason.ends_with('.'), "{right}: {reason:?} is no reason");
    }
}

#[test]
fn a_right_that_another_rule_includes_is_granted_twice() {
    let wide = right("list", "pods", None, None);
    for narrow in [
        wide.clone(),
        right("list", "pods", Some("system"), None),
        right("list", "pods", Some("system"), Some("a")),
        right("list", "pods", None, Some("a")),
    ] {
        assert_eq!(twice(&[narrow.clone(), wide.clone()]).len(), 1, "{narrow}");
        assert_eq!(twice(&[narrow, right("list", "nodes", None, None)]), []);
    }
    let (a, b) = (right("list", "pods", Some("a"), None), right("list", "pods", Some("b"), None));
    assert_eq!(twice(&[a, b]), []);
}

#[test]
fn a_name_does_not_allow_to_create() {
    let named = right("create", "secrets", Some("system"), Some("tls"));
    let create = uses(&named).remove(0);
    assert!(!named.allows(&create));
    assert!(Right { name: None, ..named }.allows(&create));
    let named = right("create", "pods/eviction", Some("system"), Some("a"));
    assert!(named.allows(&uses(&named).remove(0)));
}

#[test]
fn the_shape_of_a_right_is_without_names() {
    let shapes: Vec<String> =
        [right("get", "secrets", Some("system"), Some("tls")), right("list", "nodes", None, None)].iter().map(Right::shape).collect();
    assert_eq!(shapes, ["get secrets in namespace system of one name", "list nodes in the whole cluster"]);
}

/// A chart of one role and its binding, with one change.
fn chart(change: (&str, &str)) -> String {
    const CHART: &str = r#"
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: r}
rules:
  - {apiGroups: [""], resources: [nodes], verbs: [list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: b}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r}
subjects:
  - {kind: ServiceAccount, name: a, namespace: n}
"#;
    assert!(CHART.contains(change.0), "{change:?}");
    CHART.replacen(change.0, change.1, 1)
}

#[test]
fn what_cannot_be_compared_is_no_chart_of_ours() {
    let told = |change| rendered::rights(&chart(change)).map_err(|error| format!("{error:#}"));
    assert_eq!(told(("r", "r")).unwrap().len(), 1);
    for (change, expected) in [
        (("[nodes]", "['*']"), "a wildcard"),
        (("[list]", "['*']"), "a wildcard"),
        (("[list]", "[]"), "grants nothing"),
        (("resources: [nodes]", "nonResourceURLs: [/metrics]"), "a rule for paths"),
        (("rules:", "aggregationRule: {}\nrules:"), "takes its rules from others"),
        (("kind: ServiceAccount", "kind: Group"), "b binds Group a"),
        (("name: r}\nsubjects", "name: other}\nsubjects"), "which the chart does not have"),
        (("kind: ClusterRoleBinding", "kind: Nothing"), "nobody is bound to"),
    ] {
        let error = told(change).unwrap_err();
        assert!(error.contains(expected), "{change:?}: {error}");
    }
}

#[test]
fn a_binding_in_a_namespace_limits_a_role_of_the_cluster() {
    let limited = chart(("kind: ClusterRoleBinding\nmetadata: {name: b}", "kind: RoleBinding\nmetadata: {name: b, namespace: n}"));
    let rights = rendered::rights(&limited).unwrap();
    assert_eq!(rights.iter().map(ToString::to_string).collect::<Vec<_>>(), ["list nodes in namespace n, for a"]);
}
