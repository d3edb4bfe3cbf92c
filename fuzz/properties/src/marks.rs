//! Annotations: whatever anybody writes into them, every pass comes to an end, deletes no claim without the durable mark
//! of it, and writes nothing under a condition that does not hold (§5.3, I2, I8, I10, I11).

mod input;
mod world;

use std::ops::ControlFlow;

use noderotation_core::annotation::{ACTIVE_ROTATION, ACTIVE_ROTATION_STATE, FREEZE, NODEPOOL_LABEL, SURGE_CLAIM};
use noderotation_core::cleanup::{self, Scope};
use noderotation_core::rotation::effect::{Effect, Planned, Target};
use noderotation_core::rotation::{Decision, Next, step};
use noderotation_core::sweep;

use world::{CANDIDATE, POOL, World};

/// How often the operator passes by; the world goes on in between.
const PASSES: usize = 4;
/// Decisions of one pass, and looks of one decision, than which none takes more.
const MOST_STEPS: usize = 16;

/// Has the operator work on the world in `input`, which `marks/input.rs` describes.
pub fn check(input: &[u8]) {
    let world = World::read(&String::from_utf8_lossy(input));
    cleaning_up_ends_and_deletes_no_claim(&world);
    cleaning_up_ends_and_deletes_no_claim(&lives(world));
}

fn lives(mut world: World) -> World {
    for _ in 0..PASSES {
        passes(&mut world);
        world.goes_on();
    }
    world
}

/// One pass as the operator makes it, up to the write at which it is cut off, if it is.
fn passes(world: &mut World) {
    let mut again = true;
    for _ in 0..MOST_STEPS {
        if again {
            let decision = decided(world);
            assert!(decision.is_some(), "the step has never seen enough: {world:?}");
            again = decision.is_some_and(|decision| is_carried_out(world, decision));
        }
    }
    assert!(!again, "the pass does not come to an end: {world:?}");
}

fn decided(world: &World) -> Option<Decision> {
    let mut observation = world.observation();
    for _ in 0..MOST_STEPS {
        match step(&observation, world.now) {
            ControlFlow::Break(look) => world.look(&mut observation, &look),
            ControlFlow::Continue(decision) => {
                let (told, look) = (decision.report.to_json(), decision.report.next_look(world.now));
                assert!(told.get("sentence").is_some_and(|sentence| sentence.as_str() != Some("")), "{told}");
                assert!(look.is_none_or(|look| look >= world.now), "a look at {look:?}: {world:?}");
                return Some(decision);
            }
        }
    }
    None
}

/// True when the pass goes on.
fn is_carried_out(world: &mut World, decision: Decision) -> bool {
    world.begin();
    decision.effects.into_iter().all(|planned| is_written(world, planned)) && decision.next == Next::Again
}

/// False when the write is the one that comes no more.
fn is_written(world: &mut World, planned: Planned) -> bool {
    match &planned.effect {
        Effect::DeleteClaim { claim } => is_marked_for_deletion(world, claim),
        Effect::AnnotatePool { change, .. } => {
            if let Some(Some(claim)) = change.get(ACTIVE_ROTATION) {
                may_begin(world, claim);
            }
        }
        Effect::AnnotateClaim { .. } | Effect::MarkNode { .. } | Effect::CreatePlaceholder { .. } | Effect::DeletePlaceholder { .. } => {}
    }
    world.write(planned.effect)
}

/// The old claim under its anchor and the mirror; or the claim that was launched in its place, recorded as such, while the
/// rotation has not come to the mirror and nothing real runs there.
fn is_marked_for_deletion(world: &World, target: &Target) {
    let of_pool = |key: &str| world.pool.metadata.annotations.as_ref().and_then(|all| all.get(key)).map(String::as_str);
    let (anchor, mirrored) = (of_pool(ACTIVE_ROTATION), of_pool(ACTIVE_ROTATION_STATE) == Some("draining"));
    let pool = world.claims.get(&target.name).and_then(|claim| claim.metadata.labels.as_ref()?.get(NODEPOOL_LABEL));
    assert_eq!(pool.map(String::as_str), Some(POOL), "{target:?} is another pool's: {world:?}");
    if anchor == Some(&target.name) {
        return assert!(mirrored, "{target:?} is deleted without the mirror: {world:?}");
    }
    let recorded = anchor.and_then(|anchor| world.claims.get(anchor)?.metadata.annotations.as_ref()?.get(SURGE_CLAIM));
    assert_eq!(recorded, Some(&target.name), "{target:?} was not recorded: {world:?}");
    assert!(!mirrored, "{target:?} is deleted in mid-drain: {world:?}");
    assert!(!world.works_on(&target.name), "{target:?} is deleted under a workload: {world:?}");
}

/// A claim that nobody deletes gets an anchor only where a policy governs and no freeze is in force.
fn may_begin(world: &World, claim: &str) {
    if world.claims.get(claim).is_some_and(|claim| claim.metadata.deletion_timestamp.is_some()) {
        return;
    }
    let freeze = world.pool.metadata.annotations.as_ref().and_then(|all| all.get(FREEZE)).filter(|text| !text.is_empty());
    let frozen = freeze.is_some_and(|text| text.parse::<jiff::Timestamp>().map_or(true, |until| until > world.now));
    assert!(!frozen, "{claim} begins in a freeze: {world:?}");
    assert!(world.is_governed(), "{claim} begins without a policy: {world:?}");
    assert!(world.pool.metadata.deletion_timestamp.is_none(), "{claim} begins in a pool that goes: {world:?}");
}

/// By the sweep and by the command, whose second run finds nothing.
fn cleaning_up_ends_and_deletes_no_claim(world: &World) {
    let pools = std::slice::from_ref(&world.pool);
    let swept = |world: &World| sweep::of_cluster(&world.marked(), std::slice::from_ref(&world.pool), world.now);
    let mut clean = world.clone();
    let effects = swept(&clean).into_iter().flat_map(|repair| repair.effects);
    takes_off(&mut clean, effects.collect());
    assert_eq!(swept(&clean), Vec::new(), "swept again: {clean:?}");
    for everything in [false, true] {
        let scope = Scope { namespace: world::NAMESPACE, rival: false, everything };
        let mut clean = world.clone();
        let effects = cleanup::plan(&clean.marked(), pools, scope, clean.now).repairs.into_iter().flat_map(|repair| repair.effects);
        takes_off(&mut clean, effects.collect());
        let again = cleanup::plan(&clean.marked(), std::slice::from_ref(&clean.pool), scope, clean.now);
        assert_eq!(again.repairs, Vec::new(), "cleaned up again with {everything}: {clean:?}");
        let left = |object: &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta| {
            object.annotations.as_ref().is_some_and(|all| all.contains_key(ACTIVE_ROTATION))
        };
        assert!(!everything || !left(&clean.pool.metadata), "an anchor is left: {clean:?}");
    }
    assert!(world.claims.contains_key(CANDIDATE) || world.gone, "a claim is gone that nobody took");
}

/// Nothing cuts it off: who is cut off finds the rest the next time.
fn takes_off(world: &mut World, effects: Vec<Planned>) {
    world.left = None;
    world.begin();
    for planned in effects {
        assert!(!matches!(planned.effect, Effect::DeleteClaim { .. }), "{planned:?} is no cleaning up: {world:?}");
        world.write(planned.effect);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A property of deletes that never sees one would hold of anything.
    #[test]
    fn worlds_come_to_drains_rollbacks_and_cut_off_lists() {
        let pending = "2026-01-07T02:00:00Z\npool active-rotation old\nold state pending\nold started-at 2026-01-07T01:50:00Z\n";
        let deleted = |more: &str| lives(World::read(&format!("{pending}{more}"))).deleted;
        assert_eq!(deleted("pod bound new-node\npod phase Running\n"), ["old"]);
        assert_eq!(deleted("policy none\nold surge-claim new\npod bound new-node\n"), ["new"]);
        assert_eq!(deleted("policy none\nold surge-claim new\npod bound new-node\nwork new-node\n"), [""; 0]);
        assert_eq!(deleted("policy fallback\nold expires 300h1m\n"), ["old"]);
        assert!(lives(World::read("2026-01-07T02:00:00Z\n")).deleted.contains(&"old".to_owned()), "a rotation from its start");
        assert_eq!(lives(World::read("2026-01-06T02:00:00Z\n")).deleted, [""; 0], "outside the window");
    }
}
