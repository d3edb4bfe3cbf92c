//! The cluster as it is now: lists, and nothing else.

use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{Api, DynamicObject, ListParams};
use kube::{Client, Resource};
use noderotation_core::karpenter::{NodeClaim, NodePool};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::input::Input;
use crate::cli::version;
use crate::client::{self, Cluster};
use crate::controller::policy_resource;
use crate::metrics::Metrics;

/// Objects of one answer.
const PAGE: u32 = 500;

/// What the API server could not be asked.
#[derive(Debug, thiserror::Error)]
#[error("listing {0}: is Karpenter 1.0 or later and the CustomResourceDefinition installed, and may you list them?")]
struct Error(&'static str, #[source] Box<kube::Error>);

/// Reads all that a plan is made of. Pods and PodDisruptionBudgets that may not be listed are left out, with a note.
///
/// # Errors
/// When there is no client, or anything else cannot be listed.
pub(super) async fn read(cluster: &Cluster) -> anyhow::Result<Input> {
    let metrics = Metrics::new(version::VERSION, "")?;
    let client = client::connect(cluster, "plan", metrics).await?;
    let policies: Api<DynamicObject> = Api::all_with(client.clone(), &policy_resource());
    let policies = all(&policies).await.map_err(|error| Error("RotationPolicies", Box::new(error)))?;
    let mut input = Input {
        policies: policies.iter().filter_map(|policy| serde_json::to_value(policy).ok()).collect::<Vec<Value>>(),
        pools: of_kind::<NodePool>(&client).await.map_err(|error| Error("NodePools", Box::new(error)))?,
        claims: of_kind::<NodeClaim>(&client).await.map_err(|error| Error("NodeClaims", Box::new(error)))?,
        nodes: of_kind::<Node>(&client).await.map_err(|error| Error("Nodes", Box::new(error)))?,
        ..Input::default()
    };
    match of_kind::<Pod>(&client).await {
        Ok(pods) => input.pods = pods,
        Err(error) if forbidden(&error) => input.notes.push("Pods may not be listed, so none is known".to_owned()),
        Err(error) => return Err(Error("Pods", Box::new(error)).into()),
    }
    match of_kind::<PodDisruptionBudget>(&client).await {
        Ok(budgets) => input.budgets = budgets,
        Err(error) if forbidden(&error) => input.notes.push("PodDisruptionBudgets may not be listed, so none is known".to_owned()),
        Err(error) => return Err(Error("PodDisruptionBudgets", Box::new(error)).into()),
    }
    Ok(input)
}

fn forbidden(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.is_forbidden())
}

async fn of_kind<K>(client: &Client) -> kube::Result<Vec<K>>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug,
{
    all(&Api::all(client.clone())).await
}

/// Page by page, so that no answer is larger than a proxy lets through.
async fn all<K: Clone + DeserializeOwned + std::fmt::Debug>(api: &Api<K>) -> kube::Result<Vec<K>> {
    let mut params = ListParams::default().limit(PAGE);
    let mut objects = Vec::new();
    loop {
        let page = api.list(&params).await?;
        objects.extend(page.items);
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => return Ok(objects),
        }
    }
}
