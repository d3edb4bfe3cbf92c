//! Age threshold, lead time, chances and capacity, and what they find fault with (§3.2, D5).

#[cfg(test)]
mod tests;

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::duration::human;
use crate::policy::finding::{Finding, FindingCode, Level};
use crate::policy::governing::{AgeThreshold, Governing};

/// An idle pool is looked at this often.
pub const LONG_REQUEUE: Duration = Duration::from_secs(60);
/// A pool with a rotation in flight is looked at this often.
pub const SHORT_REQUEUE: Duration = Duration::from_secs(30);
/// Slack for what happens between two looks.
pub const BUFFER: Duration = Duration::from_secs(120);
/// Stands in for an unset `terminationGracePeriod`.
pub const DRAIN_FALLBACK: Duration = Duration::from_secs(3600);
/// Default of `drainEstimate`.
pub const DRAIN_ESTIMATE: Duration = Duration::from_secs(600);
/// Default of `provisioningEstimate`.
pub const PROVISIONING_ESTIMATE: Duration = Duration::from_secs(300);
/// The longest life of a node on EKS Auto Mode, grace period included.
pub const HARD_CAP: Duration = Duration::from_secs(21 * 24 * 3600);

const _: () = assert!(BUFFER.as_secs() == 4 * SHORT_REQUEUE.as_secs(), "the buffer is four short requeues");

/// Life of the claims to come, from the pool's template.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolLife {
    /// E; `None` is `Never`.
    pub expire_after: Option<Duration>,
    /// tGP; `None` when unset.
    pub termination_grace_period: Option<Duration>,
}

/// How long before its deadline a claim must be due: K windows, an attempt, a drain, and slack.
#[must_use]
pub fn lead_time(governing: &Governing, period: Duration, termination_grace_period: Option<Duration>) -> Duration {
    period.saturating_mul(governing.min_rotation_chances).saturating_add(bound(governing, termination_grace_period))
}

/// `t_rot`: the longest that a rotation may take.
fn bound(governing: &Governing, termination_grace_period: Option<Duration>) -> Duration {
    let drain = termination_grace_period.unwrap_or(DRAIN_FALLBACK);
    governing.ready_timeout.saturating_add(drain).saturating_add(BUFFER)
}

/// A drain that takes longer is stuck: the grace period and slack, or one hour when there is none.
#[must_use]
pub fn drain_bound(termination_grace_period: Option<Duration>) -> Duration {
    termination_grace_period.map_or(DRAIN_FALLBACK, |period| period.saturating_add(BUFFER))
}

/// What follows from a policy and a pool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Derived {
    /// A: the age at which a claim of the template is due; not positive if the schedule cannot work.
    pub age_threshold: SignedDuration,
    /// G: windows between the trigger and the deadline.
    pub chances: i32,
    /// C: rotations that fit into the shortest occurrence; 0 if not known.
    pub capacity: u32,
    /// The longest that a rotation may take.
    pub t_rot: Duration,
    /// What a rotation is expected to take.
    pub t_rot_estimate: Duration,
    /// P: the longest time between the starts of two occurrences; `None` without any.
    pub period: Option<Duration>,
    /// What is wrong or doubtful.
    pub findings: Vec<Finding>,
}

impl Derived {
    /// A finding keeps the pool from being rotated.
    #[must_use]
    pub fn is_infeasible(&self) -> bool {
        self.findings.iter().any(|finding| finding.level == Level::Fatal)
    }
}

/// Derives for a pool with `claims` claims. A template that never expires derives nothing and finds nothing.
#[must_use]
pub fn derive(governing: &Governing, life: &PoolLife, claims: usize, now: Timestamp) -> Derived {
    let Some(expire_after) = life.expire_after else {
        return Derived::default();
    };
    let mut derived = Derived {
        t_rot: bound(governing, life.termination_grace_period),
        t_rot_estimate: estimate(governing, life),
        period: governing.windows.period(now),
        ..Derived::default()
    };
    let Some(period) = derived.period else {
        derived.findings.push(Finding::new(FindingCode::NoWindows, "no maintenance window ever opens; add one that does".to_owned()));
        return derived;
    };
    threshold(governing, expire_after, period, &mut derived);
    let slot = derived.t_rot_estimate.saturating_add(governing.cooldown_after);
    derived.capacity = governing.windows.shortest(now).map_or(0, |shortest| slots(shortest, slot));
    let subject = Subject { governing, life, expire_after, period, claims };
    let mut findings = derived.findings;
    findings.extend(subject.of_the_pool());
    findings.extend(subject.of_the_forecast(derived.capacity, derived.age_threshold));
    let gap = governing.windows.idle_gap(now);
    findings.extend(gap.filter(|gap| slot > *gap).map(|gap| {
        Finding::new(
            FindingCode::RotationSpansNextWindow,
            format!(
                "a rotation and its cooldown take about {}, longer than the {} between two windows; make the windows longer or fewer",
                human(slot),
                human(gap)
            ),
        )
    }));
    findings.sort_by_key(|finding| finding.code);
    Derived { findings, ..derived }
}

fn estimate(governing: &Governing, life: &PoolLife) -> Duration {
    let provisioning = governing.provisioning_estimate.unwrap_or(PROVISIONING_ESTIMATE).min(governing.ready_timeout);
    let drain = governing.drain_estimate.unwrap_or(DRAIN_ESTIMATE);
    provisioning.saturating_add(life.termination_grace_period.map_or(drain, |period| drain.min(period)))
}

/// Rotations of length `slot` that can start in `shortest`, the last of which may end outside.
fn slots(shortest: Duration, slot: Duration) -> u32 {
    let count = shortest.as_nanos().checked_add(slot.as_nanos().saturating_sub(1)).and_then(|sum| sum.checked_div(slot.as_nanos()));
    u32::try_from(count.unwrap_or(0)).unwrap_or(u32::MAX)
}

fn signed(duration: Duration) -> SignedDuration {
    duration.try_into().unwrap_or(SignedDuration::MAX)
}

/// A and G, and what is wrong with them.
fn threshold(governing: &Governing, expire_after: Duration, period: Duration, derived: &mut Derived) {
    let chances = governing.min_rotation_chances;
    let before_deadline = signed(expire_after).saturating_sub(signed(derived.t_rot));
    match governing.age_threshold {
        AgeThreshold::Auto => {
            derived.age_threshold = before_deadline.saturating_sub(signed(period.saturating_mul(chances)));
            derived.chances = i32::try_from(chances).unwrap_or(i32::MAX);
            if derived.age_threshold <= SignedDuration::ZERO {
                derived
                    .findings
                    .push(Finding::new(FindingCode::ANonPositive, non_positive(governing, expire_after, period, derived.t_rot)));
            }
        }
        AgeThreshold::Override(age) => {
            derived.age_threshold = signed(age);
            let left = before_deadline.saturating_sub(signed(age)).as_nanos();
            let floor = i128::try_from(period.as_nanos()).ok().filter(|period| *period > 0).map_or(0, |period| left.div_euclid(period));
            derived.chances = i32::try_from(floor).unwrap_or(if floor < 0 { i32::MIN } else { i32::MAX });
            derived.findings.extend(override_finding(age, derived.chances, chances));
        }
    }
    if derived.age_threshold > SignedDuration::ZERO && derived.age_threshold < signed(period) {
        let age = human(derived.age_threshold.try_into().unwrap_or_default());
        derived.findings.push(Finding::new(
            FindingCode::AVeryAggressive,
            format!(
                "nodes are due at the age of {age}, less than the {} between windows, so most are rotated at each opening",
                human(period)
            ),
        ));
    }
}

fn non_positive(governing: &Governing, expire_after: Duration, period: Duration, t_rot: Duration) -> String {
    format!(
        "expireAfter {} is not longer than the lead time: {} windows at most {} apart, and {} for a rotation; add windows, raise expireAfter, or lower minRotationChances",
        human(expire_after),
        governing.min_rotation_chances,
        human(period),
        human(t_rot)
    )
}

fn override_finding(age: Duration, chances: i32, wanted: u32) -> Option<Finding> {
    if chances < 1 {
        let words = format!("ageThreshold {} leaves no whole window before the expiry; lower it, or raise expireAfter", human(age));
        return Some(Finding::new(FindingCode::OverrideGBelowOne, words));
    }
    u32::try_from(chances).is_ok_and(|chances| chances < wanted).then(|| {
        let words = format!(
            "ageThreshold {} leaves {chances} window(s) before the expiry, fewer than minRotationChances {wanted}; lower it",
            human(age)
        );
        Finding::new(FindingCode::OverrideGBelowK, words)
    })
}

/// What the findings below are about.
struct Subject<'a> {
    governing: &'a Governing,
    life: &'a PoolLife,
    expire_after: Duration,
    period: Duration,
    claims: usize,
}

impl Subject<'_> {
    fn of_the_pool(&self) -> Vec<Finding> {
        let governing = self.governing;
        let grace = self.life.termination_grace_period;
        let mut findings = Vec::new();
        let mut find = |condition: bool, code, words: &dyn Fn() -> String| {
            if condition {
                findings.push(Finding::new(code, words()));
            }
        };
        find(governing.min_rotation_chances == 1, FindingCode::KBelowTwo, &|| {
            "minRotationChances 1 leaves no second window when a rotation fails; 2 is the default".to_owned()
        });
        find(grace.is_none(), FindingCode::TGPUnset, &|| {
            "the NodePool's template sets no terminationGracePeriod, so a drain may never end; set one (1h is assumed)".to_owned()
        });
        let whole = self.expire_after.saturating_add(grace.unwrap_or(DRAIN_FALLBACK));
        find(whole > HARD_CAP, FindingCode::HardCapExceeded, &|| {
            format!("expireAfter and terminationGracePeriod are {} together; EKS Auto Mode ends a node's life at 21d", human(whole))
        });
        find(governing.retry_backoff < governing.ready_timeout, FindingCode::RetryBackoffShort, &|| {
            format!(
                "retryBackoff {} is shorter than readyTimeout {}; raise it",
                human(governing.retry_backoff),
                human(governing.ready_timeout)
            )
        });
        let above = |estimate: Option<Duration>, bound: Option<Duration>| estimate.zip(bound).filter(|(estimate, bound)| estimate > bound);
        let drain = above(governing.drain_estimate, grace);
        find(drain.is_some(), FindingCode::DrainEstimateAboveTGP, &|| clamped("drainEstimate", "terminationGracePeriod", drain));
        let provisioning = above(governing.provisioning_estimate, Some(governing.ready_timeout));
        find(provisioning.is_some(), FindingCode::ProvisioningEstimateAboveReadyTimeout, &|| {
            clamped("provisioningEstimate", "readyTimeout", provisioning)
        });
        findings
    }

    fn of_the_forecast(&self, capacity: u32, age: SignedDuration) -> Vec<Finding> {
        let mut findings = Vec::new();
        let (capacity_wide, claims) = (u128::from(capacity), u128::try_from(self.claims).unwrap_or(u128::MAX));
        if capacity == 0 || claims == 0 {
            return findings;
        }
        let age = Duration::try_from(age).unwrap_or_default();
        let served = capacity_wide.saturating_mul(age.as_nanos());
        if !age.is_zero() && served < claims.saturating_mul(self.period.as_nanos()) {
            findings.push(Finding::new(
                FindingCode::ThroughputBelowArrival,
                format!("{claims} claims come due faster than {capacity} rotations per window can serve; add or lengthen windows"),
            ));
        }
        let chances = capacity_wide.saturating_mul(u128::from(self.governing.min_rotation_chances));
        if claims > chances {
            findings.push(Finding::new(
                FindingCode::ThroughputBurstShortfall,
                format!("if all {claims} claims come due together, {} of them miss their windows: {capacity} rotations fit into a window; add or lengthen windows", claims - chances),
            ));
        }
        findings
    }
}

fn clamped(estimate: &str, bound: &str, values: Option<(Duration, Duration)>) -> String {
    let (value, limit) = values.unwrap_or_default();
    format!("{estimate} {} is longer than {bound} {}; the forecast uses the latter", human(value), human(limit))
}
