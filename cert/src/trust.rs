//! Since when callers are told to trust which roots, and what follows from it.
//!
//! An API server may hear late of a new root, and another replica may go on with a certificate of an old one. So what a
//! new root has signed waits until that has been trusted for a dwell, and a root that is not ours any more is put up with
//! for as long (faults.md 0.8).

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;

use crate::bundle::Bundle;
use crate::pair::{self, Pair};

/// The roots by which callers are told to judge the endpoint, each with the instant since which we know.
#[derive(Clone, Debug, Default)]
pub struct Trust(Vec<(String, Timestamp)>);

impl Trust {
    /// Callers are told to trust these roots and no others, seen at `now`.
    pub fn note(&mut self, live: &Bundle, now: Timestamp) {
        let known = std::mem::take(&mut self.0);
        // A clock that was set back has not seen them in the future.
        let since = |root: &str| known.iter().find(|(other, _)| other == root).map_or(now, |(_, since)| now.min(*since));
        self.0 = live.roots().map(|root| (root.to_owned(), since(root))).collect();
    }

    /// Since when all roots of `bundle` are trusted; `None` if one is not, or there are none.
    #[must_use]
    pub fn of_all(&self, bundle: &Bundle) -> Option<Timestamp> {
        let since = |root: &str| self.0.iter().find(|(known, _)| known == root).map(|(_, since)| *since);
        bundle.roots().map(since).collect::<Option<Vec<_>>>()?.into_iter().max()
    }

    /// Since when a root is trusted that has signed `pair`.
    #[must_use]
    pub fn of(&self, pair: &Pair) -> Option<Timestamp> {
        let signers = self.0.iter().filter(|(root, _)| pair.is_signed_by(&Bundle::parse(root)));
        signers.map(|(_, since)| *since).min()
    }

    /// Whether `served` goes on although `offered` is to follow it: callers accept the one and might not accept the other
    /// yet, for its root or for its beginning. Where `served` is nearly over there is nothing to wait for.
    #[must_use]
    pub fn holds_back(&self, offered: &Pair, served: &Pair, dwell: Duration, now: Timestamp) -> bool {
        let after = |instant: Timestamp| instant.checked_add(dwell).unwrap_or(Timestamp::MAX);
        if served.validity.not_after <= now || self.of(served).is_none() {
            return false;
        }
        match self.of(offered) {
            None => true,
            Some(since) => now < after(since.max(offered.validity.not_before)) && after(now) < served.validity.not_after,
        }
    }
}

/// Roots beside ours in what callers trust, each with the instant at which it was first seen there: another replica may
/// still need them, as while the certificate comes from somebody else than before.
#[derive(Clone, Debug, Default)]
pub struct Strangers(BTreeMap<String, Timestamp>);

impl Strangers {
    /// What callers are to trust: `ours`, and what they trust beside it that can be used and has not been put up with for
    /// `dwell` yet. The order is that of `live` where nothing is missing in it, so that replicas do not fight over it.
    pub fn beside(&mut self, ours: &Bundle, live: &Bundle, dwell: Duration, now: Timestamp) -> Bundle {
        self.0.retain(|root, _| !ours.contains(root));
        let mut left = Bundle::default();
        for root in live.roots() {
            if ours.contains(root) || self.is_put_up_with(root, dwell, now) {
                left = left.joined_by(root);
            }
        }
        let complete = ours.roots().all(|root| left.contains(root));
        if complete { left } else { left.roots().fold(ours.clone(), Bundle::joined_by) }
    }

    fn is_put_up_with(&mut self, root: &str, dwell: Duration, now: Timestamp) -> bool {
        let usable = pair::validity_of_root(root).is_some_and(|validity| now < validity.not_after);
        let since = *self.0.entry(root.to_owned()).or_insert(now);
        let stays = usable && now < since.checked_add(dwell).unwrap_or(Timestamp::MAX);
        if !stays {
            // Whoever brings it back has a reason, and as much time again.
            self.0.remove(root);
        }
        stays
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::issue::{self, Names};
    use crate::secret::Material;

    const DWELL: Duration = Duration::from_secs(3600);

    fn start() -> Timestamp {
        "2026-01-01T00:00:00Z".parse().unwrap()
    }

    fn names() -> Names {
        Names { service: "webhook".to_owned(), namespace: "system".to_owned(), cluster_domain: "cluster.local".to_owned() }
    }

    fn made(now: Timestamp) -> (Material, Pair) {
        let material = issue::first(&names(), now).unwrap();
        let pair = pair::check(&material, &names().server(), now).unwrap();
        (material, pair)
    }

    fn joined(bundles: &[&Bundle]) -> Bundle {
        bundles.iter().flat_map(|bundle| bundle.roots()).fold(Bundle::default(), Bundle::joined_by)
    }

    #[test]
    fn each_root_is_known_since_it_was_first_seen_and_forgotten_when_it_goes() {
        let ((a, pair), (b, _)) = (made(start()), made(start()));
        let mut trust = Trust::default();
        assert_eq!((trust.of(&pair), trust.of_all(&Bundle::default())), (None, None));
        trust.note(&a.bundle, start());
        trust.note(&joined(&[&b.bundle, &a.bundle]), start() + DWELL);
        assert_eq!((trust.of(&pair), trust.of_all(&a.bundle)), (Some(start()), Some(start())));
        assert_eq!(trust.of_all(&joined(&[&a.bundle, &b.bundle])), Some(start() + DWELL));
        trust.note(&b.bundle, start() + 2 * DWELL);
        assert_eq!((trust.of(&pair), trust.of_all(&joined(&[&a.bundle, &b.bundle]))), (None, None));
        trust.note(&a.bundle, start() + 3 * DWELL);
        assert_eq!(trust.of(&pair), Some(start() + 3 * DWELL));
        // The clock was wrong, and is set back.
        trust.note(&a.bundle, start());
        assert_eq!(trust.of(&pair), Some(start()));
    }

    #[test]
    fn a_pair_waits_until_its_root_has_been_trusted_for_a_dwell() {
        let ((old, served), (new, offered)) = (made(start()), made(start()));
        let both = joined(&[&old.bundle, &new.bundle]);
        let mut trust = Trust::default();
        assert!(!trust.holds_back(&offered, &served, DWELL, start()), "nothing is known of who trusts what");
        trust.note(&old.bundle, start());
        assert!(trust.holds_back(&offered, &served, DWELL, start() + 10 * DWELL), "nobody trusts it");
        let published = start() + 10 * DWELL;
        trust.note(&both, published);
        assert!(trust.holds_back(&offered, &served, DWELL, published + DWELL - Duration::from_secs(1)));
        assert!(!trust.holds_back(&offered, &served, DWELL, published + DWELL));
        // The other way round: what is served is trusted by nobody.
        let mut trust = Trust::default();
        trust.note(&new.bundle, start());
        assert!(!trust.holds_back(&offered, &served, DWELL, start()));
    }

    #[test]
    fn a_pair_waits_for_its_beginning_and_not_beyond_the_end_of_the_other() {
        let (old, served) = made(start());
        let (ahead, end) = (start() + 48 * DWELL, served.validity.not_after);
        let authority =
            crate::secret::Authority { certificate: old.bundle.first().unwrap().to_owned(), key: old.authority_key.clone().unwrap() };
        let material = issue::leaf(&authority, &old.bundle, &names(), ahead).unwrap();
        let offered = pair::check(&material, &names().server(), start()).unwrap();
        let mut trust = Trust::default();
        trust.note(&old.bundle, start());
        let begins = offered.validity.not_before;
        assert!(trust.holds_back(&offered, &served, DWELL, begins + DWELL - Duration::from_secs(1)));
        assert!(!trust.holds_back(&offered, &served, DWELL, begins + DWELL));
        let (_, other) = made(end);
        assert!(trust.holds_back(&other, &served, DWELL, end - Duration::from_secs(1)), "the other is trusted by nobody");
        assert!(!trust.holds_back(&other, &served, DWELL, end));
        let short = DWELL * 24 * 100;
        assert!(!trust.holds_back(&offered, &served, short, start()), "less than a dwell is left of what is served");
    }

    #[test]
    fn a_stranger_is_put_up_with_for_a_dwell() {
        let ((ours, _), (other, _)) = (made(start()), made(start()));
        let (ours, other) = (ours.bundle, other.bundle);
        let broken = Bundle::parse("-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----");
        let mut strangers = Strangers::default();
        let mut look = |live: &Bundle, now| strangers.beside(&ours, live, DWELL, now);
        assert_eq!(look(&Bundle::default(), start()), ours);
        assert_eq!(look(&other, start()), joined(&[&ours, &other]));
        assert_eq!(look(&joined(&[&other, &ours]), start()), joined(&[&other, &ours]), "the order is left alone");
        assert_eq!(look(&joined(&[&ours, &broken]), start()), ours);
        let later = start() + DWELL;
        assert_eq!(look(&joined(&[&other, &ours]), later), ours);
        assert_eq!(look(&joined(&[&other, &ours]), later), joined(&[&other, &ours]), "whoever brings it back has a reason");
        let dead = start() + Duration::from_secs(6 * 365 * 24 * 3600);
        assert_eq!(look(&joined(&[&ours, &other]), dead), ours, "an expired one is of no use");
    }
}
