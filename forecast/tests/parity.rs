//! What is foreseen is what the operator then does: the forecast beside the simulated cluster of `sim/`, in which the same
//! code runs pass by pass, with a Karpenter that takes as long as the policy estimates.
//!
//! `FORECAST_WORLDS=1000` compares as many worlds.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "the whole file is a test")]

#[path = "parity/live.rs"]
mod live;

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use noderotation_core::policy::governing::Governing;
use noderotation_forecast::{Cluster, Mode, Question, forecast};
use noderotation_sim::instant::{DAY, HOUR, Instant, MINUTE};
use noderotation_sim::random::Random;
use noderotation_sim::setup::{Perturbations, Policy, Schedule, Seed, Setup};
use noderotation_sim::sight::Sight;
use noderotation_sim::world::World;
use noderotation_sim::world::object::Role;
use serde_json::json;

/// A node whose end has begun: when, whose, and how.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Begun {
    at: Instant,
    claim: String,
    how: How,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum How {
    Surge,
    Surgeless,
    Expired,
}

/// Worlds that are compared unless more are asked for.
const WORLDS: u64 = 100;
/// Days of a life.
const DAYS: u32 = 60;

#[test]
fn what_is_foreseen_is_what_the_operator_then_does_start_by_start() {
    let worlds = std::env::var_os("FORECAST_WORLDS").map_or(WORLDS, |count| count.to_str().unwrap().parse().unwrap());
    let (mut compared, mut failures, mut kinds) = (0, 0, std::collections::BTreeMap::<How, usize>::new());
    for seed in 0..worlds {
        let setup = setup(seed);
        let mut world = World::new(&setup);
        // Nobody's work goes to the nodes of another pool.
        let pools: Vec<u8> = setup.seeds.iter().map(|seed| seed.pool).collect();
        world.pods.iter_mut().for_each(|pod| pod.pool = pod.node.map(|node| pools[usize::from(node)]));
        let (mut foreseen, (mut lived, failed)) = (foreseen(&setup, &world), live::through(&setup, world.clone()));
        if let Some(failed) = failed {
            failures += 1;
            [&mut foreseen, &mut lived].into_iter().for_each(|begun| begun.retain(|begun| begun.at < failed));
        }
        assert_eq!(foreseen, lived, "seed {seed}: on the left what was foreseen\n{:#?}\n{:?}", setup.schedule, setup.seeds);
        compared += lived.len();
        lived.iter().for_each(|begun| *kinds.entry(begun.how).or_default() += 1);
    }
    assert!(compared > usize::try_from(worlds).unwrap() * 2, "only {compared} ends were compared");
    assert!(failures * 20 <= worlds, "in {failures} of {worlds} worlds an attempt has failed");
    assert_eq!(kinds.len(), 3, "not every kind of end has occurred: {kinds:?}");
}

/// A world in which every node is full, so that the place where a Pod lands is nobody's choice.
fn setup(seed: u64) -> Setup {
    let mut random = Random::new(seed ^ 0x00f0_4ec4);
    let mut weekdays: Vec<u32> = (0..random.between(1, 4)).map(|_| random.between(0, 6)).collect();
    weekdays.sort_unstable();
    weekdays.dedup();
    let opens = random.between(0, 18) * HOUR;
    let schedule = Schedule {
        weekdays,
        opens,
        closes: opens + random.between(1, 10) * HOUR / 2,
        ready_timeout: random.between(3, 20) * MINUTE,
        cooldown_after: random.between(0, 15) * MINUTE,
        failure_pause: random.between(1, 20) * MINUTE,
        retry_backoff: random.between(20, 40) * MINUTE,
        chances: random.between(1, 2),
        fallback: random.chance(50),
    };
    let start = Instant::at(37, 0, 0);
    let mut setup = Setup::new(&format!("parity {seed}"), schedule, start, start.plus(DAYS * DAY));
    setup.pools = u8::try_from(random.between(1, 3)).unwrap();
    for pool in 0..setup.pools {
        let life = random.between(10, 30) * DAY;
        let grace = *random.pick(&[0, 5 * MINUTE, HOUR, DAY]).unwrap();
        for _ in 0..random.between(1, 6) {
            // Some were born together, some have little left.
            let age = if random.chance(40) { life / 2 } else { random.between(0, life - 1) };
            setup.seeds.push(Seed { pool, created: start.minus(age), expire_after: life, grace, work: 2 });
        }
    }
    setup.most_claims = setup.seeds.len() * 3;
    setup.perturbations = Perturbations::NONE;
    setup
}

fn governing(setup: &Setup) -> Arc<Governing> {
    setup.entries(Policy::Valid)[0].judgement.clone().unwrap()
}

/// The forecast for what the simulated operator would observe.
fn foreseen(setup: &Setup, world: &World) -> Vec<Begun> {
    let mut cluster = Cluster { policies: setup.entries(Policy::Valid).to_vec(), ..Cluster::default() };
    for pool in &world.pools {
        let observation = Sight::first(world, None, pool.id, true).unwrap().observation(setup);
        cluster.pools.push(observation.pool);
        for (mut node, claim) in observation.nodes.into_iter().zip(&observation.claims) {
            node.status.as_mut().unwrap().allocatable = Some(claim.status.as_ref().unwrap().allocatable.clone());
            cluster.nodes.push(node);
        }
        cluster.claims.extend(observation.claims);
    }
    cluster.pods = world.pods.iter().filter(|pod| matches!(pod.role, Role::Work(_))).map(pod).collect();
    let question = Question { now: setup.start.timestamp(), until: setup.horizon.timestamp(), whole: false };
    let entries = forecast(cluster, question).into_iter().flat_map(|pool| pool.entries).filter(|entry| !entry.successor);
    let mut begun: Vec<Begun> = entries
        .map(|entry| Begun {
            at: Instant::of(entry.start).unwrap(),
            claim: entry.claim,
            how: match entry.mode {
                Mode::Provisioned => How::Surge,
                Mode::Surgeless => How::Surgeless,
                Mode::Expired => How::Expired,
                Mode::Absorbed => panic!("a full node has taken a placeholder in"),
            },
        })
        .collect();
    begun.sort();
    begun
}

fn pod(pod: &noderotation_sim::world::object::Pod) -> Pod {
    let cpu = format!("{}m", pod.milli);
    serde_json::from_value(json!({
        "metadata": {"name": pod.role.to_string(), "namespace": "apps"},
        "spec": {
            "nodeName": pod.node.map(|node| format!("node-{node}")),
            "containers": [{"name": "main", "resources": {"requests": {"cpu": cpu}}}],
        }
    }))
    .unwrap()
}
