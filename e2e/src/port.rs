//! Ports that are free.

use std::net::{Ipv4Addr, TcpListener};

use anyhow::{Context as _, Result};

/// `N` different free ports on 127.0.0.1.
///
/// Another program may take one before it is used; in a network namespace of one's own there is none.
///
/// # Errors
/// When the machine has none.
pub fn free<const N: usize>() -> Result<[u16; N]> {
    // All are held until the last is chosen, or the same one could come twice.
    let listeners = (0..N).map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).collect::<std::io::Result<Vec<_>>>();
    let listeners = listeners.context("looking for a free port on 127.0.0.1")?;
    let mut ports = [0; N];
    for (port, listener) in ports.iter_mut().zip(&listeners) {
        *port = listener.local_addr().context("asking for the port of a listener")?.port();
    }
    Ok(ports)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_differ_and_can_be_taken() {
        let ports: [u16; 20] = free().unwrap();
        let different: std::collections::BTreeSet<_> = ports.iter().collect();
        assert_eq!(different.len(), ports.len());
        assert!(!different.contains(&0));
    }
}
