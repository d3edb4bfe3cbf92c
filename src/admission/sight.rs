//! What admission sees of the cluster: policies and NodePools, kept by two watches of this replica.
//!
//! Watches, and not a look-up by request: a burst of reviews would come back to the API server as a burst of lists, and
//! would wait there behind the very requests that wait for the answers. Two watches cost nothing while nothing changes,
//! and an answer never waits. The price is that a change is seen some milliseconds after it was made, so of two policies
//! that are applied at the same instant the tie may be told by the reconcile alone.
//!
//! They are not the controller's, which only the leader has. While one of them does not work nothing is said of the
//! cluster: what was seen before may have changed, and would be a wrong reason to refuse.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt as _;
use kube::api::{Api, DynamicObject};
use kube::core::DeserializeGuard;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Client, Resource, ResourceExt};
use noderotation_core::karpenter::NodePool;
use noderotation_core::surroundings::Surroundings;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tracing::{info, warn};

use crate::controller::{WATCH_TIMEOUT_SECONDS, policy_resource};
use crate::telemetry::words;

/// Time to the next try after the first error of a watch, and the longest between two.
const RETRY: Duration = Duration::from_secs(1);
const PERIOD: Duration = Duration::from_secs(10);

/// The cluster as last seen. Clones share it.
#[derive(Clone, Default)]
pub(super) struct Sight(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    policies: Shelf<Value>,
    pools: Shelf<NodePool>,
    /// Made of both when somebody looks, until one of them changes.
    current: Option<Arc<Surroundings>>,
}

/// All objects of a kind by name.
struct Shelf<T> {
    objects: BTreeMap<String, T>,
    /// Those of a list that is still coming in.
    coming: BTreeMap<String, T>,
    /// Why the objects are not, or may not be, what is there.
    problem: Option<String>,
}

impl<T> Default for Shelf<T> {
    fn default() -> Self {
        let problem = Some("they are not listed yet".to_owned());
        Self { objects: BTreeMap::new(), coming: BTreeMap::new(), problem }
    }
}

impl<T> Shelf<T> {
    /// Takes in an event; an object that cannot be read is left out.
    fn take<K: ResourceExt>(&mut self, event: Event<K>, read: fn(K) -> Option<T>) {
        let entry = |object: K| (object.name_any(), read(object));
        match event {
            Event::Init => self.coming.clear(),
            Event::InitApply(object) => {
                if let (name, Some(object)) = entry(object) {
                    self.coming.insert(name, object);
                }
            }
            Event::InitDone => {
                self.objects = std::mem::take(&mut self.coming);
                self.problem = None;
            }
            Event::Apply(object) => match entry(object) {
                (name, Some(object)) => drop(self.objects.insert(name, object)),
                (name, None) => drop(self.objects.remove(&name)),
            },
            Event::Delete(object) => drop(self.objects.remove(&object.name_any())),
        }
    }
}

impl Sight {
    /// What is there, or why that cannot be said.
    pub(super) fn look(&self) -> Result<Arc<Surroundings>, String> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (kind, problem) in [("RotationPolicies", &state.policies.problem), ("NodePools", &state.pools.problem)] {
            if let Some(problem) = problem {
                return Err(format!("{kind} cannot be seen: {problem}"));
            }
        }
        if let Some(current) = &state.current {
            return Ok(Arc::clone(current));
        }
        let current = Arc::new(Surroundings::new(state.policies.objects.values(), state.pools.objects.values().cloned()));
        state.current = Some(Arc::clone(&current));
        Ok(current)
    }

    /// Watches for ever.
    pub(super) async fn keep(&self, client: Client) {
        let policies = Api::<DynamicObject>::all_with(client.clone(), &policy_resource());
        let pools = Api::<DeserializeGuard<NodePool>>::all(client);
        tokio::join!(
            self.watch(policies, "RotationPolicies", |state| &mut state.policies, policy),
            self.watch(pools, "NodePools", |state| &mut state.pools, |guard| guard.0.ok()),
        );
    }

    /// After an error everything is listed anew: a watch that works again says nothing until something changes, and until
    /// then nobody could tell that it does.
    async fn watch<K, T>(&self, api: Api<K>, kind: &str, shelf: fn(&mut State) -> &mut Shelf<T>, read: fn(K) -> Option<T>)
    where
        K: Resource + Clone + std::fmt::Debug + DeserializeOwned + Send + 'static,
    {
        let mut wait = RETRY;
        let mut told = None;
        loop {
            let mut events = pin!(watcher(api.clone(), watcher::Config::default().timeout(WATCH_TIMEOUT_SECONDS)));
            while let Some(event) = events.next().await {
                let problem = match event {
                    Ok(event) => {
                        if matches!(event, Event::InitDone) {
                            wait = RETRY;
                            told.take().into_iter().for_each(|_: String| info!(kind, "admission sees the cluster again"));
                        }
                        self.change(|state| shelf(state).take(event, read));
                        continue;
                    }
                    Err(error) => problem(&error),
                };
                self.change(|state| shelf(state).problem = Some(problem.clone()));
                if told.as_ref() != Some(&problem) {
                    warn!(kind, problem, "admission does not see the cluster, trying again");
                    told = Some(problem);
                }
                break;
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(PERIOD);
        }
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state);
        state.current = None;
    }
}

/// The raw object, so that none is too malformed to take part.
fn policy(mut object: DynamicObject) -> Option<Value> {
    object.managed_fields_mut().clear();
    serde_json::to_value(object).ok()
}

fn problem(error: &watcher::Error) -> String {
    if matches!(error, watcher::Error::InitialListFailed(kube::Error::Api(status)) if status.is_not_found()) {
        return "the cluster does not serve them; is their CustomResourceDefinition installed?".to_owned();
    }
    words(error)
}
