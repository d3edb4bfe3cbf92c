//! Drains: how little is read while they go on, and what is told when one does not end.

use serde_json::json;

use super::*;
use crate::karpenter::Condition;

/// The rotation of `old` whose delete was just sent.
fn draining() -> World {
    let mut world = world();
    world.pass();
    world.provision();
    world.pass();
    world
}

fn waits_for(world: &World) -> Option<String> {
    let mut notices = world.notices.iter();
    notices.find_map(|n| if let Notice::DrainStuck { claim, waits_for } = n { (claim == OLD).then(|| waits_for.clone()) } else { None })
}

#[test]
fn a_stuck_drain_is_told_and_keeps_the_gate() {
    let mut world = draining();
    // The grace period of an hour and the buffer.
    world.advance(SignedDuration::from_mins(62));
    world.pass();
    assert!(!world.stuck && waits_for(&world).is_none());
    world.advance(SignedDuration::from_secs(1));
    world.pass();
    assert!(world.stuck && world.anchored() && !world.pods.is_empty());
    assert_eq!(waits_for(&world).as_deref(), Some(""));
    world.finish_drains();
    assert_eq!(outcomes(&world.pass()), [Outcome::Success]);
    world.assert_clean();
}

#[test]
fn karpenters_own_word_for_the_end_of_a_drain_counts() {
    for (end, minutes, stuck) in [
        ("2026-01-07T02:00:00Z", 3, true),
        ("2026-01-07T02:00:00Z", 2, false),
        ("2026-01-08T02:00:00Z", 63, false),
        ("soon", 3, false),
        ("soon", 63, true),
    ] {
        let mut world = draining();
        world.claim_mut(OLD).metadata.annotations.as_mut().unwrap().insert(TERMINATION_TIMESTAMP.to_owned(), end.to_owned());
        world.advance(SignedDuration::from_mins(minutes));
        world.pass();
        assert_eq!(world.stuck, stuck, "{end} after {minutes} minutes");
    }
}

#[test]
fn a_claim_without_a_grace_period_is_stuck_after_an_hour() {
    let mut world = draining();
    world.claim_mut(OLD).spec.termination_grace_period = None;
    world.advance(SignedDuration::from_mins(60));
    world.pass();
    assert!(!world.stuck);
    world.advance(SignedDuration::from_secs(1));
    world.pass();
    assert!(world.stuck);
}

#[test]
fn r16_the_pods_that_are_left_and_the_budgets_in_their_way_are_named() {
    let mut world = draining();
    for name in ["a", "b", "c", "d", "e", "f", "going", "kept", "of-a-daemon"] {
        world.add_workload(OLD);
        let mut pod = world.pods.remove("workload").unwrap();
        pod.metadata.name = Some(name.to_owned());
        pod.metadata.namespace = Some("shop".to_owned());
        pod.metadata.labels = Some([("app".to_owned(), name.to_owned())].into());
        match name {
            "going" => pod.metadata.deletion_timestamp = Some(world::time(world.now)),
            "kept" => pod.metadata.annotations = Some([(DO_NOT_DISRUPT.to_owned(), "true".to_owned())].into()),
            "of-a-daemon" => {
                let owner = json!([{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "d", "controller": true}]);
                pod.metadata.owner_references = Some(serde_json::from_value(owner).unwrap());
            }
            _ => {}
        }
        world.pods.insert(name.to_owned(), pod);
    }
    let budget = |namespace: &str, name: &str, allowed: i32, selector: serde_json::Value| {
        serde_json::from_value(json!({
            "metadata": {"namespace": namespace, "name": name},
            "spec": {"selector": selector},
            "status": {"currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": allowed, "expectedPods": 0}
        }))
        .unwrap()
    };
    let expression =
        |operator: &str, values: &[&str]| json!({"matchExpressions": [{"key": "app", "operator": operator, "values": values}]});
    world.budgets = vec![
        budget("shop", "by-label", 0, json!({"matchLabels": {"app": "a"}})),
        budget("shop", "in", 0, expression("In", &["a", "z"])),
        budget("shop", "exists", 0, json!({"matchExpressions": [{"key": "app", "operator": "Exists"}]})),
        budget("shop", "everything", 0, json!({})),
        budget("shop", "still-allows-one", 1, json!({})),
        budget("elsewhere", "everything", 0, json!({})),
        budget("shop", "nothing", 0, serde_json::Value::Null),
        budget("shop", "another", 0, json!({"matchLabels": {"app": "z"}})),
        budget("shop", "not-in", 0, expression("NotIn", &["a", "b", "c", "d", "e", "f", "going", "kept"])),
        budget("shop", "absent", 0, json!({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]})),
        budget("shop", "unheard-of", 0, expression("Near", &["a"])),
        budget("shop", "of-the-daemon", 0, json!({"matchLabels": {"app": "of-a-daemon"}})),
    ];
    world.advance(SignedDuration::from_mins(63));
    world.pass();
    assert_eq!(
        waits_for(&world).as_deref(),
        Some(
            "PodDisruptionBudgets that allow no eviction: shop/by-label, shop/everything, shop/exists, shop/in; \
             Pods left: shop/a, shop/b, shop/c, shop/d, shop/e and 3 more"
        )
    );
    world.pods.retain(|name, _| ["going", "kept"].contains(&name.as_str()));
    world.budgets.clear();
    world.pass();
    assert_eq!(waits_for(&world).as_deref(), Some("Pods left: shop/going (terminating), shop/kept (do-not-disrupt)"));
}

#[test]
fn the_phase_of_a_drain_is_told_where_karpenter_keeps_it() {
    let rows: [(&[(&str, &str)], &str); 5] = [
        (&[], ""),
        (&[("Drained", "Unknown")], "Pods are being evicted (condition Drained)"),
        (
            &[("Drained", "True"), ("VolumesDetached", "Unknown")],
            "the Pods are gone, their volumes are still attached (condition VolumesDetached)",
        ),
        (
            &[("Drained", "True"), ("VolumesDetached", "True"), ("InstanceTerminating", "True")],
            "the instance is terminating (condition InstanceTerminating)",
        ),
        (&[("Drained", "False"), ("InstanceTerminating", "True")], "the instance is terminating (condition InstanceTerminating)"),
    ];
    for (conditions, expected) in rows {
        let mut world = draining();
        let conditions = conditions.iter().map(|(type_, status)| Condition { type_: (*type_).to_owned(), status: (*status).to_owned() });
        world.claim_mut(OLD).status.as_mut().unwrap().conditions.extend(conditions);
        world.advance(SignedDuration::from_mins(63));
        world.pass();
        assert_eq!(waits_for(&world).as_deref(), Some(expected));
    }
}

#[test]
fn while_a_claim_drains_nothing_is_read_but_the_caches() {
    let mut world = draining();
    world.looks.set(0);
    for _ in 0..10 {
        world.advance(SignedDuration::from_secs(30));
        assert!(world.pass().is_empty());
        assert!(matches!(world.activity(), Activity::Draining(claim) if claim == OLD));
    }
    assert_eq!(world.looks.get(), 0);
    // The cache still shows a claim that is gone: nothing is decided from that.
    let before = world.clone();
    world.finish_drains();
    assert!(world.pass_after(Some(&before)).is_empty() && world.anchored());
    assert_eq!(outcomes(&world.pass()), [Outcome::Success]);
}

#[test]
fn a_host_that_is_taken_away_in_mid_drain_loses_its_placeholder_and_is_told_once() {
    type Taking = fn(&mut World);
    let ways: [Taking; 2] = [
        |world| world.claim_mut("surge-1").metadata.deletion_timestamp = Some(world::time(world.now)),
        |world| world.node_mut("surge-1").metadata.deletion_timestamp = Some(world::time(world.now)),
    ];
    for take in ways {
        let mut world = draining();
        take(&mut world);
        let mut told = world.pass();
        told.extend(world.pass());
        assert!(matches!(told.as_slice(), [Announcement::ReservationLost { .. }]), "{told:?}");
        assert!(world.pods.is_empty());
    }
}
