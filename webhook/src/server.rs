//! The HTTPS server: own accept loop, with a limit on everything that a caller can stretch (D12).
//!
//! HTTP/1.1 only, which is what the API server speaks. It keeps connections to us open and never repeats a request, so
//! a stop goes slowly: first every answer asks to close its connection while new ones are still accepted, then what is
//! left is drained, and only then cut (faults.md 0.1).

mod body;
mod crowd;
mod exchange;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use noderotation_cert::resolver::Resolver;
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info};

use crate::judge::Judge;
use body::Room;
use crowd::{Crowd, Place, Shown};
pub use exchange::{Exchange, OPERATIONS, VERDICTS};

/// Each takes less than a millisecond and, of the worst body that is read at all, some 30 MiB.
const JUDGEMENTS_AT_A_TIME: usize = 2;

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
    /// Connections at a time; for one more, one that asks nothing has to go. Fewer than the 1,024 files that some container
    /// runtimes let a process open.
    pub connections: usize,
    /// After the stop: accept, and close after each answer, this long.
    pub lame_duck: Duration,
    /// Then wait this long for requests in flight.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(5),
            head: Duration::from_secs(110),
            request: Duration::from_secs(4),
            body: 3 << 20,
            connections: 768,
            lame_duck: Duration::from_secs(3),
            drain: Duration::from_secs(5),
        }
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
    let connection = Arc::new(Shared::new(TlsAcceptor::from(tls), judge, limits, observer));
    let crowd = Crowd::new(limits.connections);
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    let end = lame_duck(&stop, &connection);
    tokio::pin!(end);
    loop {
        // Finished connections are let go as new ones come.
        while connections.try_join_next().is_some() {}
        let accepted = tokio::select! {
            accepted = accept(&listener, &crowd) => accepted,
            () = &mut end => break,
        };
        if let Some((stream, place)) = accepted {
            connections.spawn(Arc::clone(&connection).run(stream, place, graceful.watcher()));
        }
    }
    drop(listener);
    if tokio::time::timeout(limits.drain, graceful.shutdown()).await.is_err() {
        debug!("connections that did not end are cut");
    }
    connections.abort_all();
}

/// The stop, and the time after it in which new connections are still answered.
async fn lame_duck(stop: &CancellationToken, shared: &Shared) {
    stop.cancelled().await;
    shared.closing.store(true, Ordering::Relaxed);
    info!(seconds = shared.limits.lame_duck.as_secs_f64(), "admission endpoint is closing: answering, and asking callers to go elsewhere");
    tokio::time::sleep(shared.limits.lame_duck).await;
}

async fn accept(listener: &TcpListener, crowd: &Arc<Crowd>) -> Option<(TcpStream, Place)> {
    match listener.accept().await {
        Ok((stream, _)) => crowd.admit().await.map(|place| (stream, place)),
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
    closing: AtomicBool,
    room: Room,
    judgements: Semaphore,
}

impl Shared {
    fn new(acceptor: TlsAcceptor, judge: Judge, limits: Limits, observer: Observer) -> Self {
        let (closing, room, judgements) = (AtomicBool::new(false), Room::default(), Semaphore::new(JUDGEMENTS_AT_A_TIME));
        Self { acceptor, judge, limits, observer, closing, room, judgements }
    }

    /// From the handshake to the end of the connection.
    async fn run(self: Arc<Self>, stream: TcpStream, place: Place, watcher: Watcher) {
        tokio::select! {
            () = self.attend(stream, &place, watcher) => {}
            () = place.sent_away() => debug!("a connection is cut to make room for another"),
        }
    }

    async fn shake_hands(&self, stream: TcpStream, place: &Place) -> std::io::Result<TlsStream<TcpStream>> {
        stream.peek(&mut [0]).await?;
        place.waits(Shown::Speech);
        self.acceptor.accept(stream).await
    }

    async fn attend(&self, stream: TcpStream, place: &Place, watcher: Watcher) {
        let Ok(Ok(tls)) = tokio::time::timeout(self.limits.handshake, self.shake_hands(stream, place)).await else {
            return;
        };
        let (asked, asking) = watch::channel(());
        let service = service_fn(async |request| {
            place.asks();
            asked.send_replace(());
            let answer = exchange::answer(request, self).await;
            place.waits(Shown::Request);
            answer
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.head)
            .serve_connection(TokioIo::new(tls), service);
        tokio::select! {
            ended = watcher.watch(connection) => {
                if let Err(error) = ended {
                    debug!(error = %error, "a connection ended early");
                }
            }
            () = silence(asking, self.limits) => debug!("a connection is cut, since nothing is asked on it"),
        }
    }
}

/// Ends when no request comes, also where hyper does not look at the clock: before the first one, and while a caller does
/// not read its answer.
async fn silence(mut asking: watch::Receiver<()>, limits: Limits) {
    while let Ok(Ok(())) = tokio::time::timeout(limits.request + limits.head, asking.changed()).await {}
}
