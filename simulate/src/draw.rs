//! What is left to chance. The n-th draw for a purpose in a pool is the same for a seed whatever happened before, so that two
//! policies meet the same weather.

use std::time::Duration;

use fastrand::Rng;

use crate::fleet::{Chance, Spread};

/// What is drawn for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    /// When a node of the beginning was born.
    Birth,
    /// How long a launch takes.
    Launch,
    /// Whether a launch comes to nothing.
    LaunchFails,
    /// How long a drain takes.
    Drain,
    /// Whether a drain is blocked.
    Blocked,
    /// For how long.
    BlockedFor,
    /// Which node goes when there is too little work.
    ScaleDown,
}

const PURPOSES: usize = 7;

/// The draws of one pool.
pub(crate) struct Draw {
    base: u64,
    count: [u64; PURPOSES],
}

impl Draw {
    /// The draws of the pool `name`.
    pub(crate) fn new(seed: u64, name: &str) -> Self {
        // FNV-1a: the same on every machine.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        Self { base: mixed(seed) ^ hash, count: [0; PURPOSES] }
    }

    fn next(&mut self, purpose: Purpose) -> Rng {
        let index = purpose as usize;
        let count = self.count.get_mut(index).map_or(0, |count| {
            *count += 1;
            *count
        });
        Rng::with_seed(mixed(self.base ^ mixed(count.wrapping_mul(8).wrapping_add(index as u64))))
    }

    /// Below `limit`; 0 if that is 0.
    pub(crate) fn below(&mut self, purpose: Purpose, limit: u64) -> u64 {
        if limit == 0 { 0 } else { self.next(purpose).u64(0..limit) }
    }

    /// It happens.
    pub(crate) fn happens(&mut self, purpose: Purpose, chance: Chance) -> bool {
        self.below(purpose, 1_000_000) < u64::from(chance.millionths)
    }

    /// So long.
    pub(crate) fn time(&mut self, purpose: Purpose, spread: &Spread) -> Duration {
        spread.at(self.below(purpose, 1_000_000))
    }
}

/// The finaliser of `SplitMix64`: neighbours become strangers.
fn mixed(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draw_depends_on_nothing_but_seed_pool_purpose_and_number() {
        let (mut one, mut other) = (Draw::new(7, "api"), Draw::new(7, "api"));
        let _of_another_purpose = one.below(Purpose::Drain, 1000);
        let draws = |draw: &mut Draw| (0..5).map(|_| draw.below(Purpose::Launch, 1_000_000)).collect::<Vec<_>>();
        let first = draws(&mut one);
        assert_eq!(first, draws(&mut other));
        assert_ne!(first, draws(&mut Draw::new(8, "api")));
        assert_ne!(first, draws(&mut Draw::new(7, "web")));
    }

    #[test]
    fn a_chance_of_a_fifth_happens_about_every_fifth_time() {
        let mut draw = Draw::new(1, "api");
        let happened = (0..10_000).filter(|_| draw.happens(Purpose::Blocked, Chance { millionths: 200_000 })).count();
        assert!((1_850..2_150).contains(&happened), "{happened}");
    }
}
