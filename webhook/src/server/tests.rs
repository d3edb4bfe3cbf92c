//! The server on loopback, with real TLS, under short limits.

mod envelope;

use std::net::SocketAddr;
use std::sync::Mutex;

use jiff::Timestamp;
use noderotation_cert::bundle::Bundle;
use noderotation_cert::issue::{self, Names};
use noderotation_cert::secret::Material;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::*;
use crate::probe::probe;
use crate::registration::VALIDATE;

const NAME: &str = "webhook.system.svc";
/// No test waits for it.
const LONG: Duration = Duration::from_secs(3600);

fn material() -> Material {
    let names = Names { service: "webhook".to_owned(), namespace: "system".to_owned(), cluster_domain: "cluster.local".to_owned() };
    issue::first(&names, Timestamp::now()).unwrap()
}

/// No test waits in vain for it.
const SHORT: Duration = Duration::from_millis(200);

/// A limit that a test reaches is short, and is named there; no other is one that a busy machine could reach.
fn patient() -> Limits {
    let (handshake, head, request) = (LONG, LONG, LONG);
    Limits { handshake, head, request, body: 2048, lame_duck: Duration::ZERO, quiet: LONG, drain: LONG, ..Limits::default() }
}

struct Running {
    address: SocketAddr,
    material: Material,
    resolver: Resolver,
    stop: CancellationToken,
    ended: JoinHandle<()>,
    seen: Arc<Mutex<Vec<(&'static str, &'static str)>>>,
}

fn serve_pair(resolver: &Resolver, material: &Material) {
    resolver.offer(material, NAME, Timestamp::now()).unwrap();
}

async fn start(limits: Limits) -> Running {
    let (material, resolver) = (material(), Resolver::default());
    serve_pair(&resolver, &material);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    let seen: Arc<Mutex<Vec<_>>> = Arc::default();
    let note = Arc::clone(&seen);
    let observer: Observer = Arc::new(move |exchange: &Exchange| note.lock().unwrap().push((exchange.operation, exchange.verdict)));
    let ended = tokio::spawn(serve(listener, tls(resolver.clone()).unwrap(), Judge::blind("no cluster"), limits, observer, stop.clone()));
    Running { address, material, resolver, stop, ended, seen }
}

async fn connect(running: &Running, protocols: &[&str]) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    for root in running.material.bundle.certificates().unwrap() {
        roots.add(root).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
    let stream = TcpStream::connect(running.address).await?;
    TlsConnector::from(Arc::new(config)).connect(ServerName::try_from(NAME).unwrap(), stream).await
}

/// Sends one request and reads until the server closes; the head asks it to.
async fn ask(running: &Running, head: &str, body: &str) -> String {
    let mut stream = connect(running, &["http/1.1"]).await.unwrap();
    let request = format!("{head}\r\nHost: {NAME}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    stream.write_all(request.as_bytes()).await.unwrap();
    read_all(&mut stream).await
}

async fn read_all(stream: &mut TlsStream<TcpStream>) -> String {
    let mut answer = Vec::new();
    // A server that closes without a goodbye has closed all the same; one that does not close fails the test.
    let closed = tokio::time::timeout(Duration::from_secs(30), stream.read_to_end(&mut answer));
    let _closed = closed.await.expect("the server did not close the connection");
    String::from_utf8(answer).unwrap()
}

#[tokio::test]
async fn it_answers_whoever_trusts_its_root_and_calls_it_by_its_name() {
    let running = start(patient()).await;
    probe(running.address, NAME, &running.material.bundle).await.unwrap();
    assert!(probe(running.address, "other.system.svc", &running.material.bundle).await.is_err());
    assert!(probe(running.address, NAME, &material().bundle).await.is_err());
    assert!(probe(running.address, NAME, &Bundle::default()).await.is_err());
    assert_eq!(*running.seen.lock().unwrap(), [("other", "allowed")]);
}

#[tokio::test]
async fn a_new_pair_is_served_from_the_next_handshake_on() {
    let running = start(patient()).await;
    let renewed = material();
    serve_pair(&running.resolver, &renewed);
    assert!(probe(running.address, NAME, &running.material.bundle).await.is_err());
    probe(running.address, NAME, &renewed.bundle).await.unwrap();
}

#[tokio::test]
async fn c173_c175_what_is_no_review_is_told_so() {
    let running = start(patient()).await;
    let json = "Content-Type: application/json; charset=utf-8";
    let review =
        r#"{"apiVersion":"admission.k8s.io/v1","request":{"uid":"abc","operation":"CREATE","kind":{"kind":"RotationPolicy"},"object":{}}}"#;
    let large = "x".repeat(4096);
    let rows = [
        (format!("GET {VALIDATE} HTTP/1.1\r\n{json}"), "", "405"),
        (format!("POST /elsewhere HTTP/1.1\r\n{json}"), "{}", "404"),
        (format!("POST {VALIDATE} HTTP/1.1\r\nContent-Type: text/plain"), "{}", "415"),
        (format!("POST {VALIDATE} HTTP/1.1\r\n{json}"), "{", "400"),
        (format!("POST {VALIDATE} HTTP/1.1\r\n{json}"), &large, "413"),
        (format!("POST {VALIDATE} HTTP/1.1\r\n{json}"), review, "200"),
    ];
    for (head, body, code) in rows {
        let answer = ask(&running, &head, body).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {code} ")), "{head}: {answer}");
    }
    assert_eq!(running.seen.lock().unwrap().last(), Some(&("create", "refused")));
}

#[tokio::test]
async fn a_body_that_would_take_much_memory_is_not_read() {
    let running = start(Limits { body: Limits::default().body, ..patient() }).await;
    let head = format!("POST {VALIDATE} HTTP/1.1\r\nContent-Type: application/json");
    // Whole, and as what stands in a text of a review that is too old.
    for (body, code) in [(format!("[{}0]", "{\"\":0},".repeat(20_000)), "413"), (format!("{{\"a\":\"{}\"}}", "[,{:".repeat(20_000)), "400")]
    {
        let answer = ask(&running, &head, &body).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {code} ")), "{answer}");
    }
}

#[tokio::test]
async fn large_bodies_that_do_not_come_keep_no_small_one_waiting() {
    let running = start(Limits { body: Limits::default().body, ..patient() }).await;
    let head = |length: usize| {
        format!("POST {VALIDATE} HTTP/1.1\r\nHost: {NAME}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n")
    };
    let mut stalled = Vec::new();
    for _ in 0..20 {
        let mut stream = connect(&running, &["http/1.1"]).await.unwrap();
        stream.write_all(head(1 << 20).as_bytes()).await.unwrap();
        stalled.push(stream);
    }
    probe(running.address, NAME, &running.material.bundle).await.unwrap();
}

#[tokio::test]
async fn only_http_1_is_spoken() {
    let running = start(patient()).await;
    let stream = connect(&running, &["h2", "http/1.1"]).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
    assert!(connect(&running, &["h2"]).await.is_err());
}

#[tokio::test]
async fn a_caller_that_says_nothing_is_let_go() {
    let running = start(Limits { handshake: SHORT, ..patient() }).await;
    let mut silent = TcpStream::connect(running.address).await.unwrap();
    assert_eq!(silent.read(&mut [0; 1]).await.unwrap_or(0), 0);
    // After the handshake, and within a head.
    let running = start(Limits { head: SHORT, request: SHORT, ..patient() }).await;
    let mut idle = connect(&running, &["http/1.1"]).await.unwrap();
    assert_eq!(read_all(&mut idle).await, "");
    let mut half = connect(&running, &["http/1.1"]).await.unwrap();
    // It may be gone already.
    let _sent = half.write_all(b"POST / HT").await;
    let answer = read_all(&mut half).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408"), "{answer}");
}

#[tokio::test]
async fn callers_that_only_take_up_room_make_way_for_one_that_asks() {
    let running = start(Limits { connections: 8, silent: 8, ..patient() }).await;
    let mut known = connect(&running, &["http/1.1"]).await.unwrap();
    let head = format!("POST {VALIDATE} HTTP/1.1\r\nHost: {NAME}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}");
    let mut answer = [0; 1024];
    known.write_all(head.as_bytes()).await.unwrap();
    assert!(known.read(&mut answer).await.unwrap() > 0);
    // Some say nothing before the handshake, some after it.
    let mut silent = Vec::new();
    let crowding = async {
        for number in 0..40 {
            silent.push(TcpStream::connect(running.address).await.unwrap());
            if number % 8 == 0 {
                let _shaken = connect(&running, &["http/1.1"]).await.unwrap();
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(30), crowding).await.expect("no room was made");
    probe(running.address, NAME, &running.material.bundle).await.unwrap();
    known.write_all(head.as_bytes()).await.unwrap();
    assert!(known.read(&mut answer).await.unwrap() > 0, "whoever has asked before was sent away for one who has not");
}

/// How long silence lasts that begins with so many requests, nine seconds apart, where the drain begins then.
async fn lasted(requests: u32, drain: Duration) -> Duration {
    let (asked, asking) = watch::channel(Instant::now());
    let (begun, draining) = (Instant::now(), CancellationToken::new());
    let requests = async {
        for _ in 0..requests {
            tokio::time::sleep(Duration::from_secs(9)).await;
            asked.send_replace(Instant::now());
        }
    };
    let drain = async {
        tokio::time::sleep(drain).await;
        draining.cancel();
    };
    tokio::select! {
        () = async { tokio::join!(silence(asking, Limits::default(), &draining), requests); } => {}
        () = async { tokio::join!(drain, std::future::pending::<()>()); } => {}
    }
    begun.elapsed()
}

#[tokio::test(start_paused = true)]
async fn patience_is_longer_than_the_api_servers_also_before_the_first_request() {
    let patience = Limits::default().head + Limits::default().request;
    assert!(patience > Duration::from_secs(90));
    for requests in [0, 1, 2] {
        assert_eq!(lasted(requests, LONG).await, Duration::from_secs(9) * requests + patience);
    }
}

#[tokio::test(start_paused = true)]
async fn at_the_end_a_connection_stays_until_it_has_been_quiet_for_a_while() {
    let (seconds, quiet) = (Duration::from_secs, Limits::default().quiet);
    // Asked on while it drains, asked on shortly before, and not for a while.
    assert_eq!(lasted(2, seconds(10)).await, seconds(18) + quiet);
    assert_eq!(lasted(2, seconds(20)).await, seconds(18) + quiet);
    assert_eq!(lasted(2, seconds(40)).await, seconds(40));
}

/// Or there would be no time for the last of them.
#[test]
fn the_drain_is_longer_than_the_quiet_and_a_request() {
    let limits = Limits::default();
    assert!(limits.drain > limits.quiet + limits.request);
}

#[tokio::test]
async fn a_body_that_never_comes_is_not_waited_for() {
    let running = start(Limits { request: SHORT, ..patient() }).await;
    let mut stream = connect(&running, &["http/1.1"]).await.unwrap();
    let head = format!("POST {VALIDATE} HTTP/1.1\r\nHost: {NAME}\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    assert!(read_all(&mut stream).await.starts_with("HTTP/1.1 408 "));
}

#[tokio::test]
async fn a_stop_answers_first_and_asks_callers_to_go_elsewhere() {
    let running = start(Limits { lame_duck: LONG, ..patient() }).await;
    let mut stream = connect(&running, &["http/1.1"]).await.unwrap();
    running.stop.cancel();
    // Still accepted, still answered; and no `Connection: close` from the caller here.
    let head = format!("POST {VALIDATE} HTTP/1.1\r\nHost: {NAME}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}");
    let mut late = connect(&running, &["http/1.1"]).await.unwrap();
    for stream in [&mut stream, &mut late] {
        stream.write_all(head.as_bytes()).await.unwrap();
        let answer = read_all(stream).await.to_ascii_lowercase();
        assert!(answer.contains("connection: close"), "{answer}");
    }
    running.ended.abort();
}

#[tokio::test]
async fn while_connections_end_new_ones_are_still_answered() {
    let running = start(patient()).await;
    let mut held = connect(&running, &["http/1.1"]).await.unwrap();
    running.stop.cancel();
    probe(running.address, NAME, &running.material.bundle).await.unwrap();
    let head = format!("POST {VALIDATE} HTTP/1.1\r\nHost: {NAME}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}");
    held.write_all(head.as_bytes()).await.unwrap();
    assert!(read_all(&mut held).await.to_ascii_lowercase().contains("connection: close"));
    // Nobody is left to wait for.
    running.ended.await.unwrap();
}

#[tokio::test]
async fn after_the_stop_the_server_ends_although_callers_hold_their_connections() {
    // One is closed for its silence, or cut while it is not silent enough.
    for limits in [Limits { quiet: SHORT, ..patient() }, Limits { drain: SHORT, ..patient() }] {
        let running = start(limits).await;
        let _held = connect(&running, &["http/1.1"]).await.unwrap();
        running.stop.cancel();
        running.ended.await.unwrap();
    }
}
