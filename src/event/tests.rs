//! What is sent to the API server for one event, for its repeats, and when it does not go well.

use serde_json::Value;

use super::*;
use crate::scripted::{Answer, Server, refusal};

const SILENCE: Answer = (0, Value::Null);

fn record(note: &str) -> EventRecord {
    let regarding = ObjectReference { kind: Some("NodePool".to_owned()), name: Some("api".to_owned()), ..ObjectReference::default() };
    let (reason, action) = (Reason::RotationStarted, "RotateNode".to_owned());
    EventRecord { type_: EventType::Normal, reason, action, regarding, related: None, note: note.to_owned() }
}

fn written() -> Answer {
    (201, json!({"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e"}, "eventTime": null}))
}

struct Desk {
    server: Server,
    metrics: Metrics,
    recorder: Recorder,
    writer: Writer,
    stop: CancellationToken,
}

fn desk(answers: impl IntoIterator<Item = Answer>) -> Desk {
    let (server, metrics) = (Server::answering(answers), Metrics::new("0", "0").unwrap());
    let (recorder, writer) = Recorder::new(server.client(), "replica".to_owned(), metrics.clone());
    Desk { server, metrics, recorder, writer, stop: CancellationToken::new() }
}

impl Desk {
    /// Writes the notes one after the other, `pause` apart; the verbs and the counts that were sent, and what was dropped.
    async fn write(mut self, notes: &[&str], pause: Duration) -> (Vec<String>, String) {
        for note in notes {
            self.writer.write((record(note), None), &self.stop).await;
            tokio::time::advance(pause).await;
        }
        let sent = self.server.asked().into_iter().map(|(request, body)| {
            let verb = request.split(' ').next().unwrap_or_default().to_owned();
            body["series"]["count"].as_i64().map_or_else(|| verb.clone(), |count| format!("{verb} {count}"))
        });
        (sent.collect(), dropped(&self.metrics))
    }
}

fn dropped(metrics: &Metrics) -> String {
    let text = metrics.render();
    // Each reason begins at zero.
    let lines = text.lines().filter(|line| !line.ends_with(" 0")).filter_map(|line| line.strip_prefix("noderotation_events_dropped_total"));
    lines.collect::<Vec<_>>().join(" ")
}

#[tokio::test(start_paused = true)]
async fn a_repeat_raises_the_count_and_another_text_is_another_event() {
    let (sent, dropped) = desk((0..5).map(|_| written())).write(&["a", "a", "b", "a", "b"], SERIES / 6).await;
    assert_eq!((sent, dropped.as_str()), (["POST", "PATCH 2", "POST", "PATCH 3", "PATCH 2"].map(str::to_owned).to_vec(), ""));
}

#[tokio::test(start_paused = true)]
async fn a_series_ends_after_six_quiet_minutes_and_when_the_server_has_forgotten_it() {
    let (sent, _) = desk((0..2).map(|_| written())).write(&["a", "a"], SERIES).await;
    assert_eq!(sent, ["POST", "POST"]);
    let (sent, dropped) = desk([written(), refusal(404, "NotFound"), written(), written()]).write(&["a", "a", "a"], SERIES / 2).await;
    assert_eq!((sent, dropped.as_str()), (["POST", "PATCH 2", "POST", "PATCH 2"].map(str::to_owned).to_vec(), ""));
}

#[tokio::test(start_paused = true)]
async fn what_may_pass_is_tried_three_times_and_a_refusal_once() {
    let busy = || refusal(503, "ServiceUnavailable");
    let rows = [
        ("a busy server", vec![busy(), busy(), written()], 3, ""),
        ("an answer that was lost", vec![SILENCE, refusal(409, "AlreadyExists")], 2, ""),
        ("a server that stays busy", vec![busy(), busy(), busy()], 3, "{reason=\"error\"} 1"),
        ("a server that stays silent", vec![SILENCE, SILENCE, SILENCE], 3, "{reason=\"timeout\"} 1"),
        ("a missing right", vec![refusal(403, "Forbidden")], 1, "{reason=\"error\"} 1"),
    ];
    for (name, answers, requests, drops) in rows {
        let (sent, dropped) = desk(answers).write(&["a"], Duration::ZERO).await;
        assert_eq!((sent.len(), dropped.as_str()), (requests, drops), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn at_the_end_what_is_waiting_is_written_without_a_second_try() {
    let desk = desk([written(), refusal(503, "ServiceUnavailable"), written()]);
    ["a", "b", "c"].iter().for_each(|note| desk.recorder.publish(record(note)));
    desk.stop.cancel();
    assert_eq!(desk.writer.run(desk.stop.clone()).await, Ok(()));
    assert_eq!((desk.server.asked().len(), dropped(&desk.metrics).as_str()), (3, "{reason=\"error\"} 1"));
}

#[tokio::test]
async fn a_full_queue_drops_and_counts_and_never_waits() {
    let desk = desk([]);
    (0..WAITING + 2).for_each(|_| desk.recorder.publish(record("a")));
    assert_eq!(dropped(&desk.metrics), "{reason=\"queue\"} 2");
}
