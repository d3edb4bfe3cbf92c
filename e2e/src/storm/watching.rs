//! What becomes of a watch.

use std::fmt;
use std::time::Duration;

use futures::SinkExt as _;
use futures::channel::mpsc;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::{Bytes, Frame};
use serde_json::json;
use tokio::sync::watch;

use super::way;
use crate::proxy::Body;

/// What is late comes so much later.
const LATENESS: Duration = Duration::from_secs(2);

/// How a watch goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Course {
    /// What it would go on from is no longer known: said with the status of the answer.
    GoneAtOnce,
    /// The same, said in the stream after so many events.
    Gone(usize),
    /// It ends after so many events.
    Ends(usize),
    /// It ends in the middle of an event, after so many whole ones.
    Breaks(usize),
    /// Each event comes late.
    Late,
    /// Each event comes twice.
    Twice,
}

/// All of them.
pub(super) const COURSES: &[Course] =
    &[Course::GoneAtOnce, Course::Gone(2), Course::Ends(1), Course::Ends(3), Course::Breaks(1), Course::Late, Course::Twice];

impl fmt::Display for Course {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GoneAtOnce => write!(to, "watch: 410"),
            Self::Gone(events) => write!(to, "watch: 410 in the stream after {events}"),
            Self::Ends(events) => write!(to, "watch: ends after {events}"),
            Self::Breaks(events) => write!(to, "watch: breaks after {events}"),
            Self::Late => write!(to, "watch: late"),
            Self::Twice => write!(to, "watch: each twice"),
        }
    }
}

type Part = Result<Frame<Bytes>, Box<dyn std::error::Error + Send + Sync>>;

/// A watch that takes its course as long as the weather is bad. One without a course ends when the weather turns bad.
pub(super) fn along(course: Option<Course>, body: Body, raging: watch::Receiver<bool>) -> Body {
    let (to, parts) = mpsc::channel(0);
    tokio::spawn(play(course, body, to, raging));
    StreamBody::new(parts).boxed_unsync()
}

async fn play(course: Option<Course>, mut body: Body, mut to: mpsc::Sender<Part>, mut raging: watch::Receiver<bool>) {
    let (mut rest, mut seen) = (Vec::new(), 0);
    loop {
        let frame = tokio::select! {
            frame = body.frame() => frame,
            Ok(_) = raging.wait_for(|raging| *raging), if course.is_none() => return,
        };
        let Some(Ok(frame)) = frame else { return };
        let Ok(data) = frame.into_data() else { continue };
        rest.extend_from_slice(&data);
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let event: Vec<u8> = rest.drain(..=end).collect();
            seen += 1;
            let course = course.filter(|_| *raging.borrow());
            for part in parts(course, seen, &event) {
                if course == Some(Course::Late) {
                    tokio::time::sleep(LATENESS).await;
                }
                if to.send(part).await.is_err() {
                    return;
                }
            }
            if ends(course, seen) {
                return;
            }
        }
    }
}

/// What comes instead of the event that is the `seen`th.
fn parts(course: Option<Course>, seen: usize, event: &[u8]) -> Vec<Part> {
    let data = |bytes: &[u8]| Ok(Frame::data(Bytes::copy_from_slice(bytes)));
    match course {
        Some(Course::Twice) => vec![data(event), data(event)],
        Some(Course::Gone(events)) if seen > events => {
            vec![data(format!("{}\n", json!({"type": "ERROR", "object": way::status(way::GONE)})).as_bytes())]
        }
        Some(Course::Ends(events)) if seen > events => Vec::new(),
        Some(Course::Breaks(events)) if seen > events => {
            let half = event.split_at(event.len() / 2).0;
            vec![data(half), Err("the watch breaks".into())]
        }
        _ => vec![data(event)],
    }
}

fn ends(course: Option<Course>, seen: usize) -> bool {
    match course {
        Some(Course::Gone(events) | Course::Ends(events) | Course::Breaks(events)) => seen > events,
        Some(Course::GoneAtOnce | Course::Late | Course::Twice) | None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storm::whole;

    async fn through(course: Course, raging: bool) -> (String, bool) {
        let (_weather, raging) = watch::channel(raging);
        let mut body = along(Some(course), whole("one\ntwo\nthree\nfour\n"), raging);
        let (mut text, mut broken) = (String::new(), false);
        while let Some(frame) = body.frame().await {
            match frame {
                Ok(frame) => text.push_str(std::str::from_utf8(&frame.into_data().unwrap()).unwrap()),
                Err(_) => broken = true,
            }
        }
        (text, broken)
    }

    #[tokio::test(start_paused = true)]
    async fn each_course_is_taken() {
        let rows = [
            (Course::Ends(1), "one\n", false),
            (Course::Ends(3), "one\ntwo\nthree\n", false),
            (Course::Breaks(1), "one\ntw", true),
            (Course::Late, "one\ntwo\nthree\nfour\n", false),
            (Course::Twice, "one\none\ntwo\ntwo\nthree\nthree\nfour\nfour\n", false),
        ];
        for (course, text, broken) in rows {
            assert_eq!(through(course, true).await, (text.to_owned(), broken), "{course}");
            assert_eq!(through(course, false).await.0, "one\ntwo\nthree\nfour\n", "{course}");
        }
        let (text, _) = through(Course::Gone(2), true).await;
        assert!(text.starts_with("one\ntwo\n{") && text.contains("410") && !text.contains("four"), "{text}");
    }

    #[tokio::test]
    async fn one_that_has_begun_well_ends_when_the_weather_turns() {
        let (weather, raging) = watch::channel(false);
        let silent = StreamBody::new(futures::stream::pending::<Part>()).boxed_unsync();
        let mut body = along(None, silent, raging);
        weather.send_replace(true);
        assert!(body.frame().await.is_none());
    }
}
