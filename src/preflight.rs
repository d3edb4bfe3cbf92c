//! Does the cluster serve what the controller needs, and may it do what it must (§5.1, D13)?
//!
//! Asked before leading. A failure never ends the process: admission must go on, and the cluster may be on its way. What
//! is wrong is told all at once, each fault with its remedy.

mod need;
mod rival;

use futures::future::join_all;
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec};
use kube::Client;
use kube::api::{Api, PostParams};

use crate::telemetry::words;

pub(crate) use rival::rivals;

use need::{NEEDS, Need, SERVED, Scope, Served};

/// One thing that is wrong with the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// What, and what to do.
    pub(crate) sentence: String,
    /// It keeps this replica from leading.
    pub(crate) vital: bool,
}

/// All that is wrong; empty when nothing is.
pub(crate) async fn problems(client: &Client, namespace: &str) -> Vec<Problem> {
    let served = join_all(SERVED.iter().map(|served| missing(client, served))).await;
    let reviews = NEEDS.iter().flat_map(|need| need.verbs.iter().map(move |verb| review(client, namespace, need, verb)));
    let rights = join_all(reviews).await;
    let mut problems: Vec<Problem> = Vec::new();
    for problem in served.into_iter().flatten().chain(rights.into_iter().flatten()) {
        // An API server that cannot be reached, or lets nobody ask, gives the same answer to every question.
        if !problems.contains(&problem) {
            problems.push(problem);
        }
    }
    // Who cannot lead anyway need not know.
    if !problems.iter().any(|problem| problem.vital) {
        problems.extend(rivals(client, namespace, jiff::Timestamp::now()).await);
    }
    problems
}

fn vital(sentence: String) -> Problem {
    Problem { sentence, vital: true }
}

/// Nothing is known of the cluster, whatever was asked.
fn no_answer(error: &kube::Error) -> Problem {
    vital(format!("the API server gives no answer: {}", words(error)))
}

async fn missing(client: &Client, served: &Served) -> Vec<Problem> {
    let Served { version, resources, remedy } = served;
    match client.list_api_group_resources(version).await {
        Ok(list) => {
            let missing = resources.iter().filter(|wanted| !list.resources.iter().any(|served| served.name == **wanted));
            missing.map(|resource| vital(format!("the cluster does not serve {resource} of {version}; {remedy}"))).collect()
        }
        Err(kube::Error::Api(status)) if status.is_not_found() => {
            vec![vital(format!("the cluster does not serve {version}; {remedy}"))]
        }
        Err(error) => vec![no_answer(&error)],
    }
}

async fn review(client: &Client, namespace: &str, need: &Need, verb: &str) -> Option<Problem> {
    let question = question(namespace, need, verb);
    let place = match need.scope {
        Scope::Cluster | Scope::Everywhere(_) => String::new(),
        Scope::Namespace | Scope::Object(_) => format!(" in namespace {namespace}"),
        Scope::Default => " in namespace default".to_owned(),
    };
    let what = format!("{verb} {}{place}", need.resource);
    match Api::<SelfSubjectAccessReview>::all(client.clone()).create(&PostParams::default(), &question).await {
        Ok(answer) if answer.status.as_ref().is_some_and(|status| status.allowed) => None,
        Ok(_) => {
            let sentence = format!("the ServiceAccount may not {what}; grant it in the chart's ClusterRole or Role");
            Some(Problem { sentence, vital: need.vital })
        }
        // Hardened clusters let nobody ask; what is missing will then show when it is used.
        Err(kube::Error::Api(status)) if status.is_forbidden() => {
            let sentence = "the ServiceAccount may not ask for its own rights (create selfsubjectaccessreviews), so they were not checked";
            Some(Problem { sentence: sentence.to_owned(), vital: false })
        }
        Err(error) => Some(no_answer(&error)),
    }
}

fn question(namespace: &str, need: &Need, verb: &str) -> SelfSubjectAccessReview {
    let (resource, subresource) = need.resource.split_once('/').unwrap_or((need.resource, ""));
    let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let (namespace, name) = match need.scope {
        Scope::Cluster => (None, None),
        Scope::Namespace => (text(namespace), None),
        Scope::Default => (text("default"), None),
        Scope::Object(name) => (text(namespace), text(name)),
        Scope::Everywhere(name) => (None, text(name)),
    };
    let resource_attributes = Some(ResourceAttributes {
        group: text(need.group),
        resource: text(resource),
        subresource: text(subresource),
        verb: text(verb),
        namespace,
        name,
        ..ResourceAttributes::default()
    });
    SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec { resource_attributes, ..SelfSubjectAccessReviewSpec::default() },
        ..SelfSubjectAccessReview::default()
    }
}

#[cfg(test)]
mod tests;
