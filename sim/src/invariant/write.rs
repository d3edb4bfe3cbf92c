//! What one landed write must not do.

use super::Violation;
use super::schedule::{PAUSED, closed, eligible, frozen, urgent};
use super::seen::Facts;
use crate::annotation::{COMPANIONS, Key, Value};
use crate::instant::Instant;
use crate::moves::leader::SKEW;
use crate::setup::Setup;
use crate::worker::Worker;
use crate::world::World;
use crate::world::object::{Deleter, Node, Phase, Pool, Role};
use crate::world::write::{Outcome, Told, What, Write};

/// No claim younger than this is deleted (faults.md 0.5).
const TOO_YOUNG: u32 = 10;

/// A write, and the world around it.
pub(super) struct Landed<'a> {
    pub(super) setup: &'a Setup,
    pub(super) before: &'a World,
    pub(super) after: &'a World,
    pub(super) worker: &'a Worker,
    pub(super) write: &'a Write,
    pub(super) outcome: Outcome,
    pub(super) facts: Facts,
    /// Others have acted since the first look, so that it may be wrong by now without anybody's fault.
    pub(super) overtaken: bool,
}

type Checked = Result<(), Violation>;

fn ensure(holds: bool, rule: &'static str, sentence: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(Violation::new(rule, sentence())) }
}

impl Landed<'_> {
    pub(super) fn check(&self) -> Option<Violation> {
        if !matches!(self.outcome, Outcome::Landed | Outcome::Leaving) {
            return None;
        }
        let checked = match &self.write.what {
            What::Pool { id, change } => self.pool(*id, change),
            What::Claim { id, change } => self.claim(*id, change),
            What::Node { id, change, .. } => self.node(*id, change),
            What::Create { claim, milli, .. } => self.create(*claim, *milli),
            What::DeletePod { claim } => self.delete_pod(*claim),
            What::DeleteClaim { id } => self.delete_claim(*id),
        };
        checked.err()
    }

    fn anchor(&self) -> Value {
        self.of_pool(|pool| pool.annotations.get(Key::Anchor))
    }

    fn of_pool<T: Default>(&self, get: impl FnOnce(&Pool) -> T) -> T {
        self.before.pool(self.worker.pool).map(get).unwrap_or_default()
    }

    /// Something is done for the rotation of `claim`, so the anchor must name it (I3). A writer that was overtaken may
    /// come late, but never without having seen the anchor or written it itself.
    fn anchored(&self, claim: u16, what: &str) -> Checked {
        let name = Value::claim(claim);
        let seen = self.facts.anchor == name || !self.facts.anchor.is_present();
        let holds = if self.overtaken { seen } else { self.anchor() == name };
        ensure(holds, "I3", || format!("{what} for claim-{claim}, but the anchor says {:?}", self.anchor().text()))
    }

    fn pool(&self, id: u8, change: &[(Key, Value)]) -> Checked {
        ensure(id == self.worker.pool, "own pool", || format!("a pass for pool-{} writes pool-{id}", self.worker.pool))?;
        let (Some(before), Some(after)) = (self.before.pool(id), self.after.pool(id)) else {
            return Ok(());
        };
        let (old, new) = (before.annotations.get(Key::Anchor), after.annotations.get(Key::Anchor));
        match (old.is_present(), new.is_present()) {
            (false, true) => self.starts(before, new)?,
            (true, true) => ensure(old == new, "I1", || format!("the anchor moves from {:?} to {:?}", old.text(), new.text()))?,
            (true, false) => self.releases(before, old)?,
            (false, false) => {}
        }
        let left: Vec<&Key> = COMPANIONS.iter().filter(|key| after.annotations.has(**key) && !new.is_present()).collect();
        let set = change.iter().any(|(key, value)| COMPANIONS.contains(key) && value.is_present());
        ensure(left.is_empty() || !(old.is_present() || set), "I4", || format!("{left:?} without an anchor"))?;
        self.mirror(before, after)
    }

    fn starts(&self, pool: &Pool, anchor: Value) -> Checked {
        let at = self.facts.at;
        let claim = anchor.as_claim().and_then(|id| self.before.claim(id)).filter(|claim| claim.pool == pool.id);
        if self.write.told.contains(&Told::Swept) {
            // What nobody understands may have been our drain, and so may what has a surge and says nothing.
            let drains = claim.is_some_and(|claim| {
                let state = claim.annotations.get(Key::State);
                let other = ["pending", "failed", "expired"].iter().any(|word| state.is(word));
                let ours = if state.is_present() { !other } else { self.has_surge(claim.id) };
                claim.deleted.is_some() && ours
            });
            return ensure(self.overtaken || drains, "I1", || format!("{} gets an anchor back and does not drain", anchor.text()));
        }
        let surgeless = self.write.told.contains(&Told::ForcefulFallback);
        let clocks = [self.before.now, self.before.now.plus(SKEW), self.before.now.minus(SKEW)];
        let prompt = self.overtaken || clocks.contains(&at);
        ensure(prompt, "I7", || format!("decided at {at}, written at {}", self.before.now))?;
        let closed = closed(&self.setup.schedule, pool, at).filter(|closed| !(surgeless && *closed == PAUSED));
        ensure(closed.is_none(), "I7", || format!("a rotation starts {}", closed.unwrap_or_default()))?;
        ensure(self.facts.governed && !pool.fixed, "I7", || "a rotation starts on a pool that is not to be rotated".to_owned())?;
        let draining = self.before.claims.iter().find(|claim| claim.pool == pool.id && claim.deleter == Some(Deleter::Us));
        ensure(draining.is_none(), "I1", || format!("a rotation starts while {draining:?} drains"))?;
        let chosen = claim.is_some_and(|claim| {
            let schedule = &self.setup.schedule;
            if surgeless { urgent(schedule, self.before, claim, at) } else { eligible(schedule, self.before, claim, at) }
        });
        ensure(self.overtaken || chosen, "I7", || format!("{} is not eligible", anchor.text()))
    }

    fn has_surge(&self, claim: u16) -> bool {
        let marked = self.before.nodes.iter().any(|node| node.annotations.get(Key::SurgeFor) == Value::claim(claim));
        marked || self.before.pod(Role::Placeholder(claim)).is_some_and(|pod| pod.labelled)
    }

    fn releases(&self, pool: &Pool, anchor: Value) -> Checked {
        let mirror = pool.annotations.get(Key::Mirror).is("draining");
        let told = &self.write.told;
        ensure(!told.contains(&Told::Completed) || mirror, "I9", || "a success is counted without the mirror".to_owned())?;
        ensure(!told.contains(&Told::Expired) || !mirror, "I9", || "a drain is counted as expired".to_owned())?;
        let count = usize::from(pool.told) + told.iter().filter(|told| told.outcome().is_some()).count();
        let free = told.iter().any(|told| matches!(told, Told::GovernanceLost | Told::ForeignAnchor));
        // An anchor under which no attempt was begun, as far as its writer could see, has no outcome: one that another has
        // begun since is ended by the sweep, which counts it.
        let none = pool.answer_lost || !pool.begun || self.overtaken && !self.facts.begun;
        let once = if free { count == 0 } else { count == 1 || (count == 0 && none) };
        ensure(once, "I9", || format!("the rotation of {} is counted {count} times", anchor.text()))?;
        let Some(claim) = anchor.as_claim().filter(|_| !self.overtaken && !told.contains(&Told::ForeignAnchor)) else {
            return Ok(());
        };
        if told.contains(&Told::Completed) {
            ensure(self.before.claim(claim).is_none(), "I9", || format!("claim-{claim} is counted as a success and still exists"))?;
        }
        let marked = self.before.nodes.iter().find(|node| node.pool == pool.id && node.annotations.get(Key::SurgeFor) == anchor);
        ensure(marked.is_none(), "I3", || format!("the anchor is cleared while {marked:?} is marked"))?;
        let placeholder = self.before.pod(Role::Placeholder(claim)).filter(|pod| pod.labelled && !pod.terminating);
        ensure(placeholder.is_none(), "I3", || "the anchor is cleared while the placeholder exists".to_owned())?;
        let state = self.before.claim(claim).map(|claim| claim.annotations).unwrap_or_default();
        let open = state.get(Key::State).is("pending") || state.get(Key::State).is("draining") || state.has(Key::Rollback);
        ensure(!open, "I3", || format!("the anchor is cleared while claim-{claim} is in rotation"))
    }

    /// The mirror promises that what follows is a drain.
    fn mirror(&self, before: &Pool, after: &Pool) -> Checked {
        let (was, is) = (before.annotations.get(Key::Mirror).is("draining"), after.annotations.get(Key::Mirror).is("draining"));
        let fallback = after.annotations.get(Key::Mode).is("forceful-fallback");
        if is && !was && !self.write.told.contains(&Told::Swept) {
            ensure(!fallback || self.setup.schedule.fallback, "I2", || "a drain without a surge that nobody asked for".to_owned())?;
            ensure(self.facts.reserved || fallback, "I2", || "the mirror is set without a sound reservation".to_owned())?;
            ensure(fallback || self.overtaken || !self.halted(before), "I7", || "the drain of a frozen pool begins".to_owned())?;
        }
        if was && !is && after.annotations.has(Key::Anchor) {
            let claim = self.anchor().as_claim().and_then(|id| self.before.claim(id));
            let draining = claim.is_some_and(|claim| claim.deleter == Some(Deleter::Us));
            ensure(self.overtaken || !draining, "I9", || "the mirror is taken back in mid-drain".to_owned())?;
        }
        Ok(())
    }

    /// A freeze holds what is reserved but lets nothing go further.
    fn halted(&self, pool: &Pool) -> bool {
        frozen(pool, self.facts.at)
    }

    fn claim(&self, id: u16, change: &[(Key, Value)]) -> Checked {
        let sets = |key: Key| change.iter().any(|(changed, value)| *changed == key && value.is_present());
        let state = change.iter().find(|(key, _)| *key == Key::State).map(|(_, value)| *value).unwrap_or_default();
        let asserts = state.is("pending") || state.is("draining") || sets(Key::StartedAt) || sets(Key::SurgeClaim) || sets(Key::Rollback);
        if asserts {
            self.anchored(id, "a claim is written")?;
        }
        if state.is("draining") {
            let mirror = self.of_pool(|pool| pool.annotations.get(Key::Mirror).is("draining"));
            ensure(self.overtaken || mirror, "I2", || format!("claim-{id} says draining before the mirror does"))?;
        }
        let own = self.before.claim(id).is_none_or(|claim| claim.pool == self.worker.pool);
        ensure(self.overtaken || own, "own pool", || format!("a pass for pool-{} writes claim-{id} of another pool", self.worker.pool))
    }

    fn node(&self, id: u16, change: &[(Key, Value)]) -> Checked {
        let (Some(before), Some(after)) = (self.before.node(id), self.after.node(id)) else {
            return Ok(());
        };
        if let Some(claim) = change.iter().find(|(key, _)| *key == Key::SurgeFor).and_then(|(_, value)| value.as_claim()) {
            self.anchored(claim, "a node is marked")?;
            let host = self.before.pod(Role::Placeholder(claim)).and_then(|pod| pod.node);
            let recorded = self.before.claim(claim).and_then(|claim| claim.annotations.get(Key::SurgeClaim).as_claim());
            let pair = id == claim || Some(id) == host || Some(id) == recorded;
            ensure(self.overtaken || pair, "I3", || format!("node-{id} is marked and belongs to no pair of claim-{claim}"))?;
        }
        // What was marked before a person gave the node away is still to be taken off.
        let own = before.pool == self.worker.pool || change.iter().all(|(_, value)| !value.is_present());
        ensure(self.overtaken || own, "own pool", || format!("a pass for pool-{} marks node-{id} of another pool", self.worker.pool))?;
        persons_marks(id, before, after)
    }

    fn create(&self, claim: u16, milli: u32) -> Checked {
        self.anchored(claim, "a placeholder is created")?;
        if self.overtaken {
            return Ok(());
        }
        let needed: u32 = self.before.pods_on(claim).filter(|pod| pod.phase != Phase::Failed).map(|pod| pod.milli).sum();
        ensure(milli >= needed.min(self.setup.node_milli).max(1), "I2", || format!("{milli} reserved where {needed} are needed"))?;
        let halted = self.of_pool(|pool| self.halted(pool));
        ensure(!halted, "I7", || "a placeholder is created on a frozen pool".to_owned())
    }

    fn delete_pod(&self, claim: u16) -> Checked {
        let Some(pod) = self.before.pod(Role::Placeholder(claim)) else {
            return Ok(());
        };
        ensure(pod.labelled, "I8", || "a Pod that is not ours is deleted".to_owned())?;
        let draining = self.before.claim(claim).is_some_and(|claim| claim.deleter == Some(Deleter::Us));
        let anchored = self.anchor() == Value::claim(claim);
        let sound = self.before.is_sound(pod);
        ensure(self.overtaken || !(draining && anchored && sound), "I2", || "the reservation is taken away in mid-drain".to_owned())
    }

    fn delete_claim(&self, id: u16) -> Checked {
        let Some(claim) = self.before.claim(id).filter(|claim| claim.deleted.is_none()) else {
            return Ok(());
        };
        let own = claim.pool == self.worker.pool;
        ensure(own, "I8", || format!("a pass for pool-{} deletes claim-{id} of another pool", self.worker.pool))?;
        if self.facts.anchor == Value::claim(id) || self.anchor() == Value::claim(id) {
            let mirror = self.of_pool(|pool| pool.annotations.get(Key::Mirror).is("draining")) && self.anchor() == Value::claim(id);
            // Nothing can be done about a person who takes the mirror away between two writes.
            let stripped = self.of_pool(|pool| pool.stripped);
            ensure(mirror || stripped, "I2", || format!("claim-{id} is deleted without the mirror"))?;
            let fallback = stripped || self.of_pool(|pool| pool.annotations.get(Key::Mode).is("forceful-fallback"));
            ensure(self.facts.reserved || fallback, "I2", || format!("claim-{id} is deleted without a sound reservation"))?;
            ensure(fallback || !claim.withdrawn, "I2", || format!("claim-{id} is deleted after its reservation was taken away"))?;
            let others = self.before.claims.iter().filter(|other| other.pool == claim.pool && other.deleter == Some(Deleter::Us));
            return ensure(others.count() == 0, "I1", || format!("claim-{id} is deleted while another claim drains"));
        }
        self.reap(id, claim.created)
    }

    fn reap(&self, id: u16, created: Instant) -> Checked {
        let rotated = self.facts.anchor.as_claim();
        let induced = self.before.claim(id).zip(rotated).is_some_and(|(claim, rotated)| claim.awaited_by(rotated));
        ensure(induced, "I8", || format!("claim-{id} is reaped and was not launched for the placeholder of {rotated:?}"))?;
        ensure(self.facts.emptied, "I8", || format!("claim-{id} is reaped and was not seen closed and empty"))?;
        let work = self.before.pods_on(id).any(|pod| matches!(pod.role, Role::Work(_)) && pod.phase != Phase::Failed);
        ensure(self.overtaken || !work, "I8", || format!("claim-{id} is reaped while it works"))?;
        // By the leader's clock, which may be wrong.
        let age = self.facts.at.since(created);
        ensure(age >= TOO_YOUNG, "I8", || format!("claim-{id} is reaped at the age of {age} s"))
    }
}

/// What a person has set is never adopted, changed or removed (I6).
fn persons_marks(id: u16, before: &Node, after: &Node) -> Checked {
    let had = |key: Key| before.annotations.has(key);
    let has = |key: Key| after.annotations.has(key);
    if before.cordoned_by_person {
        ensure(after.unschedulable, "I6", || format!("a person's cordon of node-{id} is lifted"))?;
        ensure(had(Key::Cordoned) || !has(Key::Cordoned), "I6", || format!("a person's cordon of node-{id} is adopted"))?;
    }
    if before.protected_by_person {
        ensure(after.annotations.get(Key::Protection).is("true"), "I6", || format!("a person's protection of node-{id} is removed"))?;
        ensure(had(Key::ProtectionOwned) || !has(Key::ProtectionOwned), "I6", || format!("a person's protection of node-{id} is adopted"))?;
    }
    let cordons = after.unschedulable && !before.unschedulable;
    ensure(!cordons || has(Key::Cordoned), "I6", || format!("node-{id} is cordoned without a mark"))?;
    let protects = after.annotations.get(Key::Protection) != before.annotations.get(Key::Protection);
    let marked = had(Key::ProtectionOwned) || has(Key::ProtectionOwned);
    ensure(!protects || marked, "I6", || format!("the protection of node-{id} changes without a mark"))
}
