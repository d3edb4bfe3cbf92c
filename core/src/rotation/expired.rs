//! The claim was taken before its surge was ready (§5.2, force-expiry detection).

use crate::annotation::{Change, ClaimState, ROLLBACK, STARTED_AT, STATE, SURGE_CLAIM, clear_anchor};
use crate::rotation::announcement::Announcement;
use crate::rotation::cleanup::clean_up;
use crate::rotation::effect::Effect;
use crate::rotation::observation::Seen;
use crate::rotation::pass::Rotation;
use crate::rotation::report::Activity;
use crate::rotation::{Decision, Next};
use crate::schedule::LONG_REQUEUE;

/// Ends the rotation of a claim that is being deleted, though not by us.
///
/// Also where a crash came between the claim's state and the release of the anchor: same end, same single count. The
/// state is written before the anchor is released, or the claim, which may take a day to drain, would be selected
/// again and again.
pub(super) fn force_expiring(rotation: &Rotation<'_>) -> Seen<Decision> {
    let mut effects = clean_up(rotation.close_up, &rotation.name())?;
    if rotation.marks.state != ClaimState::Expired {
        let change: Change = [(STATE, Some("expired".to_owned())), (STARTED_AT, None), (SURGE_CLAIM, None), (ROLLBACK, None)].into();
        effects.push(Effect::AnnotateClaim { claim: rotation.claim_target(), change }.into());
    }
    let reached = rotation.claim.deadline().zip(rotation.claim.metadata.deletion_timestamp.as_ref());
    let expired = Announcement::Expired {
        claim: rotation.name(),
        deadline_reached: Some(reached.is_some_and(|(deadline, deleted)| deleted.0 >= deadline)),
    };
    effects.push(Effect::AnnotatePool { pool: rotation.pass.pool_target(), change: clear_anchor() }.then(expired));
    Seen::Continue(rotation.pass.act(Activity::Ending(rotation.name()), effects, Next::After(LONG_REQUEUE)))
}
