//! Which requests a server on this machine answers: those that its own page makes.
//!
//! Any page that somebody has open can send requests to this machine, and with a name of its own that leads here it could
//! read the answers too. The name that it used stands in `Host`, and who asks stands in `Origin`; both must be ours.

use std::net::SocketAddr;

use axum::http::{HeaderMap, StatusCode, header};

/// The names under which a server is asked.
#[derive(Clone, Debug)]
pub(crate) struct Hosts(Vec<String>);

impl Hosts {
    /// Those of a listener on this machine.
    pub(crate) fn of(address: SocketAddr) -> Self {
        let mut hosts = vec![address.to_string(), format!("localhost:{}", address.port())];
        if address.port() == 80 {
            let bare = hosts.iter().map(|host| host.trim_end_matches(":80").to_owned()).collect::<Vec<_>>();
            hosts.extend(bare);
        }
        Self(hosts)
    }

    /// Why a request is not answered, if it is not.
    pub(super) fn refusal(&self, headers: &HeaderMap) -> Option<(StatusCode, String)> {
        let value = |name| headers.get(name).map(|value| value.to_str().unwrap_or("a value that is no text").to_ascii_lowercase());
        let first = self.0.first().map(String::as_str).unwrap_or_default();
        let host = value(header::HOST).unwrap_or_default();
        if !self.0.contains(&host) {
            let words = format!("Host {host:?} is not served here, so that no page of another host can ask; open http://{first}/ui/");
            return Some((StatusCode::MISDIRECTED_REQUEST, words));
        }
        let foreign = value(header::ORIGIN).filter(|origin| *origin != format!("http://{host}"))?;
        let words = format!("a page of {foreign:?} may not ask here; open http://{first}/ui/");
        Some((StatusCode::FORBIDDEN, words))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(address: &str, host: Option<&str>, origin: Option<&str>) -> u16 {
        let mut headers = HeaderMap::new();
        for (name, value) in [(header::HOST, host), (header::ORIGIN, origin)] {
            value.and_then(|value| headers.insert(name, value.parse().unwrap()));
        }
        Hosts::of(address.parse().unwrap()).refusal(&headers).map_or(200, |(code, _)| code.as_u16())
    }

    #[test]
    fn only_the_names_of_this_server_are_answered() {
        let rows = [
            ("127.0.0.1:8080", Some("127.0.0.1:8080"), None, 200),
            ("127.0.0.1:8080", Some("LocalHost:8080"), None, 200),
            ("[::1]:8080", Some("[::1]:8080"), None, 200),
            ("127.0.0.1:80", Some("localhost"), None, 200),
            ("127.0.0.1:8080", Some("127.0.0.1:8081"), None, 421),
            ("127.0.0.1:8080", Some("localhost"), None, 421),
            ("127.0.0.1:8080", Some("evil.example:8080"), None, 421),
            ("127.0.0.1:8080", None, None, 421),
            ("127.0.0.1:8080", Some("127.0.0.1:8080"), Some("http://127.0.0.1:8080"), 200),
            ("127.0.0.1:8080", Some("localhost:8080"), Some("http://localhost:8080"), 200),
            ("127.0.0.1:8080", Some("127.0.0.1:8080"), Some("http://evil.example"), 403),
            ("127.0.0.1:8080", Some("127.0.0.1:8080"), Some("null"), 403),
            ("127.0.0.1:8080", Some("127.0.0.1:8080"), Some("https://127.0.0.1:8080"), 403),
            ("127.0.0.1:8080", Some("127.0.0.1:8080"), Some("http://127.0.0.1:9090"), 403),
        ];
        for (address, host, origin, expected) in rows {
            assert_eq!(code(address, host, origin), expected, "{address} {host:?} {origin:?}");
        }
    }
}
