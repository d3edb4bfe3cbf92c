//! One GET over plain HTTP, for probes and metrics.
//!
//! Every such endpoint here is on this machine and answers in one piece; that is all this knows of HTTP.

use std::net::Ipv4Addr;

use anyhow::{Context as _, Result, anyhow};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// What was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Status code.
    pub status: u16,
    /// Body.
    pub body: String,
}

/// Gets `path` from a port on 127.0.0.1.
///
/// # Errors
/// When nobody answers there, or not in HTTP.
pub async fn get(port: u16, path: &str) -> Result<Answer> {
    let asking = || format!("getting http://127.0.0.1:{port}{path}");
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.with_context(asking)?;
    // Version 1.0, so that the answer ends with the connection and comes in no chunks.
    let request = format!("GET {path} HTTP/1.0\r\nHost: 127.0.0.1\r\nAccept: text/plain\r\n\r\n");
    stream.write_all(request.as_bytes()).await.with_context(asking)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.with_context(asking)?;
    read(&String::from_utf8_lossy(&answer)).ok_or_else(|| anyhow!("{}: the answer is not HTTP", asking()))
}

fn read(answer: &str) -> Option<Answer> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.lines().next()?.strip_prefix("HTTP/1.")?.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(Answer { status, body: body.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read() {
        let answer = Answer { status: 200, body: "ok\n".to_owned() };
        assert_eq!(read("HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nok\n"), Some(answer));
        assert_eq!(read("HTTP/1.1 503 Service Unavailable\r\n\r\n").map(|answer| answer.status), Some(503));
    }

    #[test]
    fn other_protocols_are_not_read() {
        for answer in ["", "SSH-2.0-x\r\n\r\n", "HTTP/1.1 x\r\n\r\n", "HTTP/1.1 200 OK\r\n"] {
            assert_eq!(read(answer), None, "{answer:?}");
        }
    }
}
