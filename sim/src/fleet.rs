//! A cluster made up from a seed: schedule, pools, claims and their work.

use crate::instant::{DAY, HOUR, Instant, MINUTE};
use crate::random::Random;
use crate::setup::{Perturbations, Schedule, Seed, Setup};

/// The day on which every simulation begins.
const FIRST: u32 = 37;

/// How many of a hundred moves are perturbations, one rate a seed.
const RATES: [u32; 3] = [0, 1, 20];

/// A cluster and how rough its life is.
#[derive(Clone, Debug)]
pub struct Fleet {
    /// The cluster.
    pub setup: Setup,
    /// Perturbations of a hundred moves.
    pub rate: u32,
    /// When the simulation ends.
    pub until: Instant,
}

impl Fleet {
    /// The fleet of a seed, to be simulated for so many days.
    #[must_use]
    pub fn of(seed: u64, days: u32) -> Self {
        let mut random = Random::new(seed);
        let schedule = schedule(&mut random);
        let start = Instant::at(FIRST, 0, 0);
        let until = start.plus(days * DAY);
        let rate = RATES.get(usize::try_from(seed % 3).unwrap_or_default()).copied().unwrap_or_default();
        let mut setup = Setup::new(&format!("seed {seed}"), schedule, start, until);
        setup.pools = u8::try_from(random.between(1, 3)).unwrap_or(1);
        setup.leaders = u8::try_from(random.between(1, 2)).unwrap_or(1);
        for pool in 0..setup.pools {
            let life = random.between(12, 40) * DAY;
            let grace = random.pick(&[0, 10 * MINUTE, HOUR, DAY]).copied().unwrap_or_default();
            for _ in 0..random.between(1, 4) {
                // Some were born together.
                let age = if random.chance(30) { life / 2 } else { random.between(0, life - 1) };
                let work = u16::try_from(random.between(0, 2)).unwrap_or_default();
                setup.seeds.push(Seed { pool, created: start.minus(age), expire_after: life, grace, work });
            }
        }
        setup.most_claims = setup.seeds.len() + 3 * usize::from(setup.pools);
        setup.perturbations = Perturbations::ALL;
        Self { setup, rate, until }
    }
}

fn schedule(random: &mut Random) -> Schedule {
    let mut weekdays: Vec<u32> = (0..random.between(1, 4)).map(|_| random.between(0, 6)).collect();
    weekdays.sort_unstable();
    weekdays.dedup();
    let opens = random.between(0, 18) * HOUR;
    let ready_timeout = random.between(3, 20) * MINUTE;
    let cooldown_after = random.between(0, 15) * MINUTE;
    Schedule {
        weekdays,
        opens,
        closes: opens + random.between(1, 10) * HOUR / 2,
        ready_timeout,
        cooldown_after,
        failure_pause: random.between(1, 20) * MINUTE,
        retry_backoff: random.between(5, 40) * MINUTE,
        chances: random.between(1, 2),
        fallback: random.chance(30),
    }
}
