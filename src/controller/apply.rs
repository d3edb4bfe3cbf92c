//! Carries effects out, in order, and stops at the first that fails.
//!
//! There is no choice left to make here. Every write is conditional on the version that the decision was taken from;
//! a second write of the same object in one list is conditional on the answer to the first (I10).

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Resource, ResourceExt};
use noderotation_core::annotation::Change;
use noderotation_core::karpenter::{NodeClaim, NodePool, node_leaving};
use noderotation_core::rotation::announcement::Announcement;
use noderotation_core::rotation::effect::{Effect, Planned, Proceed, Target};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::controller::{Context, FIELD_MANAGER};

/// Why a list of effects ended early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// Someone else has written the object since it was read.
    #[error("{0} has changed since it was read")]
    Conflict(String),
    /// The API server does not let the placeholder in.
    #[error("the placeholder was refused: {message}")]
    Rejected {
        /// The API server's words.
        message: String,
    },
    /// Karpenter has begun to take the node away.
    #[error("node {0} is being taken away")]
    Leaving(String),
    /// The lease may be lost; nothing is written any more.
    #[error("no longer the leader")]
    NotLeading,
    /// The decision was taken from an object without a version, so the write could not be conditional.
    #[error("{0} was observed without a resourceVersion")]
    Unversioned(String),
    /// The API server, or the way to it, failed.
    #[error("{action}")]
    Api {
        /// What was being done.
        action: String,
        /// What came back.
        #[source]
        source: Box<kube::Error>,
    },
}

/// Executes effects of one pass and remembers the versions that its own writes produced.
pub(crate) struct Executor<'a> {
    context: &'a Context,
    written: HashMap<String, String>,
}

impl<'a> Executor<'a> {
    pub(crate) fn new(context: &'a Context) -> Self {
        Self { context, written: HashMap::new() }
    }

    /// Writes in order. `told` is called after each write that landed, with what is to be announced.
    pub(crate) async fn carry_out(&mut self, effects: Vec<Planned>, mut told: impl FnMut(Announcement)) -> Result<(), Error> {
        for Planned { effect, then } in effects {
            if !self.context.lead.holds() {
                return Err(Error::NotLeading);
            }
            if self.write(effect).await? == Landed::Yes {
                then.into_iter().for_each(&mut told);
            }
        }
        Ok(())
    }

    async fn write(&mut self, effect: Effect) -> Result<Landed, Error> {
        match effect {
            Effect::AnnotatePool { pool, change } => {
                self.patch::<NodePool>(Api::all(self.context.client.clone()), &pool, &change, None).await?;
            }
            Effect::AnnotateClaim { claim, change } => {
                self.patch::<NodeClaim>(Api::all(self.context.client.clone()), &claim, &change, None).await?;
            }
            Effect::MarkNode { node, change, unschedulable, proceed } => {
                // Removing the field is what `kubectl uncordon` does.
                let spec = unschedulable.map(|unschedulable| json!({ "unschedulable": unschedulable.then_some(true) }));
                let answer = self.patch::<Node>(Api::all(self.context.client.clone()), &node, &change, spec).await?;
                if proceed == Proceed::UnlessLeaving && node_leaving(&answer) {
                    return Err(Error::Leaving(node.name));
                }
            }
            Effect::CreatePlaceholder { pod } => return self.create(&pod).await,
            Effect::DeletePlaceholder { namespace, pod } => {
                return self.delete::<Pod>(Api::namespaced(self.context.client.clone(), &namespace), &pod).await;
            }
            Effect::DeleteClaim { claim } => {
                return self.delete::<NodeClaim>(Api::all(self.context.client.clone()), &claim).await;
            }
        }
        Ok(Landed::Yes)
    }

    /// Merge-patches an object under the condition that it is still the one observed.
    async fn patch<K>(&mut self, api: Api<K>, target: &Target, change: &Change, spec: Option<Value>) -> Result<K, Error>
    where
        K: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug,
    {
        let metadata = json!({ "uid": target.uid, "resourceVersion": self.version::<K>(target)?, "annotations": change });
        let body = match spec {
            Some(spec) => json!({ "metadata": metadata, "spec": spec }),
            None => json!({ "metadata": metadata }),
        };
        let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        match api.patch(&target.name, &params, &Patch::Merge(&body)).await {
            Ok(answer) => {
                self.written.insert(key::<K>(&target.name), answer.resource_version().unwrap_or_default());
                Ok(answer)
            }
            Err(error) => Err(failure::<K>("patching", &target.name, error)),
        }
    }

    async fn delete<K>(&self, api: Api<K>, target: &Target) -> Result<Landed, Error>
    where
        K: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug,
    {
        let preconditions = Preconditions { uid: Some(target.uid.clone()), resource_version: Some(self.version::<K>(target)?) };
        let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        match api.delete(&target.name, &params).await {
            Ok(_) => Ok(Landed::Yes),
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(Landed::Already),
            Err(error) => Err(failure::<K>("deleting", &target.name, error)),
        }
    }

    async fn create(&self, pod: &Pod) -> Result<Landed, Error> {
        let api: Api<Pod> = Api::namespaced(self.context.client.clone(), &pod.namespace().unwrap_or_default());
        let mut pod = pod.clone();
        pod.metadata.owner_references = self.context.owner.clone().map(|owner| vec![owner]);
        let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        match api.create(&params, &pod).await {
            Ok(_) => Ok(Landed::Yes),
            // A namesake from an earlier pass; the next one judges whether it is ours.
            Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(Landed::Already),
            Err(kube::Error::Api(status)) if status.is_forbidden() || status.is_invalid() => {
                Err(Error::Rejected { message: status.message.clone() })
            }
            Err(error) => Err(failure::<Pod>("creating", &pod.name_any(), error)),
        }
    }

    fn version<K: Resource<DynamicType = ()>>(&self, target: &Target) -> Result<String, Error> {
        let version = self.written.get(&key::<K>(&target.name)).unwrap_or(&target.version);
        // An empty version would make the write unconditional.
        if version.is_empty() { Err(Error::Unversioned(key::<K>(&target.name))) } else { Ok(version.clone()) }
    }
}

/// Whether a write changed anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Landed {
    Yes,
    /// The wanted state was there before.
    Already,
}

fn key<K: Resource<DynamicType = ()>>(name: &str) -> String {
    format!("{} {name}", K::kind(&()))
}

fn failure<K: Resource<DynamicType = ()>>(doing: &str, name: &str, error: kube::Error) -> Error {
    // A patch of an object that is gone, or of a namesake, lost the race as well.
    let overtaken = matches!(&error, kube::Error::Api(status) if status.is_conflict() || status.is_not_found());
    if overtaken {
        return Error::Conflict(key::<K>(name));
    }
    Error::Api { action: format!("{doing} {}", key::<K>(name)), source: Box::new(error) }
}
