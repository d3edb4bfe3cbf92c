//! One pool, played from event to event.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::ResourceExt;
use noderotation_core::gate::{self, Gate};
use noderotation_core::karpenter::NodeClaim;
use noderotation_core::resolve::Resolution;
use noderotation_core::rotation::announcement::Announcement;
use noderotation_core::rotation::effect::Effect;
use noderotation_core::rotation::observation::{Observation, Settings};
use noderotation_core::rotation::report::Report;
use noderotation_core::rotation::stuck;
use noderotation_core::rotation::{Decision, Memory, Next, step_again};
use noderotation_core::selection::{self, Life, Nodes};

use crate::calendar::{ClaimForecast, Entry};
use crate::cluster::Site;
use crate::room::Station;
use crate::{Surroundings, effect};

/// Looks and decisions of one pass, twice as many as the operator allows.
const STEPS: usize = 64;
/// Passes and ends of nodes that are played of a pool, and as many again for each claim: nodes that live for a quarter of an
/// hour are followed for half a year. Lives may be shorter than any clock shows, and then there is no end to them.
const EVENTS: usize = 20_000;
/// The same for each claim.
const EVENTS_OF_A_CLAIM: usize = 100;

/// A pool in play.
pub(crate) struct Play<'a> {
    pub(crate) observation: Observation,
    pub(crate) stations: BTreeMap<String, Station>,
    pub(crate) surroundings: Surroundings<'a>,
    pub(crate) now: Timestamp,
    /// Claims of the beginning that are not through.
    pub(crate) present: BTreeSet<String>,
    /// Of the claims that nobody is taking away.
    pub(crate) deadlines: BTreeSet<(Timestamp, String)>,
    /// Claims that are going, and when they will be gone.
    pub(crate) departures: BTreeSet<(Timestamp, String)>,
    pub(crate) launched: usize,
    pub(crate) entries: Vec<Entry>,
    missed: Vec<Timestamp>,
    memory: Memory,
    /// Events that may still be played.
    left: usize,
    /// When there were none left.
    cut: Option<Timestamp>,
}

/// What has been played.
pub(crate) struct Told {
    pub(crate) entries: Vec<Entry>,
    pub(crate) missed: Vec<Timestamp>,
    pub(crate) cut: Option<Timestamp>,
}

/// What a pass came to.
enum Passed {
    /// Until then, as far as the time alone matters.
    Rests(Option<Timestamp>),
    Starts {
        claim: String,
        surgeless: bool,
    },
}

impl<'a> Play<'a> {
    pub(crate) fn new(site: Site, governing: Resolution, surroundings: Surroundings<'a>) -> Self {
        let Site { pool, claims, nodes, placeholders, mut pods } = site;
        let station = |node: &k8s_openapi::api::core::v1::Node| {
            let name = node.name_any();
            pods.remove(&name).map(|pods| (name, Station::new(pods, node)))
        };
        let stations = nodes.iter().filter_map(station).collect();
        let staying = claims.iter().filter(|claim| !claim.deleting());
        let deadlines = staying.filter_map(|claim| Some((claim.deadline()?, claim.name_any()))).collect();
        let left = EVENTS.saturating_add(claims.len().saturating_mul(EVENTS_OF_A_CLAIM));
        let observation =
            Observation { pool, governing, claims, nodes, placeholders, settings: Settings::default(), close_up: None, leftovers: None };
        let (present, departures) = (BTreeSet::new(), BTreeSet::new());
        let now = surroundings.question.now;
        let (entries, missed) = (Vec::new(), Vec::new());
        let (launched, memory) = (0, Memory::default());
        Self {
            observation,
            stations,
            surroundings,
            now,
            present,
            deadlines,
            departures,
            launched,
            entries,
            missed,
            memory,
            left,
            cut: None,
        }
    }

    /// What a pass would see now; nothing comes of it.
    pub(crate) fn report(&mut self) -> Option<Report> {
        let report = self.decide().map(|decision| decision.report);
        self.put_back();
        report
    }

    /// The claims as they are now. Those that will come to an end are what is played for.
    pub(crate) fn claims(&mut self, report: Option<&Report>, budgets: &[PodDisruptionBudget]) -> Vec<ClaimForecast> {
        let Some((governing, derived)) = report.and_then(|report| report.policy.as_ref().zip(report.derived.as_ref())) else {
            return Vec::new();
        };
        let (now, nodes) = (self.now, Nodes::new(&self.observation.nodes));
        let period = derived.period_of(governing, now).unwrap_or_default();
        let of = |claim: &NodeClaim| {
            let life = Life::of(governing, period, claim);
            let node = claim.node_name().and_then(|name| nodes.get(name));
            let pods = claim.node_name().and_then(|node| self.stations.get(node)).map(|station| station.pods.as_slice());
            ClaimForecast {
                name: claim.name_any(),
                node: claim.node_name().map(str::to_owned),
                created: claim.creation_timestamp().map(|at| at.0),
                // Not before there is anything to rotate.
                due: life.due.map(|due| due.max(claim.created())),
                deadline: life.deadline,
                standing: selection::standing(governing, &life, claim, &claim.marks(now), node, now),
                holds: stuck::holds(pods.unwrap_or_default(), budgets),
            }
        };
        let mut claims: Vec<ClaimForecast> = self.observation.claims.iter().map(of).collect();
        claims.sort_by(|a, b| a.name.cmp(&b.name));
        let ending = claims.iter().filter(|claim| claim.due.is_some() || claim.deadline.is_some());
        self.present = ending.map(|claim| claim.name.clone()).collect();
        claims
    }

    /// Plays until every claim of the beginning is through, or time is up, or too much has come to pass.
    pub(crate) fn play_out(mut self) -> Told {
        let question = self.surroundings.question;
        self.board();
        while (question.whole || !self.present.is_empty()) && self.goes_on(self.now) {
            let Some(passed) = self.pass() else { break };
            let look = match passed {
                Passed::Starts { claim, surgeless } => {
                    self.rotate(&claim, surgeless);
                    Some(self.settled())
                }
                // A second later at least, so that there is an end to it.
                Passed::Rests(until) => until.map(|at| at.max(after(self.now))),
            };
            let events = [look, self.deadlines.first().map(|(at, _)| *at), self.departures.first().map(|(at, _)| *at)];
            match events.into_iter().flatten().min() {
                Some(at) if at <= question.until => {
                    self.now = self.now.max(at);
                    self.let_go(self.now, "");
                }
                Some(_) | None => break,
            }
        }
        self.entries.sort_by(|a, b| (a.start, a.drain, &a.claim).cmp(&(b.start, b.drain, &b.claim)));
        Told { entries: self.entries, missed: self.missed, cut: self.cut }
    }

    /// One more event may be played; if not, nothing is told from `at` on.
    pub(crate) fn goes_on(&mut self, at: Timestamp) -> bool {
        match self.left.checked_sub(1) {
            Some(left) => self.left = left,
            None => drop(self.cut.get_or_insert(at)),
        }
        self.cut.is_none()
    }

    /// When the pool has settled after a rotation, as the gates say. The passes until then come to nothing.
    fn settled(&self) -> Timestamp {
        let Resolution::Governed(governing) = &self.observation.governing else { return self.now };
        let closed = gate::first_closed(governing, &self.observation.pool.marks(self.now), None, self.now);
        let pause = closed.filter(|closed| closed.gate == Gate::CooldownAfterSuccess);
        pause.and_then(|closed| closed.until).unwrap_or(self.now)
    }

    /// One pass as the operator makes it, up to the write that begins a rotation. `None` if it comes to nothing.
    fn pass(&mut self) -> Option<Passed> {
        for _ in 0..STEPS {
            let decision = self.decide()?;
            let announced = decision.effects.iter().flat_map(|planned| &planned.then);
            self.missed.extend(announced.clone().filter_map(missed));
            if let Some((claim, surgeless)) = announced.clone().find_map(started) {
                // The pass goes on, with what it has seen, to what it reserves.
                return Some(Passed::Starts { claim, surgeless });
            }
            self.put_back();
            let again = decision.next == Next::Again;
            decision.effects.into_iter().for_each(|planned| effect::write(&mut self.observation, planned.effect));
            if !again {
                return Some(Passed::Rests(decision.report.next_look(self.now)));
            }
        }
        None
    }

    /// The next decision, with everything that it must see.
    pub(crate) fn decide(&mut self) -> Option<Decision> {
        for _ in 0..STEPS {
            match step_again(&self.observation, self.now, &mut self.memory) {
                ControlFlow::Break(look) => self.serve(&look),
                ControlFlow::Continue(decision) => return Some(decision),
            }
        }
        None
    }

    /// Forgets what was seen; Pods that were lent go back to their node.
    pub(crate) fn put_back(&mut self) {
        let (node, close_up) = (self.candidate_node(), self.observation.close_up.take());
        if let (Some(node), Some(pods)) = (node, close_up.and_then(|close_up| close_up.pods_on_candidate))
            && let Some(station) = self.stations.get_mut(&node)
        {
            station.pods = pods;
        }
        self.observation.leftovers = None;
        self.memory.forget();
    }

    /// Name of the node of the claim that was looked at.
    pub(crate) fn candidate_node(&self) -> Option<String> {
        self.observation.close_up.as_ref()?.node.as_ref()?.metadata.name.clone()
    }

    /// Changes the pool's annotations.
    pub(crate) fn annotate(&mut self, change: noderotation_core::annotation::Change) {
        effect::write(&mut self.observation, Effect::AnnotatePool { pool: no_target(), change });
        self.memory.forget();
    }
}

fn no_target() -> noderotation_core::rotation::effect::Target {
    noderotation_core::rotation::effect::Target { name: String::new(), uid: String::new(), version: String::new() }
}

fn after(at: Timestamp) -> Timestamp {
    at.saturating_add(Duration::from_secs(1)).unwrap_or(at)
}

fn missed(announcement: &Announcement) -> Option<Timestamp> {
    if let Announcement::WindowMissed { opened_at, .. } = announcement { Some(*opened_at) } else { None }
}

fn started(announcement: &Announcement) -> Option<(String, bool)> {
    if let Announcement::Started { claim, surgeless, .. } = announcement { Some((claim.clone(), *surgeless)) } else { None }
}
