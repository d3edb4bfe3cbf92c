//! A rotation in flight, and all that happens while it is.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use noderotation_core::annotation::{ACTIVE_ROTATION, ClaimState, LAST_FAILURE_AT, LAST_ROTATION_AT, clear_anchor, stamp};
use noderotation_core::placeholder::size::{Kind, kind};
use noderotation_core::policy::governing::Governing;
use noderotation_core::resolve::Resolution;
use noderotation_core::rotation::effect::Effect;
use noderotation_core::schedule::{DRAIN_ESTIMATE, drain_estimate, provisioning_estimate};

use crate::calendar::{Entry, Mode};
use crate::launch;
use crate::play::Play;
use crate::room::{fits, preference};

/// A rotation that has begun.
struct Flight {
    claim: String,
    mode: Mode,
    start: Timestamp,
    drain: Timestamp,
    /// The node that the surge has found, where it is not a new one.
    host: Option<String>,
}

impl Play<'_> {
    /// Plays the rotation that the pass begins now, to its end.
    pub(crate) fn rotate(&mut self, claim: &str, surgeless: bool) {
        let host = if surgeless { None } else { self.host(claim) };
        self.put_back();
        let mode = match (&host, surgeless) {
            (_, true) => Mode::Surgeless,
            (Some(_), false) => Mode::Absorbed,
            (None, false) => Mode::Provisioned,
        };
        let wait = if mode == Mode::Provisioned { self.provisioning() } else { Duration::ZERO };
        self.fly(Flight { claim: claim.to_owned(), mode, start: self.now, drain: later(self.now, wait), host });
    }

    /// The node of the pool on which the placeholder finds room; the pass that has just anchored `claim` says what it is like.
    fn host(&mut self, claim: &str) -> Option<String> {
        if !self.surroundings.pods_known {
            return None;
        }
        self.annotate([(ACTIVE_ROTATION, Some(claim.to_owned()))].into());
        let placeholder = self.decide().and_then(|decision| {
            decision.effects.into_iter().find_map(|planned| match planned.effect {
                Effect::CreatePlaceholder { pod } => Some(*pod),
                Effect::AnnotatePool { .. }
                | Effect::AnnotateClaim { .. }
                | Effect::MarkNode { .. }
                | Effect::DeletePlaceholder { .. }
                | Effect::DeleteClaim { .. } => None,
            })
        });
        self.annotate([(ACTIVE_ROTATION, None)].into());
        let placeholder: Pod = placeholder?;
        let candidate = self.candidate_node();
        let used = |name: &str| self.stations.get(name).map(|station| &station.used);
        let others = self.observation.nodes.iter().filter(|node| node.metadata.name != candidate);
        let fitting = others.filter(|node| fits(&placeholder, node, used(&node.name_any())));
        fitting.min_by_key(|node| preference(&placeholder, node, used(&node.name_any()))).map(ResourceExt::name_any)
    }

    /// Takes up the rotation that is in flight at the beginning, and the claims that are going.
    pub(crate) fn board(&mut self) {
        let marks = self.observation.pool.marks(self.now);
        let anchor = marks.anchor.clone();
        let going = self.observation.claims.iter().filter(|claim| claim.deleting() && anchor.as_ref() != Some(&claim.name_any()));
        let gone = |claim: &noderotation_core::karpenter::NodeClaim| {
            let deleted = claim.metadata.deletion_timestamp.as_ref().map_or(self.now, |at| at.0);
            (later(deleted, self.draining(&claim.name_any())).max(later(self.now, Duration::from_secs(1))), claim.name_any())
        };
        self.departures = going.map(gone).collect();
        let Some(name) = anchor else { return };
        let found = self.observation.claims.iter().find(|claim| claim.name_any() == name);
        let Some(claim) = found else {
            let mut change = clear_anchor();
            change.extend(marks.draining.then(|| (LAST_ROTATION_AT, Some(stamp(self.now)))));
            return self.annotate(change);
        };
        let of_claim = claim.marks(self.now);
        let mode = if marks.forceful_fallback { Mode::Surgeless } else { Mode::Provisioned };
        let start = of_claim.started_at.or(marks.draining_at).unwrap_or(self.now);
        let launched =
            self.observation.claims.iter().find(|other| other.metadata.name == of_claim.surge_claim && of_claim.surge_claim.is_some());
        let host = launched.and_then(|claim| claim.node_name()).map(str::to_owned);
        let drain = match (marks.draining, &of_claim.state) {
            (true, _) => marks.draining_at.unwrap_or(self.now),
            (false, ClaimState::Failed) => {
                let mut change = clear_anchor();
                change.extend(of_claim.failed_at.max(marks.last_failure_at).map(|at| (LAST_FAILURE_AT, Some(stamp(at)))));
                return self.annotate(change);
            }
            (false, _) if claim.deleting() => {
                self.departures.insert((later(self.now, self.draining(&name)), name));
                return self.annotate(clear_anchor());
            }
            (false, _) => later(start, self.provisioning()).max(self.now),
        };
        self.fly(Flight { claim: name, mode, start, drain, host });
    }

    /// Plays a rotation to its end.
    fn fly(&mut self, flight: Flight) {
        let Flight { claim, mode, start, drain, host } = flight;
        let deadline = self.deadline(&claim);
        if let Some(deadline) = deadline.filter(|deadline| *deadline <= drain && *deadline >= self.now) {
            // Karpenter is first: the anchor is released, and what was launched stays.
            self.let_go(deadline, "");
            self.now = self.now.max(deadline);
            return self.annotate(clear_anchor());
        }
        let end = later(drain, self.draining(&claim)).max(self.now);
        self.deadlines.retain(|(_, name)| *name != claim);
        self.let_go(end, &claim);
        self.entries.push(Entry {
            node: self.node_of(&claim),
            successor: !self.present.remove(&claim) && self.is_launched(&claim),
            claim: claim.clone(),
            mode,
            start,
            drain,
            end,
            deadline,
        });
        match host {
            Some(host) => self.absorb(&claim, &host),
            None => self.replace(&claim, if mode == Mode::Surgeless { drain } else { start }),
        }
        self.now = end;
        let mut change = clear_anchor();
        change.insert(LAST_ROTATION_AT, Some(stamp(end)));
        self.annotate(change);
    }

    /// What time does to the other claims until `until`: those that reach their deadline expire, those that go are gone.
    pub(crate) fn let_go(&mut self, until: Timestamp, in_flight: &str) {
        loop {
            let expiry = self.deadlines.first().filter(|(at, _)| *at <= until).cloned();
            let departure = self.departures.first().filter(|(at, _)| *at <= until).cloned();
            match (expiry, departure) {
                (Some(expiry), departure) if departure.as_ref().is_none_or(|departure| expiry <= *departure) => {
                    if !self.goes_on(expiry.0) {
                        return;
                    }
                    self.deadlines.remove(&expiry);
                    if expiry.1 != in_flight {
                        // One that should have gone before the beginning goes at once.
                        self.expire(&expiry.1, expiry.0.max(self.surroundings.question.now));
                    }
                }
                (_, Some(departure)) => {
                    self.departures.remove(&departure);
                    self.present.remove(&departure.1);
                    self.remove(&departure.1);
                }
                (Some(_) | None, None) => return,
            }
        }
    }

    fn expire(&mut self, claim: &str, at: Timestamp) {
        self.entries.push(Entry {
            node: self.node_of(claim),
            successor: !self.present.remove(claim) && self.is_launched(claim),
            claim: claim.to_owned(),
            mode: Mode::Expired,
            start: at,
            drain: at,
            end: later(at, self.draining(claim)),
            deadline: self.deadline(claim),
        });
        self.replace(claim, at);
    }

    /// A node comes in the place of the claim's, with its Pods.
    fn replace(&mut self, claim: &str, born: Timestamp) {
        let observation = &self.observation;
        let Some(old) = observation.claims.iter().find(|other| other.metadata.name.as_deref() == Some(claim)) else { return };
        self.launched += 1;
        let name = format!("{}-{LAUNCHED}-{}", observation.pool.name_any(), self.launched);
        let node = old.node_name().and_then(|name| observation.nodes.iter().find(|node| node.metadata.name.as_deref() == Some(name)));
        let (successor, new_node) = launch::successor(&observation.pool, old, node, &name, born);
        let station = old.node_name().and_then(|node| self.stations.remove(node));
        self.stations.extend(station.map(|station| (name.clone(), station)));
        self.remove(claim);
        self.deadlines.extend(successor.deadline().map(|deadline| (deadline, name)));
        self.observation.claims.push(successor);
        self.observation.nodes.push(new_node);
    }

    /// The Pods of the claim's node find room on `host`, and it goes.
    fn absorb(&mut self, claim: &str, host: &str) {
        let station = self.node_of(claim).and_then(|node| self.stations.remove(&node)).unwrap_or_default();
        if let Some(node) = self.observation.nodes.iter().find(|node| node.metadata.name.as_deref() == Some(host)) {
            let on_host = self.stations.entry(host.to_owned()).or_default();
            let moving = station.pods.into_iter().filter(|pod| kind(pod, node) == Kind::Reschedulable);
            moving.for_each(|pod| on_host.add(pod, node));
        }
        self.remove(claim);
    }

    fn remove(&mut self, claim: &str) {
        if let Some(node) = self.node_of(claim) {
            self.observation.nodes.retain(|other| other.metadata.name.as_ref() != Some(&node));
            self.stations.remove(&node);
        }
        self.observation.claims.retain(|other| other.metadata.name.as_deref() != Some(claim));
        self.deadlines.retain(|(_, name)| name != claim);
    }

    fn node_of(&self, claim: &str) -> Option<String> {
        let claim = self.observation.claims.iter().find(|other| other.metadata.name.as_deref() == Some(claim))?;
        claim.node_name().map(str::to_owned)
    }

    fn deadline(&self, claim: &str) -> Option<Timestamp> {
        self.observation.claims.iter().find(|other| other.metadata.name.as_deref() == Some(claim))?.deadline()
    }

    fn is_launched(&self, claim: &str) -> bool {
        let name = self.observation.pool.name_any();
        claim.strip_prefix(&format!("{name}-{LAUNCHED}-")).is_some_and(|number| number.parse::<usize>().is_ok())
    }

    fn governing(&self) -> Option<&Governing> {
        match &self.observation.governing {
            Resolution::Governed(governing) => Some(governing),
            Resolution::Conflict { .. } | Resolution::Invalid { .. } | Resolution::Ungoverned => None,
        }
    }

    fn provisioning(&self) -> Duration {
        self.governing().map(provisioning_estimate).unwrap_or_default()
    }

    fn draining(&self, claim: &str) -> Duration {
        let found = self.observation.claims.iter().find(|other| other.metadata.name.as_deref() == Some(claim));
        let grace = found.and_then(|claim| claim.spec.termination_grace_period());
        self.governing().map_or(DRAIN_ESTIMATE, |governing| drain_estimate(governing, grace))
    }
}

/// What the names of claims that are yet to come have between that of their pool and a number.
const LAUNCHED: &str = "launched";

fn later(at: Timestamp, by: Duration) -> Timestamp {
    at.saturating_add(by).unwrap_or(at)
}
