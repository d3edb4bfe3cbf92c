//! The placeholder: a Pod that reserves what the old node's Pods will need (§3.7, D7).
//!
//! It makes Karpenter bring up capacity, or finds some that is there, before the old node drains. It runs nothing, has
//! the lowest priority, and gives way to the first Pod that needs its place.

mod clamp;
pub mod pod;
pub mod quantity;
pub mod requirement;
pub mod size;
mod sizing;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{Node, Pod, Taint};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::ResourceExt;
use sha2::{Digest, Sha256};

pub use clamp::{ClampOutcome, Lowered};
pub use quantity::Amount;
use requirement::Requirement;
pub use size::{Kind, is_workload};
pub use sizing::Sizing;

use crate::annotation::SURGE_FOR;

/// All that determines a placeholder.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The old claim.
    pub claim: &'a str,
    /// Its NodePool.
    pub pool: &'a str,
    /// Namespace of the Pod.
    pub namespace: &'a str,
    /// Image of its container.
    pub image: &'a str,
    /// Secrets for pulling it, in that namespace.
    pub image_pull_secrets: &'a [String],
    /// Its PriorityClass.
    pub priority_class: &'a str,
    /// Taints of the pool's template; startup taints are not among them.
    pub pool_taints: &'a [Taint],
    /// Requirements of the pool's template.
    pub pool_requirements: &'a [Requirement],
    /// Requirements of the old claim.
    pub claim_requirements: &'a [Requirement],
    /// What Pods may use on a node of the old claim's kind.
    pub claim_allocatable: &'a BTreeMap<String, Quantity>,
    /// The old claim's Node.
    pub node: &'a Node,
    /// All Pods bound to that Node.
    pub pods: &'a [Pod],
    /// Hosts where the surge should not land.
    pub excluded_hostnames: &'a BTreeSet<String>,
    /// Node labels that the surge must share with the Node.
    pub required_keys: &'a [String],
    /// Node labels that it should share.
    pub preferred_keys: &'a [String],
    /// Ask for cpu and memory of a whole node.
    pub whole_node_reservation: bool,
}

/// A Pod to create, and how its size came about.
#[derive(Clone, Debug, PartialEq)]
pub struct Placeholder {
    /// The Pod.
    pub pod: Pod,
    /// How its size came about.
    pub sizing: Sizing,
}

/// The placeholder for a request. Total: what cannot be read is left out and named in the sizing.
#[must_use]
pub fn build(request: &Request<'_>) -> Placeholder {
    let sizing = sizing::of(request);
    let pod = pod::build(request, &sizing.requests);
    Placeholder { pod, sizing }
}

/// The longest name of a Pod.
const LONGEST_NAME: usize = 253;
/// The longest label value.
const LONGEST_LABEL: usize = 63;

/// Name of a claim's placeholder; deterministic, so that creating it twice is harmless.
#[must_use]
pub fn name(claim: &str) -> String {
    shorten(&format!("noderotation-surge-{claim}"), claim, LONGEST_NAME)
}

/// The claim as a label value; the whole name is in the annotation of the same key.
#[must_use]
pub fn label_value(claim: &str) -> String {
    shorten(claim, claim, LONGEST_LABEL)
}

/// `text`, or its beginning and 16 hex digits of the hash of `claim` where it is too long.
fn shorten(text: &str, claim: &str, longest: usize) -> String {
    if text.len() <= longest {
        return text.to_owned();
    }
    let digest = Sha256::digest(claim.as_bytes());
    let hash: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let room = longest.saturating_sub(hash.len() + 1);
    let head: String = text
        .chars()
        .scan(0, |bytes, c| {
            *bytes += c.len_utf8();
            (*bytes <= room).then_some(c)
        })
        .collect();
    // A name part may end neither in a dot nor in a dash.
    format!("{}-{hash}", head.trim_end_matches(['.', '-']))
}

/// The claim that a placeholder says it belongs to; empty where it does not say.
#[must_use]
pub fn claim_of(pod: &Pod) -> String {
    let whole = pod.annotations().get(SURGE_FOR);
    whole.or_else(|| pod.labels().get(SURGE_FOR)).cloned().unwrap_or_default()
}

/// The Pod is the placeholder of `claim` and of no other.
#[must_use]
pub fn belongs_to(pod: &Pod, claim: &str) -> bool {
    pod.labels().get(SURGE_FOR).is_some_and(|value| *value == label_value(claim))
        && pod.annotations().get(SURGE_FOR).is_none_or(|whole| whole == claim)
}
