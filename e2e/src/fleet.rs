//! One NodePool with a workload and a policy, apart from all others in the same cluster.
//!
//! Every fleet has a taint and a label of its own, so that several share a cluster without touching each other. The nodes
//! do not expire and are not consolidated: only a rotation replaces one.

use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::sight::Sight;
use crate::wait::{Look, until};

/// Label of the NodePool, of its Pods, and key of its taint.
pub const LABEL: &str = "e2e.noderotation.io/fleet";
/// Namespace of the workloads.
pub const NAMESPACE: &str = "default";
/// CPU of each Pod: more than half of what Karpenter's smallest machine has to offer (900m), so that a placeholder never
/// finds room on a node that is there already.
pub const CPU: &str = "600m";
/// A fleet must be up within this time, on a busy machine.
const UP: Duration = Duration::from_secs(90);

/// A NodePool, a Deployment with one Pod a node, and a policy.
#[derive(Clone, Debug)]
pub struct Fleet {
    /// Name of all three.
    pub name: String,
    /// Pods, and so nodes.
    pub size: u32,
    /// `spec.limits` of the NodePool.
    pub limits: Value,
    /// `expireAfter` of the NodePool's template.
    pub expire_after: String,
    /// `spec.ageThreshold` of the policy.
    pub age_threshold: String,
    /// `spec.surge.readyTimeout` of the policy.
    pub ready_timeout: String,
}

impl Fleet {
    /// A fleet whose oldest node is rotated at once, and then no other for an hour.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            size: 2,
            limits: json!({}),
            expire_after: "336h".to_owned(),
            age_threshold: "1s".to_owned(),
            ready_timeout: "2m".to_owned(),
        }
    }

    /// The NodePool.
    #[must_use]
    pub fn node_pool(&self) -> Value {
        let within = |key: &str, value: &str| json!({"key": key, "operator": "In", "values": [value]});
        json!({
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodePool",
            "metadata": {"name": self.name, "labels": {LABEL: self.name}},
            "spec": {
                "limits": self.limits,
                "disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "Never"},
                "template": {"spec": {
                    "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"},
                    "expireAfter": self.expire_after,
                    "terminationGracePeriod": "10m",
                    "taints": [{"key": LABEL, "value": self.name, "effect": "NoSchedule"}],
                    "requirements": [
                        within("kubernetes.io/arch", "amd64"),
                        within("kubernetes.io/os", "linux"),
                        within("karpenter.sh/capacity-type", "on-demand"),
                        // A surge asks for the zone of its candidate; nodes that are to take one are of the same.
                        within("topology.kubernetes.io/zone", "test-zone-a"),
                    ],
                }},
            },
        })
    }

    /// The Deployment: one Pod a node.
    #[must_use]
    pub fn deployment(&self) -> Value {
        let labels = json!({LABEL: self.name});
        json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": self.name, "namespace": NAMESPACE},
            "spec": {
                "replicas": self.size,
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {
                        "terminationGracePeriodSeconds": 1,
                        "nodeSelector": {"karpenter.sh/nodepool": self.name},
                        "tolerations": [{"key": LABEL, "operator": "Equal", "value": self.name, "effect": "NoSchedule"}],
                        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
                            {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": labels}},
                        ]}},
                        "containers": [{
                            "name": "work",
                            "image": "registry.k8s.io/pause:3.10",
                            "resources": {"requests": {"cpu": CPU, "memory": "128Mi"}},
                        }],
                    },
                },
            },
        })
    }

    /// The policy: the window is always open, and one rotation an hour.
    #[must_use]
    pub fn policy(&self) -> Value {
        json!({
            "apiVersion": "noderotation.io/v1alpha1",
            "kind": "RotationPolicy",
            "metadata": {"name": self.name},
            "spec": {
                "nodePoolSelector": {"matchLabels": {LABEL: self.name}},
                "ageThreshold": self.age_threshold,
                "maintenanceWindows": [{
                    "timezone": "UTC",
                    "days": ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"],
                    "start": "00:00",
                    "end": "24:00",
                }],
                "surge": {"readyTimeout": self.ready_timeout, "cooldownAfter": "1h"},
            },
        })
    }

    /// The policy with other values at some places, each a JSON pointer whose parent is an object or an entry of a list.
    ///
    /// # Errors
    /// When there is no such place.
    pub fn policy_with(&self, changes: &[(&str, Value)]) -> Result<Value> {
        with(self.policy(), changes)
    }

    /// The same of the NodePool.
    ///
    /// # Errors
    /// When there is no such place.
    pub fn node_pool_with(&self, changes: &[(&str, Value)]) -> Result<Value> {
        with(self.node_pool(), changes)
    }

    /// Creates NodePool and Deployment and waits until all Pods run, without a policy.
    ///
    /// # Errors
    /// When they do not run in time; with what was seen last.
    pub async fn raise(&self, cluster: &Cluster) -> Result<Sight> {
        cluster.apply(&self.node_pool().to_string()).await?.accepted()?;
        cluster.apply(&self.deployment().to_string()).await?.accepted()?;
        until(&format!("the Pods of {}", self.name), UP, async || {
            let sight = Sight::of(cluster, &self.name).await?;
            let running = sight.pods.iter().filter(|pod| pod.running()).count();
            let ready = sight.nodes.iter().filter(|node| node.ready).count();
            let size = self.size as usize;
            // A claim is a candidate once Karpenter has seen its Node through.
            let settled = sight.claims.iter().filter(|claim| claim.initialized).count();
            let done = running == size && ready == size && settled == size;
            Ok(if done { Look::Done(sight) } else { Look::NotYet(format!("{running} Pods run, {ready} nodes are ready")) })
        })
        .await
    }

    /// Lets the policy govern the NodePool.
    ///
    /// # Errors
    /// When it is refused.
    pub async fn govern(&self, cluster: &Cluster) -> Result<()> {
        cluster.apply(&self.policy().to_string()).await?.accepted()?;
        Ok(())
    }
}

fn with(mut object: Value, changes: &[(&str, Value)]) -> Result<Value> {
    for (pointer, value) in changes {
        let (parent, field) = pointer.rsplit_once('/').with_context(|| format!("{pointer} is no JSON pointer"))?;
        let parent = object.pointer_mut(parent).and_then(Value::as_object_mut);
        parent.with_context(|| format!("there is no place {pointer}"))?.insert(field.to_owned(), value.clone());
    }
    Ok(object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_changed_at_the_place_that_is_named() {
        let fleet = Fleet::new("a");
        let (zone, unavailable) = ("/spec/maintenanceWindows/0/timezone", "/spec/surge/maxUnavailable");
        let changed = fleet.policy_with(&[(zone, json!("Mars/Olympus")), (unavailable, json!(2))]).unwrap();
        assert_eq!(changed.pointer(zone), Some(&json!("Mars/Olympus")));
        assert_eq!(changed.pointer(unavailable), Some(&json!(2)));
        assert_eq!(fleet.policy_with(&[]).unwrap(), fleet.policy());
        assert!(fleet.policy_with(&[("/spec/nowhere/field", json!(1))]).is_err());
    }

    #[test]
    fn a_pod_goes_to_nodes_of_its_own_fleet_only() {
        let fleet = Fleet::new("a");
        let (pool, deployment) = (fleet.node_pool(), fleet.deployment());
        let taint = pool.pointer("/spec/template/spec/taints/0").unwrap();
        let toleration = deployment.pointer("/spec/template/spec/tolerations/0").unwrap();
        for field in ["key", "value", "effect"] {
            assert_eq!(taint[field], toleration[field], "{field}");
        }
        assert_eq!(deployment.pointer("/spec/template/spec/nodeSelector").unwrap(), &json!({"karpenter.sh/nodepool": "a"}));
    }
}
