//! The operator: the sweep when its lead is new, then the step, until there is nothing left to do at this instant.

use std::ops::ControlFlow;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container, Pod, PodSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::ResourceExt;
use noderotation_core::karpenter::node_leaving;
use noderotation_core::rotation::effect::{Effect, Planned, Proceed};
use noderotation_core::rotation::observation::{CloseUp, Look};
use noderotation_core::rotation::report::Activity;
use noderotation_core::rotation::{Decision, Next, step_again};
use noderotation_core::sweep::{self, Leftovers, Marked};
use noderotation_forecast::{effect, look};

use super::{Pace, Play, later};
use crate::report::End;

/// Looks and decisions of one instant; no pool has ever asked for a tenth of it.
const STEPS: usize = 64;

impl Play<'_> {
    /// Acts until nothing is left to do now, and notes when to look again.
    pub(super) fn operate(&mut self) {
        if std::mem::take(&mut self.new_lead) {
            let leftovers = self.leftovers();
            for effects in sweep::of_pool(Some(&self.observation.pool), &leftovers, self.now) {
                self.carry_out(effects);
            }
        }
        for _ in 0..STEPS {
            let Some(mut decision) = self.decide() else { break };
            let queue = decision.report.survey.as_ref().map_or(0, |survey| survey.eligible.len());
            self.longest_queue = self.longest_queue.max(queue);
            let effects = std::mem::take(&mut decision.effects);
            let wrote = !effects.is_empty();
            self.carry_out(effects);
            self.settle();
            if decision.next == Next::Again || wrote && !waits(&decision) {
                continue;
            }
            self.wake = self.next_look(&decision);
            return;
        }
        self.wake = Some(later(self.now, Duration::from_secs(1)));
    }

    fn next_look(&self, decision: &Decision) -> Option<Timestamp> {
        let own = decision.next_look(&self.observation.claims, self.now);
        let requeue = match (self.pace, decision.next) {
            (Pace::Requeues, Next::After(wait)) => Some(later(self.now, wait)),
            (Pace::Requeues | Pace::Events, _) => None,
        };
        // A second later at least, so that there is an end to it.
        own.into_iter().chain(requeue).min().map(|at| at.max(later(self.now, Duration::from_secs(1))))
    }

    /// The next decision, with everything that it must see.
    fn decide(&mut self) -> Option<Decision> {
        for _ in 0..STEPS {
            match step_again(&self.observation, self.now, &mut self.memory) {
                ControlFlow::Break(look) => self.serve(&look),
                ControlFlow::Continue(decision) => {
                    self.forget();
                    return Some(decision);
                }
            }
        }
        self.forget();
        None
    }

    fn forget(&mut self) {
        self.observation.close_up = None;
        self.observation.leftovers = None;
        self.memory.forget();
    }

    fn serve(&mut self, look: &Look) {
        match look {
            Look::CloseUp { claim } => self.observation.close_up = Some(look::close_up(&self.observation, claim, self.now)),
            Look::PodsOnCandidate => self.set(|close_up| close_up.pods_on_candidate = Some(Vec::new())),
            Look::PodsOnSurgeNode => {
                let pods = self.pods_on_surge_node();
                self.set(|close_up| close_up.pods_on_surge_node = Some(pods));
            }
            Look::Budgets => self.set(|close_up| close_up.budgets = Some(Vec::new())),
            Look::PoolNodes => {
                let nodes = self.observation.nodes.clone();
                self.set(|close_up| close_up.pool_nodes = Some(nodes));
            }
            Look::Leftovers => self.observation.leftovers = Some(self.leftovers()),
        }
    }

    fn set(&mut self, change: impl FnOnce(&mut CloseUp)) {
        if let Some(close_up) = &mut self.observation.close_up {
            change(close_up);
        }
    }

    fn leftovers(&self) -> Leftovers {
        let observation = &self.observation;
        let marked =
            Marked { placeholders: observation.placeholders.clone(), nodes: observation.nodes.clone(), claims: observation.claims.clone() };
        Leftovers { marked, anchored: sweep::anchored(std::slice::from_ref(&observation.pool), self.now) }
    }

    /// The placeholder, and the work if the node has any.
    fn pods_on_surge_node(&self) -> Vec<Pod> {
        let node = self.observation.close_up.as_ref().and_then(|close_up| close_up.surge_node.as_ref()).map(ResourceExt::name_any);
        let Some(node) = node else { return Vec::new() };
        let mut pods: Vec<Pod> = self.placeholder().filter(|_| self.host() == Some(node.as_str())).cloned().into_iter().collect();
        let loaded = self.numbers.get(&node).and_then(|number| self.bodies.get(number)).is_some_and(|body| body.loaded);
        pods.extend(loaded.then(|| work(&node)));
        pods
    }

    /// Carries writes out in order; each is told once it has landed.
    fn carry_out(&mut self, effects: Vec<Planned>) {
        for planned in effects {
            let goes_on = self.write(planned.effect);
            planned.then.into_iter().for_each(|announcement| self.hear(announcement));
            if !goes_on {
                return;
            }
        }
    }

    /// Whether the rest of the list may follow.
    fn write(&mut self, what: Effect) -> bool {
        self.memory.forget();
        match what {
            Effect::CreatePlaceholder { mut pod } => {
                pod.metadata.creation_timestamp = Some(Time(self.now));
                pod.metadata.uid = Some(format!("{}-{}", pod.name_any(), self.now.as_second()));
                if self.observation.placeholders.iter().all(|other| other.metadata.name != pod.metadata.name) {
                    self.observation.placeholders.push(*pod);
                }
            }
            Effect::DeleteClaim { claim } => {
                if let Some(number) = self.numbers.get(&claim.name).copied() {
                    let end = if self.is_in_rotation(&claim.name) { End::Rotated } else { End::Removed };
                    self.delete(number, end);
                }
            }
            Effect::MarkNode { node, change, unschedulable, proceed } => {
                let leaves = self.observation.nodes.iter().any(|other| other.name_any() == node.name && node_leaving(other));
                effect::write(&mut self.observation, Effect::MarkNode { node, change, unschedulable, proceed });
                return proceed == Proceed::Always || !leaves;
            }
            other @ (Effect::AnnotatePool { .. } | Effect::AnnotateClaim { .. } | Effect::DeletePlaceholder { .. }) => {
                effect::write(&mut self.observation, other);
            }
        }
        true
    }
}

/// Its writes are such that only what happens next, or the time, brings it on.
fn waits(decision: &Decision) -> bool {
    matches!(decision.report.activity, Activity::Pending(_) | Activity::Draining(_))
}

/// What runs on a node that has work.
fn work(node: &str) -> Pod {
    let container = Container { name: "main".to_owned(), ..Container::default() };
    let spec = PodSpec { node_name: Some(node.to_owned()), containers: vec![container], ..PodSpec::default() };
    let metadata = ObjectMeta { name: Some("work".to_owned()), uid: Some(format!("work-{node}")), ..ObjectMeta::default() };
    Pod { metadata, spec: Some(spec), status: None }
}
