//! What leading takes from the cluster: the one table of resources and rights, which the chart's roles grant.

use crate::leader::LEASE;

/// A group version with resources that must be served, and what to do where they are not.
pub(super) struct Served {
    pub(super) version: &'static str,
    pub(super) resources: &'static [&'static str],
    pub(super) remedy: &'static str,
}

pub(super) const SERVED: [Served; 2] = [
    Served { version: "karpenter.sh/v1", resources: &["nodepools", "nodeclaims"], remedy: "install Karpenter 1.0 or later" },
    Served {
        version: "noderotation.io/v1alpha1",
        resources: &["rotationpolicies"],
        remedy: "install the CustomResourceDefinition: node-rotation-controller crd | kubectl apply -f -",
    },
];

/// Where a right is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// In the whole cluster.
    Cluster,
    /// In the controller's own namespace.
    Namespace,
    /// In the namespace `default`, where events about cluster-wide objects are kept.
    Default,
    /// On the object of this name there.
    Object(&'static str),
    /// On the objects of this name in any namespace.
    Everywhere(&'static str),
}

/// Rights on one resource.
pub(super) struct Need {
    pub(super) group: &'static str,
    /// With its subresource, as the roles spell it.
    pub(super) resource: &'static str,
    pub(super) verbs: &'static [&'static str],
    pub(super) scope: Scope,
    /// Without it nothing can be rotated; otherwise only something is missing that people would see.
    pub(super) vital: bool,
}

const fn need(group: &'static str, resource: &'static str, verbs: &'static [&'static str], scope: Scope) -> Need {
    Need { group, resource, verbs, scope, vital: true }
}

/// Everything that leading takes. The chart's roles grant just this, beside what admission takes for its certificate and
/// registration; it watches NodePools and policies as well, and does without where it may not.
pub(super) const NEEDS: [Need; 13] = [
    need("karpenter.sh", "nodepools", &["list", "watch", "patch"], Scope::Cluster),
    need("karpenter.sh", "nodeclaims", &["list", "watch", "patch", "delete"], Scope::Cluster),
    need("", "nodes", &["list", "watch", "patch"], Scope::Cluster),
    need("", "pods", &["list"], Scope::Cluster),
    need("", "pods", &["watch", "create", "delete"], Scope::Namespace),
    Need { vital: false, ..need("policy", "poddisruptionbudgets", &["list"], Scope::Cluster) },
    need("noderotation.io", "rotationpolicies", &["list", "watch"], Scope::Cluster),
    Need { vital: false, ..need("noderotation.io", "rotationpolicies/status", &["patch"], Scope::Cluster) },
    Need { vital: false, ..need("events.k8s.io", "events", &["create", "patch"], Scope::Default) },
    Need { vital: false, ..need("events.k8s.io", "events", &["create", "patch"], Scope::Namespace) },
    need("coordination.k8s.io", "leases", &["create"], Scope::Namespace),
    need("coordination.k8s.io", "leases", &["get", "update"], Scope::Object(LEASE)),
    Need { vital: false, ..need("coordination.k8s.io", "leases", &["list"], Scope::Everywhere(LEASE)) },
];
