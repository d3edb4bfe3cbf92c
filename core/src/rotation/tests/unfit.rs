//! NodePools that are not rotated: those that refill themselves, those under deletion, and those without nodes to come.

use serde_json::json;

use super::*;
use crate::karpenter::Condition;

type Setting = fn(&mut World);

const STATIC: Setting = |world| world.pool.spec.replicas = Some(3);
const BROKEN: Setting = |world| {
    let condition = Condition { type_: "Ready".to_owned(), status: "False".to_owned() };
    world.pool.status.get_or_insert_default().conditions.push(condition);
};
const DELETING: Setting = |world| world.pool.metadata.deletion_timestamp = Some(world::time(world.now));

#[test]
fn t69_r15_no_rotation_begins_with_a_surge_or_without() {
    let settings = [(STATIC, Activity::StaticNodePool), (DELETING, Activity::NodePoolDeleting), (BROKEN, Activity::NodePoolNotReady)];
    for (set, activity) in settings {
        for hours_left in [190, 0] {
            let mut world = world();
            world.govern(&json!({"forcefulFallback": {"enabled": true}}));
            let created = world.now + SignedDuration::from_hours(hours_left) - SignedDuration::from_hours(336);
            world.claim_mut(OLD).metadata.creation_timestamp = Some(world::time(created));
            let twin = world.clone();
            set(&mut world);
            assert!(world.pass().is_empty() && !world.anchored(), "{activity:?}, {hours_left} hours left");
            // Of one that may be ready again before the window closes it is noted that this one was open.
            assert_eq!(world.log.len(), usize::from(activity == Activity::NodePoolNotReady), "{:?}", world.log);
            assert_eq!(world.activity(), &activity);
            assert_eq!(world.notices.contains(&Notice::StaticNodePool), activity == Activity::StaticNodePool);
            assert_eq!(world.notices.contains(&Notice::NodePoolNotReady), activity == Activity::NodePoolNotReady);
            assert!(!twin.clone().pass().is_empty(), "its twin without the change, {hours_left} hours left");
        }
    }
}

#[test]
fn a_rotation_in_flight_comes_to_its_end_whichever_it_is() {
    for set in [STATIC, DELETING, BROKEN] {
        let mut ready = world();
        ready.pass();
        set(&mut ready);
        assert_eq!(outcomes(&drive(&mut ready, None)), [Outcome::Success]);
        ready.assert_clean();

        let mut draining = world();
        draining.pass();
        draining.provision();
        draining.pass();
        set(&mut draining);
        draining.finish_drains();
        assert_eq!(outcomes(&draining.pass()), [Outcome::Success]);
        draining.assert_clean();

        let mut late = world();
        late.pass();
        set(&mut late);
        late.advance(SignedDuration::from_mins(16));
        assert_eq!(outcomes(&late.pass()), [Outcome::Failure]);
        assert!(!late.anchored());
        late.assert_no_marks_on_nodes();

        // Cut off between the last two writes of the rollback: released, and not tried again.
        let mut failed = world();
        failed.annotate_pool(ACTIVE_ROTATION, OLD);
        failed.claim_mut(OLD).metadata.annotations = Some([(STATE.to_owned(), "failed".to_owned())].into());
        set(&mut failed);
        failed.pass();
        assert!(!failed.anchored() && failed.claim_annotation(OLD, STATE).as_deref() == Some("failed"));
    }
}
