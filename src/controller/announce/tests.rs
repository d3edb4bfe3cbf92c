//! What people read: each event as one line.

use noderotation_core::placeholder::{Amount, ClampOutcome, Lowered};

use super::*;

fn pool() -> NodePool {
    let mut pool = NodePool::default();
    pool.metadata.name = Some("api".to_owned());
    pool
}

fn line(event: &EventRecord) -> String {
    let name = |object: &ObjectReference| format!("{}/{}", object.kind.as_deref().unwrap_or(""), object.name.as_deref().unwrap_or(""));
    let related = event.related.as_ref().map(name).unwrap_or_default();
    format!("{:?} {} {} ({related}) {}: {}", event.type_, event.reason, name(&event.regarding), event.action, event.note)
}

fn lines(announcements: &[Announcement]) -> String {
    announcements.iter().flat_map(|a| events(&pool(), a)).map(|event| line(&event)).collect::<Vec<_>>().join("\n")
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn claim() -> String {
    "api-x7k2p".to_owned()
}

#[test]
fn t45_the_size_of_a_placeholder() {
    let lowered = |resource: &str, band_exceeded| Lowered {
        resource: resource.to_owned(),
        demand: Amount::whole(4),
        limit: Amount::milli(3500),
        shortfall: Amount::milli(500),
        band_exceeded,
    };
    let sized = |clamp| Announcement::PlaceholderCreated {
        claim: claim(),
        placeholder: "noderotation-surge-api-x7k2p".to_owned(),
        sizing: Box::new(Sizing { requests: [].into(), pods: [].into(), clamp, skipped_keys: Vec::new() }),
    };
    let sizes = [
        sized(ClampOutcome::Fits),
        sized(ClampOutcome::Lowered(vec![lowered("cpu", false), lowered("memory", true)])),
        sized(ClampOutcome::Refused { resources: vec!["cpu".to_owned()] }),
    ];
    insta::assert_snapshot!(lines(&sizes), @r"
    Normal SurgeClamped NodeClaim/api-x7k2p (NodePool/api) ProvisionSurge: The Pods of the node request more than a new node is sure to give; the placeholder asks for less: cpu from 4 to 3500m, memory from 4 to 3500m.
    Warning SurgeClampBandExceeded NodeClaim/api-x7k2p (NodePool/api) ProvisionSurge: More was left out than the difference between node and NodeClaim explains: memory from 4 to 3500m. Some Pods may wait for another node.
    Warning SurgeClampRefused NodeClaim/api-x7k2p (NodePool/api) ProvisionSurge: DaemonSets leave no cpu on a node of this size, so the placeholder asks for all of it; only a larger node, or one with fewer DaemonSets, can take it.
    ");
}

#[test]
fn the_way_of_a_rotation() {
    let deadline = Some(at("2026-01-15T00:00:00Z"));
    let announcements = [
        Announcement::Started { claim: claim(), age: std::time::Duration::from_secs(513_780), deadline, eligible: 3, surgeless: false },
        Announcement::ForcefulFallback { claim: claim(), deadline, converted: false },
        Announcement::ForcefulFallback { claim: claim(), deadline, converted: true },
        Announcement::Completed {
            claim: claim(),
            surge_node: Some("ip-10-0-0-7".to_owned()),
            surge_wait: None,
            surge_path: Some("provisioned".to_owned()),
            drain: None,
            forceful_fallback: false,
        },
    ];
    insta::assert_snapshot!(lines(&announcements), @r"
    Normal RotationStarted NodePool/api (NodeClaim/api-x7k2p) RotateNode: Rotating NodeClaim api-x7k2p: 5d22h43m old, would expire at 2026-01-15T00:00:00Z; 3 eligible.
    Warning ForcefulFallback NodePool/api (NodeClaim/api-x7k2p) RotateSurgeless: NodeClaim api-x7k2p is drained without a replacement, as the policy's forcefulFallback asks: there is no time left for a replacement first. It would expire at 2026-01-15T00:00:00Z.
    Warning ForcefulFallback NodePool/api (NodeClaim/api-x7k2p) RotateSurgeless: NodeClaim api-x7k2p is drained without a replacement, as the policy's forcefulFallback asks: its replacement has not come in time. It would expire at 2026-01-15T00:00:00Z.
    Normal RotationCompleted NodePool/api () RotateNode: NodeClaim api-x7k2p was replaced and is gone. Its capacity was reserved on node ip-10-0-0-7. The node was launched for it.
    ");
}

#[test]
fn r19_a_drain_that_does_not_end() {
    let stuck = |waits_for: &str| line(&notice_event(&pool(), &Notice::DrainStuck { claim: claim(), waits_for: waits_for.to_owned() }));
    insta::assert_snapshot!(stuck("Pods left: shop/a"), @"Warning DrainStuck NodePool/api (NodeClaim/api-x7k2p) RotateNode: The drain of NodeClaim api-x7k2p takes longer than its terminationGracePeriod allows; no other node of the pool is rotated until it is over. It waits for this: Pods left: shop/a.");
    insta::assert_snapshot!(stuck(""), @"Warning DrainStuck NodePool/api (NodeClaim/api-x7k2p) RotateNode: The drain of NodeClaim api-x7k2p takes longer than its terminationGracePeriod allows; no other node of the pool is rotated until it is over.");
}

#[test]
fn r19_what_did_not_go_well() {
    let announcements = [
        Announcement::Failed {
            claim: claim(),
            ready_timeout: Some(std::time::Duration::from_secs(900)),
            retry_count: 2,
            next_attempt: Some(at("2026-01-07T04:00:00Z")),
        },
        Announcement::Failed { claim: claim(), ready_timeout: None, retry_count: 3, next_attempt: None },
        Announcement::Expired { claim: claim(), deadline_reached: Some(true) },
        Announcement::GovernanceLost { claim: claim(), why: "no RotationPolicy selects the NodePool".to_owned() },
        Announcement::WindowMissed { opened_at: at("2026-01-07T02:00:00Z"), eligible: 2, in_backoff: 1 },
        Announcement::Swept(Swept::Claim { claim: claim() }),
        Announcement::Swept(Swept::Anchor { claim: claim() }),
        Announcement::Swept(Swept::Companions),
        Announcement::StampInFuture { claim: None, key: "noderotation.io/last-failure-at", value: "2036-01-07T02:00:00Z".to_owned() },
        Announcement::UnrecognisedOptOut { claim: claim(), node: "ip-10-0-0-7".to_owned(), value: "4h".to_owned() },
    ];
    insta::assert_snapshot!(lines(&announcements), @r#"
    Warning RotationFailed NodeClaim/api-x7k2p (NodePool/api) RotateNode: No replacement was ready within readyTimeout (15m); rolled back, nothing was drained. Attempt 2; the next one may begin at 2026-01-07T04:00:00Z if a window is open then.
    Warning RotationFailed NodeClaim/api-x7k2p (NodePool/api) RotateNode: No replacement was ready within readyTimeout; rolled back, nothing was drained. Attempt 3.
    Warning RotationExpired NodeClaim/api-x7k2p (NodePool/api) RotateNode: Its deadline came before a replacement was ready: Karpenter drains it by force. The rotation was given up.
    Warning GovernanceLost NodePool/api () ReapRotation: The rotation of NodeClaim api-x7k2p was rolled back: no RotationPolicy selects the NodePool.
    Warning WindowMissed NodePool/api () EvaluateSchedule: The window that opened at 2026-01-07T02:00:00Z has closed and no node was replaced in it, although NodeClaims are due: 2 eligible, 1 waiting after a failed attempt.
    Warning RotationFailed NodeClaim/api-x7k2p (NodePool/api) RotateNode: Its NodePool no longer names it as the NodeClaim in rotation; the rotation was rolled back, nothing was drained.
    Warning AnchorRestored NodePool/api (NodeClaim/api-x7k2p) RotateNode: NodeClaim api-x7k2p drains, but the annotation noderotation.io/active-rotation was gone; it was written again, and the NodePool waits.
    Warning StampInFuture NodePool/api () EvaluateNodePool: The annotation noderotation.io/last-failure-at was 2036-01-07T02:00:00Z, which is in the future; it counts as now. Is a clock wrong?
    Warning UnrecognisedOptOut NodeClaim/api-x7k2p (NodePool/api) RotateNode: Node ip-10-0-0-7 had karpenter.sh/do-not-disrupt: "4h", which protects no Node; it was replaced for the rotation. Write "true" to keep a Node from being rotated.
    "#);
}
