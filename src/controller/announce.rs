//! Announcements and notices as events: reason, type, action, and the sentence that a person reads.

#[cfg(test)]
mod tests;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Resource;
use kube::runtime::events::EventType;
use noderotation_core::annotation::stamp;
use noderotation_core::duration::human;
use noderotation_core::karpenter::{NodeClaim, NodePool};
use noderotation_core::placeholder::Sizing;
use noderotation_core::rotation::announcement::{Announcement, Notice, Swept};

use crate::event::{EventRecord, Reason};

/// What an event is about.
enum About {
    Pool,
    Claim(String),
}

struct Text {
    about: About,
    /// The other object of the pair.
    related: Option<String>,
    type_: EventType,
    reason: Reason,
    action: &'static str,
    note: String,
}

/// The events of an announcement, with the names that other people's alerts know (D14).
pub(crate) fn events(pool: &NodePool, announcement: &Announcement) -> Vec<EventRecord> {
    let texts = if let Announcement::PlaceholderCreated { claim, sizing, .. } = announcement {
        sized(claim, sizing)
    } else {
        text(announcement).into_iter().collect()
    };
    texts.into_iter().map(|text| record(pool, text)).collect()
}

fn text(announcement: &Announcement) -> Option<Text> {
    Some(match announcement {
        Announcement::Started { claim, age, deadline, eligible, surgeless: _ } => Text {
            related: Some(claim.clone()),
            ..normal(Reason::RotationStarted, "RotateNode", started(claim, *age, *deadline, *eligible))
        },
        Announcement::ForcefulFallback { claim, deadline, converted } => Text {
            type_: EventType::Warning,
            related: Some(claim.clone()),
            ..normal(Reason::ForcefulFallback, "RotateSurgeless", surgeless(claim, *deadline, *converted))
        },
        Announcement::Completed { claim, surge_node, surge_path, .. } => {
            normal(Reason::RotationCompleted, "RotateNode", completed(claim, surge_node.as_deref(), surge_path.as_deref()))
        }
        Announcement::Failed { claim, ready_timeout, retry_count, next_attempt } => {
            warning(claim, Reason::RotationFailed, "RotateNode", failed(*ready_timeout, *retry_count, *next_attempt))
        }
        Announcement::Expired { claim, deadline_reached } => {
            warning(claim, Reason::RotationExpired, "RotateNode", expired(*deadline_reached).to_owned())
        }
        Announcement::GovernanceLost { claim, why } => Text {
            type_: EventType::Warning,
            ..normal(Reason::GovernanceLost, "ReapRotation", format!("The rotation of NodeClaim {claim} was rolled back: {why}."))
        },
        Announcement::ForeignAnchor { claim, pool } => {
            Text { type_: EventType::Warning, ..normal(Reason::ForeignAnchor, "ReapRotation", foreign(claim, pool.as_deref())) }
        }
        Announcement::WindowMissed { opened_at, eligible, in_backoff } => Text {
            type_: EventType::Warning,
            ..normal(Reason::WindowMissed, "EvaluateSchedule", window_missed(*opened_at, *eligible, *in_backoff))
        },
        Announcement::ReservationLost { claim, why } => {
            warning(claim, Reason::ReservationLost, "ProvisionSurge", format!("The reserved capacity is no longer sound: {why}."))
        }
        Announcement::StampInFuture { claim, key, value } => stamp_in_future(claim.as_deref(), key, value),
        Announcement::UnrecognisedOptOut { claim, node, value } => {
            warning(claim, Reason::UnrecognisedOptOut, "RotateNode", unrecognised(node, value))
        }
        Announcement::Swept(Swept::Claim { claim }) => warning(
            claim,
            Reason::RotationFailed,
            "RotateNode",
            "Its NodePool no longer names it as the NodeClaim in rotation; the rotation was rolled back, nothing was drained.".to_owned(),
        ),
        Announcement::Swept(Swept::Anchor { claim }) => Text {
            type_: EventType::Warning,
            related: Some(claim.clone()),
            ..normal(Reason::AnchorRestored, "RotateNode", restored(claim))
        },
        Announcement::Swept(Swept::Placeholder { .. } | Swept::Node { .. } | Swept::Companions)
        | Announcement::PlaceholderCreated { .. }
        | Announcement::SurgeReady { .. }
        | Announcement::DrainStarted { .. } => return None,
    })
}

/// What is noteworthy about the size of a placeholder.
fn sized(claim: &str, sizing: &Sizing) -> Vec<Text> {
    let mut texts = Vec::new();
    let lowered = |exceeded: bool| {
        let list = sizing.lowered().iter().filter(|l| !exceeded || l.band_exceeded);
        let list: Vec<String> = list.map(|l| format!("{} from {} to {}", l.resource, l.demand, l.limit)).collect();
        (!list.is_empty()).then(|| list.join(", "))
    };
    if let Some(list) = lowered(false) {
        let note = format!("The Pods of the node request more than a new node is sure to give; the placeholder asks for less: {list}.");
        texts.push(Text { type_: EventType::Normal, ..warning(claim, Reason::SurgeClamped, "ProvisionSurge", note) });
    }
    if let Some(list) = lowered(true) {
        let note = format!(
            "More was left out than the difference between node and NodeClaim explains: {list}. Some Pods may wait for another node."
        );
        texts.push(warning(claim, Reason::SurgeClampBandExceeded, "ProvisionSurge", note));
    }
    if !sizing.refused().is_empty() {
        let note = format!(
            "DaemonSets leave no {} on a node of this size, so the placeholder asks for all of it; only a larger node, or one with fewer DaemonSets, can take it.",
            sizing.refused().join(", ")
        );
        texts.push(warning(claim, Reason::SurgeClampRefused, "ProvisionSurge", note));
    }
    texts
}

/// The event of a notice.
pub(crate) fn notice_event(pool: &NodePool, notice: &Notice) -> EventRecord {
    let on_pool = |reason, action, note| Text { type_: EventType::Warning, ..normal(reason, action, note) };
    let text = match notice {
        Notice::Finding { code, sentence, .. } => on_pool(Reason::Finding(*code), "EvaluateSchedule", sentence.clone()),
        Notice::ShortLead { claim } => warning(
            claim,
            Reason::ShortLead,
            "CheckExpiry",
            "Its whole life is not longer than its lead time, so it may expire before a window can be used.".to_owned(),
        ),
        Notice::PolicyConflict { message } => on_pool(Reason::PolicyConflict, "ResolvePolicy", message.clone()),
        Notice::StaticNodePool => on_pool(
            Reason::StaticNodePool,
            "EvaluateNodePool",
            "The NodePool sets spec.replicas and refills itself; its nodes are not rotated.".to_owned(),
        ),
        Notice::NodePoolNotReady => on_pool(
            Reason::NodePoolNotReady,
            "EvaluateNodePool",
            "Karpenter says that the NodePool is not Ready, so it launches no nodes and no rotation begins; its condition Ready says why."
                .to_owned(),
        ),
        Notice::FreezeUnparsable { value } => on_pool(
            Reason::FreezeUnparsable,
            "EvaluateNodePool",
            format!(
                "The annotation noderotation.io/freeze is {value:?}, not an RFC 3339 time; it counts as frozen. Write for example 2026-12-24T00:00:00Z, or remove it."
            ),
        ),
        Notice::InsufficientHeadroom { claim, shortfalls } => Text {
            related: Some(claim.clone()),
            ..on_pool(
                Reason::InsufficientHeadroom,
                "EvaluateNodePool",
                format!("One more node for NodeClaim {claim} does not fit under spec.limits: {shortfalls}."),
            )
        },
        Notice::SurgeUnschedulable { claim, placeholder, message } => warning(
            claim,
            Reason::SurgeUnschedulable,
            "ProvisionSurge",
            format!("The placeholder {placeholder} is not schedulable so far: {message}"),
        ),
        Notice::SurgeRejected { claim, message } => {
            warning(claim, Reason::SurgeRejected, "ProvisionSurge", format!("The placeholder cannot be created: {message}"))
        }
        Notice::DrainStuck { claim, waits_for } => {
            Text { related: Some(claim.clone()), ..on_pool(Reason::DrainStuck, "RotateNode", stuck(claim, waits_for)) }
        }
    };
    record(pool, text)
}

fn normal(reason: Reason, action: &'static str, note: String) -> Text {
    Text { about: About::Pool, related: None, type_: EventType::Normal, reason, action, note }
}

fn warning(claim: &str, reason: Reason, action: &'static str, note: String) -> Text {
    Text { about: About::Claim(claim.to_owned()), related: None, type_: EventType::Warning, reason, action, note }
}

fn record(pool: &NodePool, text: Text) -> EventRecord {
    let pool = pool.object_ref(&());
    let (regarding, related) = match text.about {
        About::Pool => (pool, text.related.map(|claim| claim_reference(&claim))),
        About::Claim(claim) => (claim_reference(&claim), Some(pool)),
    };
    EventRecord { type_: text.type_, reason: text.reason, action: text.action.to_owned(), regarding, related, note: text.note }
}

fn claim_reference(name: &str) -> ObjectReference {
    ObjectReference {
        api_version: Some(NodeClaim::api_version(&()).into_owned()),
        kind: Some(NodeClaim::kind(&()).into_owned()),
        name: Some(name.to_owned()),
        ..ObjectReference::default()
    }
}

fn started(claim: &str, age: std::time::Duration, deadline: Option<Timestamp>, eligible: usize) -> String {
    let deadline = deadline.map_or_else(|| "never expires".to_owned(), |at| format!("would expire at {}", stamp(at)));
    format!("Rotating NodeClaim {claim}: {} old, {deadline}; {eligible} eligible.", human(age))
}

fn surgeless(claim: &str, deadline: Option<Timestamp>, converted: bool) -> String {
    let why = if converted { "its replacement has not come in time" } else { "there is no time left for a replacement first" };
    let deadline = deadline.map_or_else(String::new, |at| format!(" It would expire at {}.", stamp(at)));
    format!("NodeClaim {claim} is drained without a replacement, as the policy's forcefulFallback asks: {why}.{deadline}")
}

fn window_missed(opened_at: Timestamp, eligible: usize, in_backoff: usize) -> String {
    format!(
        "The window that opened at {} has closed and no node was replaced in it, although NodeClaims are due: {eligible} eligible, \
         {in_backoff} waiting after a failed attempt.",
        stamp(opened_at)
    )
}

fn completed(claim: &str, surge_node: Option<&str>, surge_path: Option<&str>) -> String {
    let node = surge_node.map_or_else(String::new, |node| format!(" Its capacity was reserved on node {node}."));
    let path = match surge_path {
        Some("provisioned") => " The node was launched for it.",
        Some("absorbed") => " The node was there already.",
        Some(_) | None => "",
    };
    format!("NodeClaim {claim} was replaced and is gone.{node}{path}")
}

fn failed(ready_timeout: Option<std::time::Duration>, retry_count: u32, next_attempt: Option<Timestamp>) -> String {
    let limit = ready_timeout.map(|limit| format!(" ({})", human(limit))).unwrap_or_default();
    let next = next_attempt.map(|at| format!("; the next one may begin at {} if a window is open then", stamp(at))).unwrap_or_default();
    format!("No replacement was ready within readyTimeout{limit}; rolled back, nothing was drained. Attempt {retry_count}{next}.")
}

fn expired(deadline_reached: Option<bool>) -> &'static str {
    match deadline_reached {
        Some(true) => "Its deadline came before a replacement was ready: Karpenter drains it by force. The rotation was given up.",
        Some(false) => "It was deleted before a replacement was ready, though its deadline had not come. The rotation was given up.",
        None => "It is gone before a replacement was ready. The rotation was given up.",
    }
}

fn stamp_in_future(claim: Option<&str>, key: &str, value: &str) -> Text {
    let note = format!("The annotation {key} was {value}, which is in the future; it counts as now. Is a clock wrong?");
    match claim {
        Some(claim) => warning(claim, Reason::StampInFuture, "RotateNode", note),
        None => Text { type_: EventType::Warning, ..normal(Reason::StampInFuture, "EvaluateNodePool", note) },
    }
}

fn unrecognised(node: &str, value: &str) -> String {
    format!(
        "Node {node} had karpenter.sh/do-not-disrupt: {value:?}, which protects no Node; it was replaced for the rotation. Write \"true\" to keep a \
         Node from being rotated."
    )
}

fn stuck(claim: &str, waits_for: &str) -> String {
    let waits_for = if waits_for.is_empty() { String::new() } else { format!(" It waits for this: {waits_for}.") };
    format!(
        "The drain of NodeClaim {claim} takes longer than its terminationGracePeriod allows; no other node of the pool is rotated until it is over.{waits_for}"
    )
}

fn restored(claim: &str) -> String {
    format!(
        "NodeClaim {claim} drains, but the annotation noderotation.io/active-rotation was gone; it was written again, and the NodePool waits."
    )
}

fn foreign(claim: &str, pool: Option<&str>) -> String {
    let pool = pool.map_or_else(|| "no NodePool".to_owned(), |pool| format!("NodePool {pool}"));
    format!("The annotation noderotation.io/active-rotation named NodeClaim {claim}, which belongs to {pool}; it was removed.")
}
