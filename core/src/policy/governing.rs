//! A policy that has passed validation: the only form that the rules accept.

use std::time::Duration;

use super::selector::Selector;
use crate::window::Windows;

/// When a claim is old enough to be rotated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgeThreshold {
    /// Derived from the claim's own deadline (§3.2).
    Auto,
    /// Older than this.
    Override(Duration),
}

/// A valid policy, parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Governing {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.generation`, 0 if not stored yet.
    pub generation: i64,
    /// Which NodePools.
    pub selector: Selector,
    /// When a claim is due.
    pub age_threshold: AgeThreshold,
    /// K: window occurrences that a claim should see between its trigger and its deadline; at least 1.
    pub min_rotation_chances: u32,
    /// When a rotation may start.
    pub windows: Windows,
    /// How long an attempt may wait for its surge.
    pub ready_timeout: Duration,
    /// Gate A: pause after a success; may be zero.
    pub cooldown_after: Duration,
    /// Base of the backoff of a failed claim.
    pub retry_backoff: Duration,
    /// Gate B: pause after a failure.
    pub failure_pause: Duration,
    /// What provisioning is expected to take; `None`: at most five minutes, within `ready_timeout`.
    pub provisioning_estimate: Option<Duration>,
    /// What a drain is expected to take; `None`: at most ten minutes, within the pool's grace period.
    pub drain_estimate: Option<Duration>,
    /// Node labels that the surge must share with the candidate.
    pub required_keys: Vec<String>,
    /// Node labels that it should share.
    pub preferred_keys: Vec<String>,
    /// Near its deadline a claim is rotated without a surge.
    pub forceful_fallback: bool,
    /// The placeholder asks for a whole node.
    pub whole_node_reservation: bool,
}
