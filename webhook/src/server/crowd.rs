//! Who is connected, and who has to go when there is no room (D12).
//!
//! Whoever has said nothing goes first, then whoever has shaken hands and asked nothing, then whoever has been silent
//! longest since an answer; of several the one that has been so for the longest time. Nobody is sent away in the middle of
//! a request: the API server never repeats one. So connections that only take up room cannot keep the API server out.
//!
//! Its new connections have said nothing either, for as long as the handshake takes. So each kind keeps a share of the
//! room, the largest those that have just come: while one of a higher kind is beyond its own, none of a lower kind goes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// All who are connected.
pub(super) struct Crowd {
    room: Arc<Semaphore>,
    waiting: Mutex<Waiting>,
}

/// What a caller has shown of itself. Declared in the order in which callers have to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Shown {
    /// Not a byte.
    Nothing,
    /// That it speaks, but has asked nothing.
    Speech,
    /// A request, which was answered.
    Request,
}

impl Shown {
    /// How many of so many places those who have shown this keep.
    const fn share(self, limit: usize) -> usize {
        match self {
            Self::Nothing => limit / 2,
            Self::Speech | Self::Request => limit / 4,
        }
    }
}

/// Since when a caller has shown no more than that, as a number that grows.
type Rank = (Shown, u64);

/// Those who could be sent away.
struct Waiting {
    limit: usize,
    next: u64,
    callers: BTreeMap<Shown, BTreeMap<u64, Arc<Notify>>>,
}

impl Waiting {
    fn new(limit: usize) -> Self {
        let kinds = [Shown::Nothing, Shown::Speech, Shown::Request];
        Self { limit, next: 0, callers: kinds.map(|shown| (shown, BTreeMap::new())).into() }
    }

    fn enter(&mut self, shown: Shown, leave: &Arc<Notify>) -> Rank {
        self.next += 1;
        self.callers.entry(shown).or_default().insert(self.next, Arc::clone(leave));
        (shown, self.next)
    }

    fn leave(&mut self, (shown, since): Rank) {
        self.callers.entry(shown).or_default().remove(&since);
    }

    /// Of the first kind beyond its share; where there is none, of the first that there is.
    fn take_first(&mut self) -> Option<Arc<Notify>> {
        let limit = self.limit;
        let beyond = self.callers.iter().find(|(shown, callers)| callers.len() > shown.share(limit));
        let kind = beyond.or_else(|| self.callers.iter().find(|(_, callers)| !callers.is_empty()))?;
        let shown = *kind.0;
        self.callers.entry(shown).or_default().pop_first().map(|(_, leave)| leave)
    }
}

impl Crowd {
    pub(super) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { room: Arc::new(Semaphore::new(limit)), waiting: Mutex::new(Waiting::new(limit)) })
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
        let rank = self.waiting().enter(Shown::Nothing, &leave);
        Some(Place { crowd: Arc::clone(self), rank: Mutex::new(Some(rank)), leave, _permit: permit })
    }

    fn send_one_away(&self) {
        if let Some(leave) = self.waiting().take_first() {
            leave.notify_one();
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of one caller; free again when dropped.
pub(super) struct Place {
    crowd: Arc<Crowd>,
    /// Under which it waits; none in the middle of a request.
    rank: Mutex<Option<Rank>>,
    leave: Arc<Notify>,
    _permit: OwnedSemaphorePermit,
}

impl Place {
    /// The caller waits, having shown this.
    pub(super) fn waits(&self, shown: Shown) {
        self.asks();
        let rank = self.crowd.waiting().enter(shown, &self.leave);
        *self.rank.lock().unwrap_or_else(PoisonError::into_inner) = Some(rank);
    }

    /// The caller asks: from now on it cannot be sent away.
    pub(super) fn asks(&self) {
        if let Some(rank) = self.rank.lock().unwrap_or_else(PoisonError::into_inner).take() {
            self.crowd.waiting().leave(rank);
        }
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
    async fn whoever_has_shown_least_goes_first_and_whoever_is_being_answered_never() {
        let crowd = Crowd::new(4);
        let (busy, guest, newer, older) = (admit(&crowd).await, admit(&crowd).await, admit(&crowd).await, admit(&crowd).await);
        guest.asks();
        guest.waits(Shown::Request);
        busy.asks();
        newer.waits(Shown::Speech);
        // Each waits until the one that has to go has gone.
        let mut first = Box::pin(crowd.admit());
        assert!((&mut first).now_or_never().is_none());
        assert_eq!([&busy, &guest, &older, &newer].map(must_go), [false, false, true, false]);
        drop(older);
        let first = first.await.unwrap();
        let mut second = Box::pin(crowd.admit());
        assert!((&mut second).now_or_never().is_none());
        // The newest has said less than the one before it.
        assert_eq!([&busy, &guest, &newer, &first].map(must_go), [false, false, false, true]);
        drop(first);
        let first = second.await.unwrap();
        first.waits(Shown::Speech);
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
        busy.waits(Shown::Request);
        drop(busy);
        assert!(fourth.await.is_some());
    }

    /// Or the handshakes of the API server would be cut as soon as others only had to shake hands to stay.
    #[tokio::test]
    async fn those_who_have_just_come_keep_half_of_the_room() {
        let crowd = Crowd::new(8);
        let mut places = Vec::new();
        for shown in [Shown::Speech, Shown::Speech, Shown::Speech, Shown::Request, Shown::Request, Shown::Nothing, Shown::Nothing] {
            let place = admit(&crowd).await;
            place.waits(shown);
            places.push(place);
        }
        let last = admit(&crowd).await;
        let mut next = Box::pin(crowd.admit());
        assert!((&mut next).now_or_never().is_none());
        let gone: Vec<bool> = places.iter().map(must_go).collect();
        assert_eq!(gone, [true, false, false, false, false, false, false]);
        // Once nobody has more than a share, it is their turn.
        drop(places.remove(0));
        let next = next.await.unwrap();
        let mut another = Box::pin(crowd.admit());
        assert!((&mut another).now_or_never().is_none());
        let gone: Vec<bool> = places.iter().chain([&last, &next]).map(must_go).collect();
        assert_eq!(gone, [false, false, false, false, true, false, false, false]);
    }

    #[tokio::test]
    async fn nobody_is_remembered_who_has_gone() {
        let crowd = Crowd::new(2);
        for _ in 0..3 {
            let (one, other) = (admit(&crowd).await, admit(&crowd).await);
            one.asks();
            one.waits(Shown::Request);
            drop((one, other));
        }
        let waiting = crowd.waiting();
        assert!(waiting.callers.values().all(BTreeMap::is_empty));
    }
}
