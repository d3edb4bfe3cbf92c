//! What rustls asks for the certificate; it is swapped without dropping a connection.

use std::sync::{Arc, PoisonError, RwLock};

use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use crate::pair::Pair;

/// Holds the pair that is served. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Resolver(Arc<RwLock<Option<Pair>>>);

impl Resolver {
    /// Serves this pair from the next handshake on.
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
