//! Where the controller takes the time from.

use std::sync::Arc;

use jiff::Timestamp;

/// A clock; clones are the same one.
#[derive(Clone)]
pub(crate) struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// That of the machine.
    pub(crate) fn of_the_machine() -> Self {
        Self(Arc::new(Timestamp::now))
    }

    /// One that shows this at first, and goes as tests let time pass.
    #[cfg(test)]
    pub(crate) fn from(begin: Timestamp) -> Self {
        let started = tokio::time::Instant::now();
        Self(Arc::new(move || begin + started.elapsed()))
    }

    /// What it shows.
    pub(crate) fn now(&self) -> Timestamp {
        (self.0)()
    }
}
