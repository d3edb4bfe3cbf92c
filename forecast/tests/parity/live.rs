//! A life in the simulated cluster in which nothing fails and everything takes its time.

use noderotation_core::schedule::{drain_estimate, lead_time, provisioning_estimate};
use noderotation_sim::annotation::{Key, Value};
use noderotation_sim::decide::Decider;
use noderotation_sim::instant::{DAY, Instant};
use noderotation_sim::moves::clock::{BUFFER, next_instant};
use noderotation_sim::moves::karpenter::KarpenterMove;
use noderotation_sim::moves::leader::WorkerMove;
use noderotation_sim::moves::scheduler::SchedulerMove;
use noderotation_sim::moves::{Move, moves, scheduler};
use noderotation_sim::setup::Setup;
use noderotation_sim::worker::{Event, wants_to_act};
use noderotation_sim::world::World;
use noderotation_sim::world::object::{Role, Stage};
use noderotation_sim::world::write::{Outcome, Told, What};

use super::{Begun, How, governing};

/// Lives until every claim of the beginning is through, or time is up. Also, when an attempt failed first: Karpenter was quicker, or Pods of a node that
/// has expired may take the place of a placeholder, for example.
pub(super) fn through(setup: &Setup, world: World) -> (Vec<Begun>, Option<Instant>) {
    let mut life = Life { setup, decider: Decider::default(), world, begun: Vec::new(), failed: None };
    loop {
        life.act();
        match life.next_instant() {
            Some(at) => Move::Tick(at).apply(&mut life.world, setup, &life.decider).map(drop).unwrap(),
            None => break,
        }
    }
    life.begun.sort();
    (life.begun, life.failed)
}

struct Life<'a> {
    setup: &'a Setup,
    decider: Decider,
    world: World,
    begun: Vec<Begun>,
    failed: Option<Instant>,
}

impl Life<'_> {
    /// Whoever has something to do now does it: machines first, then the operator.
    fn act(&mut self) {
        loop {
            if let Some(what) = self.machine() {
                if let Move::Karpenter(KarpenterMove::Expire(id)) = what {
                    self.note(id, How::Expired);
                }
                what.apply(&mut self.world, self.setup, &self.decider).map(drop).unwrap();
                continue;
            }
            let workers = 0..self.world.workers.len();
            let Some(index) = workers.into_iter().find(|index| wants_to_act(&self.world, self.setup, &self.decider, *index)) else {
                return;
            };
            let what = Move::Worker(u8::try_from(index).unwrap(), WorkerMove::GoOn);
            let event = what.apply(&mut self.world, self.setup, &self.decider).unwrap();
            self.hear(event.as_ref());
        }
    }

    fn hear(&mut self, event: Option<&Event>) {
        let Some(Event::Wrote { write, outcome: Outcome::Landed, .. }) = event else { return };
        if write.told.iter().any(|told| matches!(told, Told::Failed | Told::ReservationLost | Told::Expired)) {
            self.failed.get_or_insert(self.world.now);
        }
        let What::Pool { change, .. } = &write.what else { return };
        if !write.told.contains(&Told::Started) {
            return;
        }
        let anchor = change.iter().find(|(key, _)| *key == Key::Anchor).and_then(|(_, value)| value.as_claim());
        let how = if write.told.contains(&Told::ForcefulFallback) { How::Surgeless } else { How::Surge };
        self.note(anchor.unwrap(), how);
    }

    /// Only claims of the beginning count; an attempt that Karpenter was quicker than is no rotation.
    fn note(&mut self, id: u16, how: How) {
        let claim = Value::claim(id).text();
        let there = self.world.claim(id).is_some_and(|claim| claim.created <= self.setup.start);
        // Numbers are given again.
        if there && how == How::Expired {
            self.begun.retain(|begun| begun.claim != claim);
        }
        if there && !self.begun.iter().any(|begun| begun.claim == claim) {
            self.begun.push(Begun { at: self.world.now, claim, how });
        }
    }

    /// The first thing that a machine has to do, and has had the time for: what it did before first, launches last.
    fn machine(&self) -> Option<Move> {
        let all = moves(&self.world, self.setup, &self.decider);
        let all = all.into_iter().chain(scheduler::turn(&self.world, self.setup).map(|what| (Move::Scheduler(what), 0)));
        let ready = all.map(|(what, _)| what).filter(|what| self.is_time(*what));
        ready.filter_map(|what| Some((order(what)?, what))).min_by_key(|(order, _)| *order).map(|(_, what)| what)
    }

    fn is_time(&self, what: Move) -> bool {
        let come = |at: Option<Instant>| at.is_some_and(|at| at <= self.world.now);
        let Move::Karpenter(what) = what else { return true };
        if let KarpenterMove::Initialize(id) = what {
            return come(self.initialized_at(id));
        }
        if let KarpenterMove::Finish(id) = what {
            return come(self.gone_at(id));
        }
        // In a later second than the placeholder, as ever.
        !matches!(what, KarpenterMove::Launch(_, false))
    }

    /// Counted from what it was launched for.
    fn initialized_at(&self, id: u16) -> Option<Instant> {
        let wait = provisioning_estimate(&governing(self.setup)).as_secs();
        Some(self.world.claim(id)?.created.minus(1).plus(u32::try_from(wait).unwrap()))
    }

    fn gone_at(&self, id: u16) -> Option<Instant> {
        let claim = self.world.claim(id)?;
        let grace = (claim.grace > 0).then(|| std::time::Duration::from_secs(claim.grace.into()));
        Some(claim.deleted?.plus(u32::try_from(drain_estimate(&governing(self.setup), grace).as_secs()).unwrap()))
    }

    /// When somebody has something to do next; also where only the passing of time makes a claim due.
    fn next_instant(&self) -> Option<Instant> {
        let (world, setup) = (&self.world, self.setup);
        let governing = governing(setup);
        let Some(period) = governing.windows.period(world.now.timestamp()) else { panic!("no window ever opens") };
        let due = |claim: &noderotation_sim::world::object::Claim| {
            let grace = (claim.grace > 0).then(|| std::time::Duration::from_secs(claim.grace.into()));
            let lead = u32::try_from(lead_time(&governing, period, grace).as_secs()).unwrap();
            // What lives no longer than that is due from its birth.
            claim.created.plus(claim.expire_after.saturating_sub(lead)).plus(1)
        };
        let claims = world.claims.iter();
        let coming = claims.clone().filter(|claim| claim.stage != Stage::Ready).filter_map(|claim| self.initialized_at(claim.id));
        let going = claims.clone().filter_map(|claim| self.gone_at(claim.id));
        // The last chance may be the end of a window.
        let midnight = world.now.minus(world.now.second_of_day());
        let closing =
            (0..8).map(|day| midnight.plus(day * DAY + setup.schedule.closes).minus(setup.schedule.ready_timeout + BUFFER).plus(1));
        let own = claims.clone().map(due).chain(coming).chain(going).chain(closing);
        let own = own.filter(|at| *at > world.now && *at <= setup.horizon).min();
        let through = !claims.clone().any(|claim| claim.created <= setup.start);
        let next = own.into_iter().chain(next_instant(world, setup, setup.horizon)).min();
        next.filter(|_| !through)
    }
}

/// `None` for what is no machine's.
fn order(what: Move) -> Option<u8> {
    match what {
        Move::Karpenter(KarpenterMove::Launch(Role::Placeholder(_), _)) => Some(4),
        Move::Karpenter(KarpenterMove::Launch(Role::Work(_), _)) => Some(3),
        Move::Karpenter(_) => Some(0),
        Move::Scheduler(SchedulerMove::Preempt(_)) => Some(2),
        Move::Scheduler(_) => Some(1),
        Move::Worker(..) | Move::Leader(_) | Move::Tick(_) | Move::Person(_) => None,
    }
}
