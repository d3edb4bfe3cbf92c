//! The HTTPS server: own accept loop, with a limit on everything that a caller can stretch (D12).
//!
//! HTTP/1.1 only, which is what the API server speaks. It keeps connections to us open and never repeats a request, so
//! a stop goes slowly: every answer asks to close its connection while new ones are still accepted, then those go on which
//! nothing has been asked for a while, and what is left is cut (faults.md 0.1).

mod body;
mod crowd;
mod exchange;
#[cfg(test)]
mod tests;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use noderotation_cert::resolver::Resolver;
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info};

use crate::judge::Judge;
use body::Room;
use crowd::{Crowd, Place, Shown};
pub use exchange::{Exchange, OPERATIONS, VERDICTS};

/// Each takes less than a millisecond and, of the worst body that is read at all, some 30 MiB.
const JUDGEMENTS_AT_A_TIME: usize = 2;
/// Files of the process that are no connections of callers: watches, the other endpoints.
const OTHER_FILES: usize = 128;
/// Some kilobytes each, most of them the kernel's.
const MOST_SILENT: usize = 4096;

/// Bounds on what callers can make the server hold or wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// A TLS handshake.
    pub handshake: Duration,
    /// From the handshake or the end of an answer to the end of the next request's head. Longer than the 90 s that the API
    /// server keeps an idle connection, so that it is the API server that closes it; that goes for the first request as
    /// well, since it opens connections in a burst and keeps those that it did not need.
    pub head: Duration,
    /// A request's body and its answer; shorter than the webhook's `timeoutSeconds`.
    pub request: Duration,
    /// Bytes of a body.
    pub body: usize,
    /// Connections at a time on which somebody speaks; for one more, one that asks nothing has to go.
    pub connections: usize,
    /// Connections at a time on which nobody has said anything yet; for one more, the oldest has to go. They cost little but
    /// an open file each.
    pub silent: usize,
    /// After the stop every answer closes its connection, and this long nothing else does.
    pub lame_duck: Duration,
    /// Then whatever has asked nothing for this long is closed. The API server takes the connection that it used last, so
    /// that one which has been quiet is not likely to be taken just as it is closed.
    pub quiet: Duration,
    /// And this long after the lame duck all that is left is cut: time for the quiet and for a request.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(5),
            head: Duration::from_secs(110),
            request: Duration::from_secs(4),
            body: 3 << 20,
            connections: 512,
            silent: 384,
            lame_duck: Duration::from_secs(3),
            quiet: Duration::from_secs(10),
            drain: Duration::from_secs(15),
        }
    }
}

impl Limits {
    /// For a process that may have so many files open: others than connections need some of them. The limits by default are
    /// for the 1,024 that some container runtimes set.
    #[must_use]
    pub fn with_files(self, files: u64) -> Self {
        let files = usize::try_from(files).unwrap_or(usize::MAX);
        let left = files.saturating_sub(self.connections + OTHER_FILES);
        Self { silent: left.clamp(self.silent, MOST_SILENT), ..self }
    }
}

/// Told of every answer.
pub type Observer = Arc<dyn Fn(&Exchange) + Send + Sync>;

/// The server cannot be started.
#[derive(Debug, thiserror::Error)]
#[error("setting TLS up")]
pub struct Error(#[from] rustls::Error);

/// TLS 1.2 and later with ring, HTTP/1.1 only, and whatever certificate the resolver has.
///
/// # Errors
/// When the provider does not offer these versions.
pub fn tls(resolver: Resolver) -> Result<Arc<ServerConfig>, Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let mut config = builder.with_no_client_auth().with_cert_resolver(Arc::new(resolver));
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// Serves until `stop` is cancelled, and then as long as the limits say.
pub async fn serve(
    listener: TcpListener,
    tls: Arc<ServerConfig>,
    judge: Judge,
    limits: Limits,
    observer: Observer,
    stop: CancellationToken,
) {
    let shared = Arc::new(Shared::new(TlsAcceptor::from(tls), judge, limits, observer, stop));
    let door = Crowd::new(limits.silent);
    let mut connections = JoinSet::new();
    let mut end = pin!(end(&shared));
    loop {
        // New callers come first: the last connection may end while another one waits to be accepted.
        let stream = tokio::select! {
            biased;
            stream = accept(&listener) => stream,
            Some(_) = connections.join_next() => None,
            () = &mut end => break,
            () = shared.draining.cancelled(), if connections.is_empty() => return,
        };
        if let Some(stream) = stream
            && let Some(place) = door.admit(Shown::Nothing).await
        {
            connections.spawn(Arc::clone(&shared).run(stream, place));
        }
    }
    debug!(connections = connections.len(), "connections that did not end are cut");
}

/// The stop and what follows it, to its end.
async fn end(shared: &Shared) {
    let limits = shared.limits;
    shared.stop.cancelled().await;
    info!(seconds = limits.lame_duck.as_secs_f64(), "admission endpoint is closing: answering, and asking callers to go elsewhere");
    tokio::time::sleep(limits.lame_duck).await;
    shared.draining.cancel();
    tokio::time::sleep(limits.drain).await;
}

/// The next caller; none where accepting has failed.
async fn accept(listener: &TcpListener) -> Option<TcpStream> {
    match listener.accept().await {
        Ok((stream, _)) => Some(stream),
        Err(error) => {
            debug!(error = %error, "accepting failed");
            // Out of descriptors, most likely: leave room for others to close theirs.
            tokio::time::sleep(Duration::from_millis(50)).await;
            None
        }
    }
}

/// What all connections share.
struct Shared {
    acceptor: TlsAcceptor,
    judge: Judge,
    limits: Limits,
    observer: Observer,
    /// From now on every answer closes its connection.
    stop: CancellationToken,
    /// From now on quiet connections are closed.
    draining: CancellationToken,
    inside: Arc<Crowd>,
    room: Room,
    judgements: Semaphore,
}

impl Shared {
    fn new(acceptor: TlsAcceptor, judge: Judge, limits: Limits, observer: Observer, stop: CancellationToken) -> Self {
        let (draining, room, judgements) = (CancellationToken::new(), Room::default(), Semaphore::new(JUDGEMENTS_AT_A_TIME));
        let inside = Crowd::new(limits.connections);
        Self { acceptor, judge, limits, observer, stop, draining, inside, room, judgements }
    }

    /// From the first byte to the end of the connection.
    async fn run(self: Arc<Self>, stream: TcpStream, silent: Place) {
        let patience = Instant::now() + self.limits.handshake;
        let place = tokio::select! {
            place = tokio::time::timeout_at(patience, self.come_in(&stream, &silent)) => place,
            () = silent.sent_away() => return debug!("a connection on which nothing was said is cut to make room for another"),
        };
        drop(silent);
        let Ok(Some(place)) = place else {
            return;
        };
        // What a silent caller costs is without what follows.
        tokio::select! {
            () = Box::pin(self.attend(stream, &place, patience)) => {}
            () = place.sent_away() => debug!("a connection is cut to make room for another"),
        }
    }

    /// Waits for the caller's first byte, and then for its place.
    async fn come_in(&self, stream: &TcpStream, silent: &Place) -> Option<Place> {
        stream.peek(&mut [0]).await.ok()?;
        silent.asks();
        self.inside.admit(Shown::Speech).await
    }

    async fn attend(&self, stream: TcpStream, place: &Place, patience: Instant) {
        let Ok(Ok(tls)) = tokio::time::timeout_at(patience, self.acceptor.accept(stream)).await else {
            return;
        };
        let (asked, asking) = watch::channel(Instant::now());
        let service = service_fn(async |request| {
            place.asks();
            asked.send_replace(Instant::now());
            let answer = exchange::answer(request, self).await;
            place.waits(Shown::Request);
            answer
        });
        let mut connection = pin!(
            http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(self.limits.head)
                .serve_connection(TokioIo::new(tls), service)
        );
        // The connection first: a request that has arrived is answered.
        let ended = tokio::select! {
            biased;
            ended = &mut connection => ended,
            () = silence(asking, self.limits, &self.draining) => {
                connection.as_mut().graceful_shutdown();
                tokio::time::timeout(self.limits.request, connection).await.unwrap_or(Ok(()))
            }
        };
        if let Err(error) = ended {
            debug!(error = %error, "a connection ended early");
        }
    }
}

/// Ends when nothing has been asked for too long, also where hyper does not look at the clock: before the first request,
/// and while a caller does not read its answer.
async fn silence(mut asked: watch::Receiver<Instant>, limits: Limits, draining: &CancellationToken) {
    loop {
        let hurried = draining.is_cancelled();
        let patience = if hurried { limits.quiet } else { limits.request + limits.head };
        let since = *asked.borrow_and_update();
        tokio::select! {
            () = tokio::time::sleep_until(since + patience) => return,
            asking = asked.changed() => if asking.is_err() { return },
            () = draining.cancelled(), if !hurried => {}
        }
    }
}
