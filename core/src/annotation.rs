//! Every key that the controller reads or writes, and the typed view of their values.
//!
//! State lives in annotations of NodePools, NodeClaims and Nodes (§5.3). This is the only file that spells a key;
//! a value that cannot be read is represented, never refused, because a person may have written it.

/// NodePool: the NodeClaim in rotation; durable anchor and serial gate (§5.3).
pub const ACTIVE_ROTATION: &str = "noderotation.io/active-rotation";
/// Pod label and Node annotation: the old NodeClaim of the rotation (§5.3).
pub const SURGE_FOR: &str = "noderotation.io/surge-for";
/// Karpenter's protection against voluntary disruption; in force only with the exact value `true`.
pub const DO_NOT_DISRUPT: &str = "karpenter.sh/do-not-disrupt";
/// Karpenter's label that names the NodePool of a NodeClaim or Node.
pub const NODEPOOL_LABEL: &str = "karpenter.sh/nodepool";
/// The label that names the host of a Node.
pub const HOSTNAME_LABEL: &str = "kubernetes.io/hostname";
