//! The derived values with their formulas filled in, as docs/schedule.md explains them.

use std::time::Duration;

use noderotation_core::check::DerivedReport;
use noderotation_core::duration::human;
use noderotation_core::policy::governing::{AgeThreshold, Governing};
use noderotation_core::schedule::{BUFFER, DRAIN_FALLBACK, drain_estimate, provisioning_estimate};

use super::report::Formula;

/// One line a value. The results are the core's; only the operands are put beside them.
pub(super) fn formulas(governing: &Governing, derived: &DerivedReport, period: Duration) -> Vec<Formula> {
    let grace = derived.termination_grace_period;
    let (expire_after, timeout) = (human(derived.expire_after), human(governing.ready_timeout));
    let drain = human(grace.unwrap_or(DRAIN_FALLBACK));
    let bound = format!("{timeout} readyTimeout + {drain} {} + {} margin", grace_name(grace.is_some()), human(BUFFER));
    let age = human(derived.age_threshold.unsigned_abs());
    let sign = if derived.age_threshold.is_negative() { "-" } else { "" };
    let due = match governing.age_threshold {
        AgeThreshold::Auto => format!("{expire_after} expireAfter - {} lead time = {sign}{age}", human(derived.lead_time)),
        AgeThreshold::Override(_) => format!("{age} ageThreshold"),
    };
    let chances = governing.min_rotation_chances;
    let lead = format!("{chances} minRotationChances x {} between openings + {bound} = {}", human(period), human(derived.lead_time));
    let (provisioning, drain) = (provisioning_estimate(governing), drain_estimate(governing, grace));
    let estimate = format!("{} provisioning + {} drain = {}", human(provisioning), human(drain), human(derived.rotation_estimate));
    let capacity = format!(
        "{} rotations can start in the shortest opening, {} apart: {} + {} cooldownAfter",
        derived.capacity,
        human(derived.rotation_estimate.saturating_add(governing.cooldown_after)),
        human(derived.rotation_estimate),
        human(governing.cooldown_after)
    );
    let all = [("lead time", lead), ("due at age", due), ("rotation", estimate), ("capacity", capacity)];
    all.into_iter().map(|(name, formula)| Formula { name, formula }).collect()
}

fn grace_name(set: bool) -> &'static str {
    if set { "terminationGracePeriod" } else { "assumed for want of a terminationGracePeriod" }
}
