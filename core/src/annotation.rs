//! Every key that the controller reads or writes, and the typed view of their values.
//!
//! State lives in annotations of NodePools, NodeClaims and Nodes (§5.3). This is the only file that spells a key.
//! A value that cannot be read is represented, never refused: a person may have written it, and a step must
//! have an outcome for it.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

/// NodePool: the NodeClaim in rotation; durable anchor and serial gate (§5.3).
pub const ACTIVE_ROTATION: &str = "noderotation.io/active-rotation";
/// NodePool: the phase mirror `draining`, which decides the outcome at completion (§5.2).
pub const ACTIVE_ROTATION_STATE: &str = "noderotation.io/active-rotation-state";
/// NodePool: RFC 3339, when the drain began (§5.3).
pub const DRAINING_AT: &str = "noderotation.io/draining-at";
/// NodePool: Go duration, how long the surge took (§5.3).
pub const SURGE_WAIT: &str = "noderotation.io/surge-wait";
/// NodePool: `provisioned` or `absorbed`, how the capacity was found (D7).
pub const SURGE_PATH: &str = "noderotation.io/surge-path";
/// NodePool: `forceful-fallback` on the surge-less path (§5.3).
pub const ROTATION_MODE: &str = "noderotation.io/rotation-mode";
/// NodePool: RFC 3339, anchor of `cooldownAfter` (§5.3).
pub const LAST_ROTATION_AT: &str = "noderotation.io/last-rotation-at";
/// NodePool: RFC 3339, anchor of `failurePause` (§5.3).
pub const LAST_FAILURE_AT: &str = "noderotation.io/last-failure-at";
/// NodePool: RFC 3339, when the occurrence opened that was seen open with claims to rotate (D14).
pub const WINDOW_OPENED_AT: &str = "noderotation.io/window-opened-at";
/// NodePool: RFC 3339, written by people: no rotation before that instant (§5.3).
pub const FREEZE: &str = "noderotation.io/freeze";
/// NodeClaim: progress of its rotation (§5.3).
pub const STATE: &str = "noderotation.io/state";
/// NodeClaim: RFC 3339, when this attempt began (§5.3).
pub const STARTED_AT: &str = "noderotation.io/started-at";
/// NodeClaim: RFC 3339, anchor of the backoff (§5.3).
pub const FAILED_AT: &str = "noderotation.io/failed-at";
/// NodeClaim: how many attempts failed (§5.3).
pub const RETRY_COUNT: &str = "noderotation.io/retry-count";
/// NodeClaim: the claim that the placeholder was bound to (§5.3).
pub const SURGE_CLAIM: &str = "noderotation.io/surge-claim";
/// NodeClaim: why a rollback has begun; no later pass may go forward from here (ADR 0001).
pub const ROLLBACK: &str = "noderotation.io/rollback";
/// Pod label and Node annotation: the old NodeClaim of the rotation (§5.3).
pub const SURGE_FOR: &str = "noderotation.io/surge-for";
/// Placeholder: what it was made to request, `name=value,…`; somebody may change that on the way in (review 10).
pub const REQUESTS: &str = "noderotation.io/requests";
/// Node: we, not an operator of the cluster, set [`DO_NOT_DISRUPT`] (§5.3).
pub const DO_NOT_DISRUPT_OWNED: &str = "noderotation.io/do-not-disrupt-owned";
/// Node: we, not an operator of the cluster, made it unschedulable (§5.3).
pub const CORDONED: &str = "noderotation.io/cordoned";
/// CustomResourceDefinition: the version of the program that it belongs to.
pub const DEFINITION_VERSION: &str = "noderotation.io/version";
/// Event: the objects that it is about, the same for all events of one rotation (D14).
pub const CORRELATION: &str = "noderotation.io/correlation";
/// Event: the pass that told of it, as the log lines of that pass name it (D14).
pub const PASS: &str = "noderotation.io/pass";
/// Karpenter's protection against voluntary disruption; in force only with the exact value `true`.
pub const DO_NOT_DISRUPT: &str = "karpenter.sh/do-not-disrupt";
/// Karpenter's word on a NodeClaim for when it ends the drain by force, RFC 3339.
pub const TERMINATION_TIMESTAMP: &str = "karpenter.sh/nodeclaim-termination-timestamp";
/// Karpenter's label that names the NodePool of a NodeClaim or Node.
pub const NODEPOOL_LABEL: &str = "karpenter.sh/nodepool";
/// Karpenter's taint on a node that it has begun to take away.
pub const DISRUPTED_TAINT: &str = "karpenter.sh/disrupted";
/// The label that names the host of a Node.
pub const HOSTNAME_LABEL: &str = "kubernetes.io/hostname";

/// A stamp further ahead than this is a mistake of a clock or a person, and counts as now.
const FUTURE_TOLERANCE: SignedDuration = SignedDuration::from_mins(15);

/// A key of ours without what they all begin with, for people who know whose they are; another's as it is.
#[must_use]
pub fn short(key: &str) -> &str {
    key.strip_prefix("noderotation.io/").unwrap_or(key)
}

/// Annotations or labels of an object.
pub type Map = BTreeMap<String, String>;

/// A change of annotations: a value sets the key, `None` removes it.
pub type Change = BTreeMap<&'static str, Option<String>>;

/// Writes an instant as the annotations carry it: RFC 3339, whole seconds, UTC.
#[must_use]
pub fn stamp(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The instant that [`stamp`] stores: `at` without its fraction of a second.
#[must_use]
pub fn stored(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}

/// Reads a stamp; missing and unreadable are both `None`. A stamp more than 15 minutes ahead of `now` is `now`.
fn read_stamp(annotations: &Map, key: &str, now: Timestamp) -> Option<Timestamp> {
    let at: Timestamp = annotations.get(key)?.parse().ok()?;
    Some(if at.duration_since(now) > FUTURE_TOLERANCE { now } else { at })
}

/// A stamp more than 15 minutes ahead of `now`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ahead {
    /// Its key.
    pub key: &'static str,
    /// As written.
    pub value: String,
}

/// Those of `keys` whose stamps are too far ahead.
fn ahead(annotations: &Map, keys: &[&'static str], now: Timestamp) -> Vec<Ahead> {
    let too_far = |text: &String| text.parse::<Timestamp>().is_ok_and(|at| at.duration_since(now) > FUTURE_TOLERANCE);
    let found = keys.iter().filter_map(|key| Some((*key, annotations.get(*key).filter(|text| too_far(text))?.clone())));
    found.map(|(key, value)| Ahead { key, value }).collect()
}

/// The freeze annotation of a NodePool (D6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Freeze {
    /// Not there, or in the past.
    None,
    /// Nothing starts before this instant.
    Until(Timestamp),
    /// Not RFC 3339. Someone meant to stop us, so it counts as frozen.
    Unreadable(String),
}

/// The stamp of an occurrence that was seen open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OpenedAt {
    /// Not there.
    #[default]
    Missing,
    /// When it opened.
    At(Timestamp),
    /// Not RFC 3339, or more than 15 minutes ahead: of no use to anybody.
    Unreadable,
}

impl OpenedAt {
    fn read(annotations: &Map, now: Timestamp) -> Self {
        let Some(text) = annotations.get(WINDOW_OPENED_AT) else {
            return Self::Missing;
        };
        let at = text.parse::<Timestamp>().ok().filter(|at| at.duration_since(now) <= FUTURE_TOLERANCE);
        at.map_or(Self::Unreadable, Self::At)
    }
}

/// What a NodePool's annotations say about its rotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolMarks {
    /// The claim in rotation, the anchor.
    pub anchor: Option<String>,
    /// The mirror says `draining`.
    pub draining: bool,
    /// When the drain began.
    pub draining_at: Option<Timestamp>,
    /// How long the surge took.
    pub surge_wait: Option<std::time::Duration>,
    /// How the capacity was found, as stored.
    pub surge_path: Option<String>,
    /// The rotation runs without a surge.
    pub forceful_fallback: bool,
    /// Last success.
    pub last_rotation_at: Option<Timestamp>,
    /// Last failure.
    pub last_failure_at: Option<Timestamp>,
    /// Stamps of pauses that are too far ahead to be true.
    pub ahead: Vec<Ahead>,
    /// The occurrence that was seen open.
    pub window_opened_at: OpenedAt,
    /// The operator's veto.
    pub freeze: Freeze,
}

impl PoolMarks {
    /// Reads the annotations of a NodePool as of `now`. Total: every text has a meaning.
    #[must_use]
    pub fn read(annotations: &Map, now: Timestamp) -> Self {
        let text = |key: &str| annotations.get(key).filter(|v| !v.is_empty()).cloned();
        Self {
            anchor: text(ACTIVE_ROTATION),
            draining: text(ACTIVE_ROTATION_STATE).as_deref() == Some("draining"),
            // Only measured from, so that one that cannot be true is left out of the measure.
            draining_at: read_stamp(annotations, DRAINING_AT, now).filter(|_| ahead(annotations, &[DRAINING_AT], now).is_empty()),
            surge_wait: text(SURGE_WAIT).and_then(|t| crate::duration::parse(&t).ok()),
            surge_path: text(SURGE_PATH),
            forceful_fallback: text(ROTATION_MODE).as_deref() == Some("forceful-fallback"),
            last_rotation_at: read_stamp(annotations, LAST_ROTATION_AT, now),
            last_failure_at: read_stamp(annotations, LAST_FAILURE_AT, now),
            ahead: ahead(annotations, &[LAST_ROTATION_AT, LAST_FAILURE_AT], now),
            window_opened_at: OpenedAt::read(annotations, now),
            freeze: match text(FREEZE) {
                None => Freeze::None,
                Some(value) => match value.parse::<Timestamp>() {
                    Ok(until) if until > now => Freeze::Until(until),
                    Ok(_) => Freeze::None,
                    Err(_) => Freeze::Unreadable(value),
                },
            },
        }
    }

    /// The rotation must hold still (§5.2).
    #[must_use]
    pub fn frozen(&self) -> bool {
        self.freeze != Freeze::None
    }
}

/// Removes the anchor and every companion of it in one write (§5.3, `clear(np, anchor)`).
#[must_use]
pub fn clear_anchor() -> Change {
    [ACTIVE_ROTATION, ACTIVE_ROTATION_STATE, DRAINING_AT, SURGE_WAIT, SURGE_PATH, ROTATION_MODE]
        .into_iter()
        .map(|key| (key, None))
        .collect()
}

/// Everything that a rotation writes on a NodeClaim.
pub const CLAIM_KEYS: [&str; 6] = [STATE, STARTED_AT, FAILED_AT, RETRY_COUNT, SURGE_CLAIM, ROLLBACK];

/// Progress of a claim's rotation (§5.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimState {
    /// No rotation was begun.
    Fresh,
    /// Waiting for the surge.
    Pending,
    /// Delete sent, or about to be.
    Draining,
    /// Rolled back; eligible again after its backoff.
    Failed,
    /// Karpenter took it before the surge was ready; terminal.
    Expired,
    /// A text that is none of ours.
    Unknown(String),
}

/// Why a rollback has begun: the pass that ends it may find the world changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rollback {
    /// The surge took too long. Any text that is not one of ours counts as this.
    ReadyTimeout,
    /// No policy governed the pool.
    GovernanceLost,
}

impl Rollback {
    /// As the annotation carries it.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::ReadyTimeout => "readyTimeout",
            Self::GovernanceLost => "governanceLost",
        }
    }
}

/// What a NodeClaim's annotations say about its rotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimMarks {
    /// Progress.
    pub state: ClaimState,
    /// Begin of this attempt. A stamp more than 15 minutes ahead is `None`, so that it is written anew.
    pub started_at: Option<Timestamp>,
    /// Last failure.
    pub failed_at: Option<Timestamp>,
    /// Failed attempts; unreadable counts as 0.
    pub retry_count: u32,
    /// The claim that the placeholder was bound to.
    pub surge_claim: Option<String>,
    /// Stamps of attempts that are too far ahead to be true.
    pub ahead: Vec<Ahead>,
    /// A rollback has begun.
    pub rollback: Option<Rollback>,
}

impl ClaimMarks {
    /// Reads the annotations of a NodeClaim as of `now`. Total: every text has a meaning.
    #[must_use]
    pub fn read(annotations: &Map, now: Timestamp) -> Self {
        let text = |key: &str| annotations.get(key).map(String::as_str);
        Self {
            state: match text(STATE) {
                None | Some("") => ClaimState::Fresh,
                Some("pending") => ClaimState::Pending,
                Some("draining") => ClaimState::Draining,
                Some("failed") => ClaimState::Failed,
                Some("expired") => ClaimState::Expired,
                Some(other) => ClaimState::Unknown(other.to_owned()),
            },
            started_at: text(STARTED_AT).and_then(|t| t.parse::<Timestamp>().ok()).filter(|at| at.duration_since(now) <= FUTURE_TOLERANCE),
            failed_at: read_stamp(annotations, FAILED_AT, now),
            retry_count: text(RETRY_COUNT).and_then(|t| t.parse().ok()).unwrap_or(0),
            surge_claim: text(SURGE_CLAIM).filter(|t| !t.is_empty()).map(str::to_owned),
            ahead: ahead(annotations, &[STARTED_AT, FAILED_AT], now),
            rollback: text(ROLLBACK).map(|t| if t == "governanceLost" { Rollback::GovernanceLost } else { Rollback::ReadyTimeout }),
        }
    }
}
