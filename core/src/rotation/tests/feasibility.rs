//! What a pass makes of findings about the schedule, and of limits.

use serde_json::json;

use super::*;

fn codes(world: &World) -> Vec<(String, bool)> {
    let finding = |n: &Notice| if let Notice::Finding { code, fatal, .. } = n { Some((code.to_string(), *fatal)) } else { None };
    world.notices.iter().filter_map(finding).collect()
}

/// With a day of life, a claim of the template would be due before it was made.
fn make_infeasible(world: &mut World) {
    world.pool.spec.template.spec.expire_after = Some("24h".to_owned());
}

#[test]
fn t57_a_schedule_that_cannot_work_starts_nothing_and_ends_nothing() {
    let mut idle = world();
    make_infeasible(&mut idle);
    assert!(idle.pass().is_empty() && !idle.anchored());
    assert_eq!((idle.activity(), codes(&idle)), (&Activity::Infeasible, vec![("ANonPositive".to_owned(), true)]));

    // Neither without a surge.
    let mut late = world();
    late.govern(&json!({"forcefulFallback": {"enabled": true}}));
    late.claim_mut(OLD).metadata.creation_timestamp = Some(world::time(late.now - SignedDuration::from_hours(336)));
    let twin = late.clone();
    make_infeasible(&mut late);
    assert!(late.pass().is_empty() && late.deleted.is_empty());
    assert!(!twin.clone().pass().is_empty(), "its twin without the change");

    // What is in flight goes on, whether it waits or drains.
    for ready in [false, true] {
        let mut world = world();
        world.pass();
        if ready {
            world.provision();
            world.pass();
        }
        make_infeasible(&mut world);
        let mut told = world.pass();
        told.extend(drive(&mut world, None));
        assert_eq!(outcomes(&told), [Outcome::Success], "ready: {ready}");
        world.assert_clean();
    }
}

#[test]
fn t54_the_forecast_knows_how_many_claims_there_are() {
    let names: Vec<String> = (0..21).map(|number| format!("claim-{number:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    // Ten rotations fit into a window, and two windows into a claim's time.
    for (count, told) in [(20, false), (21, true)] {
        let mut world = World::with_claims(&names[..count]);
        world.annotate_pool(FREEZE, "2027-01-01T00:00:00Z");
        world.pass();
        assert_eq!(codes(&world).contains(&("ThroughputBurstShortfall".to_owned(), false)), told, "{count} claims");
    }
}

#[test]
fn t65_what_is_doubtful_and_what_lives_too_short_is_told_in_every_phase() {
    let mut world = world();
    world.pool.spec.template.spec.termination_grace_period = None;
    world.claims.insert("short".to_owned(), claim_named("short", "2026-01-07T01:00:00Z"));
    world.nodes.insert("short".to_owned(), node_named("short"));
    world.claim_mut("short").spec.expire_after = Some("193h".to_owned());
    world.annotate_claim("short", STATE, "expired");
    let told = |world: &World| {
        let short: Vec<_> = world.notices.iter().filter(|n| matches!(n, Notice::ShortLead { .. })).cloned().collect();
        (codes(world), short)
    };
    let expected = (vec![("TGPUnset".to_owned(), false)], vec![Notice::ShortLead { claim: "short".to_owned() }]);
    world.pass();
    assert_eq!(told(&world), expected, "pending");
    world.provision();
    world.pass();
    world.advance(SignedDuration::from_secs(30));
    world.pass();
    assert_eq!(told(&world), expected, "draining");
    world.finish_drains();
    world.pass();
    assert_eq!(told(&world), expected, "ending");
    world.pass();
    assert_eq!(told(&world), expected, "at rest");
}

#[test]
fn t40_limits_are_held_against_what_is_asked_for_in_the_end() {
    // The Pods ask for 4 cpus; the claim offers 3, and that is what the placeholder asks for.
    for (limit, fits) in [("11", true), ("10999m", false)] {
        let mut world = world();
        world.add_workload(OLD);
        let spec = world.pods.get_mut("workload").unwrap().spec.as_mut().unwrap();
        spec.containers = vec![serde_json::from_value(json!({"name": "a", "resources": {"requests": {"cpu": "4"}}})).unwrap()];
        let allocatable = serde_json::from_value(json!({"cpu": "3"})).unwrap();
        world.claim_mut(OLD).status.as_mut().unwrap().allocatable = allocatable;
        world.limit("cpu", limit, "8");
        world.pass();
        assert_eq!(world.anchored(), fits, "{limit}");
    }
}
