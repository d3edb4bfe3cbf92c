//! Which policy governs a NodePool (§5.4, D6): the most specific selector wins, and a tie rotates nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::policy::fault::Fault;
use crate::policy::governing::Governing;
use crate::policy::selector::Selector;
use crate::policy::validate::{self, validate};

/// A policy of the cluster, valid or not.
#[derive(Clone, Debug)]
pub struct PolicyEntry {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.generation`, 0 if not stored yet.
    pub generation: i64,
    /// Which pools it selects; `None` if its selector cannot be read, and it then selects none.
    pub selector: Option<Selector>,
    /// The parsed policy, or every fault of it.
    pub judgement: Result<Arc<Governing>, Vec<Fault>>,
}

impl PolicyEntry {
    /// Judges an object as the API server holds it.
    #[must_use]
    pub fn from_object(object: &Value) -> Self {
        let judgement = validate(object).map(Arc::new);
        let selector = match &judgement {
            Ok(governing) => Some(governing.selector.clone()),
            Err(_) => validate::selector_of(object),
        };
        let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let generation = object.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or(0);
        Self { name, generation, selector, judgement }
    }
}

/// Who governs a pool.
#[derive(Clone, Debug)]
pub enum Resolution {
    /// This policy.
    Governed(Arc<Governing>),
    /// Several of the same specificity; none does.
    Conflict {
        /// Their names, sorted.
        policies: Vec<String>,
        /// What is the matter and what to change.
        message: String,
    },
    /// The winner is invalid; the runner-up does not step in.
    Invalid {
        /// Its name.
        policy: String,
        /// Its faults.
        message: String,
    },
    /// No policy selects the pool.
    Ungoverned,
}

/// Resolves the policy of a pool with `labels`. An invalid policy takes part if its selector can be read.
#[must_use]
pub fn resolve(labels: &BTreeMap<String, String>, policies: &[PolicyEntry]) -> Resolution {
    let selecting = || {
        let specificity = |entry: &PolicyEntry| entry.selector.as_ref().filter(|s| s.matches(labels)).map(Selector::specificity);
        policies.iter().filter_map(move |entry| specificity(entry).map(|specificity| (specificity, entry)))
    };
    let Some(highest) = selecting().map(|(specificity, _)| specificity).max() else {
        return Resolution::Ungoverned;
    };
    let mut winners: Vec<&PolicyEntry> = selecting().filter(|(specificity, _)| *specificity == highest).map(|(_, entry)| entry).collect();
    winners.sort_by(|a, b| a.name.cmp(&b.name));
    match winners.as_slice() {
        [winner] => match &winner.judgement {
            Ok(governing) => Resolution::Governed(Arc::clone(governing)),
            Err(faults) => Resolution::Invalid { policy: winner.name.clone(), message: invalid(&winner.name, faults) },
        },
        tied => {
            let policies: Vec<String> = tied.iter().map(|entry| entry.name.clone()).collect();
            let message = format!(
                "the RotationPolicies {} select the NodePool with equally many selector entries ({highest}), so none governs it; make one more specific",
                policies.join(", ")
            );
            Resolution::Conflict { policies, message }
        }
    }
}

fn invalid(name: &str, faults: &[Fault]) -> String {
    let list: Vec<String> = faults.iter().map(ToString::to_string).collect();
    format!("the RotationPolicy {name} is invalid: {}", list.join(" | "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::status::{PoolFacts, summarize};

    fn policy(name: &str, labels: &Value, timeout: &str) -> PolicyEntry {
        PolicyEntry::from_object(&json!({
            "metadata": {"name": name},
            "spec": {
                "nodePoolSelector": {"matchLabels": labels},
                "maintenanceWindows": [{"timezone": "UTC", "days": ["Wed"], "start": "02:00", "end": "06:00"}],
                "surge": {"readyTimeout": timeout}
            }
        }))
    }

    fn outcome(policies: &[PolicyEntry]) -> String {
        let labels = [("team", "a"), ("tier", "gold")].map(|(k, v)| (k.to_owned(), v.to_owned())).into();
        match resolve(&labels, policies) {
            Resolution::Governed(governing) => format!("governed by {}", governing.name),
            Resolution::Conflict { policies, .. } => format!("tie of {}", policies.join(" and ")),
            Resolution::Invalid { policy, .. } => format!("{policy} is invalid"),
            Resolution::Ungoverned => "ungoverned".to_owned(),
        }
    }

    #[test]
    fn the_most_specific_policy_governs() {
        let all = policy("all", &json!({}), "15m");
        let team = policy("team", &json!({"team": "a"}), "15m");
        let tier = policy("tier", &json!({"tier": "gold"}), "15m");
        let both = policy("both", &json!({"team": "a", "tier": "gold"}), "15m");
        let other = policy("other", &json!({"team": "b"}), "15m");
        let broken = policy("broken", &json!({"team": "a"}), "15 minutes");
        assert_eq!(outcome(&[]), "ungoverned");
        assert_eq!(outcome(&[other]), "ungoverned");
        assert_eq!(outcome(std::slice::from_ref(&all)), "governed by all");
        assert_eq!(outcome(&[all.clone(), team.clone()]), "governed by team");
        assert_eq!(outcome(&[tier.clone(), team.clone()]), "tie of team and tier");
        assert_eq!(outcome(&[tier.clone(), team.clone(), both]), "governed by both");
        assert_eq!(outcome(&[all, broken.clone()]), "broken is invalid");
        assert_eq!(outcome(&[tier, broken]), "tie of broken and tier");
    }

    /// What the status says of each policy, for one pool with both labels.
    fn told(policies: &[PolicyEntry]) -> Vec<String> {
        let labels = [("team", "a"), ("tier", "gold")].map(|(k, v)| (k.to_owned(), v.to_owned())).into();
        let summaries = summarize(
            policies,
            &[PoolFacts { name: "np0".to_owned(), labels, rotating: false, report: None }],
            jiff::Timestamp::UNIX_EPOCH,
        );
        summaries.iter().map(|(name, summary)| format!("{name} {}: {}", summary.reason.text(), summary.message)).collect()
    }

    #[test]
    fn c011_a_tie_is_a_conflict_whatever_the_windows() {
        let one = policy("one", &json!({"team": "a"}), "15m");
        let mut object = json!({"metadata": {"name": "two"}, "spec": {
            "nodePoolSelector": {"matchLabels": {"team": "a"}},
            "maintenanceWindows": [
                {"timezone": "UTC", "days": ["Sat"], "start": "12:00", "end": "14:00"},
                {"timezone": "UTC", "days": ["Sat"], "start": "13:00", "end": "15:00"}
            ]
        }});
        assert_eq!(outcome(&[one.clone(), PolicyEntry::from_object(&object)]), "tie of one and two");
        // Within one policy entries that overlap are a union.
        object["spec"]["nodePoolSelector"]["matchLabels"]["tier"] = json!("gold");
        let two = PolicyEntry::from_object(&object);
        let windows = two.judgement.as_ref().unwrap().windows.clone();
        assert_eq!(outcome(&[one, two]), "governed by two");
        let hours: Vec<bool> = ["11:59", "12:00", "13:30", "14:59", "15:00"]
            .map(|time| windows.contains(format!("2026-01-03T{time}:00Z").parse().unwrap()))
            .into();
        assert_eq!(hours, [false, true, true, true, false]);
    }

    #[test]
    fn c074_an_empty_selector_gives_way_to_any_other() {
        let all = PolicyEntry::from_object(&json!({"metadata": {"name": "all"}, "spec": {
            "nodePoolSelector": {"matchExpressions": null, "matchLabels": null},
            "maintenanceWindows": [{"timezone": "UTC", "days": ["Wed"], "start": "02:00", "end": "06:00"}]
        }}));
        assert_eq!(outcome(std::slice::from_ref(&all)), "governed by all");
        assert_eq!(outcome(&[all, policy("team", &json!({"team": "a"}), "15m")]), "governed by team");
    }

    #[test]
    fn c075_two_of_equal_specificity_name_each_other_until_a_third_is_more_specific() {
        let (team, tier) = (policy("team", &json!({"team": "a"}), "15m"), policy("tier", &json!({"tier": "gold"}), "15m"));
        let both = policy("both", &json!({"team": "a", "tier": "gold"}), "15m");
        let tied = [team, tier];
        assert_eq!(outcome(&tied), "tie of team and tier");
        insta::assert_snapshot!(told(&tied).join("\n"), @r"
        team Conflict: ties with tier for NodePool np0, which is not rotated; give one selector more entries
        tier Conflict: ties with team for NodePool np0, which is not rotated; give one selector more entries
        ");
        let cleared = [tied.as_slice(), &[both]].concat();
        assert_eq!(outcome(&cleared), "governed by both");
        insta::assert_snapshot!(told(&cleared).join("\n"), @r"
        both Accepted: governs 1 NodePool
        team Accepted: valid, but selects no NodePool that no other policy wins
        tier Accepted: valid, but selects no NodePool that no other policy wins
        ");
    }

    #[test]
    fn c078_an_invalid_policy_that_got_past_admission_governs_nothing_and_hands_nothing_on() {
        let (all, invalid) = (policy("all", &json!({}), "15m"), policy("team", &json!({"team": "a"}), "15 minutes"));
        assert_eq!(outcome(&[all.clone(), invalid.clone()]), "team is invalid");
        insta::assert_snapshot!(told(&[all.clone(), invalid]).join("\n"), @r#"
        all Accepted: valid, but selects no NodePool that no other policy wins
        team Invalid: spec.surge.readyTimeout: "15 minutes" is not a duration; write numbers with units, for example 15m or 1h30m
        "#);
        // Its good twin governs.
        assert_eq!(outcome(&[all, policy("team", &json!({"team": "a"}), "15m")]), "governed by team");
    }

    #[test]
    fn a_policy_whose_selector_cannot_be_read_selects_nothing() {
        let all = policy("all", &json!({}), "15m");
        assert_eq!(outcome(&[all.clone(), policy("garbled", &json!({"team": 3}), "15m")]), "governed by all");
        // Its twin selects the pool, and then nobody else governs it.
        assert_eq!(outcome(&[all, policy("garbled", &json!({"team": "a"}), "15 minutes")]), "garbled is invalid");
    }

    #[test]
    fn the_messages_say_what_to_change() {
        let message = |policies: &[PolicyEntry]| match resolve(&[("team".to_owned(), "a".to_owned())].into(), policies) {
            Resolution::Conflict { message, .. } | Resolution::Invalid { message, .. } => message,
            Resolution::Governed(_) | Resolution::Ungoverned => String::new(),
        };
        let one = policy("one", &json!({"team": "a"}), "15m");
        let two = policy("two", &json!({"team": "a"}), "0s");
        insta::assert_snapshot!(message(&[two.clone(), one.clone()]), @"the RotationPolicies one, two select the NodePool with equally many selector entries (1), so none governs it; make one more specific");
        insta::assert_snapshot!(message(std::slice::from_ref(&two)), @r#"the RotationPolicy two is invalid: spec.surge.readyTimeout: "0s" must be longer than zero; write for example 15m"#);
        assert_eq!(message(&[one]), "");
    }
}
