//! The Event object: within the API server's limits, and with what tells which events belong together.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::runtime::events::EventType;
use noderotation_core::annotation::{CORRELATION, PASS};
use noderotation_core::few::cut;

use super::EventRecord;

/// The API server's limit for a note, in bytes.
const LONGEST_NOTE: usize = 1024;
/// Its limit for action and reporting instance.
const LONGEST_WORD: usize = 128;
/// Its limit for a name, with room for the suffix.
const LONGEST_NAME: usize = 230;
/// The name of this controller in every event.
const REPORTER: &str = "noderotation.io/node-rotation-controller";

/// The same for every repeat of an event, and different for every other event.
pub(super) fn key(record: &EventRecord) -> String {
    let object =
        |reference: &ObjectReference| format!("{:?}/{:?}/{:?}/{:?}", reference.kind, reference.namespace, reference.name, reference.uid);
    let related = record.related.as_ref().map(object).unwrap_or_default();
    format!("{:?}|{}|{}|{}|{related}|{}", record.type_, record.reason, record.action, object(&record.regarding), record.note)
}

/// The first event of a series.
pub(super) fn event(record: EventRecord, pass: Option<&str>, instance: &str, now: Timestamp) -> Event {
    let object = cut(record.regarding.name.as_deref().unwrap_or_default(), LONGEST_NAME).trim_end_matches(['.', '-']);
    // Events about cluster-scoped objects live in `default`.
    let namespace = record.regarding.namespace.clone().unwrap_or_else(|| "default".to_owned());
    let pass = pass.map(|pass| (PASS.to_owned(), pass.to_owned()));
    Event {
        metadata: ObjectMeta {
            name: Some(format!("{object}.{:x}", now.as_nanosecond())),
            namespace: Some(namespace),
            annotations: Some([(CORRELATION.to_owned(), correlation(&record))].into_iter().chain(pass).collect()),
            ..ObjectMeta::default()
        },
        action: Some(cut(&record.action, LONGEST_WORD).to_owned()),
        event_time: Some(MicroTime(now)),
        note: Some(cut(&record.note, LONGEST_NOTE).to_owned()),
        reason: Some(record.reason.name().to_owned()),
        regarding: Some(record.regarding),
        related: record.related,
        reporting_controller: Some(REPORTER.to_owned()),
        reporting_instance: Some(cut(instance, LONGEST_WORD).to_owned()),
        type_: Some(match record.type_ {
            EventType::Normal => "Normal".to_owned(),
            EventType::Warning => "Warning".to_owned(),
        }),
        ..Event::default()
    }
}

/// The objects that an event is about, in an order that does not depend on which of them it regards: all events about one
/// NodeClaim of a NodePool carry the same text, whatever they say and whoever they are shown with.
fn correlation(record: &EventRecord) -> String {
    let object = |reference: &ObjectReference| {
        format!("{}/{}", reference.kind.as_deref().unwrap_or_default(), reference.name.as_deref().unwrap_or_default())
    };
    let mut objects: Vec<String> = std::iter::once(&record.regarding).chain(&record.related).map(object).collect();
    objects.sort_unstable();
    objects.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Reason;

    fn reference(kind: &str, name: &str) -> ObjectReference {
        ObjectReference { kind: Some(kind.to_owned()), name: Some(name.to_owned()), ..ObjectReference::default() }
    }

    fn record(note: &str) -> EventRecord {
        EventRecord {
            type_: EventType::Warning,
            reason: Reason::RotationFailed,
            action: "RotateNode".to_owned(),
            regarding: reference("NodeClaim", "api-1"),
            related: Some(reference("NodePool", "api")),
            note: note.to_owned(),
        }
    }

    #[test]
    fn every_difference_is_another_event() {
        let key = |change: fn(&mut EventRecord)| {
            let mut record = record("one");
            change(&mut record);
            super::key(&record)
        };
        let changes: [fn(&mut EventRecord); 8] = [
            |_| {},
            |record| record.type_ = EventType::Normal,
            |record| record.reason = Reason::RotationExpired,
            |record| record.action = "ReapRotation".to_owned(),
            |record| record.regarding = reference("NodeClaim", "api-2"),
            |record| record.regarding.uid = Some("another".to_owned()),
            |record| record.related = None,
            |record| record.note = "two".to_owned(),
        ];
        let keys: std::collections::BTreeSet<String> = changes.into_iter().map(key).collect();
        assert_eq!(keys.len(), changes.len());
        assert_eq!(key(|_| {}), key(|_| {}));
    }

    #[test]
    fn an_event_is_one_that_the_api_server_admits() {
        let mut long = record(&"n".repeat(2000));
        long.action = "a".repeat(200);
        long.regarding.name = Some(format!("{}-.{}", "n".repeat(229), "x".repeat(22)));
        let event = event(long, None, &"i".repeat(200), Timestamp::UNIX_EPOCH);
        assert_eq!(event.metadata.namespace.as_deref(), Some("default"));
        assert_eq!(event.metadata.name.unwrap(), format!("{}.0", "n".repeat(229)));
        assert_eq!(event.note.unwrap().len(), 1024);
        assert!([event.action, event.reporting_instance].iter().flatten().all(|word| word.len() == 128));
    }

    #[test]
    fn events_about_the_same_objects_are_found_by_one_annotation() {
        let of =
            |record: EventRecord| event(record, Some("5f"), "i", Timestamp::UNIX_EPOCH).metadata.annotations.unwrap()[CORRELATION].clone();
        let mut turned = record("two");
        let pool = turned.related.take().unwrap();
        turned.related = Some(std::mem::replace(&mut turned.regarding, pool));
        assert_eq!(of(record("one")), "NodeClaim/api-1,NodePool/api");
        assert_eq!(of(turned), of(record("one")));
        let annotations = event(record("one"), Some("5f"), "i", Timestamp::UNIX_EPOCH).metadata.annotations.unwrap();
        assert_eq!(annotations[PASS], "5f");
    }
}
