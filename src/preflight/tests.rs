//! What is asked, what each answer means, and that the chart grants what is asked for and nothing else.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex};

use axum::http::request::Parts;
use axum::http::{Request, Response};
use kube::client::Body;
use serde_json::{Value, json};

use super::*;
use crate::scripted::{Answer, refusal};

/// A cluster by what it lacks.
#[derive(Clone, Default)]
struct Cluster {
    /// Resources that it does not serve.
    unserved: &'static [&'static str],
    /// `verb resource` that it does not allow.
    denied: &'static [&'static str],
    /// Leases of our name: namespace, holder, and how many seconds ago it was renewed.
    leases: &'static [(&'static str, &'static str, i64)],
    /// It lets nobody ask for rights.
    hardened: bool,
    /// It is not itself.
    down: bool,
    asked: Arc<Mutex<Vec<Value>>>,
}

impl Cluster {
    async fn problems(&self) -> Vec<(bool, String)> {
        let cluster = self.clone();
        let client = Client::new(tower::service_fn(move |request| cluster.clone().answer(request)), "default");
        problems(&client, "system").await.into_iter().map(|problem| (problem.vital, problem.sentence)).collect()
    }

    async fn answer(self, request: Request<Body>) -> Result<Response<Body>, std::convert::Infallible> {
        let (parts, body) = request.into_parts();
        let (code, answer) = match self.down.then(|| refusal(503, "ServiceUnavailable")) {
            Some(answer) => answer,
            None => self.up(&parts, body).await,
        };
        Ok(Response::builder().status(code).body(Body::from(answer.to_string().into_bytes())).unwrap())
    }

    async fn up(self, parts: &Parts, body: Body) -> Answer {
        if parts.uri.path() == "/apis/coordination.k8s.io/v1/leases" {
            assert_eq!(parts.uri.query(), Some("&fieldSelector=metadata.name%3Dnode-rotation-controller.noderotation.io"));
            return self.leases();
        }
        match serde_json::from_slice(&body.collect_bytes().await.unwrap()) {
            Ok(review) => self.review(review),
            Err(_) => self.discovery(parts.uri.path().trim_start_matches("/apis/")),
        }
    }

    fn leases(&self) -> Answer {
        let lease = |(namespace, holder, age): &(&str, &str, i64)| {
            let renewed = jiff::Timestamp::now() - jiff::SignedDuration::from_secs(*age);
            json!({
                "metadata": {"name": crate::leader::LEASE, "namespace": namespace},
                "spec": {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": format!("{renewed:.6}")},
            })
        };
        let items: Vec<Value> = self.leases.iter().map(lease).collect();
        (200, json!({"apiVersion": "coordination.k8s.io/v1", "kind": "LeaseList", "metadata": {}, "items": items}))
    }

    fn discovery(&self, version: &str) -> Answer {
        let resources = SERVED.iter().find(|served| served.version == version).unwrap().resources;
        let served: Vec<Value> = resources
            .iter()
            .filter(|resource| !self.unserved.contains(resource))
            .map(|resource| json!({"name": resource, "singularName": "", "namespaced": false, "kind": "K", "verbs": []}))
            .collect();
        if served.is_empty() { refusal(404, "NotFound") } else { (200, json!({"groupVersion": version, "resources": served})) }
    }

    fn review(&self, mut review: Value) -> Answer {
        if self.hardened {
            return refusal(403, "Forbidden");
        }
        let asked = review["spec"]["resourceAttributes"].clone();
        let what = format!("{} {}", asked["verb"].as_str().unwrap(), asked["resource"].as_str().unwrap());
        self.asked.lock().unwrap().push(asked);
        review["status"] = json!({"allowed": !self.denied.contains(&what.as_str())});
        (201, review)
    }
}

#[tokio::test]
async fn every_fault_is_told_at_once_with_its_remedy() {
    assert_eq!(Cluster::default().problems().await, []);
    let bare = Cluster {
        unserved: &["nodeclaims", "rotationpolicies"],
        denied: &["delete nodeclaims", "patch events", "update leases"],
        ..Cluster::default()
    };
    let lines: Vec<String> = bare.problems().await.into_iter().map(|(vital, sentence)| format!("{vital}: {sentence}")).collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    true: the cluster does not serve nodeclaims of karpenter.sh/v1; install Karpenter 1.0 or later
    true: the cluster does not serve noderotation.io/v1alpha1; install the CustomResourceDefinition: node-rotation-controller crd | kubectl apply -f -
    true: the ServiceAccount may not delete nodeclaims; grant it in the chart's ClusterRole or Role
    false: the ServiceAccount may not patch events in namespace default; grant it in the chart's ClusterRole or Role
    false: the ServiceAccount may not patch events in namespace system; grant it in the chart's ClusterRole or Role
    true: the ServiceAccount may not update leases in namespace system; grant it in the chart's ClusterRole or Role
    ");
}

#[tokio::test]
async fn a_cluster_that_answers_no_questions_is_led_and_says_so_once() {
    let problems = Cluster { hardened: true, ..Cluster::default() }.problems().await;
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(!problems[0].0 && problems[0].1.contains("selfsubjectaccessreviews"), "{problems:?}");
}

#[tokio::test]
async fn another_installation_that_leads_is_named_and_does_not_keep_this_one_from_it() {
    let leases = &[("system", "us", 1), ("kube-system", "other-0", 1), ("old", "gone", 60), ("idle", "", 1), ("removed", "cleaned_1", 1)];
    let lines: Vec<String> =
        Cluster { leases, ..Cluster::default() }.problems().await.iter().map(|(vital, sentence)| format!("{vital}: {sentence}")).collect();
    insta::assert_snapshot!(lines.join("\n"), @"false: other-0 leads from namespace kube-system as well (Lease node-rotation-controller.noderotation.io there): two installations rotate the same NodePools, so uninstall one of them");
}

#[tokio::test]
async fn an_api_server_that_is_down_is_one_problem() {
    let problems = Cluster { down: true, ..Cluster::default() }.problems().await;
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].0 && problems[0].1.starts_with("the API server gives no answer: "), "{problems:?}");
}

#[tokio::test]
async fn rights_are_asked_for_where_they_are_used() {
    let cluster = Cluster::default();
    cluster.problems().await;
    let asked = cluster.asked.lock().unwrap();
    for wanted in [
        json!({"group": "karpenter.sh", "resource": "nodeclaims", "verb": "delete"}),
        json!({"resource": "pods", "verb": "create", "namespace": "system"}),
        json!({"group": "events.k8s.io", "resource": "events", "verb": "create", "namespace": "default"}),
        json!({"group": "noderotation.io", "resource": "rotationpolicies", "subresource": "status", "verb": "patch"}),
        json!({"group": "coordination.k8s.io", "resource": "leases", "verb": "update", "namespace": "system", "name": crate::leader::LEASE}),
    ] {
        assert!(asked.contains(&wanted), "{wanted}");
    }
    assert_eq!(asked.len(), NEEDS.iter().map(|need| need.verbs.len()).sum::<usize>());
}

/// `scope group/resource verb` for each right that a role of the chart grants.
fn granted(role: &str, scope: &str) -> BTreeSet<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("charts/node-rotation-controller/templates").join(role);
    let template = std::fs::read_to_string(file).unwrap();
    let rules = template.split("\nrules:\n").nth(1).unwrap().split("\n---\n").next().unwrap();
    // Whatever depends on a value counts as granted.
    let rules: Vec<&str> = rules.lines().filter(|line| !line.trim_start().starts_with("{{")).collect();
    let rules = rules.join("\n").replace("{{", "'{{").replace("}}", "}}'");
    let rules: Vec<Value> = serde_yaml_ng::from_str(&rules).unwrap();
    let words = |rule: &Value, key: &str| -> Vec<String> {
        rule[key].as_array().into_iter().flatten().map(|word| word.as_str().unwrap().to_owned()).collect()
    };
    let mut rights = BTreeSet::new();
    for rule in &rules {
        let named = words(rule, "resourceNames");
        let scopes = if named.is_empty() { vec![scope.to_owned()] } else { named };
        for (group, resource) in words(rule, "apiGroups").iter().flat_map(|g| words(rule, "resources").into_iter().map(move |r| (g, r))) {
            let verbs = words(rule, "verbs");
            let right = |scope: &String| verbs.iter().map(|verb| format!("{scope} {group}/{resource} {verb}")).collect::<Vec<_>>();
            rights.extend(scopes.iter().flat_map(right));
        }
    }
    rights
}

#[test]
fn the_chart_grants_what_is_needed_and_nothing_else() {
    let needed: BTreeSet<String> = NEEDS
        .iter()
        .flat_map(|need| {
            let scope = match need.scope {
                Scope::Cluster => "cluster",
                Scope::Namespace => "namespace",
                Scope::Default => "default",
                Scope::Object(name) | Scope::Everywhere(name) => name,
            };
            need.verbs.iter().map(move |verb| format!("{scope} {}/{} {verb}", need.group, need.resource))
        })
        .collect();
    // That of events is rendered for each of its namespaces.
    let roles =
        [("clusterrole.yaml", "cluster"), ("role.yaml", "namespace"), ("role-events.yaml", "namespace"), ("role-events.yaml", "default")];
    let granted: BTreeSet<String> = roles.iter().flat_map(|(role, scope)| granted(role, scope)).collect();
    let missing: Vec<&String> = needed.difference(&granted).collect();
    assert!(missing.is_empty(), "the chart does not grant {missing:?}");
    let of_admission: BTreeSet<String> = ADMISSION
        .iter()
        .flat_map(|(scope, resource, verbs)| {
            let literal = *scope == "namespace" || scope.contains('.');
            let scope = if literal { (*scope).to_owned() } else { format!("{{{{ include \"node-rotation-controller.{scope}\" . }}}}") };
            verbs.iter().map(move |verb| format!("{scope} {resource} {verb}"))
        })
        .collect();
    let missing: Vec<&String> = of_admission.difference(&granted).collect();
    assert!(missing.is_empty(), "the chart does not grant {missing:?}");
    let needless: Vec<&String> = granted.difference(&needed).filter(|right| !of_admission.contains(*right)).collect();
    assert!(needless.is_empty(), "nothing needs what the chart grants: {needless:?}");
}

/// What admission takes: its certificate, its Service, its registration. Scope (the chart's template of a name, or
/// `namespace`), resource, verbs.
const ADMISSION: [(&str, &str, &[&str]); 7] = [
    ("certificateSecret", "/secrets", &["get", "list", "watch", "patch"]),
    ("namespace", "/secrets", &["create"]),
    ("webhookService", "/services", &["get"]),
    ("fullname", "admissionregistration.k8s.io/mutatingwebhookconfigurations", &["get", "list", "watch", "patch"]),
    ("fullname", "admissionregistration.k8s.io/validatingwebhookconfigurations", &["get", "list", "watch", "patch"]),
    ("staticConfiguration", "admissionregistration.k8s.io/mutatingwebhookconfigurations", &["get", "list", "watch"]),
    ("staticConfiguration", "admissionregistration.k8s.io/validatingwebhookconfigurations", &["get", "list", "watch"]),
];
