//! Years of decisions, stepped, and every content that somebody may leave in the Secret.

use jiff::SignedDuration;

use super::*;

const DWELL: Duration = Duration::from_secs(3600);

fn rules() -> Rules {
    let names = Names { service: "webhook".to_owned(), namespace: "system".to_owned(), cluster_domain: "cluster.local".to_owned() };
    Rules { names, dwell: DWELL }
}

fn start() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

fn days(days: i64) -> SignedDuration {
    SignedDuration::from_hours(24 * days)
}

fn judged(situation: &Situation<'_>) -> Option<(Material, String)> {
    match rules().judge(situation).unwrap() {
        Verdict::Serve => None,
        Verdict::Write { material, reason } => Some((*material, reason.to_string())),
    }
}

/// The content that follows `found` when nothing is served and nobody is known to trust it.
fn follows(found: Option<&Material>, now: Timestamp) -> Option<(Material, String)> {
    judged(&Situation { found, served: None, trusted_since: None, now })
}

fn first() -> Material {
    let (material, reason) = follows(None, start()).unwrap();
    assert_eq!(reason, "there was none that can be read");
    material
}

fn fits(material: &Material, now: Timestamp) -> Pair {
    rules().check(material, now).unwrap()
}

#[test]
fn a_new_certificate_is_served_and_valid_for_whoever_is_a_day_behind() {
    let material = first();
    assert!(follows(Some(&material), start()).is_none());
    let pair = fits(&material, start());
    assert_eq!((pair.validity.not_before, pair.validity.not_after), (start() - days(1), start() + days(90)));
    assert_eq!((pair.root_validity.not_before, pair.root_validity.not_after), (start() - days(1), start() + days(5 * 365)));
    fits(&material, start() - days(2));
    for name in ["webhook", "webhook.system", "webhook.system.svc", "webhook.system.svc.cluster.local"] {
        assert!(pair::check(&material, name, start()).is_ok(), "{name}");
    }
    assert!(pair::check(&material, "webhook.other.svc", start()).is_err());
}

/// Replicas that look at the Secret, some of which never come to look again, and two API servers, one of which hears of a
/// new bundle as late as the dwell allows.
struct Fleet {
    now: Timestamp,
    secret: Material,
    /// What replicas still serve that have not looked since.
    stale: Vec<Material>,
    trusted_since: Timestamp,
    /// What the slower API server trusts, and what it trusts from when on.
    slow: (Bundle, Bundle, Timestamp),
}

impl Fleet {
    fn new() -> Self {
        let secret = first();
        let bundle = secret.bundle.clone();
        Self { now: start(), stale: vec![secret.clone()], secret, trusted_since: start(), slow: (bundle.clone(), bundle, start()) }
    }

    /// One look at the Secret; the reason if it was written.
    fn look(&mut self) -> Option<String> {
        let (found, served) = (Some(&self.secret), self.stale.last());
        let (material, reason) = judged(&Situation { found, served, trusted_since: Some(self.trusted_since), now: self.now })?;
        if material.bundle != self.secret.bundle {
            self.trusted_since = self.now;
            let before = if self.slow.2 <= self.now { self.slow.1.clone() } else { self.slow.0.clone() };
            self.slow = (before, material.bundle.clone(), self.now + (DWELL - Duration::from_secs(1)));
        }
        self.stale.push(std::mem::replace(&mut self.secret, material));
        Some(reason)
    }

    /// Every replica is accepted by every API server, as long as its certificate is valid at all.
    fn assert_accepted(&mut self) {
        self.stale.retain(|material| !matches!(rules().check(material, self.now), Err(Misfit::Expired(_))));
        let slow = if self.slow.2 <= self.now { &self.slow.1 } else { &self.slow.0 };
        for serving in self.stale.iter().chain([&self.secret]) {
            let pair = fits(serving, self.now);
            assert!(pair.is_signed_by(&self.secret.bundle) && pair.is_signed_by(slow), "at {}", self.now);
        }
    }
}

#[test]
fn in_eleven_years_no_handshake_fails() {
    let mut fleet = Fleet::new();
    let mut reasons = Vec::new();
    let end = start() + days(11 * 365);
    let mut written = start();
    while fleet.now < end {
        if let Some(reason) = fleet.look() {
            written = fleet.now;
            reasons.push(reason);
        }
        fleet.assert_accepted();
        // Closely after a change, then every other day.
        let busy = fleet.now.duration_since(written) < SignedDuration::from_hours(3);
        fleet.now += if busy { SignedDuration::from_mins(19) } else { days(2) };
    }
    let count = |word: &str| reasons.iter().filter(|reason| reason.contains(word)).count();
    assert_eq!([count("successor is published"), count("long enough to sign"), count("the old root has signed")], [3, 3, 3]);
    assert!(count("certificate's life") > 60, "{reasons:?}");
    assert_eq!(fleet.secret.bundle, fleet.secret.bundle.alone());
}

#[test]
fn a_published_authority_signs_only_when_it_has_been_trusted_long_enough() {
    let now = start() + days(4 * 365);
    let (material, _) = follows(Some(&first()), now).unwrap();
    let (published, reason) = follows(Some(&material), now).unwrap();
    assert_eq!(reason, "two thirds of the authority's life are over, so its successor is published");
    let look = |trusted_since| judged(&Situation { found: Some(&published), served: None, trusted_since, now });
    assert!(look(None).is_none());
    assert!(look(Some(now - (DWELL - Duration::from_secs(1)))).is_none());
    let (signed, reason) = look(Some(now - DWELL)).unwrap();
    assert_eq!(reason, "the published authority has been trusted long enough to sign");
    assert_eq!(signed.bundle.first(), published.next.as_ref().map(|next| next.certificate.as_str()));
    assert!(fits(&published, now).is_signed_by(&signed.bundle));
}

#[test]
fn a_content_that_cannot_be_served_is_replaced() {
    let (good, other) = (first(), first());
    let elsewhere = Rules { names: Names { service: "other".to_owned(), ..rules().names }, ..rules() };
    let Verdict::Write { material: renamed, .. } =
        elsewhere.judge(&Situation { found: None, served: None, trusted_since: None, now: start() }).unwrap()
    else {
        panic!("nothing was issued")
    };
    let broken = Bundle::parse("-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----");
    let rows = [
        (Material { key: other.key.clone(), ..good.clone() }, "the key does not belong to the certificate", true),
        (Material { key: "nothing".to_owned(), ..good.clone() }, "the key cannot be read", true),
        (Material { certificate: String::new(), ..good.clone() }, "the certificate cannot be read", true),
        (*renamed, "the certificate is not for webhook.system.svc", true),
        (Material { bundle: other.bundle.clone(), ..good.clone() }, "the certificate is not signed by any root of the bundle", false),
        (Material { bundle: Bundle::default(), ..good.clone() }, "the bundle of roots cannot be read", false),
        (Material { bundle: broken, ..good.clone() }, "the bundle of roots cannot be read", false),
    ];
    for (found, reason, same_root) in rows {
        let (replaced, told) = follows(Some(&found), start()).unwrap();
        assert_eq!(told, reason);
        assert!(follows(Some(&replaced), start()).is_none(), "{reason}");
        assert_eq!(replaced.bundle == found.bundle, same_root, "{reason}");
        // A replica that serves something good puts that back instead, which everybody trusts already.
        let situation = Situation { found: Some(&found), served: Some(&good), trusted_since: None, now: start() };
        assert!(judged(&situation).is_some_and(|(restored, _)| restored == good), "{reason}");
    }
}

#[test]
fn a_secret_that_is_gone_comes_back_as_it_was_unless_that_is_over() {
    let good = first();
    let look = |now| judged(&Situation { found: None, served: Some(&good), trusted_since: None, now }).unwrap().0;
    assert!(look(start()) == good);
    assert!(look(start() + days(91)) != good);
}

#[test]
fn an_expired_certificate_is_renewed_by_a_live_authority_and_anew_by_a_dead_one() {
    let material = first();
    let (renewed, _) = follows(Some(&material), start() + days(100)).unwrap();
    assert_eq!(renewed.bundle, material.bundle);
    let dead = start() + days(6 * 365);
    let (anew, reason) = follows(Some(&material), dead).unwrap();
    assert_eq!(reason, "the certificate expired at 2026-04-01T00:00:00Z");
    assert_ne!(anew.bundle.first(), material.bundle.first());
    fits(&anew, dead);
}

#[test]
fn an_authority_that_cannot_sign_is_followed_without_a_gap() {
    let good = first();
    let due = start() + days(70);
    for key in [None, Some("nothing".to_owned()), first().authority_key] {
        let found = Material { authority_key: key, ..good.clone() };
        assert!(follows(Some(&found), start()).is_none());
        let (published, reason) = follows(Some(&found), due).unwrap();
        assert_eq!(reason, "the authority cannot sign any more, so a successor is published");
        assert_eq!(published.certificate, good.certificate);
        assert!(follows(Some(&published), due).is_none(), "it waits to be trusted");
        let situation = Situation { found: Some(&published), served: None, trusted_since: Some(start()), now: due };
        let (signed, _) = judged(&situation).unwrap();
        assert_ne!(signed.certificate, good.certificate);
    }
}

#[test]
fn a_published_authority_that_cannot_be_used_is_dropped() {
    let (good, stranger) = (first(), issue::authority(start()).unwrap());
    let published = good.bundle.clone().joined_by(&stranger.certificate);
    let rows = [
        ("not published", Material { next: Some(stranger.clone()), ..good.clone() }),
        (
            "another's key",
            Material {
                bundle: published,
                next: Some(Authority { key: "nothing".to_owned(), certificate: stranger.certificate }),
                ..good.clone()
            },
        ),
    ];
    for (name, found) in rows {
        let situation = Situation { found: Some(&found), served: None, trusted_since: Some(start() - days(1)), now: start() };
        let (dropped, reason) = judged(&situation).unwrap();
        assert_eq!((reason.as_str(), &dropped.next), ("the published authority cannot be used", &None), "{name}");
    }
}
