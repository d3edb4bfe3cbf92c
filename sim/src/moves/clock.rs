//! The passing of time, always to the next instant at which something can be judged differently.

use super::{Move, Moves, karpenter, leader};
use crate::annotation::Key;
use crate::decide::Decider;
use crate::instant::{DAY, Instant};
use crate::invariant::schedule::drain_bound;
use crate::setup::{Policy, Setup};
use crate::worker::wants_to_act;
use crate::world::World;

/// Claims younger than this are not reaped.
const TOO_YOUNG: u32 = 10;
/// Slack of every bound of the specification.
pub const BUFFER: u32 = 120;

pub(super) fn moves(world: &World, setup: &Setup, decider: &Decider, moves: &mut Moves) {
    if let Some(at) = next_instant(world, setup, setup.horizon) {
        // Whoever has something to do does it before time passes; to be late is a perturbation.
        let late = karpenter::turn(world, setup).is_some()
            || !world.asleep && (0..world.workers.len()).any(|index| wants_to_act(world, setup, decider, index));
        moves.push((Move::Tick(at), u32::from(late)));
    }
}

pub(super) fn pass(world: &mut World, at: Instant) {
    let elapsed = at.since(world.now);
    world.now = at;
    leader::expire_leases(world, elapsed);
}

/// The next instant, not after `until`, at which some rule of the specification can come to another result.
#[must_use]
pub fn next_instant(world: &World, setup: &Setup, until: Instant) -> Option<Instant> {
    let mut next = None;
    let mut consider = |at: Instant| {
        if at > world.now && at <= until && next.is_none_or(|next| at < next) {
            next = Some(at);
        }
    };
    let schedule = &setup.schedule;
    for day in 0..8 {
        let midnight = Instant(world.now.0 - world.now.second_of_day()).plus(day * DAY);
        if schedule.weekdays.contains(&midnight.weekday()) {
            consider(midnight.plus(schedule.opens));
            consider(midnight.plus(schedule.closes));
        }
    }
    for pool in &world.pools {
        let stamp = |key: Key| pool.annotations.get(key).as_stamp();
        stamp(Key::LastRotationAt).into_iter().for_each(|at| consider(at.plus(schedule.cooldown_after)));
        stamp(Key::LastFailureAt).into_iter().for_each(|at| consider(at.plus(schedule.failure_pause)));
        stamp(Key::Freeze).into_iter().for_each(&mut consider);
    }
    for claim in &world.claims {
        let stamp = |key: Key| claim.annotations.get(key).as_stamp();
        let timeout = if world.policy == Policy::Hasty { schedule.ready_timeout / 3 } else { schedule.ready_timeout };
        stamp(Key::StartedAt).into_iter().for_each(|at| consider(at.plus(timeout + 1)));
        if let Some(at) = stamp(Key::FailedAt) {
            [1, 2, 4, 8].into_iter().for_each(|factor| consider(at.plus(schedule.retry_backoff * factor)));
        }
        if let Some(at) = claim.deleted {
            consider(at.plus(drain_bound(claim) + 1));
            consider(at.plus(claim.grace));
        } else if let Some(deadline) = claim.deadline() {
            consider(deadline);
            consider(deadline.minus(schedule.ready_timeout + BUFFER).plus(1));
        }
        if stamp(Key::Rollback).is_some() {
            let surge = claim.annotations.get(Key::SurgeClaim).as_claim().and_then(|id| world.claim(id));
            surge.into_iter().for_each(|surge| consider(surge.created.plus(TOO_YOUNG)));
        }
    }
    next
}
