//! RotationPolicy as it is served: spec, status, printer columns and the schema's own rules (§5.4, D3).
//!
//! The schema is strong enough that what it admits can be judged by [`validate`] without a type error, and refuses
//! the worst mistakes also while the admission endpoint is away. These types exist to generate that schema; the rules
//! read the raw object.

pub mod default;
pub mod fault;
pub mod finding;
pub mod governing;
mod reader;
pub mod schema;
pub mod selector;
#[cfg(test)]
pub(crate) mod tests;
pub mod unknown;
pub mod validate;
pub mod warning;
mod windows;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use schema::{conditions, cooldown, days, duration, end, max_unavailable, pre_pull, required_keys, start, windows as windows_schema};

/// How and when the nodes of some NodePools are replaced before they expire.
#[expect(clippy::duplicated_attributes, reason = "every printer column names its type")]
#[derive(CustomResource, JsonSchema, Clone, Debug, Deserialize, Serialize, PartialEq)]
#[kube(
    group = "noderotation.io",
    version = "v1alpha1",
    kind = "RotationPolicy",
    plural = "rotationpolicies",
    singular = "rotationpolicy",
    shortname = "rotpol",
    status = "RotationPolicyStatus",
    derive = "PartialEq",
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].status"),
    printcolumn(name = "Reason", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].reason"),
    printcolumn(name = "Age-Threshold", type_ = "string", json_path = ".spec.ageThreshold"),
    printcolumn(name = "Matched", type_ = "integer", json_path = ".status.matchedNodePools"),
    printcolumn(name = "Rotating", type_ = "integer", json_path = ".status.rotatingNodePools"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    doc = "RotationPolicy says how and when the nodes of some NodePools are replaced before Karpenter expires them."
)]
#[serde(rename_all = "camelCase")]
pub struct RotationPolicySpec {
    /// The NodePools that this policy governs, by their labels. An empty selector selects every NodePool. Where several
    /// policies select a pool, the one with the most entries wins; a tie rotates nothing.
    pub node_pool_selector: LabelSelector,
    /// When a node is due: auto derives it from its own expiry, so that minRotationChances windows are left; a duration
    /// such as 720h rotates every node older than that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::age_threshold")]
    pub age_threshold: Option<String>,
    /// How many windows a node should see between the moment it is due and its expiry. 1 or more; 1 leaves no second
    /// window when a rotation fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::min_rotation_chances")]
    pub min_rotation_chances: Option<i32>,
    /// When a rotation may start: the union of 1 to 64 windows. A rotation that has started goes on after the window
    /// closes.
    #[schemars(schema_with = "windows_schema")]
    pub maintenance_windows: Vec<MaintenanceWindow>,
    /// How a node is replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::surge")]
    pub surge: Option<Surge>,
    /// Reserved for a later version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "pre_pull")]
    pub pre_pull: Option<Switch>,
}

/// A weekly window on the wall clock of one time zone.
#[derive(JsonSchema, Clone, Debug, Deserialize, Serialize, PartialEq)]
pub struct MaintenanceWindow {
    /// IANA name of the time zone, for example Europe/Berlin or UTC.
    #[schemars(length(min = 1, max = 64))]
    pub timezone: String,
    /// Days on which the window opens, in that zone.
    #[schemars(schema_with = "days")]
    pub days: Vec<String>,
    /// When it opens, HH:MM, 00:00 to 23:59.
    #[schemars(schema_with = "start")]
    pub start: String,
    /// When it closes, HH:MM, 00:00 to 24:00, exclusive. Before start: on the next day.
    #[schemars(schema_with = "end")]
    pub end: String,
}

/// How a node is replaced: a placeholder Pod makes Karpenter bring up capacity first, then the old node drains.
#[derive(JsonSchema, Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Surge {
    /// How many nodes of a NodePool may be in rotation at a time. Only 1 is supported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "max_unavailable")]
    pub max_unavailable: Option<i32>,
    /// How long to wait for the replacement before the attempt is rolled back. Longer than zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::ready_timeout")]
    pub ready_timeout: Option<String>,
    /// Pause of a NodePool after a rotation succeeded. May be 0s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "cooldown")]
    pub cooldown_after: Option<String>,
    /// Pause of a NodePool after a rotation failed. Unset: the longer of 10m and cooldownAfter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "duration")]
    pub failure_pause: Option<String>,
    /// How long a node whose rotation failed waits; doubled with every failure, at most eight times this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::retry_backoff")]
    pub retry_backoff: Option<String>,
    /// What provisioning a node usually takes, for the forecast only. Unset: the shorter of readyTimeout and 5m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "duration")]
    pub provisioning_estimate: Option<String>,
    /// What draining a node usually takes, for the forecast only. Unset: the shorter of the pool's
    /// terminationGracePeriod and 10m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "duration")]
    pub drain_estimate: Option<String>,
    /// Which node labels the replacement shares with the node that it replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::match_node_requirements")]
    pub match_node_requirements: Option<MatchNodeRequirements>,
    /// Near its expiry a node is drained in the window without a replacement first, rather than at any time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::switch")]
    pub forceful_fallback: Option<Switch>,
    /// The placeholder asks for the capacity of the whole node rather than for what its Pods request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::switch")]
    pub whole_node_reservation: Option<Switch>,
}

/// Which node labels a replacement shares with the node that it replaces.
#[derive(JsonSchema, Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
pub struct MatchNodeRequirements {
    /// Label keys that it must share. Unset or empty: zone, architecture and capacity type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "required_keys")]
    pub required: Option<Vec<String>>,
    /// Label keys that it should share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::keys")]
    pub preferred: Option<Vec<String>>,
}

/// Something that is on or off.
#[derive(JsonSchema, Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
pub struct Switch {
    /// On or off; off by default.
    #[serde(default)]
    pub enabled: bool,
}

/// What was seen of a policy. Never read by the rules.
#[derive(JsonSchema, Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct RotationPolicyStatus {
    /// The generation that the rest of the status describes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// NodePools that this policy governs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matched_node_pools: Option<i32>,
    /// Of those, how many have a rotation in flight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotating_node_pools: Option<i32>,
    /// Ready: the policy is valid and uncontested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "conditions")]
    pub conditions: Option<Vec<Condition>>,
}
