//! Whether the schedule of a policy can work, and why nothing rotates: the conditions `Feasible` and `Progressing`, and the
//! counts beside them (D10).

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{PoolFacts, Reason, count};
use crate::few::{NODE_POOL, few};
use crate::policy::finding::{Finding, Level};
use crate::policy::governing::Governing;
use crate::rotation::report::{Report, State};
use crate::selection::Standing;

/// Bytes for the names of pools in one clause.
const ROOM: usize = 120;
/// Clauses of a sentence; pools beyond are counted.
const CLAUSES: usize = 8;

/// The status of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// It holds.
    True,
    /// It does not.
    False,
    /// It cannot be said.
    Unknown,
}

impl Truth {
    /// As Kubernetes writes it.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

/// A condition without its times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aspect {
    /// Whether it holds.
    pub status: Truth,
    /// One word, for programs.
    pub reason: String,
    /// A sentence, for people.
    pub message: String,
}

impl Aspect {
    fn new(status: Truth, reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self { status, reason: reason.into(), message: message.into() }
    }
}

/// What the passes over a policy's pools have seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outlook {
    /// NodeClaims that may be rotated now.
    pub eligible: i32,
    /// NodeClaims that are due and wait only for their backoff.
    pub in_backoff: i32,
    /// NodeClaims of which an attempt has failed and none has succeeded since.
    pub failed: i32,
    /// The nearest forceful expiry.
    pub next_deadline: Option<Timestamp>,
    /// The condition `Feasible`: no finding keeps a pool from being rotated.
    pub feasible: Aspect,
    /// The condition `Progressing`: a rotation is in flight; else the reason says why none is.
    pub progressing: Aspect,
}

/// `None` until there was a pass over each pool under the policy as it is: what was seen under another one, or under none,
/// would contradict the rest of the status. An invalid policy has nothing to wait for.
pub(super) fn of<'a>(reason: Reason, policy: Option<&Governing>, won: &[&'a PoolFacts]) -> Option<Outlook> {
    let won = if policy.is_some() { won } else { &[] };
    let under_it = |pool: &&'a PoolFacts| pool.report.as_deref().filter(|report| report.policy.as_deref() == policy);
    let seen: Vec<(&str, &Report)> = won.iter().map(|pool| Some((pool.name.as_str(), under_it(pool)?))).collect::<Option<_>>()?;
    let surveys = || seen.iter().filter_map(|(_, report)| report.survey.as_ref());
    let claims = |standing| count(surveys().filter_map(|survey| survey.census.get(&standing)).sum());
    Some(Outlook {
        eligible: claims(Standing::Eligible),
        in_backoff: claims(Standing::InBackoff),
        failed: count(surveys().map(|survey| survey.failed).sum()),
        next_deadline: surveys().filter_map(|survey| survey.next_deadline).min(),
        feasible: unjudged(reason, &seen, Truth::Unknown).unwrap_or_else(|| feasible(&seen)),
        progressing: unjudged(reason, &seen, Truth::False).or_else(|| progressing(&seen))?,
    })
}

/// Where there is nothing to judge.
fn unjudged(reason: Reason, seen: &[(&str, &Report)], status: Truth) -> Option<Aspect> {
    match reason {
        Reason::Invalid => Some(Aspect::new(status, reason.text(), "the policy is not valid, and no NodePool that it selects is rotated")),
        Reason::Accepted | Reason::Conflict if seen.is_empty() => Some(Aspect::new(status, "NoNodePool", "governs no NodePool")),
        Reason::Accepted | Reason::Conflict => None,
    }
}

fn feasible(seen: &[(&str, &Report)]) -> Aspect {
    let findings = |level: Level| {
        let all = seen.iter().flat_map(|(pool, report)| report.derived.iter().map(move |derived| (*pool, derived)));
        let all = all.flat_map(|(pool, derived)| derived.findings.iter().map(move |finding| (pool, finding)));
        all.filter(move |(_, finding)| finding.level == level)
    };
    let sentence = |level| sentence(findings(level).map(|(pool, finding): (&str, &Finding)| (finding.sentence.clone(), pool)));
    if let Some((_, finding)) = findings(Level::Fatal).next() {
        return Aspect::new(Truth::False, finding.code.to_string(), sentence(Level::Fatal));
    }
    match findings(Level::Warn).next() {
        Some(_) => Aspect::new(Truth::True, "Doubtful", sentence(Level::Warn)),
        None => Aspect::new(Truth::True, "Feasible", "nothing stands against the schedule of any NodePool"),
    }
}

/// A rotation in flight has the word, then what a person can do something about. `None` without a pool.
fn progressing(seen: &[(&str, &Report)]) -> Option<Aspect> {
    let mut states: Vec<(State, String, &str)> =
        seen.iter().map(|(pool, report)| (report.activity.state(), report.activity.sentence(), *pool)).collect();
    states.sort_by_key(|(state, ..)| *state);
    let first = states.first()?.0;
    let status = if first == State::Rotating { Truth::True } else { Truth::False };
    Some(Aspect::new(status, first.name(), sentence(states.into_iter().map(|(_, words, pool)| (words, pool)))))
}

/// `NodePools a, b: words; NodePool c: other words`, in the order in which the words come first.
fn sentence<'a>(words: impl Iterator<Item = (String, &'a str)>) -> String {
    let (mut order, mut pools) = (Vec::new(), BTreeMap::<String, Vec<&str>>::new());
    for (words, pool) in words {
        if !pools.contains_key(&words) {
            order.push(words.clone());
        }
        pools.entry(words).or_default().push(pool);
    }
    let clause = |words: &String| format!("{}: {words}", few(NODE_POOL, pools.get(words).into_iter().flatten().copied(), ROOM));
    let mut clauses: Vec<String> = order.iter().take(CLAUSES).map(clause).collect();
    let rest: usize = order.iter().skip(CLAUSES).filter_map(|words| pools.get(words)).map(Vec::len).sum();
    clauses.extend((rest > 0).then(|| format!("and {rest} more")));
    clauses.join("; ")
}
