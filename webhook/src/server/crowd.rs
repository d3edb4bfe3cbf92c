//! Who is connected, and who has to go when there is no room (D12).
//!
//! Whoever has said nothing goes first, then whoever has shaken hands and asked nothing, then whoever has been silent
//! longest since an answer; of several the one that has been so for the longest time. Nobody is sent away in the middle of
//! a request: the API server never repeats one. So connections that only take up room cannot keep the API server out.
//!
//! Its new connections have said nothing either, for as long as the handshake takes. So each kind keeps a share of the
//! room, the largest those that have just come: while one of a higher kind is beyond its own, none of a lower kind goes. And
//! each has a moment that nobody takes from it, or a burst of callers would push out whoever came just before.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

/// Between two looks for somebody who can be sent away, where all are in their moment or in the middle of a request.
const LOOK: Duration = Duration::from_millis(10);

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

    /// How long nobody is sent away who has just shown this: the time of the first byte, and of a handshake, on a busy
    /// machine. New callers wait for it where there are only such.
    const fn moment(self) -> Duration {
        match self {
            Self::Nothing => Duration::from_millis(50),
            Self::Speech => Duration::from_secs(1),
            Self::Request => Duration::ZERO,
        }
    }
}

/// Since when a caller has shown no more than that, as a number that grows.
type Rank = (Shown, u64);

/// Those who could be sent away.
struct Waiting {
    limit: usize,
    next: u64,
    callers: BTreeMap<Shown, BTreeMap<u64, (Instant, Arc<Notify>)>>,
}

impl Waiting {
    fn new(limit: usize) -> Self {
        Self { limit, next: 0, callers: BTreeMap::new() }
    }

    fn enter(&mut self, shown: Shown, leave: &Arc<Notify>) -> Rank {
        self.next += 1;
        self.callers.entry(shown).or_default().insert(self.next, (Instant::now(), Arc::clone(leave)));
        (shown, self.next)
    }

    fn leave(&mut self, (shown, since): Rank) {
        self.callers.entry(shown).or_default().remove(&since);
    }

    /// Of the first kind beyond its share; where there is none, of the first that there is.
    fn take_first(&mut self) -> Option<Arc<Notify>> {
        let (limit, now) = (self.limit, Instant::now());
        let mut free = self
            .callers
            .iter()
            .filter(|(shown, callers)| callers.values().next().is_some_and(|(since, _)| now.duration_since(*since) >= shown.moment()));
        let beyond = free.clone().find(|(shown, callers)| callers.len() > shown.share(limit));
        // Who has asked before does not go for want of patience with others.
        let others = self.callers.iter().any(|(shown, callers)| *shown < Shown::Request && !callers.is_empty());
        let shown = *beyond.or_else(|| free.find(|(shown, _)| !others || **shown < Shown::Request))?.0;
        self.callers.entry(shown).or_default().pop_first().map(|(_, (_, leave))| leave)
    }
}

impl Crowd {
    pub(super) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { room: Arc::new(Semaphore::new(limit)), waiting: Mutex::new(Waiting::new(limit)) })
    }

    /// Makes room for a caller, if need be by sending another away; waits where all are in their moment or in the middle of a
    /// request.
    pub(super) async fn admit(self: &Arc<Self>) -> Option<Place> {
        let permit = loop {
            if let Ok(permit) = Arc::clone(&self.room).try_acquire_owned() {
                break permit;
            }
            let room = Arc::clone(&self.room).acquire_owned();
            if self.send_one_away() {
                break room.await.ok()?;
            }
            if let Ok(permit) = tokio::time::timeout(LOOK, room).await {
                break permit.ok()?;
            }
        };
        let leave = Arc::new(Notify::new());
        let rank = self.waiting().enter(Shown::Nothing, &leave);
        Some(Place { crowd: Arc::clone(self), rank: Mutex::new(Some(rank)), leave, _permit: permit })
    }

    fn send_one_away(&self) -> bool {
        let leave = self.waiting().take_first();
        leave.inspect(|leave| leave.notify_one()).is_some()
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

    /// Admitted, and beyond its moment.
    async fn admit(crowd: &Arc<Crowd>) -> Place {
        let place = crowd.admit().await.unwrap();
        later().await;
        place
    }

    async fn later() {
        tokio::time::advance(Duration::from_secs(2)).await;
    }

    fn must_go(place: &Place) -> bool {
        place.sent_away().now_or_never().is_some()
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_has_shown_least_goes_first_and_whoever_is_being_answered_never() {
        let crowd = Crowd::new(4);
        let (busy, guest, newer, older) = (admit(&crowd).await, admit(&crowd).await, admit(&crowd).await, admit(&crowd).await);
        guest.asks();
        guest.waits(Shown::Request);
        busy.asks();
        newer.waits(Shown::Speech);
        // Each waits until the one that has to go has gone.
        later().await;
        let mut first = Box::pin(crowd.admit());
        assert!((&mut first).now_or_never().is_none());
        assert_eq!([&busy, &guest, &older, &newer].map(must_go), [false, false, true, false]);
        drop(older);
        let first = first.await.unwrap();
        later().await;
        let mut second = Box::pin(crowd.admit());
        assert!((&mut second).now_or_never().is_none());
        // The newest has said less than the one before it.
        assert_eq!([&busy, &guest, &newer, &first].map(must_go), [false, false, false, true]);
        drop(first);
        let first = second.await.unwrap();
        first.waits(Shown::Speech);
        later().await;
        let mut second = Box::pin(crowd.admit());
        assert!((&mut second).now_or_never().is_none());
        assert_eq!([&busy, &guest, &newer, &first].map(must_go), [false, false, true, false]);
        drop(newer);
        let second = second.await.unwrap();
        for place in [&first, &second] {
            place.asks();
        }
        later().await;
        let mut third = Box::pin(crowd.admit());
        assert!((&mut third).now_or_never().is_none());
        assert_eq!([&busy, &guest, &first, &second].map(must_go), [false, true, false, false]);
        drop(guest);
        let third = third.await.unwrap();
        third.asks();
        // Now everybody is in the middle of a request.
        later().await;
        let mut fourth = Box::pin(crowd.admit());
        assert!((&mut fourth).now_or_never().is_none());
        assert_eq!([&busy, &first, &second, &third].map(must_go), [false; 4]);
        busy.waits(Shown::Request);
        drop(busy);
        assert!(fourth.await.is_some());
    }

    /// Or the handshakes of the API server would be cut as soon as others only had to shake hands to stay.
    #[tokio::test(start_paused = true)]
    async fn those_who_have_just_come_keep_half_of_the_room() {
        let crowd = Crowd::new(8);
        let mut places = Vec::new();
        for shown in [Shown::Speech, Shown::Speech, Shown::Speech, Shown::Request, Shown::Request, Shown::Nothing, Shown::Nothing] {
            let place = admit(&crowd).await;
            place.waits(shown);
            places.push(place);
        }
        let last = admit(&crowd).await;
        later().await;
        let mut next = Box::pin(crowd.admit());
        assert!((&mut next).now_or_never().is_none());
        let gone: Vec<bool> = places.iter().map(must_go).collect();
        assert_eq!(gone, [true, false, false, false, false, false, false]);
        // Once nobody has more than a share, it is their turn.
        drop(places.remove(0));
        let next = next.await.unwrap();
        later().await;
        let mut another = Box::pin(crowd.admit());
        assert!((&mut another).now_or_never().is_none());
        let gone: Vec<bool> = places.iter().chain([&last, &next]).map(must_go).collect();
        assert_eq!(gone, [false, false, false, false, true, false, false, false]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_handshake_is_not_cut_by_a_burst_of_others() {
        let crowd = Crowd::new(4);
        let silent = admit(&crowd).await;
        let mut speaking = Vec::new();
        for _ in 0..3 {
            let place = admit(&crowd).await;
            place.waits(Shown::Speech);
            speaking.push(place);
        }
        // There are too many of them, but none has had its time.
        speaking.iter().for_each(|place| place.waits(Shown::Speech));
        let mut next = Box::pin(crowd.admit());
        assert!((&mut next).now_or_never().is_none());
        assert!(must_go(&silent) && !speaking.iter().any(must_go));
        drop(silent);
        next.await.unwrap().waits(Shown::Speech);
    }

    #[tokio::test(start_paused = true)]
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
