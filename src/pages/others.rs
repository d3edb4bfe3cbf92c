//! Names that pages use and that are not ours: each is checked to be named somewhere, so that the lists do not grow old.

/// Words with a capital.
pub(super) const WORDS: &[&str] = &[
    // Values of fields of a policy.
    "Mon",
    "Tue",
    "Wed",
    "Thu",
    "Fri",
    "Sat",
    "Sun",
    "In",
    "NotIn",
    "Exists",
    "DoesNotExist",
    // Kubernetes.
    "Fail",
    "False",
    "NoExecute",
    "RuntimeDefault",
    "True",
    "failurePolicy",
    "kubeConfigFile",
    // Kinds.
    "NodeClaim",
    "NodePool",
    "RotationPolicy",
    // Karpenter.
    "Never",
    // Argo CD and Flux.
    "PreDelete",
    "dependsOn",
    "ignoreDifferences",
];

/// Paths of fields.
pub(super) const PATHS: &[&str] = &[
    // Kubernetes.
    "ca.crt",
    "karpenter.sh",
    "metadata.labels",
    "resources.limits.cpu",
    // NodePools.
    "limits.nodes",
    "spec.disruption.budgets",
    "spec.limits",
    "spec.replicas",
    // A DNS domain.
    "cluster.local",
];

/// Flags: of Helm, and of the Go controller.
pub(super) const FLAGS: &[&str] = &["--no-hooks", "--zap-log-level"];
