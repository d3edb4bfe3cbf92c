//! RotationPolicy as it is served: spec, status, printer columns and the schema's own rules (§5.4, D3).
//!
//! The schema is strong enough that what it admits can be judged by [`validate`] without a type error, and refuses
//! the worst mistakes also while the admission endpoint is away. These types exist to generate that schema; the rules
//! read the raw object.

pub mod default;
pub mod fault;
pub mod finding;
pub mod governing;
pub mod reader;
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

use crate::annotation::stamp;
use crate::window::Occurrence;
use schema::{
    conditions, cooldown, days, end, instant, max_unavailable, positive_duration, pre_pull, required_keys, start, timezone,
    windows as windows_schema,
};

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
    printcolumn(name = "Next-Window", type_ = "string", json_path = ".status.nextWindow.start"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Progressing", type_ = "string", priority = 1, json_path = ".status.conditions[?(@.type==\"Progressing\")].reason"),
    printcolumn(name = "Feasible", type_ = "string", priority = 1, json_path = ".status.conditions[?(@.type==\"Feasible\")].reason"),
    printcolumn(name = "Eligible", type_ = "integer", priority = 1, json_path = ".status.eligibleNodeClaims"),
    printcolumn(name = "Next-Deadline", type_ = "string", priority = 1, json_path = ".status.nextDeadline"),
    doc = "RotationPolicy says how and when the nodes of some NodePools are replaced before Karpenter expires them."
)]
#[serde(rename_all = "camelCase")]
pub struct RotationPolicySpec {
    /// The NodePools that this policy governs, by their labels. Required; an empty selector selects every NodePool. Where
    /// several policies select a NodePool, the one with the most entries here governs it; a tie rotates nothing.
    #[schemars(schema_with = "schema::selector")]
    pub node_pool_selector: LabelSelector,
    /// The age at which a node is due. auto, the default: so early that minRotationChances windows are left before its own
    /// expiry; a node that does not expire is never due. A duration such as 720h: when it is older than that; longer than
    /// 0s, at most 87600h.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::age_threshold")]
    pub age_threshold: Option<String>,
    /// How many windows a node has left when it is due by ageThreshold auto; a duration that leaves fewer is warned of.
    /// Default 2, at least 1; 1 leaves no second window if the rotation in the first fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::min_rotation_chances")]
    pub min_rotation_chances: Option<i32>,
    /// When a rotation may start: inside any of these 1 to 64 windows. Required. A rotation that has started goes on after
    /// the window has closed.
    #[schemars(schema_with = "windows_schema")]
    pub maintenance_windows: Vec<MaintenanceWindow>,
    /// How a node is replaced. Every field has a default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::surge")]
    pub surge: Option<Surge>,
    /// Reserved for a later version: may only be off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "pre_pull")]
    pub pre_pull: Option<Switch>,
}

/// A weekly window on the wall clock of one time zone, daylight saving time included.
#[derive(JsonSchema, Clone, Debug, Deserialize, Serialize, PartialEq)]
pub struct MaintenanceWindow {
    /// IANA name of the time zone in its exact spelling, for example Europe/Berlin or UTC. Required.
    #[schemars(schema_with = "timezone")]
    pub timezone: String,
    /// Days on which the window opens, in that zone: one or more of Mon, Tue, Wed, Thu, Fri, Sat, Sun, each once. Required.
    #[schemars(schema_with = "days")]
    pub days: Vec<String>,
    /// When it opens, this minute included: HH:MM, 00:00 to 23:59. Required.
    #[schemars(schema_with = "start")]
    pub start: String,
    /// When it closes, this minute excluded: HH:MM, 00:00 to 24:00. Earlier than start: on the next day. Required; must
    /// differ from start, a whole day is 00:00 to 24:00.
    #[schemars(schema_with = "end")]
    pub end: String,
}

/// How a node is replaced: a placeholder Pod makes Karpenter bring up capacity first, then the old node drains. Durations
/// are numbers with units, for example 15m or 1h30m (h, m, s, ms, us, ns), at most 87600h; days have no unit, write 24h.
#[derive(JsonSchema, Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Surge {
    /// How many nodes of a NodePool may be in rotation at a time. Only 1, the default, is supported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "max_unavailable")]
    pub max_unavailable: Option<i32>,
    /// How long an attempt waits for the new capacity; after that it has failed and is rolled back. Default 15m, longer
    /// than 0s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::ready_timeout")]
    pub ready_timeout: Option<String>,
    /// Pause of a NodePool after a rotation succeeded. Default 10m; 0s is no pause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "cooldown")]
    pub cooldown_after: Option<String>,
    /// Pause of a NodePool after a rotation failed. Longer than 0s; the default is the longer of 10m and cooldownAfter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "positive_duration")]
    pub failure_pause: Option<String>,
    /// How long a node whose rotation failed waits for its next attempt; doubled with every further failure, up to eight
    /// times this. Default 30m, longer than 0s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::retry_backoff")]
    pub retry_backoff: Option<String>,
    /// What bringing up a node usually takes; for the forecast only, it ends nothing. Longer than 0s; more than readyTimeout
    /// counts as readyTimeout. The default is the shorter of readyTimeout and 5m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "positive_duration")]
    pub provisioning_estimate: Option<String>,
    /// What draining a node usually takes; for the forecast only, it ends nothing. Longer than 0s, default 10m; more than
    /// the NodePool's terminationGracePeriod counts as that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "positive_duration")]
    pub drain_estimate: Option<String>,
    /// Which node labels the new capacity shares with the node that it replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::match_node_requirements")]
    pub match_node_requirements: Option<MatchNodeRequirements>,
    /// Whether a node whose expiry is too near for an attempt is drained inside the window without new capacity, instead of
    /// expiring at any time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::switch")]
    pub forceful_fallback: Option<Switch>,
    /// Whether the placeholder asks for the CPU and memory of the whole node instead of what the node's Pods request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::switch")]
    pub whole_node_reservation: Option<Switch>,
}

/// Which node labels the new capacity shares with the node that it replaces.
#[derive(JsonSchema, Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
pub struct MatchNodeRequirements {
    /// Keys of labels that it must share, at most 16. Default, also for an empty list: topology.kubernetes.io/zone,
    /// kubernetes.io/arch and karpenter.sh/capacity-type. Not karpenter.sh/nodepool, which it always shares, nor
    /// kubernetes.io/hostname, which it never can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "required_keys")]
    pub required: Option<Vec<String>>,
    /// Keys of labels that it should share where that can be had, at most 16, none of which is required. None by default.
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
// A policy that nobody has looked at would be as good as done to whoever waits by the rules of kstatus (Helm 4, Flux).
#[schemars(extend("default" = {"observedGeneration": -1}))]
pub struct RotationPolicyStatus {
    /// The generation that the rest of the status describes; -1 before the operator has looked at the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = -1))]
    pub observed_generation: Option<i64>,
    /// NodePools that this policy governs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub matched_node_pools: Option<i32>,
    /// Of those, how many have a rotation in flight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub rotating_node_pools: Option<i32>,
    /// NodeClaims of those NodePools that may be rotated now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub eligible_node_claims: Option<i32>,
    /// NodeClaims that are due and wait only for their backoff after a failed attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub in_backoff_node_claims: Option<i32>,
    /// NodeClaims with a failed attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub failed_node_claims: Option<i32>,
    /// The nearest time at which Karpenter would expire one of their nodes by force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "instant")]
    pub next_deadline: Option<String>,
    /// The window that is open, or else the next one. Absent where the window never closes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_window: Option<NextWindow>,
    /// Ready: the policy is valid and uncontested. Feasible: its schedule can work for every NodePool. Progressing: a node is
    /// being rotated; if not, the reason says why. Stalled is there only while the policy is invalid, which nothing but a
    /// change of it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "conditions")]
    pub conditions: Option<Vec<Condition>>,
}

/// A window that is open or to come.
#[derive(JsonSchema, Clone, Debug, Deserialize, Serialize, PartialEq)]
pub struct NextWindow {
    /// When it opens, or has opened.
    #[schemars(schema_with = "instant")]
    pub start: String,
    /// When it closes.
    #[schemars(schema_with = "instant")]
    pub end: String,
}

impl From<Occurrence> for NextWindow {
    fn from(window: Occurrence) -> Self {
        Self { start: stamp(window.open), end: stamp(window.close) }
    }
}
