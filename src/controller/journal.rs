//! Announcements and notices as log lines: one message for each, the same for ever, and what varies in its keys.

use noderotation_core::annotation::stamp;
use noderotation_core::duration::go_string;
use noderotation_core::placeholder::{Kind, Lowered, Sizing};
use noderotation_core::rotation::announcement::{Announcement, Notice, Swept};
use tracing::{info, warn};

/// One line per transition, with the keys that existing log queries use.
#[expect(clippy::too_many_lines, reason = "one plain arm for each line of the log")]
pub(super) fn log(nodepool: &str, announcement: &Announcement) {
    match announcement {
        Announcement::Started { claim, age, deadline, eligible, surgeless } => info!(
            nodepool,
            nodeclaim = claim,
            age = go_string(*age),
            eligible,
            surgeless,
            deadline = deadline.map(stamp),
            "rotation candidate selected"
        ),
        Announcement::PlaceholderCreated { claim, placeholder, sizing } => log_placeholder(nodepool, claim, placeholder, sizing),
        Announcement::SurgeReady { claim, surge_node, surge_wait, surge_path } => info!(
            nodepool,
            nodeclaim = claim,
            surgeNode = surge_node,
            surgeWait = go_string(*surge_wait),
            surgePath = surge_path,
            "surge node ready"
        ),
        // Its log line is that of the drain.
        Announcement::ForcefulFallback { .. } => {}
        Announcement::DrainStarted { claim, node, forceful_fallback } => {
            info!(nodepool, nodeclaim = claim, node, mode = mode(*forceful_fallback), "drain started");
        }
        Announcement::Completed { claim, surge_node, surge_wait, surge_path, drain, forceful_fallback } => info!(
            nodepool,
            nodeclaim = claim,
            mode = mode(*forceful_fallback),
            surgeNode = surge_node,
            surgeWait = surge_wait.map(go_string),
            surgePath = surge_path,
            drain = drain.map(go_string),
            total = surge_wait.zip(*drain).map(|(wait, drain)| go_string(wait + drain)),
            "rotation complete"
        ),
        Announcement::Failed { claim, ready_timeout, retry_count, next_attempt } => warn!(
            nodepool,
            nodeclaim = claim,
            reason = "readyTimeout",
            readyTimeout = ready_timeout.map(go_string),
            retryCount = retry_count,
            backoffUntil = next_attempt.map(stamp),
            "rotation attempt failed"
        ),
        Announcement::Expired { claim, deadline_reached } => {
            warn!(nodepool, nodeclaim = claim, deadlineReached = deadline_reached, "rotation expired");
        }
        Announcement::GovernanceLost { claim, why } => {
            warn!(nodepool, nodeclaim = claim, reason = why, "rotation rolled back, the pool is no longer governed");
        }
        Announcement::ForeignAnchor { claim, pool } => {
            warn!(nodepool, nodeclaim = claim, pool, "anchor released, it named a claim of another pool");
        }
        Announcement::WindowMissed { opened_at, eligible, in_backoff } => {
            warn!(nodepool, windowOpenedAt = stamp(*opened_at), eligible, inBackoff = in_backoff, "maintenance window missed")
        }
        Announcement::StampInFuture { claim, key, value } => {
            warn!(nodepool, nodeclaim = claim, key, value, "stamp in the future, taken as now")
        }
        Announcement::UnrecognisedOptOut { claim, node, value } => {
            warn!(nodepool, nodeclaim = claim, node, value, "do-not-disrupt without effect was replaced");
        }
        Announcement::Swept(swept) => log_swept(nodepool, swept),
        Announcement::ReservationLost { claim, why } => {
            warn!(nodepool, nodeclaim = claim, reason = why, "reservation lost");
        }
    }
}

fn log_swept(nodepool: &str, swept: &Swept) {
    match swept {
        Swept::Claim { claim } => warn!(nodepool, nodeclaim = claim, "failed un-anchored in-flight claim"),
        Swept::Placeholder { claim, placeholder } => info!(nodepool, nodeclaim = claim, placeholder, "deleted orphaned placeholder"),
        Swept::Node { node, claim, thawed, uncordoned } => {
            if *thawed {
                info!(nodepool, nodeclaim = claim, node, "unfroze orphaned node");
            }
            if *uncordoned {
                info!(nodepool, nodeclaim = claim, node, "uncordoned orphaned node");
            }
        }
        Swept::Anchor { claim } => warn!(nodepool, nodeclaim = claim, "restored the anchor of a drain"),
        Swept::Companions => warn!(nodepool, "removed rotation state without an anchor"),
    }
}

/// A state of affairs that begins.
pub(super) fn log_notice(nodepool: &str, notice: &Notice) {
    match notice {
        Notice::Finding { code, fatal: true, sentence } => {
            warn!(nodepool, code = code.name(), detail = sentence, "schedule feasibility is fatal; not starting a rotation");
        }
        Notice::Finding { code, fatal: false, sentence } => {
            warn!(nodepool, code = code.name(), detail = sentence, "schedule feasibility warning");
        }
        Notice::ShortLead { claim } => warn!(nodepool, nodeclaim = claim, "short-lead NodeClaim"),
        Notice::PolicyConflict { message } => warn!(nodepool, detail = message, "rotation policy conflict; not rotating"),
        Notice::StaticNodePool => warn!(nodepool, "static NodePool; not rotating"),
        Notice::NodePoolNotReady => warn!(nodepool, "NodePool is not Ready; not starting a rotation"),
        Notice::FreezeUnparsable { value } => warn!(nodepool, value, "freeze is no time and counts as frozen"),
        Notice::InsufficientHeadroom { claim, shortfalls } => {
            warn!(nodepool, nodeclaim = claim, detail = shortfalls, "insufficient limits headroom; cannot surge");
        }
        Notice::SurgeUnschedulable { claim, placeholder, message } => {
            warn!(
                nodepool,
                nodeclaim = claim,
                placeholder,
                reason = "Unschedulable",
                detail = message,
                "surge placeholder is not schedulable"
            );
        }
        Notice::SurgeRejected { claim, message } => {
            warn!(nodepool, nodeclaim = claim, detail = message, "surge placeholder rejected");
        }
        Notice::DrainStuck { claim, waits_for } => warn!(nodepool, nodeclaim = claim, detail = waits_for, "drain is stuck"),
    }
}

/// How a rotation finds capacity, as the log lines name it.
fn mode(forceful_fallback: bool) -> &'static str {
    if forceful_fallback { "forceful-fallback" } else { "surge" }
}

fn log_placeholder(nodepool: &str, nodeclaim: &str, placeholder: &str, sizing: &Sizing) {
    let listed = |list: Vec<String>| (!list.is_empty()).then(|| list.join(","));
    let lowered = |part: fn(&Lowered) -> String| listed(sizing.lowered().iter().map(|l| format!("{}={}", l.resource, part(l))).collect());
    let clamped = |wanted: fn(&&Lowered) -> bool| listed(sizing.lowered().iter().filter(wanted).map(|l| l.resource.clone()).collect());
    info!(
        nodepool,
        nodeclaim,
        placeholder,
        requests = sizing.requests_line(),
        reschedulablePods = sizing.count(Kind::Reschedulable),
        daemonSetPods = sizing.count(Kind::DaemonSet),
        mirrorPods = sizing.count(Kind::Mirror),
        completedPods = sizing.count(Kind::Completed),
        nodePinnedPods = sizing.count(Kind::NodePinned),
        clampRefused = listed(sizing.refused().to_vec()),
        clamped = clamped(|_| true),
        unclamped = lowered(|l| l.demand.to_string()),
        limit = lowered(|l| l.limit.to_string()),
        shortfall = lowered(|l| l.shortfall.to_string()),
        bandExceeded = clamped(|l| l.band_exceeded),
        notReplicated = listed(sizing.skipped_keys.clone()),
        "surge placeholder created"
    );
}

#[cfg(test)]
mod tests {
    use noderotation_core::placeholder::{Amount, ClampOutcome};
    use noderotation_core::policy::finding::FindingCode;

    use super::*;
    use crate::controller::tests::log::logged;

    #[test]
    fn t21_thawing_and_uncordoning_are_different_lines() {
        let lines = |claim: Option<&str>, thawed, uncordoned| {
            let swept = Swept::Node { node: "n".to_owned(), claim: claim.map(str::to_owned), thawed, uncordoned };
            logged(|| log("pool", &Announcement::Swept(swept)))
        };
        let (thawed, uncordoned) = ("INFO unfroze orphaned node nodepool=\"pool\"", "INFO uncordoned orphaned node nodepool=\"pool\"");
        assert_eq!(lines(Some("old"), true, true), [thawed, uncordoned].map(|line| format!("{line} nodeclaim=\"old\" node=\"n\"")));
        assert_eq!(lines(None, false, true), [format!("{uncordoned} node=\"n\"")]);
        assert_eq!(lines(None, true, false), [format!("{thawed} node=\"n\"")]);
    }

    #[test]
    fn what_others_search_the_log_for_is_a_message_and_what_varies_is_in_its_keys() {
        let (claim, words) = (|| "old".to_owned(), |words: &str| words.to_owned());
        let finding = |code, fatal| Notice::Finding { code, fatal, sentence: words("see") };
        let notices = [
            finding(FindingCode::ANonPositive, true),
            finding(FindingCode::TGPUnset, false),
            Notice::ShortLead { claim: claim() },
            Notice::PolicyConflict { message: words("a, b") },
            Notice::InsufficientHeadroom { claim: claim(), shortfalls: words("nodes") },
            Notice::SurgeUnschedulable { claim: claim(), placeholder: words("p"), message: words("no room") },
        ];
        let lines = logged(|| notices.iter().for_each(|notice| log_notice("pool", notice)));
        insta::assert_snapshot!(lines.join("\n"), @r#"
        WARN schedule feasibility is fatal; not starting a rotation nodepool="pool" code="ANonPositive" detail="see"
        WARN schedule feasibility warning nodepool="pool" code="TGPUnset" detail="see"
        WARN short-lead NodeClaim nodepool="pool" nodeclaim="old"
        WARN rotation policy conflict; not rotating nodepool="pool" detail="a, b"
        WARN insufficient limits headroom; cannot surge nodepool="pool" nodeclaim="old" detail="nodes"
        WARN surge placeholder is not schedulable nodepool="pool" nodeclaim="old" placeholder="p" reason="Unschedulable" detail="no room"
        "#);
    }

    #[test]
    fn r19_an_expiry_is_a_warning_that_names_the_claim() {
        let lines = logged(|| log("pool", &Announcement::Expired { claim: "old".to_owned(), deadline_reached: Some(true) }));
        assert_eq!(lines, ["WARN rotation expired nodepool=\"pool\" nodeclaim=\"old\" deadlineReached=true"]);
    }

    #[test]
    fn t46_the_pods_that_were_counted_and_those_that_were_not_are_told_with_the_placeholder() {
        let pods = [(Kind::Reschedulable, 3), (Kind::DaemonSet, 2), (Kind::Completed, 1)].into();
        let sizing = Sizing { requests: [].into(), pods, clamp: ClampOutcome::Fits, skipped_keys: Vec::new() };
        let created = Announcement::PlaceholderCreated { claim: "old".to_owned(), placeholder: "p".to_owned(), sizing: Box::new(sizing) };
        let lines = logged(|| log("pool", &created));
        let census = "reschedulablePods=3 daemonSetPods=2 mirrorPods=0 completedPods=1 nodePinnedPods=0";
        assert!(lines.len() == 1 && lines[0].contains(census), "{lines:?}");
    }

    #[test]
    fn what_was_clamped_is_told_with_the_placeholder() {
        let lowered = |resource: &str, demand: &str, limit: &str, shortfall: &str, band_exceeded| {
            let amount = |text: &str| Amount::parse(text).unwrap();
            Lowered {
                resource: resource.to_owned(),
                demand: amount(demand),
                limit: amount(limit),
                shortfall: amount(shortfall),
                band_exceeded,
            }
        };
        let clamp = ClampOutcome::Lowered(vec![lowered("cpu", "4", "3", "1", false), lowered("memory", "8Gi", "4Gi", "4Gi", true)]);
        let sizing = Sizing { requests: [].into(), pods: [].into(), clamp, skipped_keys: Vec::new() };
        let created = Announcement::PlaceholderCreated { claim: "old".to_owned(), placeholder: "p".to_owned(), sizing: Box::new(sizing) };
        let lines = logged(|| log("pool", &created));
        let told = r#"clamped="cpu,memory" unclamped="cpu=4,memory=8Gi" limit="cpu=3,memory=4Gi" shortfall="cpu=1,memory=4Gi" bandExceeded="memory""#;
        assert!(lines.len() == 1 && lines[0].contains(told), "{lines:?}");
    }
}
