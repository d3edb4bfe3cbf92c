//! What a life came to. Instants are RFC 3339 in UTC, spans whole seconds, lists in the order of time.

use jiff::Timestamp;
use serde::Serialize;

use crate::summary::Summary;

/// What a fleet went through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// What chance was drawn from.
    pub seed: u64,
    /// When it began.
    pub start: Timestamp,
    /// When it ended.
    pub end: Timestamp,
    /// All pools together.
    pub summary: Summary,
    /// Pool by pool.
    pub pools: Vec<PoolReport>,
}

/// What a pool went through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PoolReport {
    /// Its name.
    pub name: String,
    /// The policy that governed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub governed_by: Option<String>,
    /// Why none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ungoverned: Option<String>,
    /// In figures.
    pub summary: Summary,
    /// When a rotation might begin.
    pub windows: Vec<Window>,
    /// Windows that went by unused although nodes were due.
    pub missed_windows: Vec<Timestamp>,
    /// Every attempt to rotate a node.
    pub rotations: Vec<Attempt>,
    /// Every node that there was.
    pub nodes: Vec<NodeLife>,
}

/// A stretch of time in which rotations may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Window {
    /// Its first instant.
    pub open: Timestamp,
    /// The first instant after it.
    pub close: Timestamp,
}

/// The life of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeLife {
    /// Name of the NodeClaim, and of the Node.
    pub name: String,
    /// When it was created.
    pub born: Timestamp,
    /// When Karpenter would delete it by force; absent for never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// When its deletion began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleted: Option<Timestamp>,
    /// When it was gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gone: Option<Timestamp>,
    /// How it ended.
    pub end: End,
}

/// How a node ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum End {
    /// Not yet.
    Alive,
    /// By a rotation.
    Rotated,
    /// By force, at its deadline.
    Expired,
    /// There was too little work for it.
    ScaledDown,
    /// It had nothing to do, such as one whose rotation was called off.
    Removed,
    /// It never became Ready.
    NeverReady,
}

/// One attempt to rotate a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    /// The node.
    pub node: String,
    /// When it began.
    pub start: Timestamp,
    /// When the drain began. From here on no deadline matters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain: Option<Timestamp>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<Timestamp>,
    /// How, as far as it got.
    pub mode: Mode,
    /// What became of it.
    pub outcome: Outcome,
    /// When Karpenter would have deleted the node by force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// Seconds that were left until then when the drain began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub margin_seconds: Option<i64>,
}

/// How a node is rotated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Mode {
    /// A new node came first.
    Surge,
    /// A node was there that had nothing to do.
    FreeRoom,
    /// Near the deadline, without a replacement first.
    Fallback,
}

/// What became of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// The node is gone, and another is in its place.
    Success,
    /// No replacement came in time; it was called off.
    Failed,
    /// Karpenter was quicker.
    Expired,
    /// It was called off for another reason.
    CalledOff,
    /// It was under way at the end.
    Unfinished,
}
