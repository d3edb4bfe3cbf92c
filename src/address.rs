//! Addresses as Go programs take them: `:8080` is every interface, `127.0.0.1:0` any free port.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use tokio::net::TcpListener;

/// An address to listen on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// `None` is every interface.
    host: Option<IpAddr>,
    port: u16,
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fault = || format!("{text:?} is not an address to listen on; write :8080, 127.0.0.1:8080 or [::1]:8080");
        let (host, port) = text.rsplit_once(':').ok_or_else(fault)?;
        let port = port.parse().map_err(|_| fault())?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let host = if host.is_empty() { None } else { Some(host.parse().map_err(|_| fault())?) };
        Ok(Self { host, port })
    }
}

impl Address {
    /// Listens there. Every interface means both families where the machine has both.
    ///
    /// # Errors
    /// When the address is taken or not this machine's.
    pub(crate) async fn listen(self) -> std::io::Result<TcpListener> {
        match self.host {
            Some(host) => TcpListener::bind(SocketAddr::new(host, self.port)).await,
            None => match TcpListener::bind(SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), self.port)).await {
                Ok(listener) => Ok(listener),
                Err(_) => TcpListener::bind(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), self.port)).await,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_style_addresses_are_read() {
        let address = |text: &str| text.parse::<Address>();
        assert_eq!(address(":8080"), Ok(Address { host: None, port: 8080 }));
        assert_eq!(address("127.0.0.1:0"), Ok(Address { host: Some(Ipv4Addr::LOCALHOST.into()), port: 0 }));
        assert_eq!(address("[::1]:9443"), Ok(Address { host: Some(Ipv6Addr::LOCALHOST.into()), port: 9443 }));
        for text in ["8080", "localhost:80", ":http", ":99999", ""] {
            assert!(address(text).unwrap_err().starts_with(&format!("{text:?} is not an address")));
        }
    }
}
