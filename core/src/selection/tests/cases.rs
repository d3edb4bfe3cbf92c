//! Public fault reports about single claims, nodes and their order, each named by its number.

use super::*;

fn surveyed(spec: &Value, claims: &[NodeClaim], nodes: &[Node], now: &str) -> Survey {
    survey(&policy(spec), PERIOD, claims, &Nodes::new(nodes), at(now))
}

fn order(survey: &Survey) -> Vec<&str> {
    survey.eligible.iter().map(|candidate| candidate.name.as_str()).collect()
}

fn nodes_of(claims: &[NodeClaim]) -> Vec<Node> {
    claims.iter().map(|claim| node(&claim.name_any(), &[])).collect()
}

#[test]
fn the_base_claim_is_due_from_its_trigger_until_its_deadline() {
    assert_eq!(old().deadline(), Some(at("2026-01-15T00:00:00Z")));
    let plain = node("old", &[]);
    assert_eq!(judged(&old(), Some(&plain), "2026-01-06T22:43:00Z"), Standing::NotTriggered);
    assert_eq!(judged(&old(), Some(&plain), "2026-01-06T22:43:01Z"), Standing::Eligible);
    assert_eq!(policy(&json!({})).windows.next_open(at("2026-01-06T22:43:00Z")), Some(at(DUE)));
}

#[test]
fn c060_a_claim_past_its_deadline_is_due_now_and_no_look_lies_in_the_past() {
    let claims = [old(), claim("young", "2026-01-12T00:00:00Z", "336h")];
    let now = "2026-01-17T02:00:00Z";
    let survey = surveyed(&json!({}), &claims, &nodes_of(&claims), now);
    assert_eq!(order(&survey), ["old"]);
    assert_eq!(survey.next_change, Some(at("2026-01-17T22:43:00Z")));
    // At the very trigger, which is strict, the next look is now and not before.
    let at_trigger = surveyed(&json!({}), &claims[1..], &nodes_of(&claims), "2026-01-17T22:43:00Z");
    assert_eq!((order(&at_trigger).len(), at_trigger.next_change), (0, Some(at("2026-01-17T22:43:00Z"))));
}

#[test]
fn c099_t47_the_claims_own_grace_period_counts() {
    let mut longer = old();
    longer.spec.termination_grace_period = Some("24h".to_owned());
    let plain = node("old", &[]);
    // 4 d 23 h 43 min of age; with the hour of the base it would be 5 d 22 h 43 min.
    assert_eq!(judged(&longer, Some(&plain), "2026-01-05T23:43:00Z"), Standing::NotTriggered);
    assert_eq!(judged(&longer, Some(&plain), "2026-01-05T23:43:01Z"), Standing::Eligible);
    assert_eq!(judged(&old(), Some(&plain), "2026-01-05T23:43:01Z"), Standing::NotTriggered);
    let lead = schedule::lead_time(&policy(&json!({})), PERIOD, longer.spec.termination_grace_period());
    assert_eq!(lead, Duration::from_secs(((9 * 24) * 60 + 17) * 60));
}

#[test]
fn c103_a_claim_whose_node_does_not_exist_is_counted_and_not_rotated() {
    let survey = surveyed(&json!({}), &[old()], &[], DUE);
    assert_eq!((survey.census, survey.eligible), ([(Standing::NotReady, 1)].into(), Vec::new()));
    let twin = surveyed(&json!({}), &[old()], &[node("old", &[])], DUE);
    assert_eq!(order(&twin), ["old"]);
}

#[test]
fn a_deletion_that_never_ends_is_never_a_candidate() {
    let mut stuck = old();
    stuck.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(at("2026-01-04T02:00:00Z")));
    let survey = surveyed(&json!({}), &[stuck], &[node("old", &[])], DUE);
    assert_eq!((survey.census, survey.next_deadline), ([(Standing::Deleting, 1)].into(), None));
}

#[test]
fn c105_of_conditions_that_contradict_each_other_only_ready_counts() {
    let conditions = |ready: &str| {
        let rows = [("Initialized", "True"), ("Registered", "False"), ("Ready", ready)];
        let mut claim = old();
        claim.status.as_mut().unwrap().conditions =
            rows.iter().map(|(type_, status)| Condition { type_: (*type_).to_owned(), status: (*status).to_owned() }).collect();
        claim
    };
    let plain = node("old", &[]);
    assert_eq!(judged(&conditions("False"), Some(&plain), DUE), Standing::NotReady);
    assert_eq!(judged(&conditions("True"), Some(&plain), DUE), Standing::Eligible);
}

#[test]
fn c108_t48_the_earliest_deadline_goes_first_then_the_oldest_then_the_name() {
    // Deadlines on the 15th and on the 10th.
    let (a, b) = (claim("a", "2026-01-01T00:00:00Z", "336h"), claim("b", "2026-01-03T00:00:00Z", "168h"));
    let both = [a, b];
    assert_eq!(order(&surveyed(&json!({}), &both, &nodes_of(&both), "2026-01-09T00:00:00Z")), ["b", "a"]);
    // One deadline for all; bytes decide between equals, so capitals and digits come first.
    let equal = [
        claim("b", "2026-01-02T00:00:00Z", "312h"),
        claim("older", "2026-01-01T00:00:00Z", "336h"),
        claim("a", "2026-01-02T00:00:00Z", "312h"),
        claim("B", "2026-01-02T00:00:00Z", "312h"),
        claim("1", "2026-01-02T00:00:00Z", "312h"),
    ];
    assert_eq!(order(&surveyed(&json!({}), &equal, &nodes_of(&equal), "2026-01-09T00:00:00Z")), ["older", "1", "B", "a", "b"]);
}

#[test]
fn c111_a_claim_created_in_the_future_is_no_candidate() {
    for age in ["auto", "1ns", "1h"] {
        let ahead = claim("old", "2026-01-07T02:01:30Z", "336h");
        let survey = surveyed(&json!({ "ageThreshold": age }), &[ahead], &[node("old", &[])], DUE);
        assert_eq!(survey.census, [(Standing::NotTriggered, 1)].into(), "{age}");
    }
    // In auto mode it is due as soon as its lead time says so, whatever its age; that is a short life, not a clock's fault.
    let short = claim("old", "2026-01-07T02:01:30Z", "1h");
    assert_eq!(surveyed(&json!({}), &[short], &[node("old", &[])], DUE).short_lead, ["old"]);
}

#[test]
fn c119_a_node_that_a_person_has_cordoned_is_still_rotated() {
    let mut cordoned = node("old", &[]);
    cordoned.spec.get_or_insert_default().unschedulable = Some(true);
    assert_eq!(judged(&old(), Some(&cordoned), DUE), Standing::Eligible);
}

#[test]
fn t73_a_claim_that_failed_and_is_no_longer_due_waits_for_nothing() {
    // Such as after the policy has been changed.
    for (created, standing) in [("2026-01-01T00:00:00Z", Standing::InBackoff), ("2026-01-01T04:00:00Z", Standing::NotTriggered)] {
        let mut failed = claim("old", created, "336h");
        let annotations = [(STATE, "failed"), (FAILED_AT, "2026-01-07T01:59:00Z"), (RETRY_COUNT, "1")];
        failed.metadata.annotations = Some(annotations.map(|(k, v)| (k.to_owned(), v.to_owned())).into());
        let survey = surveyed(&json!({}), &[failed], &[node("old", &[])], DUE);
        assert_eq!(survey.census, [(standing, 1)].into());
        assert_eq!(survey.in_backoff.len(), usize::from(standing == Standing::InBackoff));
    }
}

#[test]
fn c121_t49_only_true_opts_a_node_out() {
    for (value, standing) in
        [("true", Standing::OptedOut), ("false", Standing::Eligible), ("4h", Standing::Eligible), ("", Standing::Eligible)]
    {
        assert_eq!(judged(&old(), Some(&node("old", &[(DO_NOT_DISRUPT, value)])), DUE), standing, "{value:?}");
    }
}
