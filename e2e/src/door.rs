//! A door for one replica between it and the API server, that is shut in the ways in which a replica is cut off from the API
//! server while others are not.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, bail};
use futures::stream;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::{Bytes, Frame};
use hyper::{Request, Response};
use tokio::sync::watch;

use crate::cluster::Cluster;
use crate::proxy::{self, Body, Proxy, Upstream};
use crate::storm::{Entry, refusal};

/// How what is cut off fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failing {
    /// It is answered with 503; watches end.
    Refused,
    /// Connections are closed without an answer; watches break.
    Reset,
    /// Nothing is answered and nothing is passed on; watches stay open and say nothing.
    Silent,
    /// It is carried out, and the connection is closed before the answer; watches break.
    Unanswered,
}

/// What is cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All requests.
    Everything,
    /// Requests about Leases; all others go through.
    Lease,
    /// The watches that are open now; requests and later watches go through.
    Watches,
}

/// What is cut off, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// What.
    pub part: Part,
    /// How.
    pub failing: Failing,
}

impl fmt::Display for Cut {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let failing = match self.failing {
            Failing::Refused => "refused",
            Failing::Reset => "reset",
            Failing::Silent => "silent",
            Failing::Unanswered => "unanswered",
        };
        match self.part {
            Part::Everything => write!(to, "{failing}"),
            Part::Lease => write!(to, "the lease {failing}"),
            Part::Watches => write!(to, "the watches {failing}"),
        }
    }
}

/// What replicas have written to rotations, in the order in which the API server answered. Clones are the same journal.
#[derive(Clone, Debug, Default)]
pub struct Journal(Arc<Mutex<Vec<Entry>>>);

impl Journal {
    /// All of it.
    #[must_use]
    pub fn entries(&self) -> Vec<Entry> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn add(&self, entry: Entry) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
    }
}

/// The door. It ends when dropped.
#[derive(Debug)]
pub struct Door {
    proxy: Proxy,
    state: Arc<State>,
}

#[derive(Debug)]
struct State {
    cut: watch::Sender<Option<Cut>>,
    landed: AtomicUsize,
    journal: Journal,
}

impl Door {
    /// Opens a door for operators with the rights of the chart's ServiceAccount. `name` is part of the names of files, and other
    /// than those of other doors.
    ///
    /// # Errors
    /// When there is no port, or the chart is not installed.
    pub async fn open(cluster: &Cluster, name: &str, journal: &Journal) -> Result<Self> {
        let state = Arc::new(State { cut: watch::Sender::new(None), landed: AtomicUsize::new(0), journal: journal.clone() });
        let within = Arc::clone(&state);
        let proxy = Proxy::open(cluster, name, move |upstream, request| pass(upstream, Arc::clone(&within), request)).await?;
        Ok(Self { proxy, state })
    }

    /// The argument that leads an operator through this door.
    #[must_use]
    pub fn argument(&self) -> String {
        self.proxy.argument()
    }

    /// Cuts off from now on, also what is under way; or nothing any more.
    pub fn cut(&self, cut: Option<Cut>) {
        self.state.cut.send_replace(cut);
    }

    /// How many writes of rotations the API server has carried out for whoever is behind this door.
    #[must_use]
    pub fn landed(&self) -> usize {
        self.state.landed.load(Ordering::Relaxed)
    }
}

/// How a request that is no watch fails now, if it does.
fn failing(cut: Option<Cut>, path: &str) -> Option<Failing> {
    let cut = cut?;
    let hit = match cut.part {
        Part::Everything => true,
        Part::Lease => path.contains("/leases"),
        Part::Watches => false,
    };
    hit.then_some(cut.failing)
}

async fn pass(upstream: Upstream, state: Arc<State>, request: Request<Bytes>) -> Result<Response<Body>> {
    let (path, watched, mut cut) = (request.uri().path().to_owned(), proxy::is_watch(&request), state.cut.subscribe());
    let now = *cut.borrow_and_update();
    match failing(now, &path) {
        Some(Failing::Refused) => return Ok(refusal(503, None)),
        Some(Failing::Reset) => bail!("the door is shut"),
        Some(Failing::Silent) => return Err(silence(&mut cut, &path).await),
        Some(Failing::Unanswered) | None => {}
    }
    let entry = Entry::of(&request);
    let answer = upstream.send(request).await?;
    if let Some(entry) = entry {
        let entry = Entry { status: answer.status().as_u16(), answered: true, ..entry };
        state.landed.fetch_add(usize::from(entry.landed()), Ordering::Relaxed);
        state.journal.add(entry);
    }
    // It may have been shut meanwhile.
    let now = *cut.borrow_and_update();
    match failing(now, &path) {
        Some(Failing::Refused | Failing::Reset | Failing::Unanswered) => bail!("the door was shut before the answer"),
        Some(Failing::Silent) => Err(silence(&mut cut, &path).await),
        None if watched => Ok(answer.map(|body| watch(body, cut))),
        None => Ok(answer),
    }
}

/// Says nothing until the door is not silent any more, and then closes the connection: nothing is passed on late.
async fn silence(cut: &mut watch::Receiver<Option<Cut>>, path: &str) -> anyhow::Error {
    // The sender goes with the door.
    let _ended = cut.wait_for(|cut| failing(*cut, path) != Some(Failing::Silent)).await;
    anyhow::anyhow!("the door was silent")
}

/// A watch that has not ended, and what may cut it off.
type Rest = (Body, watch::Receiver<Option<Cut>>);
type Piece = Result<Frame<Bytes>, Box<dyn std::error::Error + Send + Sync>>;

/// A watch that goes on as long as nothing cuts it off.
fn watch(body: Body, cut: watch::Receiver<Option<Cut>>) -> Body {
    StreamBody::new(stream::unfold(Some((body, cut)), next)).boxed_unsync()
}

/// What becomes of an open watch, if it is cut off.
fn of_a_watch(cut: Option<Cut>) -> Option<Failing> {
    cut.filter(|cut| cut.part != Part::Lease).map(|cut| cut.failing)
}

/// The next piece of a watch, and what is left of the watch then.
async fn next(rest: Option<Rest>) -> Option<(Piece, Option<Rest>)> {
    let (mut body, mut cut) = rest?;
    loop {
        let failing = tokio::select! {
            biased;
            // The sender goes with the door.
            Ok(()) = cut.changed() => of_a_watch(*cut.borrow_and_update()),
            frame = body.frame() => return Some((frame?, Some((body, cut)))),
        };
        match failing {
            Some(Failing::Refused) => return None,
            Some(Failing::Reset | Failing::Unanswered) => return Some((Err("the door is shut".into()), None)),
            // Until the other side gives up: a connection that is dead does not come back.
            Some(Failing::Silent) => return std::future::pending().await,
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::SinkExt as _;
    use futures::channel::mpsc;

    use super::*;

    const SHUT: [Failing; 4] = [Failing::Refused, Failing::Reset, Failing::Silent, Failing::Unanswered];

    #[test]
    fn what_is_cut_off_is_what_was_named() {
        let (lease, node) = ("/apis/coordination.k8s.io/v1/namespaces/n/leases/l", "/api/v1/nodes/n");
        for how in SHUT {
            let cut = |part| Some(Cut { part, failing: how });
            assert_eq!([lease, node].map(|path| failing(cut(Part::Everything), path)), [Some(how), Some(how)]);
            assert_eq!([lease, node].map(|path| failing(cut(Part::Lease), path)), [Some(how), None]);
            assert_eq!([lease, node].map(|path| failing(cut(Part::Watches), path)), [None, None]);
            let parts = [Part::Everything, Part::Lease, Part::Watches];
            assert_eq!(parts.map(|part| of_a_watch(cut(part))), [Some(how), None, Some(how)]);
        }
        assert_eq!((failing(None, lease), of_a_watch(None)), (None, None));
    }

    /// A watch with one event before the cut and, were it not for the cut, one after it.
    async fn cut_by(how: Failing) -> (String, bool, bool) {
        let (mut events, body) = mpsc::channel::<Piece>(4);
        let state = watch::Sender::new(None);
        let mut seen = watch(StreamBody::new(body).boxed_unsync(), state.subscribe());
        let event = |text: &'static str| Ok(Frame::data(Bytes::from_static(text.as_bytes())));
        events.send(event("one")).await.unwrap();
        let first = seen.frame().await.unwrap().unwrap().into_data().unwrap();
        state.send_replace(Some(Cut { part: Part::Everything, failing: how }));
        // The cut comes first, since it is looked for first.
        events.send(event("two")).await.unwrap();
        let next = tokio::time::timeout(std::time::Duration::from_secs(300), seen.frame()).await;
        (String::from_utf8(first.to_vec()).unwrap(), next.is_err(), matches!(next, Ok(Some(Err(_)))))
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_that_is_cut_off_ends_breaks_or_is_silent() {
        for (how, silent, broken) in [
            (Failing::Refused, false, false),
            (Failing::Reset, false, true),
            (Failing::Silent, true, false),
            (Failing::Unanswered, false, true),
        ] {
            assert_eq!(cut_by(how).await, ("one".to_owned(), silent, broken), "{how:?}");
        }
    }
}
