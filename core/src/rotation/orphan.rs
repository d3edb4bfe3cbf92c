//! What a pass over a pool without an anchor finds of rotations that nobody drives (D9).

use kube::ResourceExt;

use crate::rotation::observation::Seen;
use crate::rotation::pass::Pass;
use crate::rotation::report::Activity;
use crate::rotation::{Decision, Next};
use crate::sweep::{self, Marked};

/// Puts right what the caches let suspect and live reads confirm; `None` when there is nothing.
pub(super) fn put_right(pass: &Pass<'_>) -> Seen<Option<Decision>> {
    let observation = pass.observation;
    let marked = Marked {
        placeholders: observation.placeholders.clone(),
        nodes: observation.nodes.iter().filter(|node| crate::rotation::mark::is_marked(node)).cloned().collect(),
        claims: observation.claims.iter().filter(|claim| sweep::in_flight(claim, pass.now)).cloned().collect(),
    };
    if !sweep::suspected(Some(pass.pool()), &marked, pass.now) {
        return Seen::Continue(None);
    }
    let leftovers = observation.leftovers()?;
    let effects: Vec<_> = sweep::of_pool(Some(pass.pool()), leftovers, pass.now).into_iter().flatten().collect();
    Seen::Continue((!effects.is_empty()).then(|| pass.act(Activity::Sweeping, effects, Next::Again)))
}

/// A claim that still drains from a rotation whose anchor is gone: a second one must wait for it (review 6).
///
/// A claim that says `expired` or `failed` is no rotation of ours any more, and may take a day to drain.
pub(super) fn draining(pass: &Pass<'_>) -> Option<String> {
    // Where nothing was suspected there is none.
    let marked = &pass.observation.leftovers.as_ref()?.marked;
    marked.claims.iter().find(|claim| marked.may_drain(claim, pass.now)).map(ResourceExt::name_any)
}
