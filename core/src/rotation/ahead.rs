//! Stamps further ahead than any two clocks may differ (review 12).
//!
//! Such a stamp counts as now. It is also written as now, since a pause that began now in every pass would never end.

use kube::ResourceExt;

use crate::annotation::{Ahead, Change, FAILED_AT, stamp};
use crate::rotation::announcement::Announcement;
use crate::rotation::effect::{Effect, Planned, Target};
use crate::rotation::pass::Pass;
use crate::rotation::report::Activity;
use crate::rotation::{Decision, Next};

/// Writes the stamps of pauses as now that are too far ahead; `None` when there are none.
pub(super) fn put_right(pass: &Pass<'_>) -> Option<Decision> {
    let mut effects = Vec::new();
    if !pass.marks.ahead.is_empty() {
        let effect = Effect::AnnotatePool { pool: pass.pool_target(), change: as_now(pass, &pass.marks.ahead) };
        effects.push(Planned { effect, then: announcements(None, &pass.marks.ahead) });
    }
    for claim in &pass.observation.claims {
        let failed: Vec<Ahead> = claim.marks(pass.now).ahead.into_iter().filter(|ahead| ahead.key == FAILED_AT).collect();
        if !failed.is_empty() {
            let effect = Effect::AnnotateClaim { claim: Target::of(claim), change: as_now(pass, &failed) };
            effects.push(Planned { effect, then: announcements(Some(&claim.name_any()), &failed) });
        }
    }
    (!effects.is_empty()).then(|| pass.act(Activity::Sweeping, effects, Next::Again))
}

/// What is told of stamps once they are written anew.
pub(super) fn announcements(claim: Option<&str>, ahead: &[Ahead]) -> Vec<Announcement> {
    let told = |Ahead { key, value }: &Ahead| Announcement::StampInFuture { claim: claim.map(str::to_owned), key, value: value.clone() };
    ahead.iter().map(told).collect()
}

fn as_now(pass: &Pass<'_>, ahead: &[Ahead]) -> Change {
    ahead.iter().map(|ahead| (ahead.key, Some(stamp(pass.now)))).collect()
}
