//! Which NodeClaim a rollback may delete, and where a reservation counts as launched for it.

use super::*;

/// A rotation of `old` whose host is recorded and not Ready.
fn bound() -> World {
    let mut world = world();
    world.pass();
    world.provision();
    world.node_mut("surge-1").status = None;
    world.pass();
    world
}

#[test]
fn only_the_recorded_claim_that_was_launched_for_the_surge_is_reaped() {
    type Setting = fn(&mut World);
    let rows: [(&str, Setting, bool); 9] = [
        ("as it is", |_| {}, true),
        (
            "not recorded",
            |world| {
                world.claim_mut(OLD).metadata.annotations.as_mut().unwrap().remove(SURGE_CLAIM);
                world.pods.values_mut().for_each(|pod| pod.spec.as_mut().unwrap().node_name = None);
            },
            false,
        ),
        ("recorded by another hand", |world| world.annotate_claim(OLD, SURGE_CLAIM, "bystander"), false),
        (
            "as old as the placeholder",
            |world| world.claim_mut("surge-1").metadata.creation_timestamp = Some(world::time(at("2026-01-07T02:00:00Z"))),
            false,
        ),
        (
            "of another pool",
            |world| {
                world.claim_mut("surge-1").metadata.labels.as_mut().unwrap().insert(NODEPOOL_LABEL.to_owned(), "b".to_owned());
            },
            false,
        ),
        ("going already", |world| world.claim_mut("surge-1").metadata.deletion_timestamp = Some(world::time(world.now)), false),
        (
            "the candidate itself",
            |world| {
                world.annotate_claim(OLD, SURGE_CLAIM, OLD);
                world.claim_mut(OLD).metadata.creation_timestamp = Some(world::time(at("2026-01-07T02:00:05Z")));
                world.pods.values_mut().for_each(|pod| pod.spec.as_mut().unwrap().node_name = Some(OLD.to_owned()));
            },
            false,
        ),
        ("the placeholder is gone", |world| world.pods.clear(), false),
        ("its node is gone", |world| drop(world.nodes.remove("surge-1")), false),
    ];
    for (name, set, reaped) in rows {
        let mut world = bound();
        world.claims.insert("bystander".to_owned(), claim_named("bystander", "2026-01-07T02:00:05Z"));
        world.nodes.insert("bystander".to_owned(), node_named("bystander"));
        world.advance(SignedDuration::from_mins(16));
        set(&mut world);
        let told = world.pass();
        assert_eq!(outcomes(&told), [Outcome::Failure], "{name}");
        assert_eq!(world.deleted.contains(&"surge-1".to_owned()), reaped, "{name}");
        assert!(world.deleted.iter().all(|claim| claim == "surge-1"), "{name}: {:?}", world.deleted);
        world.assert_no_marks_on_nodes();
    }
}

#[test]
fn t34_a_namesake_of_the_placeholder_in_another_namespace_keeps_the_host_alive() {
    for (namespace, reaped) in [(None, true), (Some("shop"), false)] {
        let mut world = bound();
        if let Some(namespace) = namespace {
            let mut namesake = world.pods["noderotation-surge-old"].clone();
            namesake.metadata.namespace = Some(namespace.to_owned());
            namesake.metadata.uid = Some("uid-of-the-namesake".to_owned());
            namesake.metadata.labels = None;
            world.pods.insert("in the other namespace".to_owned(), namesake);
        }
        world.advance(SignedDuration::from_mins(16));
        assert_eq!(outcomes(&world.pass()), [Outcome::Failure], "{namespace:?}");
        assert_eq!(world.deleted.contains(&"surge-1".to_owned()), reaped, "{namespace:?}");
        assert_eq!(world.pods.len(), usize::from(!reaped), "{namespace:?}");
    }
}

#[test]
fn r8_only_a_bind_is_recorded_and_another_bind_corrects_it() {
    let mut world = world();
    world.pass();
    // Karpenter launches a node for other Pods while the placeholder waits.
    world.claims.insert("bystander".to_owned(), claim_named("bystander", "2026-01-07T02:00:05Z"));
    world.nodes.insert("bystander".to_owned(), node_named("bystander"));
    world.advance(SignedDuration::from_secs(30));
    world.pass();
    assert_eq!(world.claim_annotation(OLD, SURGE_CLAIM), None);
    world.provision();
    world.node_mut("surge-1").status = None;
    world.pass();
    assert_eq!(world.claim_annotation(OLD, SURGE_CLAIM).as_deref(), Some("surge-1"));
    world.annotate_claim(OLD, SURGE_CLAIM, "bystander");
    world.pass();
    assert_eq!(world.claim_annotation(OLD, SURGE_CLAIM).as_deref(), Some("surge-1"));
    world.advance(SignedDuration::from_mins(16));
    world.pass();
    assert_eq!(world.deleted, ["surge-1"]);
}

#[test]
fn a_claim_that_is_seconds_old_is_not_reaped_before_it_is_safe() {
    let mut world = bound();
    world.advance(SignedDuration::from_mins(16));
    world.claim_mut("surge-1").metadata.creation_timestamp = Some(world::time(world.now - SignedDuration::from_secs(9)));
    assert!(outcomes(&world.pass()).is_empty() && world.deleted.is_empty() && world.anchored());
    world.advance(SignedDuration::from_secs(1));
    assert_eq!(outcomes(&world.pass()), [Outcome::Failure]);
    assert_eq!(world.deleted, ["surge-1"]);
}

#[test]
fn the_host_is_closed_before_it_is_judged_empty_and_opened_again_where_it_is_not() {
    for (workload, by_a_person) in [(false, false), (true, false), (true, true)] {
        let mut world = bound();
        if workload {
            world.add_workload("surge-1");
        }
        if by_a_person {
            world.node_mut("surge-1").spec.as_mut().unwrap().unschedulable = Some(true);
        }
        world.advance(SignedDuration::from_mins(16));
        world.pass();
        let closed = world.log.iter().position(|line| line.starts_with("mark Node surge-1") && line.ends_with("Some(true)"));
        let deleted = world.log.iter().position(|line| line == "delete NodeClaim surge-1");
        assert_eq!(closed.is_some(), !by_a_person);
        assert_eq!(deleted.is_some(), !workload);
        assert!(workload || closed < deleted);
        let unschedulable = world.node("surge-1").spec.as_ref().unwrap().unschedulable;
        assert_eq!(unschedulable == Some(true), by_a_person, "workload: {workload}");
    }
}

#[test]
fn r29_a_host_counts_as_launched_for_the_surge_by_the_clock_of_the_api_server() {
    for (created, path) in [("2026-01-07T02:00:01Z", "provisioned"), ("2026-01-07T02:00:00Z", "absorbed")] {
        let mut world = world();
        world.pass();
        world.provision();
        // Our own clock is an hour fast; the placeholder was created at 02:00:00.
        world.annotate_claim(OLD, STARTED_AT, "2026-01-07T03:00:00Z");
        world.now = at("2026-01-07T03:00:05Z");
        world.claim_mut("surge-1").metadata.creation_timestamp = Some(world::time(at(created)));
        world.pass();
        assert_eq!(world.pool_annotation(SURGE_PATH).as_deref(), Some(path));
    }
}
