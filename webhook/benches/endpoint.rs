//! What a review costs: in the handler alone, and over TLS on loopback with the connections of an API server. `make bench`
//! runs it; docs/performance.md has the figures.
//!
//! The server runs on one thread, as on one core. Prints a table; nothing is compared with a limit.

#![expect(clippy::expect_used, clippy::indexing_slicing, clippy::print_stdout, reason = "the whole file is a benchmark")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use jiff::Timestamp;
use noderotation_cert::issue::{self, Names};
use noderotation_cert::resolver::Resolver;
use noderotation_cert::secret::Material;
use noderotation_core::doubt::Strictness;
use noderotation_webhook::judge::Judge;
use noderotation_webhook::registration::{MUTATE, VALIDATE};
use noderotation_webhook::review::{Answer, Review};
use noderotation_webhook::server::{self, Limits, Observer};
use noderotation_webhook::{default, validate};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_util::sync::CancellationToken;

/// As many as the API server keeps open after a burst.
const CONNECTIONS: usize = 32;
/// Requests of each measurement over TLS.
const REQUESTS: usize = 20_000;
/// Of the one with a steady rate.
const RATE: u32 = 1000;
const STEADY: usize = 5000;
/// Reviews of the handler alone.
const REVIEWS: u32 = 10_000;

fn main() {
    let reviews = [
        ("a good policy, mutated", MUTATE, body("2m")),
        ("a good policy, validated", VALIDATE, body("2m")),
        ("a policy at fault", MUTATE, body("0s")),
    ];
    println!("| handler alone | time | allocations | bytes |\n|---|---|---|---|");
    for (name, path, body) in &reviews {
        handler(name, path, body);
    }
    let server = Server::start();
    let client = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    println!("\n| over TLS, {CONNECTIONS} connections | requests/s | p50 | p99 | longest |\n|---|---|---|---|---|");
    let before = resident();
    for (name, path, body) in &reviews {
        let took = client.block_on(flat_out(&server, path, body));
        row(&format!("{name}, flat out"), &took);
    }
    let took = client.block_on(steadily(&server, VALIDATE, &reviews[1].2));
    row(&format!("{}, {RATE} a second", reviews[1].0), &took);
    println!(
        "\nmemory of client and server: {:.1} MiB more after {} requests than before",
        (resident() - before) / 1_048_576.0,
        3 * REQUESTS + STEADY
    );
}

/// What the API server sends when a policy is applied.
fn body(ready_timeout: &str) -> Bytes {
    let policy = json!({
        "apiVersion": "noderotation.io/v1alpha1",
        "kind": "RotationPolicy",
        "metadata": {"name": "api", "labels": {"team": "platform"}},
        "spec": {
            "nodePoolSelector": {"matchLabels": {"workload": "api"}},
            "maintenanceWindows": [{"timezone": "Europe/Berlin", "days": ["Wed", "Sat"], "start": "02:00", "end": "06:00"}],
            "surge": {"readyTimeout": ready_timeout},
        },
    });
    let request = json!({"uid": "abc", "operation": "CREATE", "kind": {"kind": "RotationPolicy"}, "userInfo": {"username": "someone"}, "object": policy});
    Bytes::from(json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).to_string())
}

fn judge() -> Judge {
    Judge { sight: Arc::new(|| Ok(Arc::default())), strictness: Strictness::default() }
}

fn handler(name: &str, path: &str, body: &Bytes) {
    let (judge, now) = (judge(), Timestamp::now());
    let respond: fn(&Review, &Judge, Timestamp) -> Answer = if path == MUTATE { default::answer } else { validate::answer };
    let one = || {
        let review = Review::read(body).expect("a review");
        respond(&review, &judge, now).write(&review).to_string()
    };
    let allocated = allocation_counter::measure(|| drop(std::hint::black_box(one())));
    let begun = Instant::now();
    for _ in 0..REVIEWS {
        std::hint::black_box(one());
    }
    println!(
        "| {name} | {:.1} µs | {} | {} |",
        begun.elapsed().as_secs_f64() * 1e6 / f64::from(REVIEWS),
        allocated.count_total,
        allocated.bytes_total
    );
}

/// The server with a thread of its own, which ends with the process.
struct Server {
    address: SocketAddr,
    tls: TlsConnector,
    name: ServerName<'static>,
}

impl Server {
    fn start() -> Self {
        let names = Names { service: "webhook".to_owned(), namespace: "system".to_owned(), cluster_domain: "cluster.local".to_owned() };
        let material = issue::first(&names, Timestamp::now()).expect("a certificate");
        let resolver = Resolver::default();
        resolver.offer(&material, &names.server(), Timestamp::now()).expect("a pair that fits");
        let (told, address) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
                told.send(listener.local_addr().expect("an address")).expect("somebody to tell");
                let (tls, observer): (_, Observer) = (server::tls(resolver).expect("TLS"), Arc::new(|_| {}));
                server::serve(listener, tls, judge(), Limits::default(), observer, CancellationToken::new()).await;
            });
        });
        let name = ServerName::try_from(names.server()).expect("a name");
        Self { address: address.recv().expect("the server's address"), tls: connector(&material), name }
    }

    async fn connect(&self) -> SendRequest<Full<Bytes>> {
        let stream = TcpStream::connect(self.address).await.expect("a connection");
        let stream = self.tls.connect(self.name.clone(), stream).await.expect("a handshake");
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.expect("a connection");
        tokio::spawn(connection);
        sender
    }
}

fn connector(material: &Material) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    for root in material.bundle.certificates().expect("roots") {
        roots.add(root).expect("a root");
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().expect("TLS versions");
    TlsConnector::from(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
}

async fn ask(sender: &mut SendRequest<Full<Bytes>>, path: &str, body: &Bytes) {
    let request = Request::post(path).header("host", "webhook").header("content-type", "application/json");
    let request = request.body(Full::new(body.clone())).expect("a request");
    let answer = sender.send_request(request).await.expect("an answer");
    assert_eq!(answer.status(), 200);
    answer.into_body().collect().await.expect("a whole answer");
}

/// How long each answer took, and all of them together.
struct Took {
    each: Vec<Duration>,
    all: Duration,
}

/// Every connection asks again as soon as it is answered.
async fn flat_out(server: &Server, path: &'static str, body: &Bytes) -> Took {
    let mut work = Vec::new();
    let begun = Instant::now();
    for _ in 0..CONNECTIONS {
        let (mut sender, body) = (server.connect().await, body.clone());
        work.push(tokio::spawn(async move {
            let mut each = Vec::new();
            for _ in 0..REQUESTS / CONNECTIONS {
                let begun = Instant::now();
                ask(&mut sender, path, &body).await;
                each.push(begun.elapsed());
            }
            each
        }));
    }
    let mut each = Vec::new();
    for work in work {
        each.extend(work.await.expect("no panic"));
    }
    Took { each, all: begun.elapsed() }
}

/// Whoever is free asks when the next one is due; a late answer is late from the time when it was due.
async fn steadily(server: &Server, path: &'static str, body: &Bytes) -> Took {
    let (free, mut idle) = tokio::sync::mpsc::unbounded_channel();
    for _ in 0..CONNECTIONS {
        free.send(server.connect().await).expect("somebody who asks");
    }
    let (mut work, begun) = (Vec::new(), Instant::now());
    for number in 0..STEADY {
        let due = begun + Duration::from_secs(1) / RATE * u32::try_from(number).expect("a small number");
        tokio::time::sleep_until(due.into()).await;
        let (mut sender, body, free) = (idle.recv().await.expect("a connection"), body.clone(), free.clone());
        work.push(tokio::spawn(async move {
            ask(&mut sender, path, &body).await;
            let took = due.elapsed();
            drop(free.send(sender));
            took
        }));
    }
    let mut each = Vec::new();
    for work in work {
        each.push(work.await.expect("no panic"));
    }
    Took { each, all: begun.elapsed() }
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
fn row(name: &str, took: &Took) {
    let mut each = took.each.clone();
    each.sort_unstable();
    let at = |part: usize| each[(each.len() * part / 100).min(each.len() - 1)].as_secs_f64() * 1e3;
    let rate = each.len() as f64 / took.all.as_secs_f64();
    println!("| {name} | {rate:.0} | {:.2} ms | {:.2} ms | {:.2} ms |", at(50), at(99), at(100));
}

/// Bytes of memory that this process has now.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap_or_default() * 1024.0
}
