//! What rustls asks for the certificate; it is swapped without dropping a connection.

use std::sync::{Arc, PoisonError, RwLock};

use jiff::Timestamp;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use crate::pair::{self, Misfit, Pair};
use crate::secret::Material;

/// Holds the pair that is served. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Resolver(Arc<RwLock<Option<Pair>>>);

impl Resolver {
    /// Serves this from the next handshake on, if it fits the endpoint `name` at `now`.
    ///
    /// # Errors
    /// Why it does not fit; what was served before still is.
    pub fn offer(&self, material: &Material, name: &str, now: Timestamp) -> Result<Pair, Misfit> {
        let pair = pair::check(material, name, now)?;
        self.serve(pair.clone());
        Ok(pair)
    }

    /// Serves a pair that has been found to fit, from the next handshake on.
    pub fn serve(&self, pair: Pair) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(pair);
    }

    /// What is served now.
    #[must_use]
    pub fn served(&self) -> Option<Pair> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl ResolvesServerCert for Resolver {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.served().map(|pair| pair.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::issue::{self, Names};

    #[test]
    fn what_does_not_fit_leaves_the_old_pair_in_place() {
        let names = Names { service: "webhook".to_owned(), namespace: "system".to_owned(), cluster_domain: "cluster.local".to_owned() };
        let (name, now) = (names.server(), "2026-01-01T00:00:00Z".parse().unwrap());
        let (old, new) = (issue::first(&names, now).unwrap(), issue::first(&names, now).unwrap());
        let resolver = Resolver::default();
        let served = || resolver.served().map(|pair| pair.key.cert.clone());
        assert_eq!(served(), None);
        let first = resolver.offer(&old, &name, now).unwrap();
        assert_eq!(served(), Some(first.key.cert.clone()));
        let torn = Material { key: new.key.clone(), ..old };
        assert_eq!(resolver.offer(&torn, &name, now).unwrap_err().to_string(), "the key does not belong to the certificate");
        assert_eq!(served(), Some(first.key.cert.clone()));
        resolver.offer(&new, &name, now).unwrap();
        assert_ne!(served(), Some(first.key.cert.clone()));
    }
}
