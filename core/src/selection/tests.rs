//! Standings, triggers and order, on the chapter's base policy.

mod cases;

use serde_json::{Value, json};

use super::*;
use crate::annotation::{DO_NOT_DISRUPT, DO_NOT_DISRUPT_OWNED, FAILED_AT, RETRY_COUNT, STATE};
use crate::karpenter::{Condition, NodeClaimSpec, NodeClaimStatus};
use crate::policy::validate::validate;

const PERIOD: Duration = Duration::from_secs(96 * 3600);

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn policy(spec: &Value) -> Governing {
    let mut policy = json!({
        "metadata": {"name": "p"},
        "spec": {
            "nodePoolSelector": {},
            "maintenanceWindows": [{"timezone": "UTC", "days": ["Wed", "Sat"], "start": "02:00", "end": "06:00"}]
        }
    });
    for (key, value) in spec.as_object().unwrap() {
        policy["spec"][key] = value.clone();
    }
    validate(&policy).unwrap()
}

fn claim(name: &str, created: &str, life: &str) -> NodeClaim {
    let spec =
        NodeClaimSpec { expire_after: Some(life.to_owned()), termination_grace_period: Some("1h".to_owned()), ..NodeClaimSpec::default() };
    let mut claim = NodeClaim::new(name, spec);
    claim.metadata.creation_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(at(created)));
    let ready = Condition { type_: "Ready".to_owned(), status: "True".to_owned() };
    claim.status = Some(NodeClaimStatus { node_name: Some(name.to_owned()), conditions: vec![ready], ..NodeClaimStatus::default() });
    claim
}

fn old() -> NodeClaim {
    claim("old", "2026-01-01T00:00:00Z", "336h")
}

fn node(name: &str, annotations: &[(&str, &str)]) -> Node {
    let mut node = Node::default();
    node.metadata.name = Some(name.to_owned());
    node.metadata.annotations = Some(annotations.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect());
    node
}

fn judged(claim: &NodeClaim, node: Option<&Node>, now: &str) -> Standing {
    {
        let governing = policy(&json!({}));
        standing(&governing, &Life::of(&governing, PERIOD, claim), claim, &claim.marks(at(now)), node, at(now))
    }
}

/// In the first window in which the base claim is due.
const DUE: &str = "2026-01-07T02:00:00Z";

#[test]
fn each_standing_has_its_reason() {
    let plain = node("old", &[]);
    let changed = |change: &dyn Fn(&mut NodeClaim)| {
        let mut claim = old();
        change(&mut claim);
        claim
    };
    let annotated = |pairs: &[(&str, &str)]| {
        changed(&|claim| claim.metadata.annotations = Some(pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()))
    };
    let deleting = || changed(&|claim| claim.metadata.deletion_timestamp = claim.metadata.creation_timestamp.clone());
    let with_condition = |type_: &str, status: &str| {
        let condition = Condition { type_: type_.to_owned(), status: status.to_owned() };
        changed(&|claim| claim.status.as_mut().unwrap().conditions.insert(0, condition.clone()))
    };
    let not_ready = || changed(&|claim| claim.status.as_mut().unwrap().conditions[0].status = "Unknown".to_owned());
    let protected = node("old", &[(DO_NOT_DISRUPT, "true")]);
    let ours = node("old", &[(DO_NOT_DISRUPT, "true"), (DO_NOT_DISRUPT_OWNED, "true")]);
    let mentioned = node("old", &[(DO_NOT_DISRUPT, "false")]);
    let rows: Vec<(&str, NodeClaim, Option<&Node>, Standing)> = vec![
        ("due", old(), Some(&plain), Standing::Eligible),
        ("protected by a person", old(), Some(&protected), Standing::OptedOut),
        ("protected by us", old(), Some(&ours), Standing::Eligible),
        ("not protected by another value", old(), Some(&mentioned), Standing::Eligible),
        ("deleting", deleting(), Some(&plain), Standing::Deleting),
        ("chosen by Karpenter", with_condition("DisruptionReason", "True"), Some(&plain), Standing::Disrupted),
        ("not chosen by Karpenter", with_condition("DisruptionReason", "False"), Some(&plain), Standing::Eligible),
        ("not Ready", not_ready(), Some(&plain), Standing::NotReady),
        ("without a node", old(), None, Standing::NotReady),
        ("pending", annotated(&[(STATE, "pending")]), Some(&plain), Standing::InFlight),
        ("draining", annotated(&[(STATE, "draining")]), Some(&plain), Standing::InFlight),
        ("an unknown state", annotated(&[(STATE, "banana")]), Some(&plain), Standing::InFlight),
        ("expired", annotated(&[(STATE, "expired")]), Some(&plain), Standing::Terminal),
        (
            "failed a minute ago",
            annotated(&[(STATE, "failed"), (FAILED_AT, "2026-01-07T01:59:00Z"), (RETRY_COUNT, "1")]),
            Some(&plain),
            Standing::InBackoff,
        ),
        (
            "failed long ago",
            annotated(&[(STATE, "failed"), (FAILED_AT, "2026-01-06T01:59:00Z"), (RETRY_COUNT, "1")]),
            Some(&plain),
            Standing::Eligible,
        ),
        (
            "failed at a torn time",
            annotated(&[(STATE, "failed"), (FAILED_AT, "2026-01-"), (RETRY_COUNT, "1")]),
            Some(&plain),
            Standing::Eligible,
        ),
        ("too young", claim("old", "2026-01-01T04:00:00Z", "336h"), Some(&plain), Standing::NotTriggered),
        ("never expires", claim("old", "2025-01-01T00:00:00Z", "Never"), Some(&plain), Standing::NotTriggered),
    ];
    for (name, claim, node, expected) in rows {
        assert_eq!(judged(&claim, node, DUE), expected, "{name}");
    }
}

#[test]
fn the_trigger_is_strict_and_uses_the_claims_own_values() {
    let governing = policy(&json!({}));
    // 336 h less 8 d 1 h 17 min.
    assert_eq!(Life::of(&governing, PERIOD, &old()).due, Some(at("2026-01-06T22:43:00Z")));
    assert!(!Life::of(&governing, PERIOD, &old()).triggered(at("2026-01-06T22:43:00Z")));
    assert!(Life::of(&governing, PERIOD, &old()).triggered(at("2026-01-06T22:43:00.001Z")));
    let mut longer = old();
    longer.spec.termination_grace_period = Some("24h".to_owned());
    assert_eq!(Life::of(&governing, PERIOD, &longer).due, Some(at("2026-01-05T23:43:00Z")));
    let by_age = policy(&json!({"ageThreshold": "100h"}));
    assert_eq!(Life::of(&by_age, PERIOD, &claim("n", "2026-01-01T00:00:00Z", "Never")).due, Some(at("2026-01-05T04:00:00Z")));
}

#[test]
fn r20_the_nearest_deadline_goes_first_then_the_oldest_then_the_name() {
    let claims = [
        claim("c", "2026-01-01T00:00:00Z", "336h"),
        claim("b", "2026-01-01T00:00:00Z", "336h"),
        claim("young-but-short", "2026-01-01T12:00:00Z", "300h"),
        claim("never", "2025-01-01T00:00:00Z", "Never"),
        claim("old", "2025-12-31T00:00:00Z", "360h"),
    ];
    let nodes: Vec<Node> = claims.iter().map(|claim| node(&claim.name_any(), &[])).collect();
    let survey = survey(&policy(&json!({"ageThreshold": "1h"})), PERIOD, &claims, &Nodes::new(&nodes), at(DUE));
    let order: Vec<&str> = survey.eligible.iter().map(|candidate| candidate.name.as_str()).collect();
    assert_eq!(order, ["young-but-short", "old", "b", "c", "never"]);
    assert_eq!(survey.census, [(Standing::Eligible, 5)].into());
    assert_eq!(survey.next_deadline, Some(at("2026-01-14T00:00:00Z")));
}

#[test]
fn the_census_counts_every_claim_and_says_what_changes_next() {
    let claims = [old(), claim("young", "2026-01-02T00:00:00Z", "336h"), claim("short", "2026-01-06T00:00:00Z", "100h")];
    let nodes = [node("old", &[]), node("young", &[]), node("short", &[])];
    let survey = survey(&policy(&json!({})), PERIOD, &claims, &Nodes::new(&nodes), at(DUE));
    assert_eq!(survey.census, [(Standing::Eligible, 2), (Standing::NotTriggered, 1)].into());
    assert_eq!(survey.next_change, Some(at("2026-01-07T22:43:00Z")));
    assert_eq!(survey.short_lead, ["short"]);
    assert_eq!(survey.triggered_hosts, ["old".to_owned(), "short".to_owned()].into());
}
