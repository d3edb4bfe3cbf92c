//! Keeps a placeholder within what one node of its pool can give (D7).
//!
//! A node may be filled beyond what Karpenter believes its type to offer. A placeholder of that size could never be
//! provisioned, so each resource is lowered to what the claim says is allocatable, less the DaemonSets.

use super::Amount;
use super::size::Amounts;

/// A resource that the clamp has lowered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lowered {
    /// Resource name.
    pub resource: String,
    /// What the Pods need.
    pub demand: Amount,
    /// What is asked for instead.
    pub limit: Amount,
    /// The difference.
    pub shortfall: Amount,
    /// The difference is larger than the gap between the Node and its claim can explain.
    pub band_exceeded: bool,
}

/// What the clamp did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClampOutcome {
    /// The demand is within what one node gives.
    Fits,
    /// Some resources are lowered.
    Lowered(Vec<Lowered>),
    /// DaemonSets leave nothing of these resources: the whole demand stays, and only a node with more can take it.
    Refused {
        /// Resource names.
        resources: Vec<String>,
    },
}

/// The requests after the clamp, and what it did.
pub(super) fn clamp(demand: &Amounts, allocatable: &Amounts, daemons: &Amounts, node_allocatable: &Amounts) -> (Amounts, ClampOutcome) {
    let limit = |name: &str| {
        let whole = allocatable.get(name)?;
        Some(whole.saturating_sub(daemons.get(name).copied().unwrap_or_default()))
    };
    let refused: Vec<String> = demand
        .iter()
        .filter(|(name, amount)| **amount > Amount::ZERO && limit(name).is_some_and(|limit| limit <= Amount::ZERO))
        .map(|(name, _)| name.clone())
        .collect();
    if !refused.is_empty() {
        // A placeholder of zero would bind anywhere, and the drain would come before any capacity.
        return (demand.clone(), ClampOutcome::Refused { resources: refused });
    }
    let mut requests = demand.clone();
    let mut lowered = Vec::new();
    for (name, amount) in &mut requests {
        // Nothing is not lowered to less than nothing.
        let Some(limit) = limit(name).filter(|limit| *amount > *limit && *amount > Amount::ZERO) else {
            continue;
        };
        let shortfall = amount.saturating_sub(limit);
        lowered.push(Lowered {
            resource: name.clone(),
            demand: *amount,
            limit,
            shortfall,
            band_exceeded: band(name, allocatable, node_allocatable).is_some_and(|band| shortfall > band),
        });
        *amount = limit;
    }
    let outcome = if lowered.is_empty() { ClampOutcome::Fits } else { ClampOutcome::Lowered(lowered) };
    (requests, outcome)
}

/// How much more the Node offers than its claim says.
fn band(name: &str, allocatable: &Amounts, node_allocatable: &Amounts) -> Option<Amount> {
    let node = node_allocatable.get(name)?;
    Some(node.saturating_sub(*allocatable.get(name)?).max(Amount::ZERO))
}
