//! What Karpenter does, and the workload that it does it for: as many loaded nodes as the work needs, one more while a
//! placeholder waits, and none that has nothing to do.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, PodStatus, Taint};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::ResourceExt;
use noderotation_core::annotation::DO_NOT_DISRUPT;
use noderotation_core::annotation::{DISRUPTED_TAINT, NODEPOOL_LABEL, TERMINATION_TIMESTAMP, stamp};
use noderotation_core::karpenter::NodeClaim;
use noderotation_core::placeholder;
use noderotation_forecast::effect::annotate;
use noderotation_forecast::launch;

use super::events::Event;
use super::{Body, Play, later, seconds_between};
use crate::draw::Purpose;
use crate::report::{End, NodeLife};

/// After this long Karpenter gives up a node that has not come up.
const REGISTRATION: Duration = Duration::from_secs(15 * 60);

impl Play<'_> {
    /// A claim, without a Node yet.
    pub(super) fn create(&mut self, born: Timestamp, for_surge: bool) -> u32 {
        self.born += 1;
        let number = self.born;
        let name = format!("{}-{number:05}", self.plan.name);
        let mut claim = NodeClaim::new(&name, self.observation.pool.spec.template.spec.clone());
        claim.metadata = ObjectMeta {
            name: Some(name.clone()),
            labels: Some([(NODEPOOL_LABEL.to_owned(), self.plan.name.clone())].into()),
            creation_timestamp: Some(Time(born)),
            ..ObjectMeta::default()
        };
        let deadline = claim.deadline();
        if let Some(deadline) = deadline {
            self.push(deadline.max(self.fleet.start), Event::Expire(number));
        }
        self.lives.push(NodeLife { name: name.clone(), born, deadline, deleted: None, gone: None, end: End::Alive });
        let life = self.lives.len() - 1;
        let body = Body { name: name.clone(), born, ready: false, deleting: false, loaded: false, idle: false, for_surge, life };
        self.bodies.insert(number, body);
        self.numbers.insert(name, number);
        self.observation.claims.push(claim);
        number
    }

    pub(super) fn becomes_ready(&mut self, number: u32) {
        let Some(name) = self.bodies.get(&number).filter(|body| !body.deleting).map(|body| body.name.clone()) else { return };
        self.with_body(number, |body| body.ready = true);
        if let Some(claim) = self.observation.claims.iter_mut().find(|claim| claim.metadata.name.as_ref() == Some(&name)) {
            launch::make_ready(claim);
            let node = launch::node(claim, &name);
            self.observation.nodes.push(node);
        }
    }

    /// Launches a node, if any can be.
    fn launch(&mut self, for_surge: bool) -> bool {
        let mut droughts = self.fleet.droughts.iter().filter(|spell| spell.is_about(&self.plan.name));
        let dry = droughts.any(|spell| spell.from <= self.now && self.now < spell.to);
        let full = self.plan.limit.is_some_and(|limit| u64::try_from(self.bodies.len()).unwrap_or(u64::MAX) >= limit);
        if dry || full {
            return false;
        }
        // Karpenter answers the placeholder in a later second than it was created in.
        let born = if for_surge { later(self.now, Duration::from_secs(1)) } else { self.now };
        let number = self.create(born, for_surge);
        let fails = self.draw.happens(Purpose::LaunchFails, self.plan.launch_fails);
        let takes = self.draw.time(Purpose::Launch, &self.plan.provisioning);
        let (takes, event) = if fails { (REGISTRATION, Event::LaunchFails(number)) } else { (takes, Event::Ready(number)) };
        self.push(later(self.now, takes).max(born), event);
        true
    }

    pub(super) fn never_ready(&mut self, number: u32) {
        if self.bodies.get(&number).is_some_and(|body| !body.deleting) {
            self.delete(number, End::NeverReady);
        }
    }

    /// Karpenter expires by force what has reached its deadline, whoever protects it.
    pub(super) fn expire(&mut self, number: u32) {
        if self.bodies.get(&number).is_some_and(|body| !body.deleting) {
            self.delete(number, End::Expired);
        }
    }

    pub(super) fn remove_idle(&mut self, number: u32) {
        let Some(body) = self.bodies.get(&number).filter(|body| body.idle) else { return };
        if !body.loaded && !body.deleting && !self.is_protected(&body.name) && !self.hosts(&body.name) {
            return self.delete(number, End::Removed);
        }
        self.with_body(number, |body| body.idle = false);
    }

    /// Begins the drain of a node. Its Pods ask for another one at once.
    pub(super) fn delete(&mut self, number: u32, end: End) {
        let Some(body) = self.bodies.get_mut(&number).filter(|body| !body.deleting) else { return };
        let (name, life, loaded) = (body.name.clone(), body.life, body.loaded);
        (body.deleting, body.loaded) = (true, false);
        if let Some(life) = self.lives.get_mut(life) {
            (life.deleted, life.end) = (Some(self.now), end);
        }
        let takes = if loaded { self.drain_time() } else { Duration::ZERO };
        let now = self.now;
        if let Some(claim) = self.observation.claims.iter_mut().find(|claim| claim.metadata.name.as_ref() == Some(&name)) {
            claim.metadata.deletion_timestamp = Some(Time(now));
            if let Some(grace) = claim.spec.termination_grace_period() {
                annotate(&mut claim.metadata.annotations, [(TERMINATION_TIMESTAMP, Some(stamp(later(now, grace))))].into());
            }
        }
        if let Some(node) = self.observation.nodes.iter_mut().find(|node| node.metadata.name.as_ref() == Some(&name)) {
            node.metadata.deletion_timestamp = Some(Time(now));
            let taint = Taint { key: DISRUPTED_TAINT.to_owned(), effect: "NoSchedule".to_owned(), ..Taint::default() };
            node.spec.get_or_insert_default().taints.get_or_insert_default().push(taint);
        }
        self.push(later(now, takes), Event::Gone(number));
    }

    /// Held up or not, a drain ends with its grace period.
    fn drain_time(&mut self) -> Duration {
        let mut takes = self.draw.time(Purpose::Drain, &self.plan.drain);
        if self.draw.happens(Purpose::Blocked, self.plan.blocked.chance) {
            takes = takes.saturating_add(self.draw.time(Purpose::BlockedFor, &self.plan.blocked.lasts));
        }
        takes.min(self.plan.termination_grace_period.unwrap_or(Duration::MAX))
    }

    pub(super) fn gone(&mut self, number: u32) {
        let Some(body) = self.bodies.remove(&number) else { return };
        self.numbers.remove(&body.name);
        if let Some(life) = self.lives.get_mut(body.life) {
            life.gone = Some(self.now);
            // What was launched for a rotation that came to nothing was paid for in vain.
            if body.for_surge {
                self.surge_node_seconds += seconds_between(body.born, self.now);
            }
        }
        self.observation.claims.retain(|claim| claim.metadata.name.as_ref() != Some(&body.name));
        self.observation.nodes.retain(|node| node.metadata.name.as_ref() != Some(&body.name));
        let there = |pod: &Pod| pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()) != Some(body.name.as_str());
        self.observation.placeholders.retain(there);
    }

    /// Brings the nodes to what the work and the placeholder need.
    pub(super) fn settle(&mut self) {
        let needed = self.base.saturating_add(self.extra);
        self.scale_down(needed);
        let mut lacking = usize::try_from(needed).unwrap_or(usize::MAX).saturating_sub(self.loaded().count());
        while lacking > 0 {
            let Some(number) = self.free_for_work() else { break };
            self.load(number);
            lacking -= 1;
        }
        self.seat_placeholder();
        let coming = self.bodies.values().filter(|body| !body.ready && !body.deleting && !body.for_surge).count();
        for _ in coming..lacking {
            if !self.launch(false) {
                break;
            }
        }
        self.watch_idle();
    }

    fn loaded(&self) -> impl Iterator<Item = (&u32, &Body)> {
        self.bodies.iter().filter(|(_, body)| body.loaded)
    }

    /// Nodes go, any one, until there are no more than the work needs; protected ones stay.
    fn scale_down(&mut self, needed: u64) {
        let mut surplus = u64::try_from(self.loaded().count()).unwrap_or(u64::MAX).saturating_sub(needed);
        while surplus > 0 {
            let open: Vec<u32> = self.loaded().filter(|(_, body)| !self.is_protected(&body.name)).map(|(number, _)| *number).collect();
            let chosen = self.draw.below(Purpose::ScaleDown, u64::try_from(open.len()).unwrap_or(u64::MAX));
            let Some(number) = usize::try_from(chosen).ok().and_then(|chosen| open.get(chosen)) else { return };
            self.delete(*number, End::ScaledDown);
            surplus -= 1;
        }
    }

    /// A Ready node with nothing on it. One that a placeholder holds is for the Pods of the placeholder's claim.
    fn free_for_work(&self) -> Option<u32> {
        let free = |body: &Body| body.ready && !body.deleting && !body.loaded;
        let host = self.host().and_then(|host| self.numbers.get(host));
        let released = host.filter(|_| self.placeholder().is_some_and(|pod| !self.is_there(&placeholder::claim_of(pod))));
        let released = released.filter(|number| self.bodies.get(number).is_some_and(free));
        let expected = self.placeholder().is_some() && host.is_none();
        let open = |(number, body): &(&u32, &Body)| free(body) && Some(*number) != host && !(expected && body.for_surge);
        released.copied().or_else(|| self.bodies.iter().find(open).map(|(number, _)| *number))
    }

    fn load(&mut self, number: u32) {
        let now = self.now;
        let Some(body) = self.bodies.get_mut(&number) else { return };
        (body.loaded, body.idle) = (true, false);
        // Until now it was paid for beside the node that it replaces.
        if std::mem::take(&mut body.for_surge) {
            self.surge_node_seconds += seconds_between(body.born, now);
        }
    }

    /// The claim is there, and nobody is taking it away.
    fn is_there(&self, name: &str) -> bool {
        self.numbers.get(name).and_then(|number| self.bodies.get(number)).is_some_and(|body| !body.deleting)
    }

    pub(super) fn placeholder(&self) -> Option<&Pod> {
        self.observation.placeholders.first()
    }

    /// Name of the node that the placeholder is bound to.
    pub(super) fn host(&self) -> Option<&str> {
        self.placeholder()?.spec.as_ref()?.node_name.as_deref().filter(|name| !name.is_empty())
    }

    fn hosts(&self, node: &str) -> bool {
        self.host() == Some(node)
    }

    fn is_protected(&self, node: &str) -> bool {
        let found = self.observation.nodes.iter().find(|other| other.metadata.name.as_deref() == Some(node));
        found.is_some_and(|node| node.annotations().get(DO_NOT_DISRUPT).map(String::as_str) == Some("true"))
    }

    /// A placeholder takes a node that has nothing to do, or has one launched.
    fn seat_placeholder(&mut self) {
        if self.placeholder().is_none() || self.host().is_some() {
            return;
        }
        let free = |body: &&Body| body.ready && !body.deleting && !body.loaded;
        let schedulable = |body: &&Body| {
            let node = self.observation.nodes.iter().find(|node| node.metadata.name.as_ref() == Some(&body.name));
            node.is_some_and(|node| !node.spec.as_ref().and_then(|spec| spec.unschedulable).unwrap_or(false))
        };
        let seat = self.bodies.values().filter(free).find(schedulable).map(|body| body.name.clone());
        if let Some(seat) = seat {
            if let Some(pod) = self.observation.placeholders.first_mut() {
                pod.spec.get_or_insert_default().node_name = Some(seat);
                pod.status = Some(PodStatus { phase: Some("Running".to_owned()), ..PodStatus::default() });
            }
        } else if !self.bodies.values().any(|body| !body.ready && !body.deleting && body.for_surge) {
            self.launch(true);
        }
    }

    /// Notes when nodes have nothing to do any more.
    fn watch_idle(&mut self) {
        let (host, waits) = (self.host().map(str::to_owned), self.placeholder().is_some() && self.host().is_none());
        let idle = |body: &Body| body.ready && !body.deleting && !body.loaded && host.as_deref() != Some(&body.name);
        let found: Vec<u32> =
            self.bodies.iter().filter(|(_, body)| idle(body) && !body.idle && !waits).map(|(number, _)| *number).collect();
        for number in found {
            self.with_body(number, |body| body.idle = true);
            self.push(later(self.now, self.plan.consolidate_after), Event::Idle(number));
        }
    }
}
