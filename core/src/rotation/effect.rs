//! What a step may do, each with the version of the object that the decision was taken from.
//!
//! The shell carries effects out in order and stops at the first that fails (D2). Every write is conditional (I10);
//! a later write of the same object in one list is conditional on the answer to the earlier one.

use k8s_openapi::api::core::v1::Pod;
use kube::{Resource, ResourceExt};

use crate::annotation::Change;
use crate::rotation::announcement::Announcement;

/// An object as it was when the decision was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Name of the object.
    pub name: String,
    /// Its identity; a namesake created later has another.
    pub uid: String,
    /// Its `resourceVersion`.
    pub version: String,
}

impl Target {
    /// The object as observed.
    #[must_use]
    pub fn of<K: Resource>(object: &K) -> Self {
        Self { name: object.name_any(), uid: object.uid().unwrap_or_default(), version: object.resource_version().unwrap_or_default() }
    }
}

/// What the answer to a node's patch must show for the list to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proceed {
    /// Nothing.
    Always,
    /// Neither the Node is being deleted nor has Karpenter begun to disrupt it (review 7, faults.md 0.4).
    UnlessLeaving,
}

/// One write.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Change annotations of the NodePool.
    AnnotatePool {
        /// The pool.
        pool: Target,
        /// What changes.
        change: Change,
    },
    /// Change annotations of a NodeClaim.
    AnnotateClaim {
        /// The claim.
        claim: Target,
        /// What changes.
        change: Change,
    },
    /// Change annotations of a Node, and whether Pods may be scheduled on it.
    MarkNode {
        /// The node.
        node: Target,
        /// What changes.
        change: Change,
        /// `Some(true)` cordons, `Some(false)` uncordons.
        unschedulable: Option<bool>,
        /// Condition for the rest of the list.
        proceed: Proceed,
    },
    /// Create the placeholder; one that exists already is as good.
    CreatePlaceholder {
        /// The whole Pod.
        pod: Box<Pod>,
    },
    /// Delete the placeholder; one that is gone is as good.
    DeletePlaceholder {
        /// Its namespace.
        namespace: String,
        /// The Pod.
        pod: Target,
    },
    /// Delete a NodeClaim; one that is gone is as good.
    DeleteClaim {
        /// The claim.
        claim: Target,
    },
}

/// A write and what is announced once it has landed, and only then.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// The write.
    pub effect: Effect,
    /// Told in order after the write has landed.
    pub then: Vec<Announcement>,
}

impl From<Effect> for Planned {
    fn from(effect: Effect) -> Self {
        Self { effect, then: Vec::new() }
    }
}

impl Effect {
    /// The write with what is announced once it has landed.
    #[must_use]
    pub fn then(self, announcement: Announcement) -> Planned {
        Planned { effect: self, then: vec![announcement] }
    }
}
