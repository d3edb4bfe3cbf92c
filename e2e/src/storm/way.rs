//! The ways in which a request goes wrong.

use std::fmt;

use hyper::Response;
use hyper::header::{CONTENT_TYPE, RETRY_AFTER};
use serde_json::json;

use super::whole;
use crate::proxy::Body;

/// What was asked for is no longer known.
pub(super) const GONE: u16 = 410;

/// How a request goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// It is answered without having been passed on.
    Refuses {
        /// Status of the answer.
        code: u16,
        /// Seconds to wait before the next try.
        retry_after: Option<u16>,
    },
    /// The connection is closed without an answer, and nothing was passed on.
    Resets,
    /// It is passed on after a while.
    Slow,
    /// It is carried out, and what is answered instead says nothing of that; nothing where the connection is closed.
    LosesAnswer {
        /// Status of what is answered.
        instead: Option<u16>,
    },
    /// It is carried out, and the connection closed in the middle of the answer.
    HalvesAnswer,
}

const fn refuses(code: u16) -> Way {
    Way::Refuses { code, retry_after: None }
}

/// Those of a write: first those of any request.
pub(super) const WRITES: &[Way] = &[
    refuses(401),
    refuses(429),
    Way::Refuses { code: 429, retry_after: Some(1) },
    refuses(500),
    refuses(502),
    refuses(503),
    refuses(504),
    Way::Resets,
    Way::Slow,
    Way::HalvesAnswer,
    refuses(409),
    refuses(422),
    Way::LosesAnswer { instead: None },
    Way::LosesAnswer { instead: Some(504) },
];

/// Those of a look.
pub(super) const READS: &[Way] = WRITES.split_at(10).0;

impl fmt::Display for Way {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refuses { code, retry_after: None } => write!(to, "{code}"),
            Self::Refuses { code, retry_after: Some(seconds) } => write!(to, "{code}, again after {seconds} s"),
            Self::Resets => write!(to, "reset before"),
            Self::Slow => write!(to, "slow"),
            Self::LosesAnswer { instead: None } => write!(to, "reset after"),
            Self::LosesAnswer { instead: Some(code) } => write!(to, "{code} after"),
            Self::HalvesAnswer => write!(to, "half an answer"),
        }
    }
}

/// An answer that says no, as the API server says it, or as what stands before one does.
pub(crate) fn refusal(code: u16, retry_after: Option<u16>) -> Response<Body> {
    let (kind, text) = match code {
        502 => ("text/html", "<html><body><h1>502 Bad Gateway</h1></body></html>".to_owned()),
        504 => ("text/plain", String::new()),
        _ => ("application/json", status(code).to_string()),
    };
    let mut answer = Response::new(whole(text));
    *answer.status_mut() = hyper::StatusCode::from_u16(code).unwrap_or_default();
    answer.headers_mut().insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static(kind));
    if let Some(seconds) = retry_after {
        answer.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    answer
}

/// A `Status` object.
pub(super) fn status(code: u16) -> serde_json::Value {
    let reason = match code {
        401 => "Unauthorized",
        409 => "Conflict",
        410 => "Expired",
        422 => "Invalid",
        429 => "TooManyRequests",
        503 => "ServiceUnavailable",
        _ => "InternalError",
    };
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "bad weather", "reason": reason, "code": code})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_is_never_said_to_be_in_conflict() {
        assert!(!READS.contains(&refuses(409)) && !READS.contains(&refuses(422)) && READS.contains(&Way::HalvesAnswer));
    }

    #[test]
    fn each_way_has_a_name_of_its_own() {
        let mut names: Vec<String> = WRITES.iter().map(ToString::to_string).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), WRITES.len());
    }
}
