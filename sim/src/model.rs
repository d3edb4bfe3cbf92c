//! The explorer: every state that a world can reach within a number of perturbations.
//!
//! States are visited in layers, by the least number of perturbations that leads to them, so that the number left need
//! not be part of a state. Within a layer everything that is free is explored to its end.

pub mod fair;
mod store;
pub mod story;
#[cfg(test)]
mod tests;
pub mod worlds;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::coverage::Coverage;
use crate::decide::Decider;
use crate::fingerprint::fingerprint;
use crate::invariant::Violation;
use crate::moves::{Move, moves};
use crate::play::{Played, play};
use crate::setup::Setup;
use crate::world::World;
use fair::Fair;
use store::{Origin, Store};
use story::Story;

/// What an exploration came to.
#[derive(Debug)]
pub struct Report {
    /// The world.
    pub name: String,
    /// Distinct states within each number of perturbations.
    pub states: Vec<u64>,
    /// Moves made.
    pub transitions: u64,
    /// How often the product was asked, and how often it had to think.
    pub decisions: (u64, u64),
    /// States from which a fair run was followed to its end or to a state known to end well.
    pub fair: u64,
    /// One story for each kind of violation.
    pub stories: Vec<Story>,
    /// What has happened at all.
    pub coverage: Coverage,
}

impl Report {
    /// All distinct states.
    #[must_use]
    pub fn distinct(&self) -> u64 {
        self.states.iter().sum()
    }
}

/// How a state was reached, the move from there that broke a rule (none: the fair run did), and the rule.
type Found = (Origin, Option<Move>, Violation);

/// Explores a world.
pub struct Explorer<'a> {
    setup: &'a Setup,
    decider: Decider,
    store: Store,
    fair: Fair,
    threads: usize,
    only_first: bool,
    transitions: AtomicU64,
    found: Mutex<BTreeMap<String, Found>>,
    coverage: Mutex<Coverage>,
}

/// States still to be expanded, and how many threads are at it.
#[derive(Default)]
struct Queue {
    waiting: Vec<World>,
    busy: usize,
}

impl<'a> Explorer<'a> {
    /// For one world.
    #[must_use]
    pub fn new(setup: &'a Setup, threads: usize) -> Self {
        Self {
            setup,
            decider: Decider::default(),
            store: Store::default(),
            fair: Fair::default(),
            threads: threads.max(1),
            only_first: false,
            transitions: AtomicU64::new(0),
            found: Mutex::default(),
            coverage: Mutex::default(),
        }
    }

    /// Explores no further once a violation was found.
    #[must_use]
    pub fn until_first(mut self) -> Self {
        self.only_first = true;
        self
    }

    fn is_over(&self) -> bool {
        self.only_first && !lock(&self.found).is_empty()
    }

    /// Visits every state within `budget` perturbations; beyond a violation it does not go.
    #[must_use]
    pub fn run(self, budget: u32) -> Report {
        let first = World::new(self.setup);
        let mut layers: Vec<Vec<World>> = Vec::new();
        let mut states = Vec::new();
        for cost in 0..=budget {
            let keep = cost < budget;
            let expanded = Mutex::new(Vec::new());
            let count = AtomicU64::new(0);
            let layer = Layer { explorer: &self, cost, keep, expanded: &expanded, count: &count };
            if cost == 0 {
                self.store.insert(print(&first), Origin { parent: 0, place: 0, cost: 0 });
                layer.close(vec![first.clone()]);
            } else {
                let sources = layers.iter().enumerate().filter_map(|(from, worlds)| Some((u32::try_from(from).ok()?, worlds.as_slice())));
                for (from, worlds) in sources {
                    layer.enter(worlds, cost - from);
                }
            }
            states.push(count.into_inner());
            layers.push(expanded.into_inner().unwrap_or_else(PoisonError::into_inner));
        }
        drop(layers);
        self.report(states)
    }

    fn report(self, states: Vec<u64>) -> Report {
        let found = self.found.into_inner().unwrap_or_else(PoisonError::into_inner);
        let tell = |(origin, last, violation)| Story::of(self.setup, &self.decider, &self.store.path(origin), last, violation);
        let stories = found.into_values().map(tell).collect();
        Report {
            name: self.setup.name.clone(),
            states,
            transitions: self.transitions.into_inner(),
            decisions: self.decider.counts(),
            fair: self.fair.count(),
            stories,
            coverage: self.coverage.into_inner().unwrap_or_else(PoisonError::into_inner),
        }
    }

    /// Takes note of what is wrong; true if nothing is.
    fn accept(&self, violation: Option<Violation>, origin: impl FnOnce() -> Option<Origin>, last: Option<Move>) -> bool {
        let Some(violation) = violation else {
            return true;
        };
        origin().into_iter().for_each(|origin| self.blame(origin, last, violation.clone()));
        false
    }

    /// Keeps the violation with the fewest perturbations of each kind; violations that differ in numbers only are alike.
    fn blame(&self, origin: Origin, last: Option<Move>, violation: Violation) {
        let kind: String = violation.rule.chars().chain(violation.sentence.chars().filter(|c| !c.is_ascii_digit())).collect();
        lock(&self.found).entry(kind).or_insert((origin, last, violation));
    }
}

fn print(world: &World) -> u64 {
    fingerprint(&world.encode().0, 0)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// All states whose least number of perturbations is `cost`.
struct Layer<'a> {
    explorer: &'a Explorer<'a>,
    cost: u32,
    /// Later layers begin from here.
    keep: bool,
    expanded: &'a Mutex<Vec<World>>,
    count: &'a AtomicU64,
}

impl Layer<'_> {
    /// Makes the moves of `step` perturbations from states of an earlier layer, and explores what is free from there.
    fn enter(&self, worlds: &[World], step: u32) {
        let next = Mutex::new(worlds.iter());
        std::thread::scope(|scope| {
            for _ in 0..self.explorer.threads {
                scope.spawn(|| {
                    loop {
                        let world = lock(&next).next();
                        let Some(world) = world.filter(|_| !self.explorer.is_over()) else { break };
                        let mut stack = Vec::new();
                        self.make(world, step, &mut stack);
                        while let Some(world) = stack.pop().filter(|_| !self.explorer.is_over()) {
                            self.expand(world, &mut stack);
                        }
                    }
                });
            }
        });
    }

    /// Explores what is free from `worlds`, the threads sharing the work.
    fn close(&self, worlds: Vec<World>) {
        let queue = Mutex::new(Queue { waiting: worlds, busy: 0 });
        std::thread::scope(|scope| {
            for _ in 0..self.explorer.threads {
                scope.spawn(|| self.drain(&queue));
            }
        });
    }

    fn drain(&self, queue: &Mutex<Queue>) {
        loop {
            let mut shared = lock(queue);
            if self.explorer.is_over() {
                return;
            }
            let Some(world) = shared.waiting.pop() else {
                if shared.busy == 0 {
                    return;
                }
                drop(shared);
                std::thread::yield_now();
                continue;
            };
            shared.busy += 1;
            drop(shared);
            let mut found = Vec::new();
            self.expand(world, &mut found);
            let mut shared = lock(queue);
            shared.waiting.append(&mut found);
            shared.busy -= 1;
        }
    }

    /// Counts a state, follows a fair run from it, and finds what is free from it.
    fn expand(&self, world: World, stack: &mut Vec<World>) {
        self.count.fetch_add(1, Ordering::Relaxed);
        let explorer = self.explorer;
        let violation = explorer.fair.follow(explorer.setup, &explorer.decider, &world).violation;
        explorer.accept(violation, || explorer.store.origin_of(print(&world)), None);
        self.make(&world, 0, stack);
        if self.keep {
            lock(self.expanded).push(world);
        }
    }

    /// Makes every move of exactly `step` perturbations.
    fn make(&self, world: &World, step: u32, stack: &mut Vec<World>) {
        let explorer = self.explorer;
        let parent = print(world);
        let mut coverage = Coverage::default();
        for (place, (what, cost)) in (0u16..).zip(moves(world, explorer.setup, &explorer.decider)) {
            if cost != step {
                continue;
            }
            let Played { after, event, violation } = play(explorer.setup, &explorer.decider, world, what);
            coverage.note(what, event.as_ref());
            let origin = Origin { parent, place, cost: self.cost };
            let sound = explorer.accept(violation, || Some(origin), Some(what));
            if sound && explorer.store.insert(print(&after), origin) {
                stack.push(after);
            }
        }
        explorer.transitions.fetch_add(coverage.kinds().map(|(_, count)| count).sum(), Ordering::Relaxed);
        lock(&explorer.coverage).merge(&coverage);
    }
}
