//! The exact requests of a comparison, and what each answer leads to.

use std::sync::Arc;

use jiff::Timestamp;
use noderotation_cert::issue::{self, Names};
use noderotation_cert::resolver::Resolver;
use noderotation_webhook::judge::Judge;
use noderotation_webhook::server::{self, Limits};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::scripted::{Answer, Server, refusal};
use crate::telemetry::words;

const DWELL: Duration = Duration::from_secs(3600);
const SERVICE: &str = "GET /api/v1/namespaces/system/services/webhook";
const MUTATING: &str = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/nrc";
const VALIDATING: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/nrc";

/// Something to register, and an API server that answers.
struct Bench {
    registrar: Registrar,
    server: Server,
    pair: Pair,
    bundle: Bundle,
    resolver: Resolver,
}

fn bench(answers: impl IntoIterator<Item = Answer>) -> Bench {
    let names = Names { service: "webhook".to_owned(), namespace: "system".to_owned(), cluster_domain: "cluster.local".to_owned() };
    let (server, resolver) = (Server::answering(answers), Resolver::default());
    let material = issue::first(&names, Timestamp::now()).unwrap();
    let pair = resolver.offer(&material, &names.server(), Timestamp::now()).unwrap();
    let registrar = Registrar {
        client: server.client(),
        namespace: names.namespace.clone(),
        service: names.service.clone(),
        configuration: "nrc".to_owned(),
        server_name: names.server(),
        dwell: DWELL,
        writes: true,
        strangers: Default::default(),
    };
    Bench { registrar, server, pair, bundle: material.bundle, resolver }
}

impl Bench {
    /// The API server answers this from now on.
    fn answering(mut self, answers: impl IntoIterator<Item = Answer>) -> Self {
        self.server = Server::answering(answers);
        self.registrar.client = self.server.client();
        self
    }

    fn entries(&self, kind: Kind, port: u16) -> Value {
        let endpoint =
            Endpoint { namespace: "system".to_owned(), service: "webhook".to_owned(), port: i32::from(port), bundle: self.bundle.clone() };
        let mut object = desired(kind, "nrc", &endpoint);
        object["metadata"]["resourceVersion"] = json!("7");
        object
    }

    /// Both outcomes of a look; a fault that keeps it from looking at all stands for both.
    async fn look(&mut self, now: Timestamp) -> [Result<Registered, Error>; 2] {
        let outcomes = self.registrar.keep(&self.pair, &self.bundle, now).await;
        outcomes.unwrap().map(|(_, outcome)| outcome)
    }

    /// What became of both, or the first fault.
    async fn keep(&mut self) -> Result<[Change; 2], String> {
        let outcomes = self.registrar.keep(&self.pair, &self.bundle, Timestamp::now()).await.map_err(|error| words(&error))?;
        let [mutating, validating] = outcomes.map(|(_, outcome)| outcome.map(|registered| registered.change).map_err(|e| words(&e)));
        Ok([mutating?, validating?])
    }

    fn requests(&self) -> Vec<String> {
        self.server.asked().into_iter().map(|(request, _)| request).collect()
    }
}

fn service(address: &str, port: u16) -> Answer {
    (200, json!({"apiVersion": "v1", "kind": "Service", "metadata": {}, "spec": {"clusterIP": address, "ports": [{"port": port}]}}))
}

fn shell(kind: Kind) -> Answer {
    (200, json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind.object_kind(), "metadata": {"name": "nrc"}}))
}

#[tokio::test]
async fn what_is_as_it_should_be_is_not_written() {
    let bench = bench([]);
    let answers = [service("10.0.0.1", 443), (200, bench.entries(Kind::Mutating, 443)), (200, bench.entries(Kind::Validating, 443))];
    let mut bench = bench.answering(answers);
    bench.keep().await.unwrap();
    assert_eq!(bench.requests(), [SERVICE.to_owned(), format!("GET {MUTATING}"), format!("GET {VALIDATING}")]);
}

#[tokio::test]
async fn an_edited_entry_is_applied_again_without_waiting_for_an_answer() {
    let bench = bench([]);
    let (mutating, validating) = (bench.entries(Kind::Mutating, 443), bench.entries(Kind::Validating, 443));
    let mut edited = validating.clone();
    edited["webhooks"][0]["clientConfig"]["caBundle"] = Value::Null;
    // Nobody listens there.
    let mut bench =
        bench.answering([service("127.0.0.1", 1), (200, bench_port(&mutating, 1)), (200, edited), (200, bench_port(&validating, 1))]);
    bench.keep().await.unwrap();
    let (request, body) = bench.server.asked().remove(3);
    assert_eq!(request, format!("PATCH {VALIDATING}"));
    assert_eq!(body["webhooks"], bench.entries(Kind::Validating, 1)["webhooks"]);
}

/// The same entries at another port of the Service.
fn bench_port(object: &Value, port: u16) -> Value {
    let mut object = object.clone();
    object["webhooks"][0]["clientConfig"]["service"]["port"] = json!(port);
    object
}

#[tokio::test]
async fn what_an_apply_does_not_undo_is_replaced() {
    let bench = bench([]);
    let (mutating, validating) = (bench.entries(Kind::Mutating, 443), bench.entries(Kind::Validating, 443));
    let mut edited = mutating.clone();
    let never = json!({"name": "never", "expression": "false"});
    edited["webhooks"][0]["matchConditions"].as_array_mut().unwrap().push(never);
    let answers = [service("10.0.0.1", 443), (200, edited.clone()), (200, edited), (200, mutating.clone()), (200, validating)];
    let mut bench = bench.answering(answers);
    bench.keep().await.unwrap();
    let asked = bench.server.asked();
    let patch = format!("PATCH {MUTATING}");
    assert_eq!((&asked[2].0, &asked[3].0), (&patch, &patch));
    assert_eq!(asked[3].1, json!({"metadata": {"resourceVersion": "7"}, "webhooks": mutating["webhooks"]}));
}

#[tokio::test]
async fn a_shell_is_filled_in_once_the_endpoint_answers_and_not_before() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let bench = bench([]);
    let mut silent = bench.answering([service("127.0.0.1", 1), shell(Kind::Mutating), shell(Kind::Validating)]);
    let told = silent.keep().await.unwrap_err();
    assert!(told.starts_with("the endpoint does not answer through its Service yet, so it is not registered: 127.0.0.1:1"), "{told}");
    assert!(silent.requests().iter().all(|request| request.starts_with("GET")));

    let stop = CancellationToken::new();
    let tls = server::tls(silent.resolver.clone()).unwrap();
    let limits = Limits { lame_duck: std::time::Duration::ZERO, ..Limits::default() };
    let serving = tokio::spawn(server::serve(listener, tls, Judge::blind(""), limits, Arc::new(|_| {}), stop.clone()));
    let port = address.port();
    let (mutating, validating) = (silent.entries(Kind::Mutating, port), silent.entries(Kind::Validating, port));
    let answers = [service("127.0.0.1", port), shell(Kind::Mutating), (200, mutating), shell(Kind::Validating), (200, validating)];
    let mut answered = silent.answering(answers);
    answered.keep().await.unwrap();
    let patches: Vec<_> = answered.requests().into_iter().filter(|request| request.starts_with("PATCH")).collect();
    assert_eq!(patches, [format!("PATCH {MUTATING}"), format!("PATCH {VALIDATING}")]);
    stop.cancel();
    serving.await.unwrap();
}

#[tokio::test]
async fn a_missing_shell_is_told_and_the_other_one_is_repaired_all_the_same() {
    let bench = bench([]);
    let validating = bench.entries(Kind::Validating, 443);
    let mut edited = validating.clone();
    edited["webhooks"][0]["failurePolicy"] = json!("Ignore");
    let mut bench = bench.answering([service("10.0.0.1", 443), refusal(404, "NotFound"), (200, edited), (200, validating)]);
    let told = bench.keep().await.unwrap_err();
    assert_eq!(
        told,
        "MutatingWebhookConfiguration nrc does not exist, so bad policies are not refused: run `helm upgrade` to have it made again"
    );
    assert_eq!(bench.requests().last(), Some(&format!("PATCH {VALIDATING}")));
}

#[tokio::test]
async fn only_an_api_server_that_trusts_others_is_a_reason_not_to_be_ready() {
    for (trusts_us, expected) in [(true, false), (false, true)] {
        let bench = bench([]);
        let (mutating, mut edited) = (bench.entries(Kind::Mutating, 443), bench.entries(Kind::Validating, 443));
        edited["webhooks"][0]["failurePolicy"] = json!("Ignore");
        if !trusts_us {
            edited["webhooks"][0]["clientConfig"]["caBundle"] = Value::Null;
        }
        let mut bench = bench.answering([service("10.0.0.1", 443), (200, mutating), (200, edited), refusal(403, "Forbidden")]);
        let [mutating, validating] = bench.look(Timestamp::now()).await;
        let error = validating.unwrap_err();
        assert!(mutating.is_ok() && error.is_distrust() == expected, "{error}");
    }
}

#[tokio::test]
async fn a_service_without_an_address_is_told() {
    let rows =
        [(service("None", 443), "Service webhook has no cluster IP and port"), (refusal(404, "NotFound"), "reading Service webhook")];
    for (answer, expected) in rows {
        let mut bench = bench([answer]);
        let told = bench.keep().await.unwrap_err();
        assert!(told.starts_with(expected), "{told}");
        assert_eq!(bench.requests(), [SERVICE]);
    }
}

/// Another replica may still serve what it has signed, as while the certificate comes from somebody else than before.
#[tokio::test]
async fn a_root_that_is_not_ours_stays_for_the_dwell_and_no_longer() {
    let (now, other) = (Timestamp::now(), bench([]).bundle);
    let bench = bench([]);
    let both = other.roots().fold(bench.bundle.clone(), Bundle::joined_by);
    let with = |bundle: &Bundle| {
        let endpoint = Endpoint { namespace: "system".to_owned(), service: "webhook".to_owned(), port: 443, bundle: bundle.clone() };
        [Kind::Mutating, Kind::Validating].map(|kind| (200, desired(kind, "nrc", &endpoint)))
    };
    let ([mutating, validating], [mutating_both, validating_both], [alone, alone_too]) = (with(&other), with(&both), with(&bench.bundle));
    let rounds = [
        // The other replica's bundle: ours joins it.
        vec![service("10.0.0.1", 443), mutating, mutating_both.clone(), validating, validating_both.clone()],
        vec![service("10.0.0.1", 443), mutating_both.clone(), validating_both.clone()],
        vec![service("10.0.0.1", 443), mutating_both, alone, validating_both, alone_too],
    ];
    let mut bench = bench.answering(rounds.concat());
    for (after, change, trusted) in
        [(Duration::ZERO, Change::Repaired, &both), (DWELL / 2, Change::None, &both), (DWELL, Change::Repaired, &bench.bundle.clone())]
    {
        for outcome in bench.look(now + after).await {
            assert_eq!(outcome.unwrap(), Registered { change, trusted: trusted.clone() });
        }
    }
}

#[tokio::test]
async fn entries_that_are_left_to_others_are_looked_at_and_never_written() {
    let bench = bench([]);
    let (mutating, mut validating) = (bench.entries(Kind::Mutating, 443), bench.entries(Kind::Validating, 443));
    validating["webhooks"][0]["clientConfig"]["caBundle"] = Value::Null;
    let mut bench = bench.answering([(200, mutating), (200, validating)]);
    bench.registrar.writes = false;
    let [mutating, validating] = bench.look(Timestamp::now()).await;
    assert_eq!(mutating.unwrap(), Registered { change: Change::None, trusted: bench.bundle.clone() });
    let error = validating.unwrap_err();
    assert!(error.is_distrust() && error.to_string().ends_with("put the root that has signed it, ca.crt of the Secret, into caBundle"));
    assert_eq!(bench.requests(), [format!("GET {MUTATING}"), format!("GET {VALIDATING}")]);
}
