//! Bad weather between an operator and the API server: of every few requests one goes wrong, and every watch does, in all ways
//! in which they go wrong on a bad day.
//!
//! Which one and how is drawn from a seed. Each way comes as often as any other, so that none is missing in a long run. The
//! order of requests is not the seed's, so a seed repeats the weather and not the run.

mod journal;
mod verdict;
mod watching;
mod way;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Result, bail};
use fastrand::Rng;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Frame};
use hyper::{Method, Request, Response};
pub use journal::Entry;
use tokio::sync::watch;
pub use verdict::{Tally, judge};
use watching::Course;
use way::Way;
pub(crate) use way::refusal;

use crate::cluster::Cluster;
use crate::proxy::{self, Body, Proxy, Upstream};

/// One request of so many goes wrong.
const EVERY: usize = 6;
/// What is slow takes so much longer: more than the pause between two tries for the lease, less than any time limit.
const SLOWNESS: Duration = Duration::from_millis(1500);

/// The weather.
#[derive(Debug)]
pub struct Storm {
    proxy: Proxy,
    sky: Arc<Sky>,
}

#[derive(Debug)]
struct Sky {
    raging: watch::Sender<bool>,
    fate: Mutex<Fate>,
    journal: Mutex<Vec<Entry>>,
}

/// What goes wrong next.
#[derive(Debug)]
struct Fate {
    random: Rng,
    reads: Vec<Way>,
    writes: Vec<Way>,
    watches: Vec<Course>,
    happened: BTreeMap<String, usize>,
}

impl Storm {
    /// Comes between an operator with the rights of the chart's ServiceAccount and the API server. It begins calm.
    ///
    /// # Errors
    /// When there is no port, or the chart is not installed.
    pub async fn gather(cluster: &Cluster, seed: u64) -> Result<Self> {
        let (reads, writes, watches) = (Vec::new(), Vec::new(), Vec::new());
        let fate = Fate { random: Rng::with_seed(seed), reads, writes, watches, happened: BTreeMap::new() };
        let sky = Arc::new(Sky { raging: watch::Sender::new(false), fate: Mutex::new(fate), journal: Mutex::default() });
        let above = Arc::clone(&sky);
        let proxy = Proxy::open(cluster, "storm", move |upstream, request| pass(upstream, Arc::clone(&above), request)).await?;
        Ok(Self { proxy, sky })
    }

    /// The argument that leads an operator into it.
    #[must_use]
    pub fn argument(&self) -> String {
        self.proxy.argument()
    }

    /// From now on requests go wrong, or none does. With the first gust, watches that had begun well end.
    pub fn rage(&self, raging: bool) {
        self.sky.raging.send_replace(raging);
    }

    /// The writes of rotations, in the order in which they were answered.
    #[must_use]
    pub fn journal(&self) -> Vec<Entry> {
        self.sky.journal.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How often each way was taken; those that never were are there with 0.
    #[must_use]
    pub fn happened(&self) -> BTreeMap<String, usize> {
        let ways = way::WRITES.iter().map(ToString::to_string).chain(watching::COURSES.iter().map(ToString::to_string));
        let mut all: BTreeMap<String, usize> = ways.map(|way| (way, 0)).collect();
        all.extend(self.sky.fate().happened.clone());
        all
    }
}

impl Sky {
    fn fate(&self) -> std::sync::MutexGuard<'_, Fate> {
        self.fate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, entry: Option<Entry>, status: u16, answered: bool) {
        let entry = entry.map(|entry| Entry { status, answered, ..entry });
        self.journal.lock().unwrap_or_else(PoisonError::into_inner).extend(entry);
    }
}

impl Fate {
    /// What goes wrong with a request that is no watch.
    fn way(&mut self, reads: bool) -> Option<Way> {
        if self.random.usize(..EVERY) > 0 {
            return None;
        }
        let way =
            if reads { draw(&mut self.reads, way::READS, &mut self.random) } else { draw(&mut self.writes, way::WRITES, &mut self.random) };
        *self.happened.entry(way?.to_string()).or_default() += 1;
        way
    }

    /// What becomes of a watch.
    fn course(&mut self) -> Option<Course> {
        let course = draw(&mut self.watches, watching::COURSES, &mut self.random)?;
        *self.happened.entry(course.to_string()).or_default() += 1;
        Some(course)
    }
}

/// The next card of a deck that is shuffled anew when it is used up.
fn draw<T: Copy>(deck: &mut Vec<T>, all: &[T], random: &mut Rng) -> Option<T> {
    if deck.is_empty() {
        deck.extend(all);
        random.shuffle(deck);
    }
    deck.pop()
}

async fn pass(upstream: Upstream, sky: Arc<Sky>, request: Request<Bytes>) -> Result<Response<Body>> {
    if proxy::is_watch(&request) {
        return observe(upstream, sky, request).await;
    }
    let entry = Entry::of(&request);
    let way = if *sky.raging.borrow() { sky.fate().way(request.method() == Method::GET) } else { None };
    match way {
        Some(Way::Refuses { code, retry_after }) => return Ok(way::refusal(code, retry_after)),
        Some(Way::Resets) => bail!("the connection is closed before the request is passed on"),
        Some(Way::Slow) => tokio::time::sleep(SLOWNESS).await,
        Some(Way::LosesAnswer { .. } | Way::HalvesAnswer) | None => {}
    }
    let answer = upstream.send(request).await?;
    sky.note(entry, answer.status().as_u16(), matches!(way, None | Some(Way::Slow)));
    match way {
        Some(Way::LosesAnswer { instead: Some(code) }) => Ok(way::refusal(code, None)),
        Some(Way::LosesAnswer { instead: None }) => bail!("the connection is closed after the request was passed on"),
        Some(Way::HalvesAnswer) => halved(answer).await,
        Some(Way::Refuses { .. } | Way::Resets | Way::Slow) | None => Ok(answer),
    }
}

/// The first half of an answer, and then the end of the connection.
async fn halved(answer: Response<Body>) -> Result<Response<Body>> {
    let (parts, body) = answer.into_parts();
    let Ok(whole) = body.collect().await else { bail!("the answer did not come") };
    let whole = whole.to_bytes();
    let half = whole.slice(..whole.len() / 2);
    let frames = [Ok(Frame::data(half)), Err("the other half is lost".into())];
    Ok(Response::from_parts(parts, http_body_util::StreamBody::new(futures::stream::iter(frames)).boxed_unsync()))
}

async fn observe(upstream: Upstream, sky: Arc<Sky>, request: Request<Bytes>) -> Result<Response<Body>> {
    let raging = sky.raging.subscribe();
    let course = if *raging.borrow() { sky.fate().course() } else { None };
    if course == Some(Course::GoneAtOnce) {
        return Ok(way::refusal(way::GONE, None));
    }
    let answer = upstream.send(request).await?;
    if !answer.status().is_success() {
        return Ok(answer);
    }
    let (parts, body) = answer.into_parts();
    Ok(Response::from_parts(parts, watching::along(course, body, raging)))
}

/// A body that is there as a whole.
fn whole(text: impl Into<Bytes>) -> Body {
    Full::new(text.into()).map_err(|never| match never {}).boxed_unsync()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_card_comes_once_before_one_comes_twice() {
        let (mut deck, mut random) = (Vec::new(), Rng::with_seed(7));
        for _ in 0..3 {
            let mut drawn: Vec<u8> = (0..5).filter_map(|_| draw(&mut deck, &[1, 2, 3, 4, 5], &mut random)).collect();
            drawn.sort_unstable();
            assert_eq!(drawn, [1, 2, 3, 4, 5]);
        }
    }
}
