//! Asks the API server what it thinks of a policy, without keeping it.

use anyhow::{Context as _, Result, bail};
use e2e::chart;
use e2e::cluster::Cluster;
use kube::api::{PostParams, Request};
use kube::core::Status;
use serde_json::Value;

const POLICIES: &str = "/apis/noderotation.io/v1alpha1/rotationpolicies";

/// What happens to a field that the schema does not know.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unknown {
    /// It is refused, as kubectl asks for.
    Strict,
    /// It is dropped, as other clients do.
    Ignore,
}

/// The API server, with no admission endpoint behind it.
pub(crate) struct Server {
    client: kube::Client,
}

/// What it says.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// It would store this.
    Admitted(Value),
    /// It refuses, for these causes.
    Refused(Vec<Cause>),
}

/// One reason to refuse.
#[derive(Clone, Debug)]
pub(crate) struct Cause {
    /// Path; empty if it names none.
    pub(crate) field: String,
    /// The sentence.
    pub(crate) message: String,
}

impl Server {
    /// Takes the admission endpoint away, which an operator of another test may have left registered.
    pub(crate) async fn alone(cluster: &Cluster) -> Result<Self> {
        for kind in ["mutatingwebhookconfiguration", "validatingwebhookconfiguration"] {
            let patch = ["patch", kind, chart::RELEASE, "--type=merge", "--patch", r#"{"webhooks":null}"#];
            cluster.kubectl(&patch).await?.accepted()?;
        }
        Ok(Self { client: cluster.client() })
    }

    /// Posts a policy as a dry run.
    pub(crate) async fn post(&self, policy: &Value, unknown: Unknown) -> Result<Answer> {
        self.post_to(POLICIES, policy, unknown).await
    }

    /// Posts any object as a dry run.
    pub(crate) async fn post_to(&self, path: &str, object: &Value, unknown: Unknown) -> Result<Answer> {
        let parameters = PostParams { dry_run: true, field_manager: None };
        let mut request = Request::new(path).create(&parameters, serde_json::to_vec(object)?).context("writing a request")?;
        let uri = format!("{}&fieldValidation={unknown:?}", request.uri());
        *request.uri_mut() = uri.parse().with_context(|| format!("reading {uri}"))?;
        match self.client.request::<Value>(request).await {
            Ok(stored) => Ok(Answer::Admitted(stored)),
            Err(kube::Error::Api(status)) if matches!(status.code, 400 | 422) => Ok(Answer::Refused(causes(&status))),
            Err(error) => bail!("posting to {path}: {error}"),
        }
    }
}

fn causes(status: &Status) -> Vec<Cause> {
    let causes = status.details.as_ref().map(|details| details.causes.clone()).unwrap_or_default();
    if causes.is_empty() {
        return vec![Cause { field: String::new(), message: status.message.clone() }];
    }
    causes.into_iter().map(|cause| Cause { field: cause.field, message: cause.message }).collect()
}
