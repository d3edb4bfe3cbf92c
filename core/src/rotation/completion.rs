//! The old claim is gone: take everything off, release the anchor, count once (§5.2, completion outcome).

use std::time::Duration;

use kube::ResourceExt;

use crate::annotation::{LAST_ROTATION_AT, clear_anchor, stamp, stored};
use crate::rotation::announcement::Announcement;
use crate::rotation::cleanup::clean_up;
use crate::rotation::effect::Effect;
use crate::rotation::mark;
use crate::rotation::observation::{CloseUp, Seen};
use crate::rotation::pass::{Pass, Rotation};
use crate::rotation::report::Activity;
use crate::rotation::{Decision, Next};
use crate::schedule::LONG_REQUEUE;

/// Ends the rotation of a claim that no longer exists. The mirror decides the outcome.
pub(super) fn complete(pass: &Pass<'_>, close_up: &CloseUp) -> Seen<Decision> {
    let mut effects = clean_up(close_up, &close_up.name)?;
    let mut change = clear_anchor();
    let outcome = if pass.marks.draining {
        change.insert(LAST_ROTATION_AT, Some(stamp(pass.now)));
        completed(pass, close_up)
    } else {
        Announcement::Expired { claim: close_up.name.clone(), deadline_reached: None }
    };
    effects.push(Effect::AnnotatePool { pool: pass.pool_target(), change }.then(outcome));
    Seen::Continue(pass.act(Activity::Ending(close_up.name.clone()), effects, Next::After(LONG_REQUEUE)))
}

fn completed(pass: &Pass<'_>, close_up: &CloseUp) -> Announcement {
    let drain = pass.marks.draining_at.map(|at| stored(pass.now).duration_since(at));
    Announcement::Completed {
        claim: close_up.name.clone(),
        surge_node: close_up.bound_to().map(str::to_owned).or_else(|| marked_node(close_up)),
        surge_wait: pass.marks.surge_wait,
        surge_path: pass.marks.surge_path.clone(),
        drain: drain.and_then(|drain| Duration::try_from(drain).ok()),
        forceful_fallback: pass.marks.forceful_fallback,
    }
}

/// The node that still carries the mark of the rotation: the placeholder may have given way to a Pod by now.
fn marked_node(close_up: &CloseUp) -> Option<String> {
    let nodes = close_up.pool_nodes.as_deref().unwrap_or_default();
    nodes.iter().find(|node| mark::is_marked_for(node, &close_up.name)).map(ResourceExt::name_any)
}

/// The anchor names a claim of another pool, which a person must have written: release it, touch nothing else,
/// count nothing (review 5).
pub(super) fn release_foreign(rotation: &Rotation<'_>) -> Seen<Decision> {
    let foreign = Announcement::ForeignAnchor { claim: rotation.name(), pool: rotation.claim.pool().map(str::to_owned) };
    let effects = vec![Effect::AnnotatePool { pool: rotation.pass.pool_target(), change: clear_anchor() }.then(foreign)];
    Seen::Continue(rotation.pass.act(Activity::Ending(rotation.name()), effects, Next::After(LONG_REQUEUE)))
}
