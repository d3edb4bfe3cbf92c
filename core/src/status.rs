//! What is told of a policy in its status: whether it is valid and uncontested, and how many pools it governs (D10).
//!
//! Observational only: no rule ever reads it.

use std::collections::{BTreeMap, BTreeSet};

use crate::governance::{Governance, governance};
use crate::resolve::PolicyEntry;

/// What the status needs to know of a NodePool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolFacts {
    /// Name of the pool.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// A rotation of it is in flight.
    pub rotating: bool,
}

/// Why a policy is, or is not, in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Valid and uncontested.
    Accepted,
    /// Has faults; no pool that it wins is rotated.
    Invalid,
    /// Ties with another policy for some pool.
    Conflict,
}

impl Reason {
    /// The reason of the condition `Ready`.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Accepted => "Accepted",
            Self::Invalid => "Invalid",
            Self::Conflict => "Conflict",
        }
    }
}

/// The status of one policy, without its moving parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The generation that was judged.
    pub observed_generation: i64,
    /// NodePools that it wins by its selector.
    pub matched: i32,
    /// Of those, how many have a rotation in flight.
    pub rotating: i32,
    /// The condition `Ready` is true for `Accepted` only.
    pub reason: Reason,
    /// The sentence of that condition.
    pub message: String,
}

/// The status of every policy by its name. `Invalid` comes before `Conflict`.
#[must_use]
pub fn summarize(policies: &[PolicyEntry], pools: &[PoolFacts]) -> BTreeMap<String, Summary> {
    let all = governance(policies, pools.iter().map(|pool| (pool.name.as_str(), &pool.labels)));
    let rotating: BTreeSet<&str> = pools.iter().filter(|pool| pool.rotating).map(|pool| pool.name.as_str()).collect();
    let none = Governance::default();
    policies.iter().map(|entry| (entry.name.clone(), summary(entry, all.get(&entry.name).unwrap_or(&none), &rotating))).collect()
}

fn summary(entry: &PolicyEntry, governance: &Governance, rotating: &BTreeSet<&str>) -> Summary {
    let (reason, message) = match (&entry.judgement, governance.conflict()) {
        (Err(faults), _) => {
            let list: Vec<String> = faults.iter().map(ToString::to_string).collect();
            (Reason::Invalid, list.join("\n"))
        }
        (Ok(_), Some(conflict)) => (Reason::Conflict, conflict),
        (Ok(_), None) => (Reason::Accepted, accepted(governance.won.len())),
    };
    let rotating = governance.won.iter().filter(|pool| rotating.contains(pool.as_str())).count();
    Summary { observed_generation: entry.generation, matched: count(governance.won.len()), rotating: count(rotating), reason, message }
}

fn accepted(matched: usize) -> String {
    match matched {
        0 => "valid, but selects no NodePool that no other policy wins".to_owned(),
        1 => "governs 1 NodePool".to_owned(),
        more => format!("governs {more} NodePools"),
    }
}

fn count(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn policy(name: &str, labels: &Value, start: &str) -> PolicyEntry {
        PolicyEntry::from_object(&json!({
            "metadata": {"name": name, "generation": 3},
            "spec": {
                "nodePoolSelector": {"matchLabels": labels},
                "maintenanceWindows": [{"timezone": "UTC", "days": ["Wed"], "start": start, "end": "06:00"}]
            }
        }))
    }

    fn pool(name: &str, labels: &[(&str, &str)], rotating: bool) -> PoolFacts {
        let labels = labels.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        PoolFacts { name: name.to_owned(), labels, rotating }
    }

    #[test]
    fn invalid_beats_conflict_beats_accepted() {
        let policies = [
            policy("all", &json!({}), "02:00"),
            policy("team", &json!({"team": "a"}), "02:00"),
            policy("tier", &json!({"tier": "gold"}), "02:00"),
            policy("broken", &json!({"tier": "gold"}), "2:00"),
            policy("idle", &json!({"team": "nobody"}), "02:00"),
        ];
        let pools = [
            pool("plain", &[], true),
            pool("plain-2", &[], false),
            pool("a", &[("team", "a")], true),
            pool("gold", &[("team", "a"), ("tier", "gold")], false),
        ];
        let summaries = summarize(&policies, &pools);
        let line = |name: &str| {
            let summary = &summaries[name];
            format!("{} {} {} {}: {}", name, summary.matched, summary.rotating, summary.reason.text(), summary.message)
        };
        assert_eq!(line("all"), "all 2 1 Accepted: governs 2 NodePools");
        assert_eq!(
            line("team"),
            "team 1 1 Conflict: ties with broken, tier for NodePool gold, which is not rotated; give one selector more entries"
        );
        assert_eq!(
            line("broken"),
            "broken 0 0 Invalid: spec.maintenanceWindows[0].start: \"2:00\" is not a time of day; write HH:MM, 00:00 to 23:59"
        );
        assert_eq!(line("idle"), "idle 0 0 Accepted: valid, but selects no NodePool that no other policy wins");
        assert_eq!(summaries["all"].observed_generation, 3);
    }
}
