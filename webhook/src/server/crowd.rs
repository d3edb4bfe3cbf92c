//! Who is connected, and who has to go when there is no room (D12).
//!
//! A caller that has never asked goes first, of several the one that has been here longest; then the one that has been
//! silent longest since its last answer. Nobody is sent away in the middle of a request: the API server never repeats
//! one. So connections that only take up room cannot keep the API server out.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// All who are connected.
pub(super) struct Crowd {
    room: Arc<Semaphore>,
    waiting: Mutex<Waiting>,
}

/// Those who could be sent away, the longest silent first.
#[derive(Default)]
struct Waiting {
    next: u64,
    /// Have never asked.
    strangers: BTreeMap<u64, Arc<Notify>>,
    /// Have been answered, and may ask again.
    guests: BTreeMap<u64, Arc<Notify>>,
}

impl Crowd {
    pub(super) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { room: Arc::new(Semaphore::new(limit)), waiting: Mutex::default() })
    }

    /// Makes room for a caller, if need be by sending another away; waits where all are in the middle of a request.
    pub(super) async fn admit(self: &Arc<Self>) -> Option<Place> {
        let permit = match Arc::clone(&self.room).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_full) => {
                self.send_one_away();
                Arc::clone(&self.room).acquire_owned().await.ok()?
            }
        };
        let leave = Arc::new(Notify::new());
        let mut waiting = self.waiting();
        let number = waiting.number();
        waiting.strangers.insert(number, Arc::clone(&leave));
        drop(waiting);
        Some(Place { crowd: Arc::clone(self), number: Mutex::new(Some(number)), leave, _permit: permit })
    }

    fn send_one_away(&self) {
        let mut waiting = self.waiting();
        let first = waiting.strangers.pop_first().or_else(|| waiting.guests.pop_first());
        if let Some((_, leave)) = first {
            leave.notify_one();
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

/// The place of one caller; free again when dropped.
pub(super) struct Place {
    crowd: Arc<Crowd>,
    /// Under which it waits; none in the middle of a request.
    number: Mutex<Option<u64>>,
    leave: Arc<Notify>,
    _permit: OwnedSemaphorePermit,
}

impl Place {
    /// The caller asks: from now on it cannot be sent away.
    pub(super) fn asks(&self) {
        let number = self.number.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(number) = number {
            let mut waiting = self.crowd.waiting();
            let _waited = waiting.strangers.remove(&number).or_else(|| waiting.guests.remove(&number));
        }
    }

    /// The caller is answered.
    pub(super) fn answered(&self) {
        let mut waiting = self.crowd.waiting();
        let number = waiting.number();
        waiting.guests.insert(number, Arc::clone(&self.leave));
        drop(waiting);
        *self.number.lock().unwrap_or_else(PoisonError::into_inner) = Some(number);
    }

    /// Ends when the caller has to go.
    pub(super) async fn sent_away(&self) {
        self.leave.notified().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.asks();
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    async fn admit(crowd: &Arc<Crowd>) -> Place {
        crowd.admit().await.unwrap()
    }

    fn must_go(place: &Place) -> bool {
        place.sent_away().now_or_never().is_some()
    }

    #[tokio::test]
    async fn whoever_has_never_asked_goes_first_and_whoever_is_being_answered_never() {
        let crowd = Crowd::new(4);
        let (busy, guest, older, newer) = (admit(&crowd).await, admit(&crowd).await, admit(&crowd).await, admit(&crowd).await);
        guest.asks();
        guest.answered();
        busy.asks();
        // Each waits until the one that has to go has gone.
        let mut first = Box::pin(crowd.admit());
        assert!((&mut first).now_or_never().is_none());
        assert_eq!([&busy, &guest, &older, &newer].map(must_go), [false, false, true, false]);
        drop(older);
        let first = first.await.unwrap();
        let mut second = Box::pin(crowd.admit());
        assert!((&mut second).now_or_never().is_none());
        assert_eq!([&busy, &guest, &newer, &first].map(must_go), [false, false, true, false]);
        drop(newer);
        let second = second.await.unwrap();
        for place in [&first, &second] {
            place.asks();
        }
        let mut third = Box::pin(crowd.admit());
        assert!((&mut third).now_or_never().is_none());
        assert_eq!([&busy, &guest, &first, &second].map(must_go), [false, true, false, false]);
        drop(guest);
        let third = third.await.unwrap();
        third.asks();
        // Now everybody is in the middle of a request.
        let mut fourth = Box::pin(crowd.admit());
        assert!((&mut fourth).now_or_never().is_none());
        assert_eq!([&busy, &first, &second, &third].map(must_go), [false; 4]);
        busy.answered();
        drop(busy);
        assert!(fourth.await.is_some());
    }

    #[tokio::test]
    async fn nobody_is_remembered_who_has_gone() {
        let crowd = Crowd::new(2);
        for _ in 0..3 {
            let (one, other) = (admit(&crowd).await, admit(&crowd).await);
            one.asks();
            one.answered();
            drop((one, other));
        }
        let waiting = crowd.waiting();
        assert!(waiting.strangers.is_empty() && waiting.guests.is_empty());
    }
}
