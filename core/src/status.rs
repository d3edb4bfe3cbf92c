//! What is told of a policy in its status: whether it is valid and uncontested, which NodePools it governs, and why
//! nothing rotates (D10).
//!
//! Observational only: no rule ever reads it. No time stands in it that moves by itself, so that an idle policy is not
//! written to.

mod outlook;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use crate::governance::{Governance, governance};
use crate::resolve::PolicyEntry;
use crate::rotation::report::Report;
use crate::window::Occurrence;
pub use outlook::{Aspect, Outlook, Truth};

/// What the status needs to know of a NodePool.
#[derive(Clone, Debug, PartialEq)]
pub struct PoolFacts {
    /// Name of the pool.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// A rotation of it is in flight.
    pub rotating: bool,
    /// What its last pass saw; `None` before the first one.
    pub report: Option<Arc<Report>>,
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

    /// Nothing but a change of this policy ends it: what kstatus calls stalled. A tie may also end by a change of another one,
    /// as when a tool has created the new policy and has not yet deleted the old one.
    #[must_use]
    pub fn is_stalled(self) -> bool {
        match self {
            Self::Invalid => true,
            Self::Accepted | Self::Conflict => false,
        }
    }
}

/// The status of one policy.
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
    /// The window that is open, or else the next one; `None` for an invalid policy, where none is in sight, and for one that never
    /// closes.
    pub next_window: Option<Occurrence>,
    /// What the passes over its pools have seen; `None` until there was one over each of them under the policy as it is.
    pub outlook: Option<Outlook>,
}

/// The status of every policy by its name. `Invalid` comes before `Conflict`.
#[must_use]
pub fn summarize(policies: &[PolicyEntry], pools: &[PoolFacts], now: Timestamp) -> BTreeMap<String, Summary> {
    let all = governance(policies, pools.iter().map(|pool| (pool.name.as_str(), &pool.labels)));
    let pools: BTreeMap<&str, &PoolFacts> = pools.iter().map(|pool| (pool.name.as_str(), pool)).collect();
    let none = Governance::default();
    let each = policies.iter().map(|entry| {
        let governance = all.get(&entry.name).unwrap_or(&none);
        let won: Vec<&PoolFacts> = governance.won.iter().filter_map(|name| pools.get(name.as_str()).copied()).collect();
        (entry.name.clone(), summary(entry, governance, &won, now))
    });
    each.collect()
}

fn summary(entry: &PolicyEntry, governance: &Governance, won: &[&PoolFacts], now: Timestamp) -> Summary {
    let (reason, message) = match (&entry.judgement, governance.conflict()) {
        (Err(faults), _) => {
            let list: Vec<String> = faults.iter().map(ToString::to_string).collect();
            (Reason::Invalid, list.join("\n"))
        }
        (Ok(_), Some(conflict)) => (Reason::Conflict, conflict),
        (Ok(_), None) => (Reason::Accepted, accepted(won.len())),
    };
    let next_window = entry.judgement.as_ref().ok().and_then(|governing| governing.windows.current_or_next(now));
    Summary {
        observed_generation: entry.generation,
        matched: count(won.len()),
        rotating: count(won.iter().filter(|pool| pool.rotating).count()),
        reason,
        message,
        next_window,
        outlook: outlook::of(reason, entry.judgement.as_deref().ok(), won),
    }
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

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn pool(name: &str, labels: &[(&str, &str)], rotating: bool) -> PoolFacts {
        let labels = labels.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        PoolFacts { name: name.to_owned(), labels, rotating, report: None }
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
        let summaries = summarize(&policies, &pools, at("2026-01-01T00:00:00Z"));
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

    #[test]
    fn the_window_that_is_told_is_the_open_one_or_the_next() {
        let policies = [policy("all", &json!({}), "02:00"), policy("broken", &json!({}), "2:00")];
        let window = |now: &str, name: &str| {
            summarize(&policies, &[], at(now))[name]
                .next_window
                .map(|occurrence| (occurrence.open.to_string(), occurrence.close.to_string()))
        };
        let wednesday = |day: &str| Some((format!("2026-01-{day}T02:00:00Z"), format!("2026-01-{day}T06:00:00Z")));
        assert_eq!(window("2026-01-07T01:59:59Z", "all"), wednesday("07"));
        assert_eq!(window("2026-01-07T05:59:59Z", "all"), wednesday("07"));
        assert_eq!(window("2026-01-07T06:00:00Z", "all"), wednesday("14"));
        assert_eq!(window("2026-01-07T06:00:00Z", "broken"), None);
    }

    /// Else an idle policy would be written to with each look.
    #[test]
    fn of_a_window_that_never_closes_nothing_is_told_that_moves() {
        let days = json!(["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]);
        let policies = [PolicyEntry::from_object(&json!({
            "metadata": {"name": "all"},
            "spec": {
                "nodePoolSelector": {},
                "maintenanceWindows": [{"timezone": "UTC", "days": days, "start": "00:00", "end": "24:00"}]
            }
        }))];
        let always = summarize(&policies, &[], at("2026-01-07T01:59:59Z"));
        assert_eq!(always["all"].next_window, None);
        assert_eq!(always, summarize(&policies, &[], at("2026-01-07T02:00:00Z")));
    }
}
