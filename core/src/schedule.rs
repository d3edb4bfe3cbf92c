//! Age threshold, lead time, chances and capacity of a pool under its policy (§3.2, D5).
//!
//! Arithmetic only, saturating and in whole nanoseconds; what is wrong with the results is for `judgement.rs` to say.

mod judgement;
#[cfg(test)]
mod tests;

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::karpenter::NodePool;
use crate::policy::finding::{Finding, Level};
use crate::policy::governing::{AgeThreshold, Governing};
use crate::window::Measures;

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

const _: () = assert!(BUFFER.as_secs() == 4 * SHORT_REQUEUE.as_secs(), "the buffer is four short requeues");

/// Life of the claims to come, from the pool's template.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolLife {
    /// E; `None` is `Never`.
    pub expire_after: Option<Duration>,
    /// tGP; `None` when unset.
    pub termination_grace_period: Option<Duration>,
}

impl PoolLife {
    /// The life of the claims that `pool` creates.
    #[must_use]
    pub fn of(pool: &NodePool) -> Self {
        let template = &pool.spec.template.spec;
        Self { expire_after: template.expire_after(), termination_grace_period: template.termination_grace_period() }
    }
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
    /// P of the policy that this was derived from. It holds also where nothing is derived, for claims that live by a
    /// `expireAfter` of their own or are due by their age.
    #[must_use]
    pub fn period_of(&self, governing: &Governing, now: Timestamp) -> Option<Duration> {
        self.period.or_else(|| governing.windows.period(now))
    }

    /// A finding keeps the pool from being rotated.
    #[must_use]
    pub fn is_infeasible(&self) -> bool {
        self.findings.iter().any(|finding| finding.level == Level::Fatal)
    }
}

/// Derives for a pool with `claims` claims. A template that never expires derives nothing and finds nothing.
#[must_use]
pub fn derive(governing: &Governing, life: &PoolLife, claims: usize, now: Timestamp) -> Derived {
    // Nothing is measured for a pool that never expires.
    derive_in(governing, life, claims, life.expire_after.and_then(|_| governing.windows.measures(now)))
}

/// The same for a policy whose windows are measured already, as for many pools; `measures` is `None` if none ever opens.
#[must_use]
pub fn derive_in(governing: &Governing, life: &PoolLife, claims: usize, measures: Option<Measures>) -> Derived {
    let Some(expire_after) = life.expire_after else {
        return Derived::default();
    };
    let t_rot = bound(governing, life.termination_grace_period);
    let t_rot_estimate = estimate(governing, life.termination_grace_period);
    let Some(measures) = measures else {
        return Derived { t_rot, t_rot_estimate, findings: vec![judgement::no_windows()], ..Derived::default() };
    };
    let (age_threshold, chances) = threshold(governing, expire_after, &measures, t_rot);
    let slot = t_rot_estimate.saturating_add(governing.cooldown_after);
    let capacity = slots(measures.shortest, slot);
    let subject = judgement::Subject {
        governing,
        expire_after,
        grace: life.termination_grace_period,
        assumed_grace: DRAIN_FALLBACK,
        measures,
        claims,
        t_rot,
        age_threshold,
        chances,
        slot,
        capacity,
    };
    Derived { age_threshold, chances, capacity, t_rot, t_rot_estimate, period: Some(measures.period), findings: subject.findings() }
}

/// A and G.
fn threshold(governing: &Governing, expire_after: Duration, measures: &Measures, t_rot: Duration) -> (SignedDuration, i32) {
    let wanted = governing.min_rotation_chances;
    let before_deadline = signed(expire_after).saturating_sub(signed(t_rot));
    match governing.age_threshold {
        AgeThreshold::Auto => {
            let age = before_deadline.saturating_sub(signed(measures.period.saturating_mul(wanted)));
            (age, i32::try_from(wanted).unwrap_or(i32::MAX))
        }
        AgeThreshold::Override(age) => {
            let left = before_deadline.saturating_sub(signed(age)).as_nanos();
            let period = i128::try_from(measures.period.as_nanos()).unwrap_or(i128::MAX);
            // Rounded down, so that a part of a period is no chance, and less than nothing is negative.
            let whole = left.checked_div_euclid(period).unwrap_or(0);
            (signed(age), i32::try_from(whole).unwrap_or(if whole < 0 { i32::MIN } else { i32::MAX }))
        }
    }
}

/// `t_rot_est`: what a rotation is expected to take; no estimate counts for more than the bound that cuts it off.
#[must_use]
pub fn estimate(governing: &Governing, termination_grace_period: Option<Duration>) -> Duration {
    provisioning_estimate(governing).saturating_add(drain_estimate(governing, termination_grace_period))
}

/// What the surge of a rotation is expected to take: never longer than an attempt may.
#[must_use]
pub fn provisioning_estimate(governing: &Governing) -> Duration {
    governing.provisioning_estimate.unwrap_or(PROVISIONING_ESTIMATE).min(governing.ready_timeout)
}

/// What a drain is expected to take: never longer than the grace period, after which Karpenter ends it by force.
#[must_use]
pub fn drain_estimate(governing: &Governing, termination_grace_period: Option<Duration>) -> Duration {
    let drain = governing.drain_estimate.unwrap_or(DRAIN_ESTIMATE);
    termination_grace_period.map_or(drain, |period| drain.min(period))
}

/// Rotations of length `slot` that can start in `shortest`, the last of which may end outside.
fn slots(shortest: Duration, slot: Duration) -> u32 {
    let count = if slot.is_zero() { 0 } else { shortest.as_nanos().div_ceil(slot.as_nanos()) };
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn signed(duration: Duration) -> SignedDuration {
    duration.try_into().unwrap_or(SignedDuration::MAX)
}
