//! Months in the lives of made-up clusters.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use noderotation_sim::coverage::Coverage;
use noderotation_sim::fleet::Fleet;
use noderotation_sim::simulate::{Outcome, simulate};

use super::{print, threads};

/// Days of a life.
const DAYS: u32 = 120;

#[derive(Default)]
struct Sum {
    coverage: Coverage,
    moves: usize,
    violations: usize,
}

/// Lives through `count` seeds from `first` on; true if no rule is broken.
pub(crate) fn many(first: u64, count: u64) -> bool {
    let begun = Instant::now();
    let (next, sum) = (AtomicU64::new(first), Mutex::new(Sum::default()));
    let end = first.saturating_add(count);
    std::thread::scope(|scope| {
        for _ in 0..threads() {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end {
                        return;
                    }
                    let outcome = simulate(&Fleet::of(seed, DAYS), seed);
                    sum.lock().unwrap_or_else(PoisonError::into_inner).add(seed, &outcome);
                }
            });
        }
    });
    let sum = sum.into_inner().unwrap_or_else(PoisonError::into_inner);
    sum.tell_kinds();
    let seconds = begun.elapsed().as_secs_f64();
    print(&format!("{count} seeds of {DAYS} days, {} moves, {} violations, {seconds:.0} s", sum.moves, sum.violations));
    sum.violations == 0
}

/// Lives through one seed and tells it in full.
pub(crate) fn one(seed: u64) -> bool {
    let outcome = simulate(&Fleet::of(seed, DAYS), seed);
    let mut sum = Sum::default();
    sum.add(seed, &outcome);
    sum.tell_kinds();
    print(&format!("seed {seed}: {} moves, trace {:016x}, {} violations", outcome.moves, outcome.print, sum.violations));
    sum.violations == 0
}

impl Sum {
    fn add(&mut self, seed: u64, outcome: &Outcome) {
        self.coverage.merge(&outcome.coverage);
        self.moves += outcome.moves;
        if let Some(story) = &outcome.story {
            self.violations += 1;
            print(&format!("\nSEED={seed} make sim\n{story}\n"));
        }
    }

    fn tell_kinds(&self) {
        self.coverage.kinds().for_each(|(kind, count)| print(&format!("  {count:>10} {kind}")));
    }
}
