//! Where plans are calculated: one at a time, on a thread of its own, and waited for only so long.
//!
//! Whoever asks gets an answer in time; a calculation cannot be stopped, so that one which takes too long keeps the desk
//! until it ends, and those who ask meanwhile are told so. That bounds what the page can take from its process: one thread.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

/// A desk; clones share it.
#[derive(Clone)]
pub(crate) struct Desk {
    turn: Arc<Semaphore>,
    patience: Duration,
}

/// Why there is no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unfinished {
    /// Another one has the desk.
    #[error("another calculation is not finished yet; ask again in a moment")]
    Busy,
    /// It takes too long.
    #[error("the calculation takes longer than {} s; give it fewer NodePools or a shorter horizon", .0.as_secs())]
    Long(Duration),
    /// It has ended by a fault of the program.
    #[error("the calculation has failed by a fault of the program, which its log tells more of")]
    Broken,
}

impl Desk {
    /// A desk at which nobody waits longer than `patience` for his turn, nor then for his result.
    pub(crate) fn new(patience: Duration) -> Self {
        Self { turn: Arc::new(Semaphore::new(1)), patience }
    }

    /// How long.
    pub(super) fn patience(&self) -> Duration {
        self.patience
    }

    /// Has `work` done when it is its turn.
    ///
    /// # Errors
    /// When there is no result in time.
    pub(super) async fn work<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Unfinished> {
        let turn = tokio::time::timeout(self.patience, Arc::clone(&self.turn).acquire_owned()).await;
        let Ok(Ok(turn)) = turn else { return Err(Unfinished::Busy) };
        let work = tokio::task::spawn_blocking(move || {
            let result = work();
            drop(turn);
            result
        });
        match tokio::time::timeout(self.patience, work).await {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(_)) => Err(Unfinished::Broken),
            Err(_) => Err(Unfinished::Long(self.patience)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_takes_too_long_is_given_up_and_keeps_the_desk_until_it_ends() {
        let desk = Desk::new(Duration::from_secs(10));
        let (end, ended) = channel::<()>();
        let (through, all_through) = tokio::sync::oneshot::channel::<()>();
        let first = desk.clone();
        let long = tokio::spawn(async move {
            let work = move || {
                let told = ended.recv();
                drop(through);
                told
            };
            first.work(work).await
        });
        // A clock that stands still does not go on by itself while a thread works, so it is turned.
        tokio::task::yield_now().await;
        tokio::time::advance(Duration::from_secs(11)).await;
        assert_eq!(long.await.unwrap(), Err(Unfinished::Long(Duration::from_secs(10))));
        let second = tokio::spawn({
            let desk = desk.clone();
            async move { desk.work(|| ()).await }
        });
        tokio::task::yield_now().await;
        tokio::time::advance(Duration::from_secs(11)).await;
        assert_eq!(second.await.unwrap(), Err(Unfinished::Busy));
        end.send(()).unwrap();
        let _dropped = all_through.await;
        assert_eq!(desk.work(|| 7).await, Ok(7));
    }

    #[tokio::test]
    async fn a_panic_is_told_and_leaves_the_desk_to_the_next() {
        let desk = Desk::new(Duration::from_secs(10));
        assert_eq!(desk.work(|| -> u8 { panic!("on purpose") }).await, Err(Unfinished::Broken));
        assert_eq!(desk.work(|| 7).await, Ok(7));
    }
}
