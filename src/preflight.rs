//! Does the cluster serve what the controller needs, and may it do what it must (§5.1, D13)?
//!
//! Asked before leading. A failure never ends the process: admission must go on, and the cluster may be on its way.

use k8s_openapi::api::authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec};
use kube::Client;
use kube::api::{Api, PostParams};

/// One thing that the controller does with a resource.
struct Need {
    group: &'static str,
    resource: &'static str,
    subresource: &'static str,
    verbs: &'static [&'static str],
    /// Only in the controller's own namespace.
    namespaced: bool,
}

/// Everything that leading takes. The chart's role grants just this.
const NEEDS: [Need; 7] = [
    Need { group: "karpenter.sh", resource: "nodepools", subresource: "", verbs: &["get", "list", "watch", "patch"], namespaced: false },
    Need {
        group: "karpenter.sh",
        resource: "nodeclaims",
        subresource: "",
        verbs: &["get", "list", "watch", "patch", "delete"],
        namespaced: false,
    },
    Need { group: "", resource: "nodes", subresource: "", verbs: &["get", "list", "watch", "patch"], namespaced: false },
    Need { group: "", resource: "pods", subresource: "", verbs: &["list"], namespaced: false },
    Need { group: "", resource: "pods", subresource: "", verbs: &["get", "watch", "create", "delete"], namespaced: true },
    Need { group: "noderotation.io", resource: "rotationpolicies", subresource: "", verbs: &["list", "watch"], namespaced: false },
    Need { group: "noderotation.io", resource: "rotationpolicies", subresource: "status", verbs: &["patch"], namespaced: false },
];

/// What keeps the controller from leading, each a sentence; empty when nothing does.
pub(crate) async fn problems(client: &Client, namespace: &str) -> Vec<String> {
    let mut problems = Vec::new();
    serves(client, "karpenter.sh/v1", &["nodepools", "nodeclaims"], "install Karpenter 1.0 or later", &mut problems).await;
    let ours = "install the CustomResourceDefinition: node-rotation-controller crd | kubectl apply -f -";
    serves(client, "noderotation.io/v1alpha1", &["rotationpolicies"], ours, &mut problems).await;
    for need in &NEEDS {
        for verb in need.verbs {
            problems.extend(permission(client, namespace, need, verb).await);
        }
    }
    problems
}

async fn serves(client: &Client, version: &str, resources: &[&str], remedy: &str, problems: &mut Vec<String>) {
    match client.list_api_group_resources(version).await {
        Ok(list) => {
            let missing = resources.iter().filter(|wanted| !list.resources.iter().any(|served| served.name == **wanted));
            problems.extend(missing.map(|resource| format!("the cluster does not serve {resource} of {version}; {remedy}")));
        }
        Err(kube::Error::Api(status)) if status.is_not_found() => {
            problems.push(format!("the cluster does not serve {version}; {remedy}"));
        }
        Err(error) => problems.push(format!("the API server does not say whether it serves {version}: {error}")),
    }
}

async fn permission(client: &Client, namespace: &str, need: &Need, verb: &str) -> Option<String> {
    let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let review = SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec {
            resource_attributes: Some(ResourceAttributes {
                group: text(need.group),
                resource: text(need.resource),
                subresource: text(need.subresource),
                verb: text(verb),
                namespace: need.namespaced.then(|| namespace.to_owned()),
                ..ResourceAttributes::default()
            }),
            ..SelfSubjectAccessReviewSpec::default()
        },
        ..SelfSubjectAccessReview::default()
    };
    let place = if need.namespaced { format!(" in namespace {namespace}") } else { String::new() };
    let subresource = if need.subresource.is_empty() { String::new() } else { format!("/{}", need.subresource) };
    let what = format!("{verb} {}{subresource}{place}", need.resource);
    match Api::<SelfSubjectAccessReview>::all(client.clone()).create(&PostParams::default(), &review).await {
        Ok(answer) if answer.status.as_ref().is_some_and(|status| status.allowed) => None,
        Ok(_) => Some(format!("the ServiceAccount may not {what}; grant it in the chart's ClusterRole or Role")),
        Err(error) => Some(format!("the API server does not say whether the ServiceAccount may {what}: {error}")),
    }
}
