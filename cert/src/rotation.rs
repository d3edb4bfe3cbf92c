//! What is to become of the certificate at an instant (D12).

use jiff::Timestamp;
use rustls::crypto::CryptoProvider;

use crate::issue::{self, Error};
use crate::material::Material;
use crate::pair::{self, Misfit};

/// What to write into the Secret, if anything.
#[derive(Debug)]
pub enum Verdict {
    /// Nothing; it is good.
    Keep,
    /// This, and why.
    Write {
        /// The new content.
        material: Material,
        /// For the log.
        reason: String,
    },
}

/// Judges the Secret's content for the endpoint `names` (the one that the API server calls is `name`) at `now`.
///
/// The certificate is renewed when two thirds of its life are over, and the authority likewise; a content that cannot be
/// served is replaced. A bundle that could be read stays trusted beside the new root.
///
/// # Errors
/// When a certificate cannot be made.
pub fn judge(
    material: Option<&Material>,
    name: &str,
    names: &[String],
    now: Timestamp,
    provider: &CryptoProvider,
) -> Result<Verdict, Error> {
    let Some(material) = material else {
        let material = issue::authority_and_leaf(names, None, now)?;
        return Ok(Verdict::Write { material, reason: "there was none".to_owned() });
    };
    let reissue = |reason: String, bundle: Option<&str>| {
        let material = issue::authority_and_leaf(names, bundle, now)?;
        Ok(Verdict::Write { material, reason })
    };
    let pair = match pair::check(material, name, now, provider) {
        Ok(pair) => pair,
        // An authority whose end is far off can issue again; anything else begins anew.
        Err(misfit @ Misfit::Expired(_)) => {
            let reason = misfit.to_string();
            return match issue::leaf(material, names, now) {
                Ok(Some(renewed)) if pair::check(&renewed, name, now, provider).is_ok_and(|pair| pair.root_validity.two_thirds() > now) => {
                    Ok(Verdict::Write { material: renewed, reason })
                }
                Ok(_) | Err(_) => reissue(reason, None),
            };
        }
        Err(misfit) => return reissue(misfit.to_string(), None),
    };
    if pair.root_validity.two_thirds() <= now {
        return reissue("two thirds of the authority's life are over".to_owned(), Some(&material.bundle));
    }
    if pair.validity.two_thirds() <= now
        && let Some(material) = issue::leaf(material, names, now)?
    {
        return Ok(Verdict::Write { material, reason: "two thirds of the certificate's life are over".to_owned() });
    }
    Ok(Verdict::Keep)
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    const NAME: &str = "webhook.system.svc";

    fn names() -> Vec<String> {
        issue::names("webhook", "system", "cluster.local")
    }

    fn provider() -> CryptoProvider {
        rustls::crypto::ring::default_provider()
    }

    fn judged(material: Option<&Material>, now: Timestamp) -> Option<(Material, String)> {
        match judge(material, NAME, &names(), now, &provider()).unwrap() {
            Verdict::Keep => None,
            Verdict::Write { material, reason } => Some((material, reason)),
        }
    }

    fn start() -> Timestamp {
        "2026-01-01T00:00:00Z".parse().unwrap()
    }

    #[test]
    fn every_day_of_eleven_years_a_valid_certificate_is_served() {
        let (mut material, reason) = judged(None, start()).unwrap();
        assert_eq!(reason, "there was none");
        let (mut renewals, mut roots) = (0, 0);
        for day in 0..11 * 365 {
            let now = start() + SignedDuration::from_hours(24 * day);
            if let Some((renewed, reason)) = judged(Some(&material), now) {
                renewals += 1;
                if reason.contains("authority") {
                    roots += 1;
                    assert!(renewed.bundle.contains(&material.bundle), "the old root stays trusted");
                }
                material = renewed;
            }
            let pair = pair::check(&material, NAME, now, &provider()).unwrap();
            assert!(pair.validity.not_before <= now && now < pair.validity.not_after);
            assert!(pair.root_validity.not_after >= pair.validity.not_after, "the root outlives what it signs");
        }
        assert!(renewals > 60 && (2..=4).contains(&roots), "{renewals} renewals, {roots} roots");
    }

    #[test]
    fn a_content_that_cannot_be_served_is_replaced() {
        let (good, _) = judged(None, start()).unwrap();
        let (other, _) = judged(None, start()).unwrap();
        assert!(judged(Some(&good), start()).is_none());
        let rows = [
            (Material { key: other.key.clone(), ..good.clone() }, "the key does not belong to the certificate"),
            (Material { key: "nothing".to_owned(), ..good.clone() }, "the key cannot be read"),
            (Material { certificate: String::new(), ..good.clone() }, "the certificate cannot be read"),
            (Material { bundle: other.bundle.clone(), ..good.clone() }, "the certificate is not signed by any root of the bundle"),
            (Material { bundle: String::new(), ..good.clone() }, "the bundle of roots cannot be read"),
        ];
        for (material, reason) in rows {
            let (replaced, told) = judged(Some(&material), start()).unwrap();
            assert_eq!(told, reason);
            assert!(judged(Some(&replaced), start()).is_none());
        }
    }

    #[test]
    fn an_expired_certificate_is_renewed_by_a_live_authority_and_anew_by_a_dead_one() {
        let (material, _) = judged(None, start()).unwrap();
        let (renewed, _) = judged(Some(&material), start() + SignedDuration::from_hours(100 * 24)).unwrap();
        assert_eq!(renewed.bundle, material.bundle);
        let (anew, _) = judged(Some(&material), start() + SignedDuration::from_hours(6 * 365 * 24)).unwrap();
        assert_ne!(anew.bundle, material.bundle);
    }

    #[test]
    fn a_certificate_for_another_name_is_replaced() {
        let (material, _) = judged(None, start()).unwrap();
        let verdict =
            judge(Some(&material), "other.system.svc", &issue::names("other", "system", "cluster.local"), start(), &provider()).unwrap();
        assert!(matches!(verdict, Verdict::Write { reason, .. } if reason == "the certificate is not for other.system.svc"));
    }

    #[test]
    fn keys_are_never_printed() {
        let (material, _) = judged(None, start()).unwrap();
        assert!(!format!("{material:?}").contains("KEY"));
    }
}
