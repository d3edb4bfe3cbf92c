//! Writes events, in the background and never in the way of a pass (D14).
//!
//! A repeat of the same event within six minutes raises the count of the series. Another text is another event, since
//! everything but the series of an event is immutable: the newest text is always the one that is shown.

mod object;
pub(crate) mod pass;
mod reason;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::{Event, EventSeries};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::runtime::events::EventType;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::debug;

pub(crate) use reason::Reason;

use crate::metrics::Metrics;
use crate::telemetry::words;

/// Events waiting to be written; more are dropped and counted.
const WAITING: usize = 1024;
/// A repeat within this time belongs to the same series.
const SERIES: Duration = Duration::from_secs(6 * 60);
/// One request may take this long.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// Pauses before the second and the third try: an event is told once, and a short failure should not swallow it.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(4)];

/// One event to write.
#[derive(Clone, Debug)]
pub(crate) struct EventRecord {
    /// Normal, or a warning.
    pub(crate) type_: EventType,
    /// A word that alerts and people know it by.
    pub(crate) reason: Reason,
    /// What was being done.
    pub(crate) action: String,
    /// The object that it is about.
    pub(crate) regarding: ObjectReference,
    /// A second object that it is about.
    pub(crate) related: Option<ObjectReference>,
    /// The sentence for people.
    pub(crate) note: String,
}

/// An event, and the pass that it comes from.
type Told = (EventRecord, Option<Arc<str>>);

/// Where an event stands in the API server, and how often it was told.
struct Series {
    name: String,
    namespace: String,
    count: i32,
    seen: Instant,
}

/// Why an event was not written.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Api(#[from] kube::Error),
    #[error("no answer")]
    Silent(#[from] tokio::time::error::Elapsed),
}

impl Error {
    /// Whether the same request may succeed a little later.
    fn passes(&self) -> bool {
        match self {
            Self::Api(kube::Error::Api(status)) => status.code >= 500 || status.code == 429,
            // The way to the API server.
            Self::Api(_) | Self::Silent(_) => true,
        }
    }

    fn label(&self) -> &'static str {
        match self {
            Self::Api(_) => "error",
            Self::Silent(_) => "timeout",
        }
    }
}

/// Takes events; clones feed the same writer.
#[derive(Clone)]
pub(crate) struct Recorder {
    queue: mpsc::Sender<Told>,
    metrics: Metrics,
}

impl Recorder {
    /// A recorder and the writer that must be run for it.
    pub(crate) fn new(client: kube::Client, instance: String, metrics: Metrics) -> (Self, Writer) {
        let (queue, waiting) = mpsc::channel(WAITING);
        let writer = Writer { client, instance, metrics: metrics.clone(), waiting, series: HashMap::new() };
        (Self { queue, metrics }, writer)
    }

    /// Hands an event over; drops it if too many are waiting.
    pub(crate) fn publish(&self, record: EventRecord) {
        if self.queue.try_send((record, pass::current())).is_err() {
            self.metrics.event_dropped("queue");
        }
    }
}

/// Writes what the recorders hand over.
pub(crate) struct Writer {
    client: kube::Client,
    instance: String,
    metrics: Metrics,
    waiting: mpsc::Receiver<Told>,
    series: HashMap<String, Series>,
}

impl Writer {
    /// Writes until `stop` is cancelled, then once more what is waiting.
    ///
    /// # Errors
    /// None; what cannot be written is counted.
    pub(crate) async fn run(mut self, stop: CancellationToken) -> Result<(), std::convert::Infallible> {
        loop {
            let told = tokio::select! {
                told = self.waiting.recv() => told,
                () = stop.cancelled() => break,
            };
            match told {
                Some(told) => self.write(told, &stop).await,
                // Nobody is left who could hand anything over.
                None => {
                    stop.cancelled().await;
                    break;
                }
            }
        }
        while let Ok(told) = self.waiting.try_recv() {
            self.write(told, &stop).await;
        }
        Ok(())
    }

    /// Writes one event, in several tries if need be; only one once the process stops.
    async fn write(&mut self, (record, pass): Told, stop: &CancellationToken) {
        self.series.retain(|_, series| series.seen.elapsed() < SERIES);
        let key = object::key(&record);
        let event = object::event(record, pass.as_deref(), &self.instance, Timestamp::now());
        let mut pauses = PAUSES.iter();
        loop {
            let Err(error) = self.try_once(&key, &event).await else { return };
            let pause = pauses.next().filter(|_| error.passes());
            let again = match pause {
                Some(pause) => tokio::time::timeout(*pause, stop.cancelled()).await.is_err(),
                None => false,
            };
            if !again {
                debug!(error = words(&error), "event not written");
                self.metrics.event_dropped(error.label());
                return;
            }
        }
    }

    /// Raises the count of the event's series, or begins one.
    async fn try_once(&mut self, key: &str, event: &Event) -> Result<(), Error> {
        if let Some(series) = self.series.get_mut(key) {
            let count = series.count.saturating_add(1);
            let patch = Patch::Merge(json!({ "series": EventSeries { count, last_observed_time: MicroTime(Timestamp::now()) } }));
            let api: Api<Event> = Api::namespaced(self.client.clone(), &series.namespace);
            match tokio::time::timeout(WRITE_TIMEOUT, api.patch(&series.name, &PatchParams::default(), &patch)).await? {
                Ok(_) => {
                    (series.count, series.seen) = (count, Instant::now());
                    return Ok(());
                }
                // It has expired on the server, so a new one begins.
                Err(kube::Error::Api(status)) if status.is_not_found() => {}
                Err(error) => return Err(error.into()),
            }
        }
        let (name, namespace) = (event.metadata.name.clone().unwrap_or_default(), event.metadata.namespace.clone().unwrap_or_default());
        let api: Api<Event> = Api::namespaced(self.client.clone(), &namespace);
        match tokio::time::timeout(WRITE_TIMEOUT, api.create(&PostParams::default(), event)).await? {
            Ok(_) => {}
            // An earlier try landed, and its answer was lost.
            Err(kube::Error::Api(status)) if status.is_already_exists() => {}
            Err(error) => return Err(error.into()),
        }
        self.series.insert(key.to_owned(), Series { name, namespace, count: 1, seen: Instant::now() });
        Ok(())
    }
}

#[cfg(test)]
mod tests;
