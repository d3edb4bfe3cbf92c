//! The worlds that are explored. Faults of this kind show in small ones.

use crate::instant::{HOUR, Instant, MINUTE};
use crate::setup::{Perturbations, Schedule, Seed, Setup};

const DAY: u32 = crate::instant::DAY;

/// Wednesdays and Saturdays from two to three.
fn schedule() -> Schedule {
    Schedule {
        weekdays: vec![2, 5],
        opens: 2 * HOUR,
        closes: 3 * HOUR,
        ready_timeout: 15 * MINUTE,
        cooldown_after: 10 * MINUTE,
        failure_pause: 10 * MINUTE,
        retry_backoff: 30 * MINUTE,
        chances: 2,
        fallback: false,
    }
}

/// A Wednesday, so that the window is ahead.
const WEDNESDAY: u32 = 37;

fn seed(pool: u8, age: u32, work: u16) -> Seed {
    Seed { pool, created: Instant::at(WEDNESDAY, 0, 0).minus(age), expire_after: 14 * DAY, grace: HOUR, work }
}

/// A world, and with how many perturbations it is explored.
#[derive(Clone, Debug)]
pub struct Exploration {
    /// The world.
    pub setup: Setup,
    /// Perturbations.
    pub budget: u32,
}

/// The worlds of `make model`. The smallest is explored with `depth` perturbations of any kind, larger ones with one less,
/// and those in which only leaders fail with as many again.
#[must_use]
pub fn all(depth: u32) -> Vec<Exploration> {
    let less = depth.saturating_sub(1);
    let worlds = [(smallest(), depth), (rivals(), less), (neighbours(), less), (patient(), less), (urgent(), less)];
    let narrow = [(without_others(rivals()), depth), (without_others(smallest()), depth + 1)];
    worlds.into_iter().chain(narrow).map(|(setup, budget)| Exploration { setup, budget }).collect()
}

/// The worlds in which faults are looked for that were put in on purpose, those that are explored soonest first.
#[must_use]
pub fn for_faults() -> Vec<Exploration> {
    let quick = [smallest(), urgent(), without_others(rivals())].map(|setup| Exploration { setup, budget: 0 });
    let perturbed = [smallest(), urgent(), rivals(), neighbours()].map(|setup| Exploration { setup, budget: 1 });
    let mut among_people = rivals();
    among_people.name.push_str(", only people interfere");
    among_people.perturbations = Perturbations { people: true, ..Perturbations::NONE };
    let deep = [(without_others(rivals()), 2), (among_people, 3), (smallest(), 2)].map(|(setup, budget)| Exploration { setup, budget });
    quick.into_iter().chain(perturbed).chain(deep).collect()
}

/// The same world, in which only leaders fail: they crash, pause, lose answers and look at old caches.
fn without_others(mut setup: Setup) -> Setup {
    setup.name.push_str(", only leaders fail");
    setup.perturbations = Perturbations { crashes: true, lags: true, ..Perturbations::NONE };
    setup
}

/// One pool, two claims, one leader.
#[must_use]
pub fn smallest() -> Setup {
    let start = Instant::at(WEDNESDAY, 1, 59);
    let mut setup = Setup::new("one pool, two claims, one leader", schedule(), start, Instant::at(WEDNESDAY, 4, 0));
    // The first reaches its deadline while the window is open.
    setup.seeds = vec![seed(0, 14 * DAY - 2 * HOUR - 40 * MINUTE, 1), seed(0, 11 * DAY, 2)];
    setup.most_claims = 4;
    setup.perturbations = Perturbations::ALL;
    setup
}

/// One pool, three claims, two leaders that both write.
#[must_use]
pub fn rivals() -> Setup {
    let mut setup = smallest();
    setup.name = "one pool, three claims, two leaders".to_owned();
    setup.leaders = 2;
    // The third is young: its node is where a placeholder may land.
    setup.seeds.push(seed(0, DAY, 0));
    setup.most_claims = 5;
    setup
}

/// Two pools with two claims each, one leader.
#[must_use]
pub fn neighbours() -> Setup {
    let mut setup = smallest();
    setup.name = "two pools, two claims each, one leader".to_owned();
    setup.pools = 2;
    setup.seeds = vec![seed(0, 11 * DAY, 1), seed(1, 11 * DAY, 1), seed(0, DAY, 0), seed(1, DAY, 0)];
    setup.most_claims = 6;
    setup
}

/// One pool whose claims drain without a limit of time.
#[must_use]
pub fn patient() -> Setup {
    let mut setup = smallest();
    setup.name = "one pool, two claims without a grace period, one leader".to_owned();
    for seed in &mut setup.seeds {
        seed.grace = 0;
    }
    setup
}

/// One pool whose policy asks for a drain without a surge near the deadline.
#[must_use]
pub fn urgent() -> Setup {
    let start = Instant::at(WEDNESDAY, 1, 59);
    let schedule = Schedule { fallback: true, ..schedule() };
    let mut setup = Setup::new("one pool, two claims near their deadlines, one leader", schedule, start, Instant::at(WEDNESDAY, 4, 0));
    // One is late from the beginning, the other becomes so while it waits for its surge.
    setup.seeds = vec![seed(0, 14 * DAY - 2 * HOUR - 10 * MINUTE, 1), seed(0, 14 * DAY - 2 * HOUR - 40 * MINUTE, 1)];
    setup.most_claims = 4;
    setup
}
