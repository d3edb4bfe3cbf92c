//! The page over files that were given, in which they can be edited: what `plan --serve` and `simulate --serve` have in common.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use tokio::net::TcpListener;

use crate::cli::{on_cluster, output};
use crate::ui::{Calculation, Desk, Hosts, Subject, Texts, editor};

/// Nobody waits longer for a picture.
const PATIENCE: Duration = Duration::from_secs(20);

/// An address of this machine alone.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    let address: SocketAddr =
        text.parse().map_err(|_| format!("{text:?} is not an address with a port; write 127.0.0.1:0 for any free port"))?;
    if address.ip().is_loopback() {
        return Ok(address);
    }
    Err(format!("{text:?} is not of this machine alone; write 127.0.0.1:{}, and forward that port for others", address.port()))
}

/// Serves until the process is ended.
///
/// # Errors
/// When the address is taken.
pub(super) fn run(address: SocketAddr, subject: Subject, texts: Texts, calculation: Calculation) -> anyhow::Result<ExitCode> {
    on_cluster(async {
        let listener = TcpListener::bind(address).await.with_context(|| format!("listening on --serve {address}"))?;
        let address = listener.local_addr().context("asking for the port")?;
        output::write(&format!("open http://{address}/ui/ in a browser; Ctrl-C ends it\n"))?;
        let router = editor(subject, texts, calculation, Desk::new(PATIENCE), Hosts::of(address));
        axum::serve(listener, router).await.context("serving the page")?;
        Ok(ExitCode::SUCCESS)
    })?
}

/// Several documents as one text.
pub(super) fn joined(texts: &[String]) -> String {
    texts.iter().map(|text| text.trim_end()).collect::<Vec<_>>().join("\n---\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_served() {
        for text in ["127.0.0.1:0", "[::1]:8080", "127.0.0.2:1"] {
            assert!(address(text).is_ok(), "{text}");
        }
        for (text, words) in [("0.0.0.0:80", "not of this machine alone; write 127.0.0.1:80"), (":80", "not an address"), ("a", "not an")] {
            let refusal = address(text).unwrap_err();
            assert!(refusal.contains(words), "{refusal}");
        }
    }
}
