//! Certificates and keys: whatever lies in the Secret, what is served completes a handshake with whoever trusts the
//! bundle, what is refused leaves it alone, and what is written in its place can be served (D12).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use noderotation_cert::bundle::Bundle;
use noderotation_cert::issue::{self, Names};
use noderotation_cert::pair;
use noderotation_cert::resolver::Resolver;
use noderotation_cert::rotation::{Rules, Verdict};
use noderotation_cert::secret::Material;
use noderotation_cert::serving::{Serving, Taken};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, ServerConfig, ServerConnection, SignatureScheme};

use crate::NOW;

/// The entries that a text without headings stands for.
const ENTRIES: [&str; 6] = ["ca.crt", "ca.key", "next-ca.crt", "next-ca.key", "tls.crt", "tls.key"];

/// Has a Secret judged whose entries are in `input`, each below a line `# NAME`; without such lines all are the same.
pub fn check(input: &[u8]) {
    roots_are_read_as_they_are_written(&String::from_utf8_lossy(input));
    let rules = Rules { names: names(), dwell: Duration::from_secs(3600) };
    let Ok(good) = issue::first(&rules.names, NOW) else { return };
    let (resolver, found) = (Resolver::default(), Material::read(&secret(input)).ok());
    let mut serving = Serving::new(rules, resolver.clone());
    assert!(serving.take(good, true, NOW).is_ok(), "what was issued does not fit");
    what_is_written_can_be_served(&serving, found.as_ref());
    let Some(found) = found else { return };
    let before = resolver.served().map(|pair| pair.key.cert.clone());
    let bundle = found.bundle.clone();
    match serving.take(found, false, NOW) {
        Ok(Taken { pair, waits, .. }) => {
            assert!(!waits, "nothing is known of who trusts what, and yet it waits");
            assert!(pair.validity.not_after > NOW && pair.is_signed_by(&bundle));
            assert_eq!(resolver.served().map(|pair| pair.key.cert.clone()), Some(pair.key.cert.clone()));
            key_and_certificate_belong_together(resolver, &pair.key.cert);
        }
        Err(misfit) => {
            assert_eq!(resolver.served().map(|pair| pair.key.cert.clone()), before, "it is refused and served: {misfit}");
            let sentence = misfit.to_string();
            assert!(!sentence.chars().any(char::is_control) && sentence.len() < 200, "{sentence:?}");
        }
    }
}

fn names() -> Names {
    Names { service: "webhook".to_owned(), namespace: "system".to_owned(), cluster_domain: "cluster.local".to_owned() }
}

fn secret(input: &[u8]) -> Secret {
    let mut data = BTreeMap::new();
    let mut name = None;
    for line in input.split_inclusive(|byte| *byte == b'\n') {
        match line.strip_prefix(b"# ") {
            Some(heading) => name = Some(String::from_utf8_lossy(heading).trim().to_owned()),
            None => {
                let names = name.clone().map_or_else(|| ENTRIES.map(str::to_owned).to_vec(), |name| vec![name]);
                names.into_iter().for_each(|name| data.entry(name).or_insert_with(|| ByteString(Vec::new())).0.extend_from_slice(line));
            }
        }
    }
    Secret { data: Some(data), ..Secret::default() }
}

fn roots_are_read_as_they_are_written(text: &str) {
    let bundle = Bundle::parse(text);
    assert_eq!(Bundle::parse(&bundle.to_string()), bundle);
    assert!(bundle.roots().all(|root| bundle.contains(root)));
    let read = bundle.certificates().map(|roots| roots.len());
    assert!(read.is_err() || read.is_ok_and(|count| count == bundle.roots().count()));
}

/// What the rules put in place of a content, or make of it, is itself served and left alone.
fn what_is_written_can_be_served(serving: &Serving, found: Option<&Material>) {
    match serving.judge(found, NOW) {
        Ok(Verdict::Serve) => assert!(found.is_some_and(|found| pair::check(found, &names().server(), NOW).is_ok())),
        Ok(Verdict::Write { material, reason }) => {
            let fits = pair::check(&material, &names().server(), NOW);
            assert!(fits.is_ok(), "{reason}: {:?}", fits.err());
            let read = Material::read(&material.secret("tls"));
            assert!(read.is_ok_and(|read| read == *material), "{reason}: it is read as another");
        }
        Err(error) => assert!(found.is_some(), "nothing is found and nothing can be issued: {error}"),
    }
}

/// By a handshake in memory: the caller sees the certificate, and a signature that it can check.
fn key_and_certificate_belong_together(resolver: Resolver, expected: &[CertificateDer<'static>]) {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let server = ServerConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
    let client = ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
    let (Ok(server), Ok(client), Ok(name)) = (server, client, ServerName::try_from(names().server())) else { return };
    let server = server.with_no_client_auth().with_cert_resolver(Arc::new(resolver));
    let client = client.dangerous().with_custom_certificate_verifier(Arc::new(Caller(provider))).with_no_client_auth();
    let (Ok(mut server), Ok(mut client)) = (ServerConnection::new(Arc::new(server)), ClientConnection::new(Arc::new(client), name)) else {
        return;
    };
    while client.is_handshaking() || server.is_handshaking() {
        let mut sent = Vec::new();
        let moved = client.write_tls(&mut sent).and_then(|_| server.read_tls(&mut sent.as_slice()));
        let ours = server.process_new_packets().map(drop);
        let mut answered = Vec::new();
        let back = server.write_tls(&mut answered).and_then(|_| client.read_tls(&mut answered.as_slice()));
        let theirs = client.process_new_packets().map(drop);
        assert!(moved.is_ok() && back.is_ok() && ours.is_ok() && theirs.is_ok(), "no handshake: {ours:?}, {theirs:?}");
        assert!(!sent.is_empty() || !answered.is_empty(), "the handshake stands still");
    }
    assert_eq!(client.peer_certificates(), Some(expected));
}

/// Judges nothing but the signatures of the handshake; the chain is judged elsewhere.
#[derive(Debug)]
struct Caller(Arc<rustls::crypto::CryptoProvider>);

impl ServerCertVerifier for Caller {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
