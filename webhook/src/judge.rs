//! What a new spec is judged by: the object itself, and the cluster that it is for.
//!
//! Both endpoints refuse by the same judgement. A rule that needs the cluster never refuses while the cluster cannot be
//! seen; then one warning says what was not looked at, and why.

use std::sync::Arc;

use jiff::Timestamp;
use noderotation_core::doubt::Strictness;
use noderotation_core::policy::fault::Fault;
use noderotation_core::policy::warning::warnings;
use noderotation_core::resolve::PolicyEntry;
use noderotation_core::surroundings::Surroundings;

use crate::review::Review;

/// Looks at the cluster without waiting: what is there, or why that cannot be said.
pub type Sight = Arc<dyn Fn() -> Result<Arc<Surroundings>, String> + Send + Sync>;

/// What the endpoints judge by.
#[derive(Clone)]
pub struct Judge {
    /// The cluster as it is now.
    pub sight: Sight,
    /// What of it is a reason to refuse.
    pub strictness: Strictness,
}

/// What was found.
pub(crate) struct Judgement {
    /// Reasons to refuse, those of the object itself first.
    pub(crate) faults: Vec<Fault>,
    /// What is doubtful, the gravest first.
    pub(crate) warnings: Vec<String>,
}

impl Judge {
    /// A judge without a cluster.
    #[must_use]
    pub fn blind(why: &str) -> Self {
        let why = why.to_owned();
        Self { sight: Arc::new(move || Err(why.clone())), strictness: Strictness::default() }
    }

    /// The reasons to refuse a new spec, at the least expense: the other endpoint tells the rest.
    pub(crate) fn faults(&self, review: &Review, now: Timestamp) -> Vec<Fault> {
        let entry = PolicyEntry::from_object(&review.object);
        let mut faults = entry.judgement.as_ref().err().cloned().unwrap_or_default();
        if self.strictness != Strictness::default() {
            faults.extend(self.look(review, &entry, now).faults);
        }
        faults
    }

    /// Everything about a new spec.
    pub(crate) fn judge(&self, review: &Review, now: Timestamp) -> Judgement {
        let entry = PolicyEntry::from_object(&review.object);
        let Judgement { faults: denied, warnings: mut told } = self.look(review, &entry, now);
        let (mut faults, governing) = match entry.judgement {
            Ok(governing) => (Vec::new(), Some(governing)),
            Err(faults) => (faults, None),
        };
        faults.extend(denied);
        told.extend(governing.iter().flat_map(|governing| warnings(&review.object, governing, now)));
        Judgement { faults, warnings: told }
    }

    /// What the cluster has to say.
    fn look(&self, review: &Review, entry: &PolicyEntry, now: Timestamp) -> Judgement {
        match (self.sight)() {
            Ok(surroundings) => {
                let old = review.old.is_object().then(|| PolicyEntry::from_object(&review.old));
                let (faults, warnings) = surroundings.judge(old.as_ref(), entry, self.strictness, now);
                Judgement { faults, warnings }
            }
            Err(why) => Judgement {
                faults: Vec::new(),
                warnings: vec![format!("not checked against the NodePools and the other RotationPolicies: {why}")],
            },
        }
    }
}

#[cfg(test)]
mod tests;
