//! What this replica serves, and when it changes to what the Secret holds.

#[cfg(test)]
mod tests;

use jiff::Timestamp;

use crate::bundle::Bundle;
use crate::issue::Error;
use crate::pair::{self, Misfit, Pair};
use crate::resolver::Resolver;
use crate::rotation::{Rules, Situation, Verdict};
use crate::secret::Material;
use crate::trust::Trust;

/// The pair that is served, and who is known to accept it.
pub struct Serving {
    rules: Rules,
    resolver: Resolver,
    served: Option<Served>,
    trust: Trust,
}

/// What is served, as it stood in the Secret.
struct Served {
    material: Material,
    /// It may be put back if the Secret gets lost.
    ours: bool,
}

/// What came of a content that fits.
#[derive(Debug)]
pub struct Taken {
    /// What is served.
    pub pair: Pair,
    /// The roots that callers are to trust.
    pub bundle: Bundle,
    /// What was offered is another pair, which callers might not accept yet.
    pub waits: bool,
}

impl Serving {
    /// Nothing is served yet.
    #[must_use]
    pub fn new(rules: Rules, resolver: Resolver) -> Self {
        Self { rules, resolver, served: None, trust: Trust::default() }
    }

    /// What is served, whatever has become of the Secret, and the roots that callers are to trust for it.
    #[must_use]
    pub fn served(&self) -> Option<(Pair, Bundle)> {
        self.resolver.served().zip(self.served.as_ref().map(|served| served.material.bundle.clone()))
    }

    /// Callers are told to trust these roots and no others, seen at `now`.
    pub fn trust(&mut self, live: &Bundle, now: Timestamp) {
        self.trust.note(live, now);
    }

    /// Judges the content of a Secret that may be written.
    ///
    /// # Errors
    /// When a certificate cannot be made.
    pub fn judge(&self, found: Option<&Material>, now: Timestamp) -> Result<Verdict, Error> {
        let served = self.served.as_ref().filter(|served| served.ours).map(|served| &served.material);
        let trusted_since = found.and_then(|found| self.trust.of_all(&found.bundle));
        self.rules.judge(&Situation { found, served, trusted_since, now })
    }

    /// Serves a content, once callers accept it; until then what is served goes on, and callers are to trust both. `ours`
    /// says whether it may be put back later.
    ///
    /// # Errors
    /// Why it does not fit; what was served before still is.
    pub fn take(&mut self, material: Material, ours: bool, now: Timestamp) -> Result<Taken, Misfit> {
        let offered = pair::check(&material, &self.rules.names.server(), now)?;
        let dwell = self.rules.dwell;
        let holds_back = |pair: &Pair| pair.key.cert != offered.key.cert && self.trust.holds_back(&offered, pair, dwell, now);
        if let Some((pair, bundle)) = self.served().filter(|(pair, _)| holds_back(pair)) {
            let bundle = bundle.roots().fold(material.bundle, Bundle::joined_by);
            return Ok(Taken { pair, bundle, waits: true });
        }
        let bundle = material.bundle.clone();
        self.resolver.serve(offered.clone());
        self.served = Some(Served { material, ours });
        Ok(Taken { pair: offered, bundle, waits: false })
    }
}
