//! What a plan is made of, wherever it comes from.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::ResourceExt as _;
use noderotation_core::check::{PoolReport, Strictness, Subjects, check};
use noderotation_core::karpenter::{NodeClaim, NodePool};
use noderotation_core::resolve::PolicyEntry;
use noderotation_forecast::{Cluster, Question, forecast};
use noderotation_manifest::Manifest;
use serde_json::Value;

use super::build;
use super::report::{Pool, Refused};

/// The objects of a cluster.
#[derive(Clone, Debug, Default)]
pub(super) struct Input {
    /// RotationPolicies as they are written; of several with one name the last counts.
    pub(super) policies: Vec<Value>,
    pub(super) pools: Vec<NodePool>,
    pub(super) claims: Vec<NodeClaim>,
    pub(super) nodes: Vec<Node>,
    pub(super) pods: Vec<Pod>,
    pub(super) budgets: Vec<PodDisruptionBudget>,
    pub(super) notes: Vec<String>,
}

impl Input {
    /// What files have.
    pub(super) fn of(manifest: Manifest) -> Self {
        let Manifest { policies, pools, claims, nodes, pods, budgets, notes, .. } = manifest;
        let policies = policies.into_iter().map(|policy| policy.value).collect();
        Self { policies, pools, claims, nodes, pods, budgets, notes }
    }

    /// Only the pool of this name and what is its own; false if there is none.
    pub(super) fn keep_pool(&mut self, name: &str) -> bool {
        self.pools.retain(|pool| pool.name() == name);
        self.claims.retain(|claim| claim.pool() == Some(name));
        !self.pools.is_empty()
    }

    /// With `policies` in place of those of their names.
    pub(super) fn with(&self, policies: &[Value]) -> Self {
        let mut with = self.clone();
        with.policies.retain(|old| !policies.iter().any(|new| name(new) == name(old)));
        with.policies.extend(policies.iter().cloned());
        with
    }

    /// What had to be assumed.
    pub(super) fn assumptions(&self) -> Vec<String> {
        let mut notes = self.notes.clone();
        if self.nodes.is_empty() && !self.claims.is_empty() {
            notes.push("there is no Node in the input; each NodeClaim is taken to have a Ready one".to_owned());
        }
        if self.pods.is_empty() && !self.claims.is_empty() {
            notes.push("there is no Pod in the input; each surge is taken to need a new node".to_owned());
        }
        let strays = self.claims.iter().filter(|claim| !self.pools.iter().any(|pool| Some(pool.name()) == claim.pool())).count();
        if strays > 0 {
            notes.push(format!("{strays} NodeClaim(s) belong to no NodePool of the input and are not planned"));
        }
        notes
    }

    /// The pools with what is expected of them, by name, and the policies that would be refused.
    pub(super) fn plan(self, now: Timestamp, until: Timestamp) -> (Vec<Pool>, Vec<Refused>) {
        // Claims are told by the forecast; counted they matter to the findings.
        let subjects = Subjects { policies: &self.policies, pools: &self.pools, claims: &self.claims };
        let verdict = check(subjects, Strictness::default(), now);
        let refused = build::refused(&verdict);
        let mut verdicts: std::collections::BTreeMap<String, PoolReport> =
            verdict.pools.into_iter().map(|pool| (pool.name.clone(), pool)).collect();
        let policies = entries(&self.policies);
        let objects: std::collections::BTreeMap<String, NodePool> = self.pools.iter().map(|pool| (pool.name_any(), pool.clone())).collect();
        let Self { pools, claims, nodes, pods, budgets, .. } = self;
        let cluster = Cluster { policies: policies.clone(), pools, claims, nodes, pods, budgets };
        let forecasts = forecast(cluster, Question { now, until, whole: false });
        let told = forecasts.into_iter().filter_map(|forecast| {
            let (object, verdict) = (objects.get(&forecast.pool)?, verdicts.remove(&forecast.pool));
            Some(build::pool(forecast, verdict, object, &policies, (now, until)))
        });
        (told.collect(), refused)
    }
}

fn name(policy: &Value) -> &str {
    policy.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default()
}

/// The last of each name, as `check` takes them.
fn entries(policies: &[Value]) -> Vec<PolicyEntry> {
    let by_name: std::collections::BTreeMap<&str, &Value> = policies.iter().map(|policy| (name(policy), policy)).collect();
    by_name.into_values().map(PolicyEntry::from_object).collect()
}
