//! How far a long simulation is: on a terminal only, and only after a second.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

/// Nothing is told before this has passed, nor more often.
const QUIET: Duration = Duration::from_secs(1);

/// Counts what is done.
pub(super) struct Progress {
    all: usize,
    done: usize,
    told: Option<Instant>,
    shown: bool,
}

impl Progress {
    /// For so many steps.
    pub(super) fn new(all: usize) -> Self {
        Self { all, done: 0, told: std::io::stderr().is_terminal().then(Instant::now), shown: false }
    }

    /// One step is done.
    pub(super) fn one_more(&mut self) {
        self.done += 1;
        if self.told.is_some_and(|told| told.elapsed() >= QUIET) {
            (self.told, self.shown) = (Some(Instant::now()), true);
            self.tell(&format!("\r{} of {} lives of NodePools", self.done, self.all));
        }
    }

    /// Everything is done: what was shown goes.
    pub(super) fn end(&self) {
        if self.shown {
            self.tell("\r\u{1b}[K");
        }
    }

    fn tell(&self, text: &str) {
        let mut stderr = anstream::stderr().lock();
        // Without a standard error there is nobody left to tell.
        let _untold = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
    }
}
