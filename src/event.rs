//! Writes events, in the background and never in the way of a pass.
//!
//! A repeat of the same event within six minutes raises the count of the series; another text is another event, so that
//! the newest text is always the one that is shown.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::{Event, EventSeries};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::runtime::events::EventType;
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::metrics::Metrics;

/// The API server's limit for a note, in bytes.
const LONGEST_NOTE: usize = 1024;
/// Its limit for a name, with room for the suffix.
const LONGEST_NAME: usize = 230;
/// Events waiting to be written; more are dropped and counted.
const WAITING: usize = 1024;
/// A repeat within this time belongs to the same series.
const SERIES: Duration = Duration::from_secs(6 * 60);
/// One event may take this long to be written.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// The name of this controller in every event.
const REPORTER: &str = "noderotation.io/node-rotation-controller";

/// One event to write.
#[derive(Clone, Debug)]
pub(crate) struct EventRecord {
    pub(crate) type_: EventType,
    pub(crate) reason: String,
    pub(crate) action: String,
    pub(crate) regarding: ObjectReference,
    pub(crate) related: Option<ObjectReference>,
    pub(crate) note: String,
}

/// Takes events; clones feed the same writer.
#[derive(Clone)]
pub(crate) struct Recorder {
    queue: mpsc::Sender<EventRecord>,
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
        if self.queue.try_send(record).is_err() {
            self.metrics.event_dropped("queue");
        }
    }
}

/// Writes what the recorders hand over.
pub(crate) struct Writer {
    client: kube::Client,
    instance: String,
    metrics: Metrics,
    waiting: mpsc::Receiver<EventRecord>,
    series: HashMap<String, Series>,
}

struct Series {
    name: String,
    namespace: String,
    count: i32,
    seen: Instant,
}

impl Writer {
    /// Writes until `stop` is cancelled, then what is waiting.
    pub(crate) async fn run(mut self, stop: CancellationToken) -> Result<(), std::convert::Infallible> {
        loop {
            let record = tokio::select! {
                record = self.waiting.recv() => record,
                () = stop.cancelled() => break,
            };
            match record {
                Some(record) => self.write(record).await,
                // Nobody is left who could hand anything over.
                None => {
                    stop.cancelled().await;
                    break;
                }
            }
        }
        while let Ok(record) = self.waiting.try_recv() {
            self.write(record).await;
        }
        Ok(())
    }

    async fn write(&mut self, record: EventRecord) {
        self.series.retain(|_, series| series.seen.elapsed() < SERIES);
        match tokio::time::timeout(WRITE_TIMEOUT, self.create_or_count(record)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                debug!(error = %error, "event not written");
                self.metrics.event_dropped("error");
            }
            Err(_) => self.metrics.event_dropped("timeout"),
        }
    }

    async fn create_or_count(&mut self, record: EventRecord) -> Result<(), kube::Error> {
        let key = key(&record);
        if let Some(series) = self.series.get_mut(&key) {
            let count = series.count.saturating_add(1);
            let patch = json!({ "series": EventSeries { count, last_observed_time: MicroTime(Timestamp::now()) } });
            let api: Api<Event> = Api::namespaced(self.client.clone(), &series.namespace);
            match api.patch(&series.name, &PatchParams::default(), &Patch::Merge(&patch)).await {
                Ok(_) => {
                    series.count = count;
                    series.seen = Instant::now();
                    return Ok(());
                }
                // It has expired on the server, so a new one begins.
                Err(kube::Error::Api(status)) if status.is_not_found() => {}
                Err(error) => return Err(error),
            }
        }
        let event = event(record, &self.instance, Timestamp::now());
        let (name, namespace) = (event.metadata.name.clone().unwrap_or_default(), event.metadata.namespace.clone().unwrap_or_default());
        Api::<Event>::namespaced(self.client.clone(), &namespace).create(&PostParams::default(), &event).await?;
        self.series.insert(key, Series { name, namespace, count: 1, seen: Instant::now() });
        Ok(())
    }
}

fn key(record: &EventRecord) -> String {
    let object = |reference: &ObjectReference| format!("{:?}/{:?}/{:?}", reference.kind, reference.namespace, reference.name);
    let related = record.related.as_ref().map(object).unwrap_or_default();
    format!("{:?}|{}|{}|{}|{related}|{}", record.type_, record.reason, record.action, object(&record.regarding), record.note)
}

fn event(record: EventRecord, instance: &str, now: Timestamp) -> Event {
    let object: String = record.regarding.name.clone().unwrap_or_default().chars().take(LONGEST_NAME).collect();
    // Events about cluster-scoped objects live in `default`.
    let namespace = record.regarding.namespace.clone().unwrap_or_else(|| "default".to_owned());
    Event {
        metadata: ObjectMeta {
            name: Some(format!("{}.{:x}", object.trim_end_matches(['.', '-']), now.as_nanosecond())),
            namespace: Some(namespace),
            ..ObjectMeta::default()
        },
        action: Some(record.action),
        event_time: Some(MicroTime(now)),
        note: Some(cut(&record.note).to_owned()),
        reason: Some(record.reason),
        regarding: Some(record.regarding),
        related: record.related,
        reporting_controller: Some(REPORTER.to_owned()),
        reporting_instance: Some(cut_to(instance, 128).to_owned()),
        type_: Some(match record.type_ {
            EventType::Normal => "Normal".to_owned(),
            EventType::Warning => "Warning".to_owned(),
        }),
        ..Event::default()
    }
}

/// The longest beginning of a note that the API server admits, cut between characters.
fn cut(note: &str) -> &str {
    cut_to(note, LONGEST_NOTE)
}

fn cut_to(text: &str, longest: usize) -> &str {
    let end = (0..=longest.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    end.and_then(|end| text.get(..end)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_cut_between_characters() {
        assert_eq!(cut("short"), "short");
        let long = "ä".repeat(600);
        assert_eq!(cut(&long).len(), 1024);
        let odd = format!("x{long}");
        assert_eq!(cut(&odd).len(), 1023);
    }

    #[test]
    fn another_text_is_another_event() {
        let record = |note: &str| EventRecord {
            type_: EventType::Warning,
            reason: "R".to_owned(),
            action: "A".to_owned(),
            regarding: ObjectReference { name: Some("p".to_owned()), ..ObjectReference::default() },
            related: None,
            note: note.to_owned(),
        };
        assert_eq!(key(&record("one")), key(&record("one")));
        assert_ne!(key(&record("one")), key(&record("two")));
    }

    #[test]
    fn an_event_about_a_cluster_scoped_object_lives_in_default_with_a_legal_name() {
        let regarding = ObjectReference { name: Some("n".repeat(253)), kind: Some("NodePool".to_owned()), ..ObjectReference::default() };
        let record = EventRecord {
            type_: EventType::Normal,
            reason: "R".to_owned(),
            action: "A".to_owned(),
            regarding,
            related: None,
            note: String::new(),
        };
        let event = event(record, "host", Timestamp::UNIX_EPOCH);
        assert_eq!(event.metadata.namespace.as_deref(), Some("default"));
        assert!(event.metadata.name.unwrap().len() <= 253);
    }
}
