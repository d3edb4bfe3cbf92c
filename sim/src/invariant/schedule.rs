//! Windows, pauses, triggers and backoffs as the specification words them (D4 to D6), computed from the setup's numbers.

use crate::annotation::{Key, Value};
use crate::instant::{DAY, HOUR, Instant};
use crate::moves::clock::BUFFER;
use crate::setup::{Policy, Schedule, Setup};
use crate::world::World;
use crate::world::object::{Claim, Pool, Stage};

/// The occurrence that contains `at`.
#[must_use]
pub fn occurrence(schedule: &Schedule, at: Instant) -> Option<(Instant, Instant)> {
    let midnight = at.minus(at.second_of_day());
    let (open, close) = (midnight.plus(schedule.opens), midnight.plus(schedule.closes));
    (schedule.weekdays.contains(&at.weekday()) && open <= at && at < close).then_some((open, close))
}

/// P: the longest time between two openings.
#[must_use]
pub fn period(schedule: &Schedule) -> u32 {
    let gap = |day: u32| (1..=7).find(|ahead| schedule.weekdays.contains(&((day + ahead) % 7))).unwrap_or(7);
    schedule.weekdays.iter().map(|day| gap(*day)).max().unwrap_or(7) * DAY
}

/// A person wants the pool left alone.
#[must_use]
pub fn frozen(pool: &Pool, at: Instant) -> bool {
    let freeze = pool.annotations.get(Key::Freeze);
    freeze.is_present() && freeze.as_stamp().is_none_or(|until| until > at)
}

/// The pause that a drain without a surge does not wait for.
pub const PAUSED: &str = "within the pause after a failure";

/// What keeps a rotation of the pool from starting at `at`, in words.
#[must_use]
pub fn closed(schedule: &Schedule, pool: &Pool, at: Instant) -> Option<&'static str> {
    let within = |key: Key, pause: u32| pool.annotations.get(key).as_stamp().is_some_and(|since| at < since.plus(pause));
    if occurrence(schedule, at).is_none() {
        return Some("outside the window");
    }
    if frozen(pool, at) {
        return Some("on a frozen pool");
    }
    if within(Key::LastRotationAt, schedule.cooldown_after) {
        return Some("within the cooldown");
    }
    within(Key::LastFailureAt, schedule.failure_pause).then_some(PAUSED)
}

/// A drain that takes longer is stuck.
#[must_use]
pub fn drain_bound(claim: &Claim) -> u32 {
    if claim.grace == 0 { HOUR } else { claim.grace + BUFFER }
}

/// How long before its deadline a claim is due.
fn lead(schedule: &Schedule, grace: u32) -> u32 {
    let grace = if grace == 0 { HOUR } else { grace };
    schedule.chances * period(schedule) + schedule.ready_timeout + grace + BUFFER
}

/// The claim has been due since before `at`.
#[must_use]
pub fn triggered(schedule: &Schedule, claim: &Claim, at: Instant) -> bool {
    claim.deadline().is_some_and(|deadline| at > deadline.minus(lead(schedule, claim.grace)))
}

/// Claims of the pool live longer than they have to be due ahead.
fn feasible(setup: &Setup, schedule: &Schedule, pool: &Pool) -> bool {
    let template = setup.seeds.iter().find(|seed| seed.pool == pool.id);
    template.is_none_or(|seed| seed.expire_after > lead(schedule, seed.grace))
}

/// The claim's last failure is long enough ago.
fn past_backoff(schedule: &Schedule, claim: &Claim, at: Instant) -> bool {
    let Some(failed) = claim.annotations.get(Key::FailedAt).as_stamp() else {
        return true;
    };
    let count = claim.annotations.get(Key::RetryCount).as_number().unwrap_or_default();
    let full = schedule.retry_backoff << count.saturating_sub(1).min(3);
    let fits =
        |wait: &u32| occurrence(schedule, at).is_none_or(|(open, close)| failed < open || close <= failed || failed.plus(*wait) < close);
    let steps = [4, 2, 1].map(|factor| schedule.retry_backoff * factor);
    let wait = if fits(&full) { full } else { steps.into_iter().filter(|step| *step < full).find(fits).unwrap_or(full) };
    at >= failed.plus(wait)
}

/// A surge that began at `at` would come too late for the claim (D8): for its deadline, or for the last window before it.
#[must_use]
pub fn urgent(schedule: &Schedule, world: &World, claim: &Claim, at: Instant) -> bool {
    let Some(deadline) = claim.deadline() else {
        return false;
    };
    let close = occurrence(schedule, at).map(|(_, close)| close);
    let another = (1..=7).map(|day| at.minus(at.second_of_day()).plus(day * DAY).plus(schedule.opens));
    let opens_again = another.filter(|open| schedule.weekdays.contains(&open.weekday())).any(|open| open < deadline);
    let last = close.filter(|_| !opens_again).map_or(deadline, |close| close.min(deadline));
    let late = last.since(at) < schedule.ready_timeout + BUFFER;
    schedule.fallback && late && may_go(schedule, world, claim, at, false)
}

/// The claim may be rotated at `at`.
#[must_use]
pub fn eligible(schedule: &Schedule, world: &World, claim: &Claim, at: Instant) -> bool {
    may_go(schedule, world, claim, at, true)
}

fn may_go(schedule: &Schedule, world: &World, claim: &Claim, at: Instant, waits: bool) -> bool {
    let Some(node) = world.node(claim.id) else {
        return false;
    };
    let protected = node.annotations.get(Key::Protection).is("true") && !node.annotations.has(Key::ProtectionOwned);
    let state = claim.annotations.get(Key::State);
    let fresh = state == Value::ABSENT || (state.is("failed") && (!waits || past_backoff(schedule, claim, at)));
    let whole = claim.deleted.is_none() && !claim.disrupted && claim.stage == Stage::Ready && !node.tainted && !node.deleting;
    whole && !protected && fresh && triggered(schedule, claim, at)
}

/// A claim that ought to be in rotation now, with all gates open (L2).
#[must_use]
pub fn overdue<'a>(setup: &Setup, world: &'a World, pool: &Pool) -> Option<&'a Claim> {
    let schedule = &setup.schedule.under(world.policy);
    let governed = pool.selected && matches!(world.policy, Policy::Valid | Policy::Hasty);
    let draining = world
        .claims
        .iter()
        .any(|claim| claim.pool == pool.id && claim.deleted.is_some() && claim.annotations.get(Key::State).is("draining"));
    if !governed
        || !feasible(setup, schedule, pool)
        || pool.fixed
        || pool.full
        || draining
        || pool.annotations.has(Key::Anchor)
        || closed(schedule, pool, world.now).is_some()
    {
        return None;
    }
    world.claims.iter().filter(|claim| claim.pool == pool.id).find(|claim| eligible(schedule, world, claim, world.now))
}
