//! The body of a request: bounded in time, in bytes, and in what reading it costs.
//!
//! The endpoint listens to whoever can reach it. A caller decides how much memory a body takes, and JSON takes up to a
//! hundred times as much once it is read; so there is room for many small bodies, a few large ones, and no huge ones.

use http_body_util::{BodyExt as _, Limited};
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::{Request, StatusCode};
use tokio::sync::Semaphore;

use super::Limits;

/// A body of at most so many bytes waits for nobody. A review of a policy with the old one beside it has a few thousand.
const SMALL: u64 = 64 << 10;
/// Larger bodies that are read at a time.
const LARGE_AT_A_TIME: usize = 4;
/// Values in a body, those of lists and objects included. The largest policy that is any good has less than a tenth.
const MOST_VALUES: usize = 50_000;

/// Why a body is not read, for the caller.
pub(super) struct Unread(pub(super) StatusCode, pub(super) String);

/// Room for large bodies.
pub(super) struct Room(Semaphore);

impl Default for Room {
    fn default() -> Self {
        Self(Semaphore::new(LARGE_AT_A_TIME))
    }
}

impl Room {
    /// The whole body, in the time that a request has.
    pub(super) async fn read(&self, request: Request<Incoming>, limits: Limits) -> Result<Bytes, Unread> {
        let late = |_elapsed| Unread(StatusCode::REQUEST_TIMEOUT, "the body did not come in time".to_owned());
        tokio::time::timeout(limits.request, self.take(request, limits)).await.map_err(late)?
    }

    async fn take(&self, request: Request<Incoming>, limits: Limits) -> Result<Bytes, Unread> {
        let too_large = || Unread(StatusCode::PAYLOAD_TOO_LARGE, format!("the body is larger than {} bytes", limits.body));
        let size = request.body().size_hint();
        if size.lower() > u64::try_from(limits.body).unwrap_or(u64::MAX) {
            return Err(too_large());
        }
        // Who does not say how much comes is taken to send much. The semaphore is never closed.
        let small = size.upper().is_some_and(|most| most <= SMALL);
        let _turn = if small { None } else { self.0.acquire().await.ok() };
        let body = match Limited::new(request.into_body(), limits.body).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<http_body_util::LengthLimitError>() => return Err(too_large()),
            Err(_) => return Err(Unread(StatusCode::BAD_REQUEST, "the body broke off".to_owned())),
        };
        if values(&body) > MOST_VALUES {
            return Err(Unread(StatusCode::PAYLOAD_TOO_LARGE, format!("the body has more than {MOST_VALUES} values")));
        }
        Ok(body)
    }
}

/// How many values a JSON text has at most. What is no JSON has some number as well.
fn values(body: &[u8]) -> usize {
    let (mut count, mut in_text, mut escaped) = (1, false, false);
    for byte in body {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_text,
            b'"' => in_text = !in_text,
            // Each begins a value, or a name that has one.
            b'[' | b'{' | b',' | b':' if !in_text => count += 1,
            _ => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_a_text_is_no_value() {
        let rows = [("", 1), ("1", 1), (r#"[1,"a,b,c:d[e{f",2]"#, 4), (r#"{"a":{"b":"\",\\"},"c":[]}"#, 8), (r#""never ends, \"#, 1)];
        for (text, expected) in rows {
            assert_eq!(values(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn no_value_goes_uncounted() {
        fn count(value: &serde_json::Value) -> usize {
            let list = value.as_array().into_iter().flatten().map(count);
            let fields = value.as_object().into_iter().flat_map(|map| map.values()).map(count);
            1 + list.sum::<usize>() + fields.sum::<usize>()
        }
        for text in [r#"[[],[],[[]]]"#, r#"[{"a":0},{"a":0},{"b":{"c":null,"d":[1,2,3]}}]"#, r#"{"a":"[,]","b":[true]}"#] {
            let read: serde_json::Value = serde_json::from_str(text).unwrap();
            assert!(values(text.as_bytes()) >= count(&read), "{text}");
        }
    }
}
