//! One pool, from event to event.

mod events;
mod karpenter;
mod operator;
mod outage;
#[cfg(test)]
mod tests;
mod told;

use std::collections::BTreeMap;

use jiff::Timestamp;
use noderotation_core::annotation::{FREEZE, stamp};
use noderotation_core::resolve::Resolution;
use noderotation_core::rotation::Memory;
use noderotation_core::rotation::observation::{Observation, Settings};
use noderotation_forecast::effect::annotate;

use crate::draw::{Draw, Purpose};
use crate::fleet::{Fleet, PoolPlan};
use crate::report::{Attempt, NodeLife, PoolReport};
use events::{Event, Events};
use outage::Outages;

/// When the operator looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// When something has changed, or a time has come.
    Events,
    /// Also as often as each step asks for, as the operator does. It comes to the same, and takes longer.
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests compare it with the other"))]
    Requeues,
}

/// What is known of a node beside its objects.
#[derive(Clone, Debug)]
struct Body {
    name: String,
    born: Timestamp,
    ready: bool,
    deleting: bool,
    /// Pods of the workload run on it.
    loaded: bool,
    /// It is known to be idle, and will be removed.
    idle: bool,
    /// It was launched for a placeholder.
    for_surge: bool,
    /// Its place in the list of lives.
    life: usize,
}

/// A pool in play.
struct Play<'a> {
    fleet: &'a Fleet,
    plan: &'a PoolPlan,
    pace: Pace,
    observation: Observation,
    memory: Memory,
    draw: Draw,
    events: Events,
    outages: Outages,
    now: Timestamp,
    /// By number, in the order of their births.
    bodies: BTreeMap<u32, Body>,
    numbers: BTreeMap<String, u32>,
    born: u32,
    /// Nodes that the work needs, but for cycles.
    base: u64,
    /// Nodes that cycles add at present.
    extra: u64,
    /// When the operator looks next by the time alone.
    wake: Option<Timestamp>,
    /// The lead is new: the sweep over the whole pool comes first.
    new_lead: bool,
    lives: Vec<NodeLife>,
    rotations: Vec<Attempt>,
    missed: Vec<Timestamp>,
    longest_queue: usize,
    surge_node_seconds: u64,
}

/// Lives through a pool.
pub(crate) fn live(fleet: &Fleet, plan: &PoolPlan, governing: Resolution, seed: u64, pace: Pace) -> PoolReport {
    let mut play = Play::new(fleet, plan, governing, seed, pace);
    play.populate();
    play.schedule();
    play.run();
    play.report()
}

impl<'a> Play<'a> {
    fn new(fleet: &'a Fleet, plan: &'a PoolPlan, governing: Resolution, seed: u64, pace: Pace) -> Self {
        let observation = Observation {
            pool: plan.object(),
            governing,
            claims: Vec::new(),
            nodes: Vec::new(),
            placeholders: Vec::new(),
            settings: Settings::default(),
            close_up: None,
            leftovers: None,
        };
        Self {
            fleet,
            plan,
            pace,
            observation,
            memory: Memory::default(),
            draw: Draw::new(seed, &plan.name),
            events: Events::default(),
            outages: Outages::of(&fleet.outages),
            now: fleet.start,
            bodies: BTreeMap::new(),
            numbers: BTreeMap::new(),
            born: 0,
            base: 0,
            extra: 0,
            wake: Some(fleet.start),
            new_lead: true,
            lives: Vec::new(),
            rotations: Vec::new(),
            missed: Vec::new(),
            longest_queue: 0,
            surge_node_seconds: 0,
        }
    }

    /// The nodes of the beginning, the oldest first.
    fn populate(&mut self) {
        let mut births = Vec::new();
        for group in &self.plan.nodes {
            let youngest = self.fleet.start.saturating_sub(group.age).unwrap_or(Timestamp::MIN);
            for _ in 0..group.count {
                let before = self.draw.below(Purpose::Birth, group.within.as_secs() + 1);
                births.push(youngest.saturating_sub(std::time::Duration::from_secs(before)).unwrap_or(Timestamp::MIN));
            }
        }
        births.sort_unstable();
        self.base = u64::try_from(births.len()).unwrap_or(u64::MAX);
        for born in births {
            let number = self.create(born, false);
            self.becomes_ready(number);
            self.with_body(number, |body| body.loaded = true);
        }
    }

    /// What will happen whatever the operator does.
    fn schedule(&mut self) {
        for scale in &self.plan.scale {
            self.push(scale.at, Event::Keep(scale.to));
        }
        for index in 0..self.plan.cycles.len() {
            self.next_cycle(index, self.fleet.start, true);
        }
        let mine = |spell: &&crate::fleet::Spell| spell.is_about(&self.plan.name);
        let droughts: Vec<Timestamp> = self.fleet.droughts.iter().filter(mine).map(|spell| spell.to).collect();
        let freezes: Vec<(Timestamp, Timestamp)> = self.fleet.freezes.iter().filter(mine).map(|spell| (spell.from, spell.to)).collect();
        for to in droughts {
            self.push(to, Event::Look);
        }
        for (from, to) in freezes {
            self.push(from.max(self.fleet.start), Event::Freeze(to));
            self.push(to, Event::Look);
        }
        for to in self.outages.ends() {
            self.push(to, Event::NewLead);
        }
    }

    fn next_cycle(&mut self, index: usize, since: Timestamp, first: bool) {
        if let Some(cycle) = self.plan.cycles.get(index) {
            let at = later(since, if first { cycle.first } else { cycle.every });
            self.push(at, Event::CycleBegins(index));
        }
    }

    fn run(&mut self) {
        loop {
            let next = self.events.next_at().into_iter().chain(self.wake).min();
            let Some(at) = next.filter(|at| *at < self.fleet.end) else { break };
            self.now = self.now.max(at);
            let mut looks = self.wake.is_some_and(|wake| wake <= self.now);
            if looks {
                self.wake = None;
            }
            while let Some(event) = self.events.pop(self.now) {
                if self.matters(event) {
                    looks = true;
                    self.happen(&event);
                }
            }
            if !looks {
                continue;
            }
            self.settle();
            match self.outages.operator_until(self.now) {
                Some(back) => self.wake = Some(back),
                None => self.operate(),
            }
        }
        self.now = self.fleet.end;
    }

    /// Nothing happens while nobody reaches the API server; it all happens when it is back.
    fn push(&mut self, at: Timestamp, event: Event) {
        let at = self.outages.everybody_until(at).unwrap_or(at);
        if at < self.fleet.end {
            self.events.push(at, event);
        }
    }

    /// It is not about a node that is gone, or going, as the deadline of most nodes is when it comes.
    fn matters(&self, event: Event) -> bool {
        match event {
            Event::Ready(number) | Event::LaunchFails(number) | Event::Expire(number) | Event::Idle(number) => {
                self.bodies.get(&number).is_some_and(|body| !body.deleting)
            }
            Event::Gone(_)
            | Event::Keep(_)
            | Event::CycleBegins(_)
            | Event::CycleEnds(_)
            | Event::Freeze(_)
            | Event::NewLead
            | Event::Look => true,
        }
    }

    fn happen(&mut self, event: &Event) {
        self.memory.forget();
        match *event {
            Event::Ready(number) => self.becomes_ready(number),
            Event::LaunchFails(number) => self.never_ready(number),
            Event::Expire(number) => self.expire(number),
            Event::Gone(number) => self.gone(number),
            Event::Idle(number) => self.remove_idle(number),
            Event::Keep(count) => self.base = count,
            Event::CycleBegins(index) => {
                if let Some((lasts, add)) = self.plan.cycles.get(index).map(|cycle| (cycle.lasts, cycle.add)) {
                    self.extra += add;
                    self.push(later(self.now, lasts), Event::CycleEnds(index));
                    self.next_cycle(index, self.now, false);
                }
            }
            Event::CycleEnds(index) => {
                self.extra = self.extra.saturating_sub(self.plan.cycles.get(index).map_or(0, |cycle| cycle.add));
            }
            Event::Freeze(until) => {
                annotate(&mut self.observation.pool.metadata.annotations, [(FREEZE, Some(stamp(until)))].into());
            }
            Event::NewLead => self.new_lead = true,
            Event::Look => {}
        }
    }

    fn with_body(&mut self, number: u32, change: impl FnOnce(&mut Body)) {
        if let Some(body) = self.bodies.get_mut(&number) {
            change(body);
        }
    }
}

/// `at` and so long after it, or the last instant there is.
fn later(at: Timestamp, by: std::time::Duration) -> Timestamp {
    at.saturating_add(by).unwrap_or(Timestamp::MAX)
}

/// Whole seconds from one instant to another; 0 if that is before.
fn seconds_between(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from(to.duration_since(from).as_secs()).unwrap_or_default()
}
