//! An error in one line that a person can read.

use std::error::Error;

use kube::core::Status;
use noderotation_core::few::cut;

/// Bytes of what an API server, or something in front of it, says.
const LONGEST: usize = 300;

/// An error and what it came from, in one line; some libraries repeat the source in the error itself.
///
/// What the API server answered is told as `503 ServiceUnavailable: the server is shutting down`.
pub(crate) fn words(error: &(dyn Error + 'static)) -> String {
    if let Some(status) = answer(error) {
        return answered(status);
    }
    let text = error.to_string();
    let Some(source) = error.source() else {
        return text;
    };
    let more = words(source);
    let own = text.strip_suffix(&source.to_string()).unwrap_or(&text).trim_end_matches(": ");
    match own {
        "" => more,
        own if own.ends_with(&more) => own.to_owned(),
        own => format!("{own}: {more}"),
    }
}

fn answer<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Status> {
    let boxed = error.downcast_ref::<Box<kube::Error>>().map(AsRef::as_ref);
    let error = boxed.or_else(|| error.downcast_ref::<kube::Error>())?;
    if let kube::Error::Api(status) = error { Some(status) } else { None }
}

/// Where the answer is no `Status`, its reason says only that, and its message is the whole of it: a page, or nothing.
fn answered(status: &Status) -> String {
    let Status { code, message, reason, .. } = status;
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let told = [code.to_string(), reason.clone()].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    if message.is_empty() { told } else { format!("{told}: {}", cut(&message, LONGEST)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{said}")]
    struct Layer {
        said: &'static str,
        source: Option<Box<Self>>,
    }

    fn layer(said: &'static str, source: Option<Layer>) -> Layer {
        Layer { said, source: source.map(Box::new) }
    }

    #[derive(Debug, thiserror::Error)]
    #[error("reading NodePool a")]
    struct Reading(#[source] Box<kube::Error>);

    #[derive(Debug, thiserror::Error)]
    #[error("failed to perform initial object list: {0}")]
    struct Listing(#[source] kube::Error);

    fn status(code: u16, reason: &str, message: &str) -> kube::Error {
        kube::Error::Api(Box::new(Status { code, reason: reason.to_owned(), message: message.to_owned(), ..Status::default() }))
    }

    #[test]
    fn an_error_is_told_with_its_sources_and_none_twice() {
        let outer = layer("reading Secret s", Some(layer("connect: refused", Some(layer("refused", None)))));
        assert_eq!(words(&outer), "reading Secret s: connect: refused");
        assert_eq!(words(&layer("same", Some(layer("same", None)))), "same");
    }

    #[test]
    fn what_the_api_server_answers_is_told_as_people_say_it() {
        let page = "<html>\n<body>Bad Gateway</body></html>";
        let rows: [(Box<dyn Error>, &str); 4] = [
            (Box::new(status(403, "Forbidden", "you may not")), "403 Forbidden: you may not"),
            (
                Box::new(Reading(Box::new(status(429, "TooManyRequests", "slow down")))),
                "reading NodePool a: 429 TooManyRequests: slow down",
            ),
            (
                Box::new(Listing(status(502, "Failed to parse error data", page))),
                "failed to perform initial object list: 502 Failed to parse error data: <html> <body>Bad Gateway</body></html>",
            ),
            (Box::new(status(504, "", "")), "504"),
        ];
        for (error, expected) in rows {
            assert_eq!(words(error.as_ref()), expected);
        }
        assert_eq!(words(&status(500, "", &"x".repeat(1000))).len(), "500: ".len() + LONGEST);
    }
}
