//! Taking the Lease from whoever holds it, for the one command that needs everybody to stand down: `cleanup --all`.
//!
//! A leader that finds another's name in the Lease, or cannot renew it, stops writing before what it was granted is over:
//! at most the duration that it wrote itself after its last renewal, and that lies before our write (I12). The Go
//! controller keeps the same rule. So no right over its Pods is needed, and nothing has to be put back if the removal is
//! broken off: whoever is still there leads again when our hold is over.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, PostParams};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::lead::Lead;
use super::lease::{self, LEASE};
use super::overtaken;

/// How long the Lease stays taken after the command has ended: what is removed next must be gone by then, or a replica
/// that is still there begins anew.
pub(crate) const HOLD: Duration = Duration::from_secs(60);
/// What the name of whoever takes the Lease in this way begins with.
pub(crate) const TAKER: &str = "cleanup_";
/// The same when he is done: whoever led before has stopped, and nobody need be waited for.
const DONE: &str = "cleaned_";
/// Time between two renewals.
const RENEWAL: Duration = Duration::from_secs(10);
/// We write no more after this long without a renewal.
const DEADLINE: Duration = Duration::from_secs(40);
/// What a leader is given that has written no duration.
const USUAL: Duration = Duration::from_secs(15);
/// Races with a leader that renews: it does so every few seconds.
const TRIES: usize = 20;

/// Why the Lease is not ours.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The API server, or the way to it, failed.
    #[error("taking the Lease {LEASE} in namespace {0}")]
    Api(String, #[source] Box<kube::Error>),
    /// Somebody writes it all the time.
    #[error("the Lease {LEASE} in namespace {0} changes faster than it can be taken; try again")]
    Contended(String),
}

/// The Lease as taken.
pub(crate) struct Takeover {
    /// To be asked before every write.
    pub(crate) lead: Lead,
    /// Who held it, and how long to wait until he has certainly stopped.
    pub(crate) before: Option<(String, Duration)>,
    renewing: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
}

impl Takeover {
    /// Says that nobody writes any more. The Lease stays taken for [`HOLD`].
    pub(crate) async fn done(self) {
        if let Some((done, renewing)) = self.renewing {
            let _ended_by_itself = done.send(());
            let _ended = renewing.await;
        }
    }
}

/// The holder rotates nothing.
pub(crate) fn is_taker(holder: &str) -> bool {
    holder.starts_with(TAKER) || holder.starts_with(DONE)
}

/// Writes `identity` into the Lease of `namespace`, whoever holds it, and keeps it there until the value is dropped or done
/// with, and for [`HOLD`] after that. The caller waits for who was there before.
///
/// # Errors
/// When it cannot be written.
pub(crate) async fn take_over(client: kube::Client, namespace: &str, identity: &str) -> Result<Takeover, Error> {
    let api: Api<Lease> = Api::namespaced(client, namespace);
    let failed = |error| Error::Api(namespace.to_owned(), Box::new(error));
    for _ in 0..TRIES {
        let read = api.get_opt(LEASE).await.map_err(failed)?;
        let before = read.as_ref().map(lease::seen).filter(|seen| !(seen.holder.is_empty() || seen.holder.starts_with(DONE)));
        let absent = read.is_none();
        let sent = (Instant::now(), SystemTime::now());
        match write(&api, read, identity).await {
            Ok(lease) => {
                let lead = Lead::default();
                lead.set(Some(sent), DEADLINE);
                let (done, told) = oneshot::channel();
                let renewing = tokio::spawn(renew(api, lease, identity.to_owned(), lead.clone(), told));
                let usual = |duration: Duration| if duration.is_zero() { USUAL } else { duration };
                let before = before.map(|seen| (seen.holder, usual(seen.duration)));
                return Ok(Takeover { lead, before, renewing: Some((done, renewing)) });
            }
            // In a namespace that does not exist nobody leads, and nobody can.
            Err(kube::Error::Api(status)) if absent && status.is_not_found() => {
                return Ok(Takeover { lead: Lead::forever(), before: None, renewing: None });
            }
            Err(error) if overtaken(&error) => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Err(Error::Contended(namespace.to_owned()))
}

async fn write(api: &Api<Lease>, read: Option<Lease>, identity: &str) -> Result<Lease, kube::Error> {
    let exists = read.is_some();
    let lease = lease::held(read, identity, HOLD, Timestamp::now());
    let params = PostParams::default();
    if exists { api.replace(LEASE, &params, &lease).await } else { api.create(&params, &lease).await }
}

/// Renews until it is told that all is done, or that nobody is left to tell it. Somebody else's write ends it at once.
async fn renew(api: Api<Lease>, mut held: Lease, identity: String, lead: Lead, mut told: oneshot::Receiver<()>) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(RENEWAL) => {}
            done = &mut told => {
                if done.is_ok() {
                    // Without it, the next one only waits longer than he must.
                    let _renamed = write(&api, Some(held), &identity.replacen(TAKER, DONE, 1)).await;
                }
                return;
            }
        }
        let sent = (Instant::now(), SystemTime::now());
        match write(&api, Some(held.clone()), &identity).await {
            Ok(lease) => {
                held = lease;
                lead.set(Some(sent), DEADLINE);
            }
            Err(error) if overtaken(&error) => return lead.set(None, Duration::ZERO),
            Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::scripted::{Server, refusal};

    fn lease(holder: &str, version: &str) -> Value {
        json!({"metadata": {"name": LEASE, "namespace": "system", "resourceVersion": version}, "spec": {
            "holderIdentity": holder, "leaseDurationSeconds": 7, "leaseTransitions": 3
        }})
    }

    async fn take(answers: impl IntoIterator<Item = (u16, Value)>) -> (Result<Takeover, Error>, Vec<(String, Value)>) {
        let server = Server::answering(answers);
        let taken = take_over(server.client(), "system", "cleanup").await;
        let asked = server.asked();
        (taken, asked)
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_that_is_held_is_taken_under_the_version_that_was_read_and_its_holder_is_to_be_waited_for() {
        let (taken, asked) =
            take([(200, lease("a", "4")), (409, refusal(409, "Conflict").1), (200, lease("a", "5")), (200, lease("cleanup", "6"))]).await;
        let taken = taken.unwrap();
        assert_eq!(taken.before, Some(("a".to_owned(), Duration::from_secs(7))));
        assert!(taken.lead.holds());
        let (request, body) = &asked[3];
        assert!(request.starts_with("PUT "), "{request}");
        assert_eq!((&body["metadata"]["resourceVersion"], &body["spec"]["holderIdentity"]), (&json!("5"), &json!("cleanup")));
        assert_eq!((&body["spec"]["leaseDurationSeconds"], &body["spec"]["leaseTransitions"]), (&json!(60), &json!(4)));
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_is_waited_for_where_nobody_leads() {
        let (taken, _) = take([(200, lease("", "4")), (200, lease("cleanup", "5"))]).await;
        assert_eq!(taken.unwrap().before, None);
        let (taken, asked) = take([refusal(404, "NotFound"), (201, lease("cleanup", "1"))]).await;
        assert_eq!((taken.unwrap().before, asked[1].0.split(' ').next()), (None, Some("POST")));
        // The namespace is gone.
        let (taken, _) = take([refusal(404, "NotFound"), refusal(404, "NotFound")]).await;
        assert!(taken.unwrap().lead.holds());
    }

    #[tokio::test(start_paused = true)]
    async fn who_may_not_take_it_is_told_what_was_being_done() {
        let (taken, _) = take([(200, lease("a", "4")), refusal(403, "Forbidden")]).await;
        assert_eq!(taken.err().map(|error| error.to_string()), Some(format!("taking the Lease {LEASE} in namespace system")));
        let busy = std::iter::repeat_n([(200, lease("a", "4")), refusal(409, "Conflict")], TRIES).flatten();
        assert!(matches!(take(busy).await.0, Err(Error::Contended(_))));
    }

    #[tokio::test(start_paused = true)]
    async fn a_hold_is_renewed_and_ends_with_another_name_in_the_lease() {
        let answers = [(200, lease("", "4")), (200, lease("cleanup", "5")), (200, lease("cleanup", "6")), refusal(409, "Conflict")];
        let server = Server::answering(answers);
        let taken = take_over(server.client(), "system", "cleanup").await.unwrap();
        let spent = Instant::now();
        while taken.lead.holds() {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        assert_eq!(server.asked().len(), 4);
        assert_eq!(server.asked()[2].1["metadata"]["resourceVersion"], "5");
        assert!(spent.elapsed() < 3 * RENEWAL, "{:?}", spent.elapsed());
    }
    #[tokio::test(start_paused = true)]
    async fn who_is_done_need_not_be_waited_for_and_who_was_cut_off_must() {
        let answers = [(200, lease("a", "4")), (200, lease("cleanup_1", "5")), (200, lease("cleaned_1", "6"))];
        let server = Server::answering(answers);
        take_over(server.client(), "system", "cleanup_1").await.unwrap().done().await;
        assert_eq!(server.asked()[2].1["spec"]["holderIdentity"], "cleaned_1");
        for (holder, waits) in [("cleaned_1", false), ("cleanup_1", true)] {
            let (taken, _) = take([(200, lease(holder, "6")), (200, lease("cleanup_2", "7"))]).await;
            assert_eq!(taken.unwrap().before.is_some(), waits, "{holder}");
            assert!(is_taker(holder));
        }
        assert!(!is_taker("node-rotation-controller-0_1"));
    }
}
