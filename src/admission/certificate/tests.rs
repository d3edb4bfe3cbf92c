//! The exact requests of a look at the Secret, and what is served after it.

use std::time::Duration;

use noderotation_cert::issue::Names;
use noderotation_cert::resolver::Resolver;
use noderotation_cert::rotation::Rules;
use noderotation_cert::secret::{CA_KEY, CERTIFICATE, KEY};
use serde_json::Value;

use super::*;
use crate::scripted::{Answer, Server, refusal};
use crate::telemetry::words;

const PATH: &str = "/api/v1/namespaces/system/secrets/tls";
const GET: &str = "GET /api/v1/namespaces/system/secrets/tls";
/// As of the flag.
const DWELL: Duration = Duration::from_secs(3600);
const CREATE: &str = "POST /api/v1/namespaces/system/secrets";

fn names() -> Names {
    Names { service: "webhook".to_owned(), namespace: "system".to_owned(), cluster_domain: "cluster.local".to_owned() }
}

fn now() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

fn material() -> Material {
    issue::first(&names(), now()).unwrap()
}

/// A Secret as the API server answers it.
fn stored(material: &Material) -> Value {
    let mut secret = serde_json::to_value(material.secret("tls")).unwrap();
    secret["metadata"]["resourceVersion"] = json!("7");
    secret["metadata"]["uid"] = json!("u");
    secret
}

/// The same, made by somebody else.
fn foreign(material: &Material) -> Value {
    let mut secret = stored(material);
    secret["metadata"]["labels"] = Value::Null;
    secret["data"][CA_KEY] = Value::Null;
    secret["data"].as_object_mut().unwrap().retain(|_, value| !value.is_null());
    secret
}

fn absent() -> Answer {
    refusal(404, "NotFound")
}

fn keeper(answers: impl IntoIterator<Item = Answer>) -> (Keeper, Server, Resolver) {
    keeper_of(Issuer::SelfSigned, answers)
}

fn keeper_of(issuer: Issuer, answers: impl IntoIterator<Item = Answer>) -> (Keeper, Server, Resolver) {
    let (server, resolver) = (Server::answering(answers), Resolver::default());
    let api = Api::namespaced(server.client(), "system");
    let rules = Rules { names: names(), dwell: DWELL };
    (Keeper::new(api, "tls", issuer, Serving::new(rules, resolver.clone())), server, resolver)
}

fn requests(server: &Server) -> Vec<String> {
    server.asked().into_iter().map(|(request, _)| request).collect()
}

/// The first certificate of what is served.
fn served(resolver: &Resolver) -> Option<Vec<u8>> {
    resolver.served().map(|pair| pair.key.cert[0].to_vec())
}

fn leaf(material: &Material) -> Option<Vec<u8>> {
    let resolver = Resolver::default();
    resolver.offer(material, &names().server(), now()).unwrap();
    served(&resolver)
}

#[tokio::test]
async fn a_secret_that_is_not_there_is_made_and_served() {
    let (mut keeper, server, resolver) = keeper([absent(), (201, stored(&material()))]);
    let Kept { taken: Taken { pair, bundle, .. }, .. } = keeper.keep(now()).await.unwrap();
    assert_eq!(requests(&server), [GET, CREATE]);
    let (_, body) = server.asked().remove(1);
    assert_eq!((&body["type"], &body["metadata"]["name"]), (&json!("kubernetes.io/tls"), &json!("tls")));
    assert!(is_ours(&serde_json::from_value(body).unwrap()));
    assert!(pair.is_signed_by(&bundle) && served(&resolver).is_some());
}

#[tokio::test]
async fn a_secret_that_is_good_is_served_and_not_written() {
    let good = material();
    let (mut keeper, server, resolver) = keeper([(200, stored(&good))]);
    let Kept { taken: Taken { bundle, .. }, .. } = keeper.keep(now()).await.unwrap();
    assert_eq!(requests(&server), [GET]);
    assert_eq!((served(&resolver), bundle), (leaf(&good), good.bundle));
}

#[tokio::test]
async fn of_two_replicas_the_slower_one_takes_over_what_the_faster_one_made() {
    let theirs = material();
    for lost in [refusal(409, "AlreadyExists"), refusal(409, "Conflict")] {
        let (mut keeper, server, resolver) = keeper([absent(), lost, (200, stored(&theirs))]);
        keeper.keep(now()).await.unwrap();
        assert_eq!(requests(&server), [GET, CREATE, GET]);
        assert_eq!(served(&resolver), leaf(&theirs));
    }
}

#[tokio::test]
async fn a_renewal_depends_on_the_version_that_was_read_and_serves_what_it_wrote() {
    let (old, later) = (material(), now() + jiff::SignedDuration::from_hours(70 * 24));
    let (mut keeper, server, resolver) = keeper([(200, stored(&old)), (200, stored(&old))]);
    keeper.keep(later).await.unwrap();
    let (request, body) = server.asked().remove(1);
    assert_eq!(request, format!("PATCH {PATH}"));
    assert_eq!(body["metadata"], json!({"resourceVersion": "7", "uid": "u"}));
    // What is not to be there is removed.
    assert_eq!(body["data"]["next-ca.key"], Value::Null);
    assert!(body["data"].as_object().unwrap().contains_key("next-ca.key"));
    assert_ne!(served(&resolver), leaf(&old));
}

#[tokio::test]
async fn a_renewal_that_is_always_overtaken_is_given_up_for_now() {
    let (old, later) = (material(), now() + jiff::SignedDuration::from_hours(70 * 24));
    let round = || [(200, stored(&old)), refusal(409, "Conflict")];
    let (mut keeper, server, _) = keeper((0..TRIES).flat_map(|_| round()));
    let error = keeper.keep(later).await.unwrap_err();
    assert_eq!(error.to_string(), "Secret tls is being written by other replicas");
    assert_eq!(server.asked().len(), 10);
}

#[tokio::test]
async fn a_lost_secret_comes_back_as_it_was() {
    let good = material();
    let (mut keeper, server, resolver) = keeper([(200, stored(&good)), absent(), (201, stored(&good))]);
    keeper.keep(now()).await.unwrap();
    keeper.keep(now()).await.unwrap();
    let (request, body) = server.asked().remove(2);
    assert_eq!(request, CREATE);
    assert_eq!(body["data"], stored(&good)["data"]);
    assert_eq!(served(&resolver), leaf(&good));
}

#[tokio::test]
async fn what_somebody_else_provides_is_served_if_it_fits_and_never_written() {
    let (good, other) = (material(), material());
    let mut torn = foreign(&good);
    torn["data"][KEY] = stored(&other)["data"][KEY].clone();
    let mut half = foreign(&good);
    half["data"].as_object_mut().unwrap().remove(CERTIFICATE);
    let (mut keeper, server, resolver) = keeper([(200, torn.clone()), (200, foreign(&good)), (200, torn), (200, half)]);
    let told = keeper.keep(now()).await.unwrap_err();
    assert_eq!(
        told.to_string(),
        "Secret tls is not served; this operator did not make it: put a certificate in that fits, or delete it to have one made"
    );
    assert!(told.is_refusal());
    assert_eq!(served(&resolver), None);
    keeper.keep(now()).await.unwrap();
    for expected in ["the key does not belong to the certificate", "the Secret has no readable entry tls.crt"] {
        let told = words(&keeper.keep(now()).await.unwrap_err());
        assert!(told.contains(expected), "{told}");
        assert_eq!(served(&resolver), leaf(&good), "what was served before still is");
    }
    assert_eq!(requests(&server), [GET; 4]);
}

#[tokio::test]
async fn an_error_of_the_api_server_leaves_what_is_served() {
    let good = material();
    let (mut keeper, _, resolver) = keeper([(200, stored(&good)), refusal(403, "Forbidden")]);
    keeper.keep(now()).await.unwrap();
    assert_eq!(keeper.keep(now()).await.unwrap_err().to_string(), "reading Secret tls");
    assert_eq!(served(&resolver), leaf(&good));
}

#[tokio::test]
async fn a_successor_signs_only_after_its_bundle_has_been_trusted_for_the_dwell() {
    let due = now() + jiff::SignedDuration::from_hours(4 * 365 * 24);
    let old = Material { retires_at: None, ..issue::leaf(&authority_of_old(), &Bundle::default(), &names(), due).unwrap() };
    let next = issue::authority(due).unwrap();
    let published = Material { bundle: old.bundle.clone().joined_by(&next.certificate), next: Some(next), ..old.clone() };
    let answer = || (200, stored(&published));
    let (mut keeper, server, _) = keeper([answer(), answer(), answer(), answer(), answer(), answer()]);
    keeper.keep(due).await.unwrap();
    // Another bundle is no proof of this one.
    keeper.trust(&old.bundle, due);
    keeper.keep(due + 2 * DWELL).await.unwrap();
    let since = due + 3 * DWELL;
    keeper.trust(&published.bundle, since);
    keeper.keep(since + DWELL / 2).await.unwrap();
    // Seen again, but known since then.
    keeper.trust(&published.bundle, since + DWELL / 2);
    keeper.keep(since + DWELL - Duration::from_secs(1)).await.unwrap();
    assert_eq!(requests(&server), [GET; 4]);
    let Kept { taken: Taken { bundle, .. }, .. } = keeper.keep(since + DWELL).await.unwrap();
    assert_eq!(requests(&server)[4..], [GET.to_owned(), format!("PATCH {PATH}")]);
    assert_ne!(bundle.first(), published.bundle.first());
}

fn authority_of_old() -> noderotation_cert::secret::Authority {
    issue::authority(now()).unwrap()
}

#[tokio::test]
async fn where_others_issue_the_certificate_nothing_is_written_whatever_is_found() {
    let (good, other) = (material(), material());
    let mut torn = stored(&good);
    torn["data"][KEY] = stored(&other)["data"][KEY].clone();
    for (issuer, remedy) in
        [(Issuer::CertManager, "`kubectl describe certificate`"), (Issuer::Secret, "create it, of type kubernetes.io/tls")]
    {
        // The label is of no weight: it may be left from a time when the operator issued the certificate itself.
        let answers = [absent(), (200, torn.clone()), (200, stored(&good)), absent()];
        let (mut keeper, server, resolver) = keeper_of(issuer, answers);
        let told = keeper.keep(now()).await.unwrap_err();
        assert!(told.to_string().contains(remedy) && !told.is_refusal(), "{told}");
        assert!(keeper.keep(now()).await.unwrap_err().is_refusal());
        assert_eq!((served(&resolver), keeper.served().is_none()), (None, true));
        keeper.keep(now()).await.unwrap();
        keeper.keep(now()).await.unwrap_err();
        assert_eq!(served(&resolver), leaf(&good), "what was served before still is");
        assert_eq!(keeper.served().map(|(_, bundle)| bundle), Some(good.bundle.clone()));
        assert_eq!(requests(&server), [GET; 4]);
        let later = now() + jiff::SignedDuration::from_hours(70 * 24);
        let (mut keeper, server, _) = keeper_of(issuer, [(200, stored(&good))]);
        keeper.keep(later).await.unwrap();
        assert_eq!(requests(&server), [GET], "it is not renewed by us");
    }
}

#[tokio::test]
async fn c186_a_pair_of_another_authority_is_served_once_its_root_has_been_trusted_for_the_dwell() {
    let (old, new) = (material(), material());
    // Whoever put it there, and whether or not it looks like ours.
    for (issuer, found) in [(Issuer::CertManager, foreign(&new)), (Issuer::SelfSigned, foreign(&new)), (Issuer::SelfSigned, stored(&new))] {
        let answers = [(200, stored(&old)), (200, found.clone()), (200, found.clone()), (200, found)];
        let (mut keeper, _, resolver) = keeper_of(issuer, answers);
        keeper.keep(now()).await.unwrap();
        keeper.trust(&old.bundle, now());
        let Kept { taken: Taken { bundle, waits, pair }, .. } = keeper.keep(now() + DWELL).await.unwrap();
        assert!(waits && pair.is_signed_by(&old.bundle));
        assert!(bundle.contains(old.bundle.first().unwrap()) && bundle.contains(new.bundle.first().unwrap()));
        let published = now() + 2 * DWELL;
        keeper.trust(&bundle, published);
        keeper.keep(published + DWELL - Duration::from_secs(1)).await.unwrap();
        assert_eq!(served(&resolver), leaf(&old));
        let Kept { taken: Taken { bundle, waits, .. }, .. } = keeper.keep(published + DWELL).await.unwrap();
        assert_eq!((served(&resolver), bundle, waits), (leaf(&new), new.bundle.clone(), false));
    }
}

/// The case's issue names it: a renewed certificate must be served without a restart.
#[tokio::test]
async fn c184_a_renewal_of_the_same_authority_is_served_in_the_look_that_finds_it() {
    let old = material();
    let authority = noderotation_cert::secret::Authority {
        certificate: old.bundle.first().unwrap().to_owned(),
        key: old.authority_key.clone().unwrap(),
    };
    let renewed = issue::leaf(&authority, &old.bundle, &names(), now()).unwrap();
    let (mut keeper, _, resolver) = keeper_of(Issuer::CertManager, [(200, foreign(&old)), (200, foreign(&renewed))]);
    keeper.keep(now()).await.unwrap();
    keeper.trust(&old.bundle, now());
    assert!(!keeper.keep(now() + DWELL).await.unwrap().taken.waits);
    assert_eq!(served(&resolver), leaf(&renewed));
}
