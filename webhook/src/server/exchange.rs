//! One request and its answer.

use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONNECTION, CONTENT_TYPE, HeaderValue};
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use jiff::Timestamp;
use tracing::{error, info};

use super::Shared;
use super::body::Unread;
use crate::judge::Judge;
use crate::registration::{MUTATE, VALIDATE};
use crate::review::{Answer, Review, lines};
use crate::{default, validate};

/// Every `operation` of an [`Exchange`].
pub const OPERATIONS: [&str; 4] = ["create", "update", "other", "unreadable"];
/// Every `verdict` of an [`Exchange`].
pub const VERDICTS: [&str; 4] = ["allowed", "warned", "refused", "error"];

/// What was asked and answered, for the metrics.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exchange {
    /// `create`, `update`, `other`, or `unreadable`.
    pub operation: &'static str,
    /// `allowed`, `warned` for what is allowed with a warning, `refused`, or `error` for what is no review or could not be
    /// judged.
    pub verdict: &'static str,
    /// From the request's head to the answer.
    pub seconds: f64,
}

/// What the body is good for.
enum Outcome {
    Answered(Box<Review>, Answer),
    Unanswerable(StatusCode, String),
}

/// Answers a request; there is always an answer.
pub(super) async fn answer(request: Request<Incoming>, shared: &Shared) -> Result<Response<Full<Bytes>>, Infallible> {
    let begun = Instant::now();
    let outcome = judge(request, shared).await;
    (shared.observer)(&summary(&outcome, begun));
    let mut response = match outcome {
        Outcome::Answered(review, answer) => {
            tell(&review, &answer);
            respond(StatusCode::OK, "application/json", answer.write(&review).to_string())
        }
        Outcome::Unanswerable(status, words) => respond(status, "text/plain; charset=utf-8", format!("{words}\n")),
    };
    if shared.stop.is_cancelled() {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    Ok(response)
}

async fn judge(request: Request<Incoming>, shared: &Shared) -> Outcome {
    let respond: fn(&Review, &Judge, Timestamp) -> Answer = match request.uri().path() {
        MUTATE => default::answer,
        VALIDATE => validate::answer,
        path => {
            return Outcome::Unanswerable(
                StatusCode::NOT_FOUND,
                format!("there is nothing at {path}; the endpoints are {MUTATE} and {VALIDATE}"),
            );
        }
    };
    if request.method() != Method::POST {
        return Outcome::Unanswerable(StatusCode::METHOD_NOT_ALLOWED, "an AdmissionReview is sent with POST".to_owned());
    }
    if !is_json(request.headers()) {
        return Outcome::Unanswerable(StatusCode::UNSUPPORTED_MEDIA_TYPE, "the content type is not application/json".to_owned());
    }
    let body = match shared.room.read(request, shared.limits).await {
        Ok(body) => body,
        Err(Unread(status, words)) => return Outcome::Unanswerable(status, words),
    };
    // A body that is read takes memory, and nothing here waits for anything but the processor.
    let _turn = shared.judgements.acquire().await.ok();
    match Review::read(&body) {
        Ok(review) => {
            let answer = guarded(|| respond(&review, &shared.judge, Timestamp::now()));
            Outcome::Answered(Box::new(review), answer)
        }
        Err(unreadable) => Outcome::Unanswerable(StatusCode::BAD_REQUEST, unreadable.to_string()),
    }
}

/// A panic is answered too, and with a refusal: a connection that breaks off would leave the caller without a reason.
fn guarded(respond: impl FnOnce() -> Answer) -> Answer {
    catch_unwind(AssertUnwindSafe(respond)).unwrap_or(Answer::Broken)
}

fn is_json(headers: &HeaderMap) -> bool {
    let text = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    text.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

fn respond(status: StatusCode, content_type: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

fn summary(outcome: &Outcome, begun: Instant) -> Exchange {
    let (operation, verdict) = match outcome {
        Outcome::Answered(review, answer) => {
            let operation = match review.operation.as_str() {
                "CREATE" => "create",
                "UPDATE" => "update",
                _ => "other",
            };
            (operation, answer.verdict())
        }
        Outcome::Unanswerable(..) => ("unreadable", "error"),
    };
    Exchange { operation, verdict, seconds: begun.elapsed().as_secs_f64() }
}

/// One line for each refusal: which policy, whose, and what is wrong with it.
fn tell(review: &Review, answer: &Answer) {
    let (policy, user, operation) = (&review.name, &review.user, &review.operation);
    match answer {
        Answer::Allow { .. } => {}
        Answer::Refuse { faults } => {
            info!(policy, user, operation, faults = lines(faults).join(" | "), "policy refused");
        }
        Answer::Broken => error!(policy, user, operation, "policy refused, since judging it has panicked"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_judgement_that_panics_is_a_refusal() {
        assert_eq!(guarded(|| panic!("a fault of ours")), Answer::Broken);
        assert_eq!(guarded(|| Answer::PASS), Answer::PASS);
    }
}
