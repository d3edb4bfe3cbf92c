//! What is told of pools in each state, and of many of them.

use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::gate::{Closed, Gate};
use crate::policy::finding::FindingCode;
use crate::policy::validate::validate;
use crate::rotation::report::Activity;
use crate::schedule::Derived;
use crate::selection::Survey;

const AT: &str = "2026-01-07T02:00:00Z";

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn governing(generation: i64) -> Governing {
    validate(&json!({
        "metadata": {"name": "all", "generation": generation},
        "spec": {
            "nodePoolSelector": {},
            "maintenanceWindows": [{"timezone": "UTC", "days": ["Wed"], "start": "02:00", "end": "06:00"}]
        }
    }))
    .unwrap()
}

fn report(activity: Activity) -> Report {
    let (policy, derived) = (Some(Arc::new(governing(1))), None::<Derived>);
    let (next_window, freeze_until, survey) = (None, None, None);
    Report { policy, activity, window_open: true, next_window, freeze_until, survey, derived, drain_stuck: false, policy_conflict: false }
}

fn found(findings: &[FindingCode]) -> Report {
    let derived = Derived {
        age_threshold: jiff::SignedDuration::from_hours(1),
        chances: 2,
        capacity: 1,
        t_rot: std::time::Duration::from_secs(60),
        t_rot_estimate: std::time::Duration::from_secs(60),
        period: None,
        findings: findings.iter().map(|code| Finding::new(*code, format!("about {code}"))).collect(),
    };
    Report { derived: Some(derived), ..report(Activity::NoEligibleClaim) }
}

fn pools(reports: impl IntoIterator<Item = (&'static str, Report)>) -> Vec<PoolFacts> {
    let facts = reports.into_iter().map(|(name, report)| PoolFacts {
        name: name.to_owned(),
        labels: BTreeMap::new(),
        rotating: false,
        report: Some(Arc::new(report)),
    });
    facts.collect()
}

fn outlook(reason: Reason, pools: &[PoolFacts]) -> Option<Outlook> {
    let policy = (reason != Reason::Invalid).then(|| governing(1));
    of(reason, policy.as_ref(), &pools.iter().collect::<Vec<_>>())
}

fn line(aspect: &Aspect) -> String {
    format!("{} {}: {}", aspect.status.text(), aspect.reason, aspect.message)
}

fn progress(activities: impl IntoIterator<Item = (&'static str, Activity)>) -> String {
    let pools = pools(activities.into_iter().map(|(name, activity)| (name, report(activity))));
    line(&outlook(Reason::Accepted, &pools).unwrap().progressing)
}

fn gated(gate: Gate) -> Activity {
    Activity::Gated(Closed { gate, until: Some(at(AT)) })
}

#[test]
fn each_state_of_a_pool_has_a_reason_and_a_sentence() {
    let rows = [
        (Activity::Draining("a-1".to_owned()), "True Rotating: NodePool a: rotating NodeClaim a-1"),
        (
            Activity::OrphanDraining("a-1".to_owned()),
            "False OrphanDraining: NodePool a: NodeClaim a-1 still drains from an earlier rotation",
        ),
        (Activity::NoHeadroom(Vec::new()), "False InsufficientHeadroom: NodePool a: one more node does not fit under spec.limits"),
        (Activity::Infeasible, "False InfeasibleSchedule: NodePool a: the schedule cannot work, see the condition Feasible"),
        (Activity::NodePoolNotReady, "False NodePoolNotReady: NodePool a: Karpenter says that it is not Ready"),
        (gated(Gate::FailurePause), "False FailurePause: NodePool a: pausing after a failed attempt until 2026-01-07T02:00:00Z"),
        (gated(Gate::Frozen), "False Frozen: NodePool a: frozen by the annotation noderotation.io/freeze until 2026-01-07T02:00:00Z"),
        (gated(Gate::CooldownAfterSuccess), "False CooldownAfterSuccess: NodePool a: pausing after a success until 2026-01-07T02:00:00Z"),
        (Activity::NoEligibleClaim, "False NoEligibleClaim: NodePool a: no node may be rotated now"),
        (gated(Gate::OutOfWindow), "False OutOfWindow: NodePool a: outside of the windows until 2026-01-07T02:00:00Z"),
        (Activity::StaticNodePool, "False StaticNodePool: NodePool a: it sets spec.replicas and refills itself"),
        (Activity::NodePoolDeleting, "False NodePoolDeleting: NodePool a: it is being deleted"),
        (Activity::Sweeping, "False Sweeping: NodePool a: what no rotation owns is being removed"),
    ];
    for (activity, expected) in rows {
        assert_eq!(progress([("a", activity)]), expected);
    }
}

#[test]
fn of_several_pools_the_one_that_rotates_has_the_word_and_then_what_a_person_can_mend() {
    let idle = || Activity::NoEligibleClaim;
    insta::assert_snapshot!(
        progress([("a", idle()), ("b", gated(Gate::Frozen)), ("c", Activity::Pending("c-1".to_owned())), ("d", idle())]),
        @"True Rotating: NodePool c: rotating NodeClaim c-1; NodePool b: frozen by the annotation noderotation.io/freeze until 2026-01-07T02:00:00Z; NodePools a, d: no node may be rotated now"
    );
    insta::assert_snapshot!(
        progress([("a", idle()), ("b", gated(Gate::CooldownAfterSuccess)), ("c", Activity::NoHeadroom(Vec::new()))]),
        @"False InsufficientHeadroom: NodePool c: one more node does not fit under spec.limits; NodePool b: pausing after a success until 2026-01-07T02:00:00Z; NodePool a: no node may be rotated now"
    );
}

#[test]
fn a_thousand_pools_fit_into_a_sentence() {
    let facts = (0..1000).map(|number| PoolFacts {
        name: format!("pool-{number}"),
        labels: BTreeMap::new(),
        rotating: true,
        report: Some(Arc::new(report(Activity::Draining(format!("claim-{number}"))))),
    });
    let line = line(&outlook(Reason::Accepted, &facts.collect::<Vec<_>>()).unwrap().progressing);
    assert!(line.len() < 1024 && line.ends_with("; and 992 more"), "{line}");
}

#[test]
fn a_fatal_finding_makes_the_schedule_infeasible_and_a_warning_makes_it_doubtful() {
    let (fatal, warning) = (FindingCode::ANonPositive, FindingCode::TGPUnset);
    let feasible = |reports: Vec<(&'static str, Report)>| line(&outlook(Reason::Accepted, &pools(reports)).unwrap().feasible);
    assert_eq!(feasible(vec![("a", found(&[]))]), "True Feasible: nothing stands against the schedule of any NodePool");
    let doubtful = feasible(vec![("a", found(&[warning])), ("b", found(&[warning])), ("c", found(&[]))]);
    assert_eq!(doubtful, "True Doubtful: NodePools a, b: about TGPUnset");
    let infeasible = feasible(vec![("a", found(&[warning])), ("b", found(&[warning, fatal]))]);
    assert_eq!(infeasible, "False ANonPositive: NodePool b: about ANonPositive");
}

#[test]
fn where_nothing_can_be_judged_that_is_said() {
    let both = |reason, pools: &[PoolFacts]| {
        let outlook = outlook(reason, pools).unwrap();
        [line(&outlook.feasible), line(&outlook.progressing)]
    };
    let words = "the policy is not valid, and no NodePool that it selects is rotated";
    let conflict = pools([("a", report(Activity::Conflict("broken".to_owned())))]);
    assert_eq!(both(Reason::Invalid, &conflict), [format!("Unknown Invalid: {words}"), format!("False Invalid: {words}")]);
    let none = ["Unknown NoNodePool: governs no NodePool", "False NoNodePool: governs no NodePool"];
    assert_eq!(both(Reason::Accepted, &[]), none);
}

#[test]
fn nothing_is_said_until_every_pool_has_been_looked_at() {
    let mut pools = pools([("a", report(Activity::NoEligibleClaim)), ("b", report(Activity::NoEligibleClaim))]);
    pools[1].report = None;
    assert_eq!(outlook(Reason::Accepted, &pools), None);
}

#[test]
fn what_was_seen_under_another_policy_or_under_none_is_not_told() {
    let under = |policy: Option<Governing>| Report { policy: policy.map(Arc::new), ..report(Activity::NoEligibleClaim) };
    for stale in [under(None), under(Some(governing(2))), Report { activity: Activity::Ungoverned, ..under(None) }] {
        assert_eq!(outlook(Reason::Accepted, &pools([("a", report(Activity::NoEligibleClaim)), ("b", stale)])), None);
    }
}

#[test]
fn claims_of_all_pools_are_counted() {
    let survey = |eligible: usize, failed: usize, deadline: Option<&str>| Survey {
        census: [(Standing::Eligible, eligible), (Standing::InBackoff, 1)].into(),
        failed,
        next_deadline: deadline.map(at),
        ..Survey::default()
    };
    let one = |survey| Report { survey: Some(survey), ..report(Activity::NoEligibleClaim) };
    let later = "2026-02-01T00:00:00Z";
    let pools = pools([("a", one(survey(2, 1, None))), ("b", one(survey(3, 2, Some(AT)))), ("c", one(survey(0, 0, Some(later))))]);
    let outlook = outlook(Reason::Accepted, &pools).unwrap();
    assert_eq!((outlook.eligible, outlook.in_backoff, outlook.failed), (5, 3, 3));
    assert_eq!(outlook.next_deadline, Some(at(AT)));
}
