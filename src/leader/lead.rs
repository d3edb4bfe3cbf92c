//! The guard that is asked before every write: does this replica still lead (I12)?
//!
//! It knows nothing of the API server. What it grants ends by itself, so that a replica that is cut off, paused or starved
//! stops writing without being told.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use tokio::time::Instant;

/// Asked before every write: does this replica still lead?
#[derive(Clone, Default)]
pub(crate) struct Lead(Arc<RwLock<Option<Until>>>);

/// The end of what the last confirmed renewal gave us, on both clocks: the monotonic one stands still while a machine
/// is suspended, and the other one may be set.
#[derive(Clone, Copy)]
struct Until {
    monotonic: Instant,
    wall: SystemTime,
}

impl Lead {
    /// A lead that never ends, for a controller that runs without election.
    pub(crate) fn forever() -> Self {
        let lead = Self::default();
        let far = Duration::from_secs(100 * 365 * 24 * 3600);
        lead.set(Some((Instant::now(), SystemTime::now())), far);
        lead
    }

    /// This replica may write now.
    pub(crate) fn holds(&self) -> bool {
        self.remaining().is_some()
    }

    /// How long this replica may still write, by the clock that gives it less; `None` when it may not.
    pub(super) fn remaining(&self) -> Option<Duration> {
        let until = (*self.0.read().unwrap_or_else(PoisonError::into_inner))?;
        let monotonic = until.monotonic.saturating_duration_since(Instant::now());
        let wall = until.wall.duration_since(SystemTime::now()).unwrap_or_default();
        Some(monotonic.min(wall)).filter(|remaining| !remaining.is_zero())
    }

    pub(super) fn set(&self, sent: Option<Sent>, lasts: Duration) {
        let until =
            sent.and_then(|(monotonic, wall)| Some(Until { monotonic: monotonic.checked_add(lasts)?, wall: wall.checked_add(lasts)? }));
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = until;
    }
}

/// When a write was sent, on both clocks. What it gives counts from here, not from its answer.
pub(super) type Sent = (Instant, SystemTime);

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn it_ends_by_itself_after_what_a_renewal_gave_counted_from_its_sending() {
        let lead = Lead::default();
        assert!(!lead.holds());
        let sent = (Instant::now(), SystemTime::now());
        tokio::time::advance(4 * SECOND).await;
        lead.set(Some(sent), 10 * SECOND);
        tokio::time::advance(5 * SECOND).await;
        assert!(lead.holds());
        tokio::time::advance(SECOND).await;
        assert!(!lead.holds());
    }

    #[tokio::test(start_paused = true)]
    async fn a_suspended_machine_is_noticed_by_the_wall_clock() {
        let lead = Lead::default();
        let suspended_after = SystemTime::now() - 11 * SECOND;
        lead.set(Some((Instant::now(), suspended_after)), 10 * SECOND);
        assert!(!lead.holds());
        // Its twin without the suspension.
        lead.set(Some((Instant::now(), SystemTime::now())), 10 * SECOND);
        assert!(lead.holds());
    }

    #[tokio::test(start_paused = true)]
    async fn without_election_it_never_ends() {
        let lead = Lead::forever();
        tokio::time::advance(Duration::from_secs(365 * 24 * 3600)).await;
        assert!(lead.holds());
    }
}
