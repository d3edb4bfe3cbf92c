//! A look with all that it tells, and the end of it.

use clap::Parser;
use noderotation_cert::issue;
use noderotation_cert::secret::{KEY, Material};
use noderotation_webhook::registration::{Endpoint, Kind, desired};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::admission::{AdmissionOptions, serve};
use crate::event::{Recorder, Writer};
use crate::metrics::Metrics;
use crate::probe::Readiness;
use crate::scripted::{Answer, Server, refusal};

#[derive(Parser)]
struct Flags {
    #[command(flatten)]
    options: AdmissionOptions,
}

/// A replica, the API server that it asks, and the one that its events go to.
struct Bench {
    context: Context,
    events: Server,
    writer: Writer,
}

fn bench(answers: impl IntoIterator<Item = Answer>, flags: &[&str]) -> Bench {
    let (server, metrics) = (Server::answering(answers), Metrics::new("0", "0").unwrap());
    let written = (201, json!({"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e"}, "eventTime": null}));
    let events = Server::answering(vec![written; 10]);
    let (recorder, writer) = Recorder::new(events.client(), "replica".to_owned(), metrics.clone());
    let own = ["run", "--webhook-bind-address=127.0.0.1:0", "--webhook-service=webhook", "--certificate-secret=tls"];
    let context = Context {
        options: Flags::parse_from(own.iter().chain(flags).copied()).options,
        namespace: "system".to_owned(),
        client: server.client(),
        metrics,
        events: recorder,
        readiness: Readiness::default(),
        shutdown_delay: Duration::ZERO,
        stop: CancellationToken::new(),
    };
    Bench { context, events, writer }
}

impl Bench {
    /// Reason, object and note of every event.
    async fn told(self) -> Vec<(String, String, String)> {
        let ended = CancellationToken::new();
        ended.cancel();
        self.writer.run(ended).await.unwrap();
        let text = |event: &Value, path: &str| event.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
        let asked = self.events.asked().into_iter();
        let told = asked.map(|(_, event)| {
            let object = format!("{} {}", text(&event, "/regarding/kind"), text(&event, "/regarding/name"));
            (text(&event, "/reason"), object, text(&event, "/note"))
        });
        told.collect()
    }

    fn has(&self, series: &str) -> bool {
        self.context.metrics.render().lines().any(|line| line == series)
    }
}

fn material(bench: &Bench) -> Material {
    issue::first(&bench.context.names(), Timestamp::now()).unwrap()
}

fn secret(material: &Material) -> Value {
    let mut secret = serde_json::to_value(material.secret("tls")).unwrap();
    secret["metadata"]["resourceVersion"] = json!("7");
    secret
}

fn service() -> Answer {
    (200, json!({"apiVersion": "v1", "kind": "Service", "metadata": {}, "spec": {"clusterIP": "10.0.0.1", "ports": [{"port": 443}]}}))
}

fn entries(kind: Kind, material: &Material) -> Answer {
    let endpoint = Endpoint { namespace: "system".to_owned(), service: "webhook".to_owned(), port: 443, bundle: material.bundle.clone() };
    (200, desired(kind, "node-rotation-controller", &endpoint))
}

#[tokio::test]
async fn a_pair_that_is_refused_is_told_once_and_what_is_served_is_kept_registered() {
    let good = material(&bench([], &[]));
    let (mut torn, mut edited) = (secret(&good), entries(Kind::Mutating, &good));
    torn["data"][KEY] = secret(&material(&bench([], &[])))["data"][KEY].clone();
    edited.1["webhooks"] = json!([{"name": "default.rotationpolicies.noderotation.io", "failurePolicy": "Ignore", "clientConfig": {}, "sideEffects": "None", "admissionReviewVersions": ["v1"]}]);
    let (mutating, validating) = (entries(Kind::Mutating, &good), entries(Kind::Validating, &good));
    let as_it_should_be = [service(), mutating.clone(), validating.clone()];
    let rounds = [
        vec![(200, secret(&good))],
        as_it_should_be.to_vec(),
        vec![(200, torn.clone()), service(), edited, mutating, validating],
        vec![(200, torn)],
        as_it_should_be.to_vec(),
    ];
    let bench = bench(rounds.concat(), &["--certificates=secret"]);
    let mut upkeep = Upkeep::new(&bench.context, Resolver::default());
    upkeep.look(Timestamp::now()).await.unwrap();
    assert!(bench.has("noderotation_certificate_refused_total 0"));
    for _ in 0..2 {
        let problem = upkeep.look(Timestamp::now()).await.unwrap_err();
        assert!(problem.contains("the key does not belong to the certificate"), "{problem}");
    }
    drop(upkeep);
    assert!(bench.has("noderotation_certificate_refused_total 1"));
    assert!(bench.has("noderotation_webhook_registered{configuration=\"mutating\"} 1"));
    let told = bench.told().await;
    let reasons: Vec<(&str, &str)> = told.iter().map(|(reason, object, _)| (reason.as_str(), object.as_str())).collect();
    let expected =
        [("CertificateRefused", "Secret tls"), ("WebhookConfigurationRepaired", "MutatingWebhookConfiguration node-rotation-controller")];
    assert_eq!(reasons, expected);
    assert!(told[0].2.contains("put in a tls.crt for the Service's name"), "{told:?}");
}

#[tokio::test]
async fn a_configuration_that_is_gone_is_told_once_by_event_series_and_readiness() {
    let good = material(&bench([], &[]));
    let gone = || [(200, secret(&good)), service(), refusal(404, "NotFound"), entries(Kind::Validating, &good)];
    let back = [(200, secret(&good)), service(), entries(Kind::Mutating, &good), entries(Kind::Validating, &good)];
    let bench = bench(gone().into_iter().chain(gone()).chain(back), &[]);
    let mut upkeep = Upkeep::new(&bench.context, Resolver::default());
    for _ in 0..2 {
        let problem = upkeep.look(Timestamp::now()).await.unwrap_err();
        assert!(problem.contains("MutatingWebhookConfiguration node-rotation-controller does not exist"), "{problem}");
    }
    assert!(bench.has("noderotation_webhook_registered{configuration=\"mutating\"} 0"));
    assert!(bench.has("noderotation_webhook_registered{configuration=\"validating\"} 1"));
    upkeep.look(Timestamp::now()).await.unwrap();
    assert!(bench.has("noderotation_webhook_registered{configuration=\"mutating\"} 1"));
    drop(upkeep);
    let told = bench.told().await;
    assert_eq!(told.len(), 1, "{told:?}");
    let (reason, object, note) = &told[0];
    assert_eq!((reason.as_str(), object.as_str()), ("WebhookConfigurationMissing", "Service webhook"));
    assert!(note.ends_with("run `helm upgrade` to have it made again"), "{note}");
}

#[tokio::test]
async fn c185_a_content_that_cannot_be_served_is_replaced_and_told() {
    let mut expired = issue::first(&bench([], &[]).context.names(), "2020-01-01T00:00:00Z".parse().unwrap()).unwrap();
    expired.retires_at = None;
    let answers = [(200, secret(&expired)), (200, secret(&expired)), refusal(404, "NotFound")];
    let bench = bench(answers, &[]);
    let mut upkeep = Upkeep::new(&bench.context, Resolver::default());
    let problem = upkeep.look(Timestamp::now()).await.unwrap_err();
    assert!(problem.starts_with("reading Service webhook"), "{problem}");
    drop(upkeep);
    assert!(bench.has("noderotation_certificate_refused_total 1"));
    assert!(bench.has("noderotation_webhook_registered{configuration=\"validating\"} 0"));
    let told = bench.told().await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0].0, "CertificateReplaced");
    assert!(told[0].2.contains("expired at 2020-03-31T00:00:00Z"), "{told:?}");
}

/// The time is virtual: where nothing else can happen, the limit is reached at once.
#[tokio::test(start_paused = true)]
async fn the_stop_ends_a_look_that_the_api_server_does_not_answer() {
    // One look, three watches for it and two of the cluster.
    let silence = vec![(0, Value::Null); 6];
    let bench = bench(silence, &[]);
    let stop = bench.context.stop.clone();
    let serving = tokio::spawn(serve(bench.context));
    tokio::time::sleep(Duration::from_secs(1)).await;
    stop.cancel();
    let ended = tokio::time::timeout(Duration::from_secs(5), serving).await;
    assert!(ended.is_ok_and(|ended| ended.is_ok_and(|served| served.is_ok())));
}
