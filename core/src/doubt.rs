//! What is doubtful about a policy beside the other policies and the NodePools of a cluster (D5, D6, D11).
//!
//! One rule for the admission endpoint, which sees the cluster, and the offline check, which sees files. Each doubt is one
//! sentence of at most 256 bytes unless a name is very long, however many pools it is about (review 21).

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use jiff::Timestamp;
use kube::ResourceExt;
use serde_json::Value;

use crate::few::{NODE_POOL, ROTATION_POLICY, few};
use crate::governance::Governance;
use crate::karpenter::NodePool;
use crate::policy::fault::{Fault, FaultCode};
use crate::policy::finding::{Finding, FindingCode, Level};
use crate::policy::governing::Governing;
use crate::resolve::PolicyEntry;
use crate::schedule::{PoolLife, derive_in};

/// Bytes of a warning that the API server passes on, and so of a doubt with its field.
const LONGEST: usize = 256;

/// How the admission endpoint is set up: what is told is refused, or only told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strictness {
    /// Refuse a policy that ties with another for a pool.
    pub deny_ties: bool,
    /// Refuse a policy with a fatal finding for a pool that it governs.
    pub deny_infeasible: bool,
}

/// Which doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matter {
    /// It ties with another policy for a pool.
    Tie,
    /// It governs a pool that its schedule cannot rotate.
    Infeasible,
    /// It governs no pool.
    NoPool,
    /// Its selector is that of another policy.
    SameSelector,
    /// It governs a pool that its schedule can barely rotate.
    Finding,
}

/// One doubt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// Which.
    pub matter: Matter,
    /// What is doubtful and what to change.
    pub words: String,
}

impl Doubt {
    /// Path of the field that it is about.
    #[must_use]
    pub fn field(&self) -> &'static str {
        match self.matter {
            Matter::Tie | Matter::NoPool | Matter::SameSelector => "spec.nodePoolSelector",
            Matter::Infeasible | Matter::Finding => "spec",
        }
    }

    /// The policy is refused for it.
    #[must_use]
    pub fn is_denied(&self, strictness: Strictness) -> bool {
        match self.matter {
            Matter::Tie => strictness.deny_ties,
            Matter::Infeasible => strictness.deny_infeasible,
            Matter::NoPool | Matter::SameSelector | Matter::Finding => false,
        }
    }

    /// The doubt as a reason to refuse. Its `Display` is the text of the warning as well.
    #[must_use]
    pub fn fault(&self) -> Fault {
        Fault::of(FaultCode::Invalid, self.field(), &Value::Null, &self.words)
    }
}

/// What a policy is judged among.
#[derive(Clone, Copy, Debug)]
pub struct Among<'a> {
    /// Every policy; the judged one may be among them.
    pub policies: &'a [PolicyEntry],
    /// Every pool and how many claims it has.
    pub pools: &'a [(&'a NodePool, usize)],
}

/// All doubts about `policy`, which has to do with the pools as `governance` says; the gravest first. Windows are measured
/// from `now` on.
#[must_use]
pub fn doubts(policy: &PolicyEntry, governance: &Governance, among: Among<'_>, now: Timestamp) -> Vec<Doubt> {
    let mut doubts: Vec<Doubt> = governance.conflict().map(|words| Doubt { matter: Matter::Tie, words }).into_iter().collect();
    if let Ok(governing) = &policy.judgement {
        doubts.extend(findings(governing, governance, among.pools, now));
    }
    doubts.extend(no_pool(policy, governance, among.pools));
    doubts.extend(same_selector(policy, governance, among.policies));
    doubts.sort_by_key(|doubt| doubt.matter == Matter::Finding);
    doubts
}

fn no_pool(policy: &PolicyEntry, governance: &Governance, pools: &[(&NodePool, usize)]) -> Option<Doubt> {
    let selector = policy.selector.as_ref()?;
    if !governance.won.is_empty() || !governance.contested.is_empty() {
        return None;
    }
    let selected = pools.iter().filter(|(pool, _)| selector.matches(pool.labels())).count();
    let words = match (selected, pools.len()) {
        (0, 0) => "selects no NodePool, since there is none yet".to_owned(),
        (0, all) => format!("selects none of the {all} NodePools there are, so it rotates nothing; compare it with their labels"),
        (1, _) => "governs no NodePool: a more specific policy governs the one that it selects".to_owned(),
        (some, _) => format!("governs no NodePool: more specific policies govern the {some} that it selects"),
    };
    Some(Doubt { matter: Matter::NoPool, words })
}

/// A tie in waiting: for any pool that both select and no more specific policy wins. Those that tie now are told already.
fn same_selector(policy: &PolicyEntry, governance: &Governance, policies: &[PolicyEntry]) -> Option<Doubt> {
    let selector = policy.selector.as_ref()?;
    let is_twin = |other: &&PolicyEntry| {
        let same = other.selector.as_ref().is_some_and(|other| other.is_same(selector));
        same && other.name != policy.name && !governance.rivals.contains(&other.name)
    };
    let mut twins: Vec<&str> = policies.iter().filter(is_twin).map(|other| other.name.as_str()).collect();
    twins.sort_unstable();
    let words = |twins| format!("is that of {twins} as well, and a tie rotates nothing; give one selector more entries");
    (!twins.is_empty()).then(|| Doubt { matter: Matter::SameSelector, words: words(few(ROTATION_POLICY, twins, 100)) })
}

/// The findings for the pools that it governs, one sentence a code, those that keep a pool from being rotated first.
fn findings(governing: &Governing, governance: &Governance, pools: &[(&NodePool, usize)], now: Timestamp) -> Vec<Doubt> {
    let mut governed: Vec<(&str, &NodePool, usize)> =
        pools.iter().map(|(pool, claims)| (pool.name(), *pool, *claims)).filter(|(name, ..)| governance.won.contains(*name)).collect();
    governed.sort_by_key(|(name, ..)| *name);
    let measures = governing.windows.measures(now);
    let mut found: BTreeMap<(Level, FindingCode), Vec<(&str, Finding)>> = BTreeMap::new();
    for (name, pool, claims) in governed.into_iter().filter(|(_, pool, _)| pool.is_rotatable()) {
        for finding in derive_in(governing, &PoolLife::of(pool), claims, measures).findings {
            if !finding.code.is_of_the_policy_alone() {
                found.entry((finding.level, finding.code)).or_default().push((name, finding));
            }
        }
    }
    found.iter().filter_map(|((level, code), found)| doubt(*level, *code, found)).collect()
}

fn doubt(level: Level, code: FindingCode, found: &[(&str, Finding)]) -> Option<Doubt> {
    let (first, finding) = found.first()?;
    let sentence = &finding.sentence;
    let differs = found.iter().any(|(_, other)| other.sentence != *sentence);
    let example = if differs { format!("at {first}, ") } else { String::new() };
    let (matter, head) = match level {
        Level::Fatal => (Matter::Infeasible, "cannot rotate "),
        Level::Warn => (Matter::Finding, "for "),
    };
    let rest = format!(" ({code}): {example}{sentence}");
    let room = LONGEST.saturating_sub("spec: ".len() + head.len() + rest.len());
    Some(Doubt { matter, words: format!("{head}{}{rest}", few(NODE_POOL, found.iter().map(|(name, _)| *name), room)) })
}
