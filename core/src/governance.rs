//! Which pools each policy wins, and which it contests with others (§5.4, D6, D10).
//!
//! [`crate::resolve`] seen from the policies' side; status, admission and the offline check tell it in the same words.

use std::collections::{BTreeMap, BTreeSet};

use crate::few::{NODE_POOL, ROTATION_POLICY, few};
use crate::resolve::{PolicyEntry, Resolution, resolve};

/// Bytes for the names of the policies and for those of the pools in a sentence, which is to fit an admission warning.
const ROOM: usize = 70;

/// What one policy has to do with the pools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Governance {
    /// Names of the pools that it wins by its selector, also while it is invalid.
    pub won: BTreeSet<String>,
    /// Names of the pools for which it ties.
    pub contested: BTreeSet<String>,
    /// Names of the policies that it ties with.
    pub rivals: BTreeSet<String>,
}

impl Governance {
    /// The tie in words; `None` without one.
    #[must_use]
    pub fn conflict(&self) -> Option<String> {
        let rivals = || self.rivals.iter().map(String::as_str);
        let named = rivals().collect::<Vec<_>>().join(", ");
        let rivals = if named.len() <= ROOM { named } else { few(ROTATION_POLICY, rivals(), ROOM) };
        let pools = few(NODE_POOL, self.contested.iter().map(String::as_str), ROOM);
        let are = if self.contested.len() == 1 { "is" } else { "are" };
        (!self.contested.is_empty())
            .then(|| format!("ties with {rivals} for {pools}, which {are} not rotated; give one selector more entries"))
    }
}

/// Every policy that has to do with a pool, by its name. `pools` are names and labels.
#[must_use]
pub fn governance<'a>(
    policies: &[PolicyEntry],
    pools: impl IntoIterator<Item = (&'a str, &'a BTreeMap<String, String>)>,
) -> BTreeMap<String, Governance> {
    let mut all: BTreeMap<String, Governance> = BTreeMap::new();
    for (pool, labels) in pools {
        let mut won = |policy: &str| all.entry(policy.to_owned()).or_default().won.insert(pool.to_owned());
        match resolve(labels, policies) {
            Resolution::Governed(governing) => drop(won(&governing.name)),
            Resolution::Invalid { policy, .. } => drop(won(&policy)),
            Resolution::Conflict { policies: tied, .. } => {
                for policy in &tied {
                    let one = all.entry(policy.clone()).or_default();
                    one.contested.insert(pool.to_owned());
                    one.rivals.extend(tied.iter().filter(|rival| *rival != policy).cloned());
                }
            }
            Resolution::Ungoverned => {}
        }
    }
    all
}
