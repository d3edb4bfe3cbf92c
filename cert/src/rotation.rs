//! What is to become of the certificate at an instant (D12).
//!
//! A certificate is renewed by its authority when two thirds of its life are over. An authority is followed by another in
//! three steps, each of which every API server has time to learn of before the next: the new root is published beside the
//! old one, then it signs, then the old root leaves (faults.md 0.8). What cannot be served is replaced at once.

#[cfg(test)]
mod tests;

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;

use crate::bundle::Bundle;
use crate::issue::{self, Error, LEAF_LIFE, Names};
use crate::pair::{self, Misfit, Pair};
use crate::secret::{Authority, Material};

/// How certificates follow each other.
#[derive(Clone, Debug)]
pub struct Rules {
    /// What the endpoint is called.
    pub names: Names,
    /// A root is trusted this long before it signs, since an API server may hear late of a change.
    pub dwell: Duration,
}

/// What is known when the Secret is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    /// What the Secret holds; `None` if there is none or it cannot be read.
    pub found: Option<&'a Material>,
    /// What this replica serves.
    pub served: Option<&'a Material>,
    /// Since when callers are told to trust the bundle that was found.
    pub trusted_since: Option<Timestamp>,
    /// The instant of the look.
    pub now: Timestamp,
}

/// What to do with the Secret.
#[derive(Debug)]
pub enum Verdict {
    /// Leave it, and serve what is in it.
    Serve,
    /// Write this.
    Write {
        /// The new content.
        material: Box<Material>,
        /// For the log.
        reason: Reason,
    },
}

/// Why the Secret is written.
#[derive(Debug)]
pub enum Reason {
    /// Nothing was found that can be read.
    Missing,
    /// What was found cannot be served.
    Unfit(Misfit),
    /// The certificate is renewed by its authority.
    CertificateDue,
    /// Another authority is published, since this one has had two thirds of its life.
    AuthorityDue,
    /// Another authority is published, since this one cannot sign any more.
    AuthorityLost,
    /// The published authority signs from now on.
    AuthorityTrusted,
    /// The published authority cannot be used.
    NextUnusable,
    /// Nothing can be served any more that the old roots have signed.
    RootRetired,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("there was none that can be read"),
            Self::Unfit(misfit) => misfit.fmt(f),
            Self::CertificateDue => f.write_str("two thirds of the certificate's life are over"),
            Self::AuthorityDue => f.write_str("two thirds of the authority's life are over, so its successor is published"),
            Self::AuthorityLost => f.write_str("the authority cannot sign any more, so a successor is published"),
            Self::AuthorityTrusted => f.write_str("the published authority has been trusted long enough to sign"),
            Self::NextUnusable => f.write_str("the published authority cannot be used"),
            Self::RootRetired => f.write_str("nothing is served any more that the old root has signed"),
        }
    }
}

impl Rules {
    /// Judges the Secret's content. One step at a time; after a write it is to be asked again.
    ///
    /// # Errors
    /// When a certificate cannot be made.
    pub fn judge(&self, situation: &Situation<'_>) -> Result<Verdict, Error> {
        let Some(found) = situation.found else {
            return self.replace(Reason::Missing, situation);
        };
        match self.check(found, situation.now) {
            Ok(pair) => self.step(found, &pair, situation),
            Err(misfit) => self.replace(Reason::Unfit(misfit), situation),
        }
    }

    fn check(&self, material: &Material, now: Timestamp) -> Result<Pair, Misfit> {
        pair::check(material, &self.names.server(), now)
    }

    /// What is due of a content that can be served.
    fn step(&self, found: &Material, pair: &Pair, situation: &Situation<'_>) -> Result<Verdict, Error> {
        let now = situation.now;
        match &found.next {
            Some(next) if self.is_trusted(situation) => return Ok(self.hand_over(found, next, pair, now)),
            None if pair.root_validity.two_thirds() <= now => return publish(found, Reason::AuthorityDue, now),
            Some(_) | None => {}
        }
        if pair.validity.two_thirds() <= now {
            match self.renewed(found, now) {
                Some(material) => return Ok(write(material, Reason::CertificateDue)),
                None if found.next.is_none() => return publish(found, Reason::AuthorityLost, now),
                None => {}
            }
        }
        if found.next.is_none() && found.retires_at.is_some_and(|at| at <= now) {
            let material = Material { bundle: found.bundle.alone(), retires_at: None, ..found.clone() };
            return Ok(write(material, Reason::RootRetired));
        }
        Ok(Verdict::Serve)
    }

    fn is_trusted(&self, situation: &Situation<'_>) -> bool {
        let until = situation.trusted_since.and_then(|since| since.checked_add(self.dwell).ok());
        until.is_some_and(|until| until <= situation.now)
    }

    /// Has the next authority sign; the old root stays until the certificate that it signed is over.
    fn hand_over(&self, found: &Material, next: &Authority, pair: &Pair, now: Timestamp) -> Verdict {
        let signed = if found.bundle.contains(&next.certificate) {
            issue::leaf(next, &found.bundle, &self.names, now).ok().filter(|material| self.check(material, now).is_ok())
        } else {
            // Whoever edited the Secret has left nobody who trusts it.
            None
        };
        match signed {
            Some(material) => {
                let dwelt = now.checked_add(self.dwell).unwrap_or(Timestamp::MAX);
                let retires_at = Some(pair.validity.not_after.max(dwelt));
                write(Material { retires_at, ..material }, Reason::AuthorityTrusted)
            }
            None => write(Material { next: None, ..found.clone() }, Reason::NextUnusable),
        }
    }

    /// With a new certificate from the authority that there is, if it can sign.
    fn renewed(&self, found: &Material, now: Timestamp) -> Option<Material> {
        let authority = Authority { certificate: found.bundle.first()?.to_owned(), key: found.authority_key.clone()? };
        let leaf = issue::leaf(&authority, &found.bundle, &self.names, now).ok()?;
        let material = Material { next: found.next.clone(), retires_at: found.retires_at, ..leaf };
        self.check(&material, now).is_ok().then_some(material)
    }

    /// Something that can be served, and trusted if possible: what is served already, else a certificate from the
    /// authority that there is, else all anew.
    fn replace(&self, reason: Reason, situation: &Situation<'_>) -> Result<Verdict, Error> {
        let now = situation.now;
        let served = situation.served.filter(|material| self.check(material, now).is_ok()).cloned();
        match served.or_else(|| self.renewed(situation.found?, now)) {
            Some(material) => Ok(write(material, reason)),
            None => Ok(write(self.anew(situation.found, now)?, reason)),
        }
    }

    /// Roots that can be read stay trusted, for other replicas may still serve what they have signed.
    fn anew(&self, found: Option<&Material>, now: Timestamp) -> Result<Material, Error> {
        let others = found.map(|found| found.bundle.clone()).filter(|bundle| bundle.certificates().is_ok()).unwrap_or_default();
        let retires_at = if others == Bundle::default() { None } else { now.checked_add(LEAF_LIFE).ok() };
        let material = issue::leaf(&issue::authority(now)?, &others, &self.names, now)?;
        Ok(Material { retires_at, ..material })
    }
}

fn publish(found: &Material, reason: Reason, now: Timestamp) -> Result<Verdict, Error> {
    let next = issue::authority(now)?;
    let bundle = found.bundle.clone().joined_by(&next.certificate);
    Ok(write(Material { bundle, next: Some(next), ..found.clone() }, reason))
}

fn write(material: Material, reason: Reason) -> Verdict {
    Verdict::Write { material: Box::new(material), reason }
}
