//! Who is connected, and who has to go when there is no room (D12).
//!
//! There are two crowds. Whoever has said nothing costs next to nothing and waits before the door, where there is room for
//! many; whoever speaks has a place inside, where TLS takes its memory. Before the door the one that has been silent for
//! the longest time goes first. Inside it is whoever has shaken hands and asked nothing, then whoever has been silent
//! longest since an answer. Nobody is sent away in the middle of a request: the API server never repeats one. So
//! connections that only take up room cannot keep the API server out.
//!
//! Its own new connections have asked nothing either, for as long as the handshake takes. So each kind keeps half of the
//! room inside: while one is beyond its own, none of the other goes. And each has a moment that nobody takes from it, or a
//! burst of callers would push out whoever came just before.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

/// Between two looks for somebody who can be sent away, where all are in their moment or in the middle of a request.
const LOOK: Duration = Duration::from_millis(10);

/// All who wait before the door, or all inside.
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
    /// How long nobody is sent away who has just shown this: the time of the first byte, and of a handshake, on a busy
    /// machine. New callers wait for it where there are only such.
    const fn moment(self) -> Duration {
        match self {
            Self::Nothing => Duration::from_millis(250),
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
        let beyond = free.clone().find(|(_, callers)| callers.len() > limit / 2);
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

    /// Makes room for a caller that has shown this, if need be by sending another away; waits where all are in their moment
    /// or in the middle of a request.
    pub(super) async fn admit(self: &Arc<Self>, shown: Shown) -> Option<Place> {
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
        let rank = self.waiting().enter(shown, &leave);
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
    async fn admit(crowd: &Arc<Crowd>, shown: Shown) -> Place {
        let place = crowd.admit(shown).await.unwrap();
        later().await;
        place
    }

    async fn admit_all<const N: usize>(crowd: &Arc<Crowd>, shown: [Shown; N]) -> Vec<Place> {
        let mut places = Vec::new();
        for shown in shown {
            places.push(admit(crowd, shown).await);
        }
        places
    }

    async fn later() {
        tokio::time::advance(Duration::from_secs(2)).await;
    }

    fn must_go(place: &Place) -> bool {
        place.sent_away().now_or_never().is_some()
    }

    /// Who of all has to go when one more comes, by their numbers.
    async fn makes_way(crowd: &Arc<Crowd>, places: &[Place]) -> Vec<usize> {
        later().await;
        let next = crowd.admit(Shown::Speech);
        assert!(Box::pin(next).as_mut().now_or_never().is_none(), "there was room");
        (0..).zip(places).filter(|(_, place)| must_go(place)).map(|(number, _)| number).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn before_the_door_the_one_that_has_been_silent_longest_makes_way() {
        let crowd = Crowd::new(3);
        let mut places = admit_all(&crowd, [Shown::Nothing; 3]).await;
        // Whoever has begun to speak is on its way in.
        places[0].asks();
        assert_eq!(makes_way(&crowd, &places).await, [1]);
        places.remove(1);
        places.push(admit(&crowd, Shown::Nothing).await);
        assert_eq!(makes_way(&crowd, &places).await, [1]);
    }

    #[tokio::test(start_paused = true)]
    async fn inside_whoever_has_shown_least_goes_first_and_whoever_is_being_answered_never() {
        let crowd = Crowd::new(4);
        let places = admit_all(&crowd, [Shown::Request, Shown::Request, Shown::Speech, Shown::Speech]).await;
        places[0].asks();
        assert_eq!(makes_way(&crowd, &places).await, [2]);
        assert_eq!(makes_way(&crowd, &places).await, [3]);
        places[2].asks();
        places[3].asks();
        assert_eq!(makes_way(&crowd, &places).await, [1]);
        places[1].asks();
        // Now everybody is in the middle of a request.
        assert_eq!(makes_way(&crowd, &places).await, [0; 0]);
        places[2].waits(Shown::Request);
        assert_eq!(makes_way(&crowd, &places).await, [2]);
    }

    /// Each waits until the one that has to go has gone.
    #[tokio::test(start_paused = true)]
    async fn a_place_is_free_when_whoever_had_it_has_gone() {
        let crowd = Crowd::new(1);
        let old = admit(&crowd, Shown::Speech).await;
        let mut new = Box::pin(crowd.admit(Shown::Speech));
        assert!((&mut new).now_or_never().is_none() && must_go(&old));
        drop(old);
        assert!(new.await.is_some());
    }

    /// Or the handshakes of the API server would be cut as soon as others only had to ask something to stay.
    #[tokio::test(start_paused = true)]
    async fn each_kind_keeps_half_of_the_room() {
        let (asked, speaks) = (Shown::Request, Shown::Speech);
        for (shown, goes) in [
            ([speaks, asked, asked, asked, asked, asked, speaks, speaks], 1),
            ([asked, asked, asked, speaks, speaks, speaks, speaks, speaks], 3),
            ([asked, asked, asked, asked, speaks, speaks, speaks, speaks], 4),
        ] {
            let crowd = Crowd::new(shown.len());
            let places = admit_all(&crowd, shown).await;
            assert_eq!(makes_way(&crowd, &places).await, [goes], "{shown:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_handshake_is_not_cut_by_a_burst_of_others() {
        let crowd = Crowd::new(4);
        let places = admit_all(&crowd, [Shown::Request; 4]).await;
        // There are too many of them, but none has had its time.
        places[1..].iter().for_each(|place| place.waits(Shown::Speech));
        assert!(Box::pin(crowd.admit(Shown::Speech)).as_mut().now_or_never().is_none());
        assert!(!places.iter().any(must_go));
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_is_remembered_who_has_gone() {
        let crowd = Crowd::new(2);
        for _ in 0..3 {
            let places = admit_all(&crowd, [Shown::Speech; 2]).await;
            places[0].asks();
            places[0].waits(Shown::Request);
        }
        let waiting = crowd.waiting();
        assert!(waiting.callers.values().all(BTreeMap::is_empty));
    }
}
