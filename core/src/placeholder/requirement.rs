//! Which node labels the surge shares with the old node (§3.7, D7).
//!
//! A value is replicated only if the NodePool permits it: a placeholder that asks for what its pool cannot give would
//! never be provisioned.

use kube::ResourceExt;
use serde::{Deserialize, Serialize};

use super::Request;

/// A scheduling requirement as Karpenter spells it; an operator that is not known permits nothing.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(default)]
pub struct Requirement {
    /// Label key.
    pub key: String,
    /// `In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt`, `Lt`, `Gte`, `Lte`.
    pub operator: String,
    /// Values; exactly one for a comparison.
    pub values: Vec<String>,
}

/// The values of `key` that the surge may have, sorted; `None` when there are none and the key is left out.
#[must_use]
pub fn replicated(request: &Request<'_>, key: &str) -> Option<Vec<String>> {
    let on_node = request.node.labels().get(key);
    let of_claim = || {
        let requirements = request.claim_requirements.iter().filter(|r| r.key == key && r.operator == "In");
        requirements.flat_map(|r| r.values.iter().cloned()).collect()
    };
    let mut values: Vec<String> = on_node.map_or_else(of_claim, |value| vec![value.clone()]);
    values.retain(|value| request.pool_requirements.iter().filter(|r| r.key == key).all(|r| permits(r, value)));
    values.sort();
    values.dedup();
    (!values.is_empty()).then_some(values)
}

/// The required keys of a request that are left out.
pub(super) fn skipped(request: &Request<'_>) -> Vec<String> {
    request.required_keys.iter().filter(|key| replicated(request, key).is_none()).cloned().collect()
}

fn permits(requirement: &Requirement, value: &str) -> bool {
    let listed = requirement.values.iter().any(|v| v == value);
    match requirement.operator.as_str() {
        "In" => listed,
        "NotIn" => !listed,
        "Exists" => true,
        "Gt" => compare(requirement, value, |value, bound| value > bound),
        "Gte" => compare(requirement, value, |value, bound| value >= bound),
        "Lt" => compare(requirement, value, |value, bound| value < bound),
        "Lte" => compare(requirement, value, |value, bound| value <= bound),
        _ => false,
    }
}

fn compare(requirement: &Requirement, value: &str, holds: impl Fn(i64, i64) -> bool) -> bool {
    let [bound] = requirement.values.as_slice() else {
        return false;
    };
    value.parse().ok().zip(bound.parse().ok()).is_some_and(|(value, bound)| holds(value, bound))
}
