//! What is wrong or doubtful about a schedule: the findings of D5 with their numbers.
//!
//! A sentence says what is the matter and what to change. Nothing here decides; the level of a finding does.

use std::time::Duration;

use jiff::SignedDuration;

use crate::duration::human;
use crate::policy::finding::{Finding, FindingCode};
use crate::policy::governing::{AgeThreshold, Governing};
use crate::window::Measures;

/// The longest life of a node on EKS Auto Mode, grace period included.
const HARD_CAP: Duration = Duration::from_secs(21 * 24 * 3600);
/// The grace period that EKS Auto Mode implies where a template sets none.
const IMPLIED_GRACE: Duration = Duration::from_secs(24 * 3600);

/// A policy, a pool, and what was derived from them.
pub(super) struct Subject<'a> {
    pub(super) governing: &'a Governing,
    /// E of the pool's template.
    pub(super) expire_after: Duration,
    /// tGP of the pool's template, if it sets one.
    pub(super) grace: Option<Duration>,
    /// What stands in for tGP if it does not.
    pub(super) assumed_grace: Duration,
    pub(super) measures: Measures,
    pub(super) claims: usize,
    pub(super) t_rot: Duration,
    pub(super) age_threshold: SignedDuration,
    pub(super) chances: i32,
    /// What a rotation with its cooldown is expected to take.
    pub(super) slot: Duration,
    pub(super) capacity: u32,
}

/// No other finding can be judged without a window.
pub(super) fn no_windows() -> Finding {
    Finding::new(FindingCode::NoWindows, "no maintenance window ever opens; add one that does".to_owned())
}

impl Subject<'_> {
    /// Every finding, in the order of the table.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let judgements = [
            (FindingCode::KBelowTwo, self.few_chances()),
            (FindingCode::ANonPositive, self.non_positive()),
            (FindingCode::OverrideGBelowOne, self.no_chance()),
            (FindingCode::OverrideGBelowK, self.fewer_chances()),
            (FindingCode::AVeryAggressive, self.aggressive()),
            (FindingCode::TGPUnset, self.no_grace()),
            (FindingCode::HardCapExceeded, self.hard_cap()),
            (FindingCode::RetryBackoffShort, self.short_backoff()),
            (FindingCode::DrainEstimateAboveTGP, self.long_drain()),
            (FindingCode::ProvisioningEstimateAboveReadyTimeout, self.long_provisioning()),
            (FindingCode::ThroughputBelowArrival, self.arrival()),
            (FindingCode::ThroughputBurstShortfall, self.burst()),
            (FindingCode::RotationSpansNextWindow, self.spanning()),
        ];
        judgements.into_iter().filter_map(|(code, sentence)| sentence.map(|sentence| Finding::new(code, sentence))).collect()
    }

    fn few_chances(&self) -> Option<String> {
        (self.governing.min_rotation_chances == 1)
            .then(|| "minRotationChances 1 leaves no second window when a rotation fails; 2 is the default".to_owned())
    }

    fn non_positive(&self) -> Option<String> {
        (self.governing.age_threshold == AgeThreshold::Auto && self.age_threshold <= SignedDuration::ZERO).then(|| {
            format!(
                "expireAfter {} is not longer than the lead time: {} windows at most {} apart, and {} for a rotation; add windows, raise expireAfter, or lower minRotationChances",
                human(self.expire_after),
                self.governing.min_rotation_chances,
                human(self.measures.period),
                human(self.t_rot)
            )
        })
    }

    /// The age that the policy gives, if it gives one.
    fn given_age(&self) -> Option<Duration> {
        match self.governing.age_threshold {
            AgeThreshold::Auto => None,
            AgeThreshold::Override(age) => Some(age),
        }
    }

    fn no_chance(&self) -> Option<String> {
        let age = self.given_age().filter(|_| self.chances < 1)?;
        Some(format!("ageThreshold {} leaves no whole window before the expiry; lower it, or raise expireAfter", human(age)))
    }

    fn fewer_chances(&self) -> Option<String> {
        let wanted = self.governing.min_rotation_chances;
        let chances = u32::try_from(self.chances).ok().filter(|chances| (1..wanted).contains(chances))?;
        let age = human(self.given_age()?);
        Some(format!("ageThreshold {age} leaves {chances} window(s) before the expiry, fewer than minRotationChances {wanted}; lower it"))
    }

    fn aggressive(&self) -> Option<String> {
        let period = self.measures.period;
        (self.age_threshold > SignedDuration::ZERO && self.age_threshold.unsigned_abs() < period).then(|| {
            format!(
                "nodes are due at the age of {}, less than the {} between windows, so most are rotated at each opening",
                human(self.age_threshold.unsigned_abs()),
                human(period)
            )
        })
    }

    fn no_grace(&self) -> Option<String> {
        self.grace
            .is_none()
            .then(|| "the NodePool's template sets no terminationGracePeriod, so a drain may never end; set one (1h is assumed)".to_owned())
    }

    fn hard_cap(&self) -> Option<String> {
        let whole = self.expire_after.saturating_add(self.grace.unwrap_or(self.assumed_grace));
        let told = |of: &str, whole: Duration| {
            format!("expireAfter and {of} are {} together; EKS Auto Mode ends a node's life at 21d", human(whole))
        };
        (whole > HARD_CAP).then(|| match self.grace {
            Some(_) => told("terminationGracePeriod", whole),
            None => told("the terminationGracePeriod of 24h that EKS Auto Mode implies", self.expire_after.saturating_add(IMPLIED_GRACE)),
        })
    }

    fn short_backoff(&self) -> Option<String> {
        let (backoff, timeout) = (self.governing.retry_backoff, self.governing.ready_timeout);
        (backoff < timeout).then(|| format!("retryBackoff {} is shorter than readyTimeout {}; raise it", human(backoff), human(timeout)))
    }

    fn long_drain(&self) -> Option<String> {
        clamped(("drainEstimate", self.governing.drain_estimate?), ("terminationGracePeriod", self.grace?))
    }

    fn long_provisioning(&self) -> Option<String> {
        clamped(("provisioningEstimate", self.governing.provisioning_estimate?), ("readyTimeout", self.governing.ready_timeout))
    }

    /// Over a long time: claims come due one each A and N of them, and windows open one each P.
    fn arrival(&self) -> Option<String> {
        let (capacity, claims) = self.forecast()?;
        let age = Duration::try_from(self.age_threshold).ok().filter(|age| !age.is_zero())?;
        let served = capacity.saturating_mul(age.as_nanos());
        (served < claims.saturating_mul(self.measures.period.as_nanos()))
            .then(|| format!("{claims} claims come due faster than {capacity} rotations per window can serve; add or lengthen windows"))
    }

    /// At the worst: all claims were born together.
    fn burst(&self) -> Option<String> {
        let (capacity, claims) = self.forecast()?;
        let served = capacity.saturating_mul(u128::from(self.governing.min_rotation_chances));
        let missed = claims.checked_sub(served).filter(|missed| *missed > 0)?;
        Some(format!(
            "if all {claims} claims come due together, {missed} of them miss their windows: {capacity} rotations fit into a window; add or lengthen windows"
        ))
    }

    /// Capacity and number of claims, wide enough to multiply; `None` where there is nothing to forecast.
    fn forecast(&self) -> Option<(u128, u128)> {
        let claims = u128::try_from(self.claims).unwrap_or(u128::MAX);
        (self.capacity > 0 && claims > 0).then(|| (u128::from(self.capacity), claims))
    }

    fn spanning(&self) -> Option<String> {
        let gap = self.measures.idle_gap.filter(|gap| self.slot > *gap)?;
        Some(format!(
            "a rotation and its cooldown take about {}, longer than the {} between two windows; make the windows longer or fewer",
            human(self.slot),
            human(gap)
        ))
    }
}

fn clamped((estimate, value): (&str, Duration), (bound, limit): (&str, Duration)) -> Option<String> {
    (value > limit).then(|| format!("{estimate} {} is longer than {bound} {}; the forecast uses the latter", human(value), human(limit)))
}
