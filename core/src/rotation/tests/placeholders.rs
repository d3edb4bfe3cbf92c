//! What counts as a reservation, and what becomes of a placeholder that is none.

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::*;

const NAME: &str = "noderotation-surge-old";

/// Claim `old` with a Pod that asks for 4 cpus, and its placeholder.
fn pending() -> World {
    let mut world = world();
    world.add_workload(OLD);
    let spec = world.pods.get_mut("workload").unwrap().spec.as_mut().unwrap();
    spec.containers = vec![serde_json::from_value(serde_json::json!({"name": "a", "resources": {"requests": {"cpu": "4"}}})).unwrap()];
    world.pass();
    world
}

fn lost(told: &[Announcement]) -> usize {
    told.iter().filter(|announcement| matches!(announcement, Announcement::ReservationLost { .. })).count()
}

fn rejected(world: &World) -> Option<String> {
    let mut notices = world.notices.iter();
    notices.find_map(|n| if let Notice::SurgeRejected { message, .. } = n { Some(message.clone()) } else { None })
}

fn take_host(world: &mut World) {
    world.claim_mut("surge-1").metadata.deletion_timestamp = Some(world::time(world.now));
}

#[test]
fn a_placeholder_leaves_a_host_that_is_taken_away_and_looks_for_another() {
    let mut world = pending();
    world.provision();
    world.node_mut("surge-1").status = None;
    world.pass();
    assert_eq!(world.claim_annotation(OLD, SURGE_CLAIM).as_deref(), Some("surge-1"));
    take_host(&mut world);
    let mut told = world.pass();
    // The claim still says which host it was; the new placeholder has none yet and stays.
    told.extend(world.pass());
    assert_eq!(lost(&told), 1);
    assert!(world.pods[NAME].spec.as_ref().unwrap().node_name.is_none() && world.deleted.is_empty());
    world.finish_drains();
    world.provision();
    let told = world.pass();
    assert!(told.iter().any(|a| matches!(a, Announcement::SurgeReady { surge_node, .. } if surge_node == "surge-2")));
    assert_eq!(world.deleted, [OLD]);
}

#[test]
fn a_placeholder_leaves_such_a_host_also_during_a_freeze_and_is_not_made_anew_before_its_end() {
    let mut world = pending();
    world.provision();
    world.annotate_pool(FREEZE, "2027-01-01T00:00:00Z");
    take_host(&mut world);
    assert_eq!(lost(&world.pass()), 1);
    assert!(!world.pods.contains_key(NAME));
    world.annotate_pool(FREEZE, "2025-01-01T00:00:00Z");
    world.pass();
    assert!(world.pods.contains_key(NAME));
}

#[test]
fn a_placeholder_that_was_made_smaller_on_its_way_in_reserves_nothing_and_says_so() {
    for (requests, ready) in [(Some("4"), true), (Some("4000m"), true), (Some("5"), true), (Some("3999m"), false), (None, false)] {
        let mut world = pending();
        let pod = world.pods.get_mut(NAME).unwrap();
        assert_eq!(pod.metadata.annotations.as_ref().unwrap()[REQUESTS], "cpu=4");
        let requests = requests.map(|cpu| [("cpu".to_owned(), Quantity(cpu.to_owned()))].into());
        pod.spec.as_mut().unwrap().containers[0].resources.as_mut().unwrap().requests = requests.clone();
        world.provision();
        world.pass();
        assert_eq!(world.deleted.len(), usize::from(ready), "{requests:?}");
        assert_eq!(rejected(&world).is_some(), !ready, "{requests:?}");
    }
    // One of an older controller does not say what it was made with.
    let mut world = pending();
    let pod = world.pods.get_mut(NAME).unwrap();
    pod.metadata.annotations.as_mut().unwrap().remove(REQUESTS);
    pod.spec.as_mut().unwrap().containers[0].resources = None;
    world.provision();
    world.pass();
    assert_eq!(world.deleted, [OLD]);
}

#[test]
fn a_placeholder_that_has_run_to_its_end_is_replaced() {
    for phase in ["Failed", "Succeeded"] {
        let mut world = pending();
        let before = world.pods[NAME].metadata.uid.clone();
        world.provision();
        world.pods.get_mut(NAME).unwrap().status.as_mut().unwrap().phase = Some(phase.to_owned());
        world.pass();
        assert!(world.pods[NAME].metadata.uid != before && world.deleted.is_empty(), "{phase}");
    }
}

#[test]
fn a_pod_of_another_that_has_the_placeholders_name_is_named_and_never_touched() {
    type Change = fn(&mut k8s_openapi::api::core::v1::Pod);
    let ways: [(&str, Change); 2] = [
        ("without our label", |pod| {
            pod.metadata.labels.as_mut().unwrap().remove(SURGE_FOR);
        }),
        ("of another claim", |pod| {
            pod.metadata.annotations.as_mut().unwrap().insert(SURGE_FOR.to_owned(), "another".to_owned());
        }),
    ];
    for (way, change) in ways {
        let mut world = pending();
        change(world.pods.get_mut(NAME).unwrap());
        world.provision();
        world.pass();
        assert!(rejected(&world).is_some_and(|message| message.contains(NAME)), "{way}");
        world.advance(SignedDuration::from_mins(16));
        assert_eq!(outcomes(&world.pass()), [Outcome::Failure], "{way}");
        assert!(world.pods.contains_key(NAME) && world.deleted.is_empty(), "{way}");
    }
}

#[test]
fn t31_a_preempted_placeholder_is_no_reservation() {
    let mut world = pending();
    world.provision();
    world.pods.get_mut(NAME).unwrap().metadata.deletion_timestamp = Some(world::time(world.now));
    world.pass();
    assert!(world.deleted.is_empty());
}

#[test]
fn c121_c122_t51_a_protection_that_protects_nothing_is_replaced_and_told_unless_it_says_false() {
    for (value, told) in [("4h", true), ("True", true), ("false", false)] {
        let mut world = world();
        world.node_mut(OLD).metadata.annotations = Some([(DO_NOT_DISRUPT.to_owned(), value.to_owned())].into());
        let announcements = world.pass();
        let opt_outs = announcements.iter().filter(|a| matches!(a, Announcement::UnrecognisedOptOut { value: v, .. } if v == value));
        assert_eq!(opt_outs.count(), usize::from(told), "{value}");
        let on_node = world.node(OLD).metadata.annotations.as_ref().unwrap();
        assert_eq!((on_node[DO_NOT_DISRUPT].as_str(), on_node.contains_key(DO_NOT_DISRUPT_OWNED)), ("true", true), "{value}");
        assert!(!world.pass().iter().any(|a| matches!(a, Announcement::UnrecognisedOptOut { .. })), "{value}");
    }
}

#[test]
fn a_reservation_is_sound_only_if_nothing_is_wrong_with_its_host() {
    type Setting = fn(&mut World);
    let rows: [(&str, Setting, bool); 9] = [
        ("as it is", |_| {}, true),
        ("on the candidate", |world| world.bind(NAME, OLD), false),
        ("on a node that is not there", |world| drop(world.nodes.remove("surge-1")), false),
        ("on a node without a claim", |world| drop(world.claims.remove("surge-1")), false),
        (
            "on a node of another pool",
            |world| {
                world.node_mut("surge-1").metadata.labels.as_mut().unwrap().insert(NODEPOOL_LABEL.to_owned(), "b".to_owned());
            },
            false,
        ),
        ("on a node that is not Ready", |world| world.node_mut("surge-1").status = None, false),
        (
            "on a node that is not initialized",
            |world| world.claim_mut("surge-1").status.as_mut().unwrap().conditions.retain(|condition| condition.type_ != "Initialized"),
            false,
        ),
        ("on a node that is going", |world| world.node_mut("surge-1").metadata.deletion_timestamp = Some(world::time(world.now)), false),
        ("on a node whose claim is going", take_host, false),
    ];
    for (name, set, sound) in rows {
        let mut world = pending();
        world.provision();
        let mut kept_back = world.clone();
        set(&mut world);
        world.pass();
        assert_eq!(world.deleted.contains(&OLD.to_owned()), sound, "{name}");
        // The same where the mirror stands and the delete was kept back by a crash.
        kept_back.fail_deletes = true;
        kept_back.pass();
        kept_back.fail_deletes = false;
        set(&mut kept_back);
        kept_back.pass();
        assert_eq!(kept_back.deleted.contains(&OLD.to_owned()), sound, "{name}, kept back");
        assert_eq!(kept_back.pool_annotation(ACTIVE_ROTATION_STATE).is_some(), sound, "{name}, kept back");
    }
}

#[test]
fn c144_c146_c150_what_ends_what_listens_and_how_many_there_are_makes_no_difference_to_a_reservation() {
    let mut world = world();
    for number in 0..30 {
        world.add_workload(OLD);
        let mut pod = world.pods.remove("workload").unwrap();
        let ports = serde_json::json!({"name": "a", "ports": [{"containerPort": 80, "hostPort": 80}]});
        pod.spec.as_mut().unwrap().containers = vec![serde_json::from_value(ports).unwrap()];
        pod.metadata.name = Some(format!("tiny-{number}"));
        pod.metadata.deletion_timestamp = (number == 0).then(|| world::time(world.now));
        world.pods.insert(format!("tiny-{number}"), pod);
    }
    let told = world.pass();
    let counted =
        told.iter().find_map(|a| if let Announcement::PlaceholderCreated { sizing, .. } = a { Some(sizing.clone()) } else { None });
    let counted = counted.unwrap();
    assert_eq!((counted.count(crate::placeholder::Kind::Reschedulable), counted.requests_line().as_str()), (30, "cpu=1m"));
    world.provision();
    world.pass();
    assert_eq!(world.deleted, [OLD]);
}

#[test]
fn c103_a_ready_claim_whose_node_is_missing_is_no_candidate_and_an_attempt_on_it_times_out() {
    let mut world = world();
    world.nodes.remove(OLD);
    assert!(world.pass().is_empty());
    assert_eq!(world.activity(), &Activity::NoEligibleClaim);
    let survey = world.decide().report.survey.unwrap();
    assert_eq!(survey.census, [(crate::selection::Standing::NotReady, 1)].into());

    let mut world = self::world();
    world.pass();
    world.nodes.remove(OLD);
    world.pods.clear();
    world.pass();
    assert!(world.pods.is_empty());
    world.advance(SignedDuration::from_mins(16));
    assert_eq!(outcomes(&world.pass()), [Outcome::Failure]);
}
