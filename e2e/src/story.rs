//! The stages of a rotation in the order in which they must be seen, and the events that tell of it.

use std::fmt;

use anyhow::Result;
use serde_json::Value;

use crate::cluster::Cluster;
use crate::sight::{Claim, Sight, list};

/// A stage of a rotation that shows in the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// The NodePool names the claim, and its node is cordoned.
    Started,
    /// The placeholder waits for a node.
    Reserving,
    /// The placeholder has a node that was not there before.
    Bound,
    /// The claim is being deleted.
    Draining,
    /// Claim and node are gone.
    Gone,
    /// All Pods run, one of them on the new node.
    Moved,
    /// Nothing is left of the rotation but its time.
    Released,
}

const STAGES: [Stage; 7] = [Stage::Started, Stage::Reserving, Stage::Bound, Stage::Draining, Stage::Gone, Stage::Moved, Stage::Released];

/// How far a rotation has been seen to get.
#[derive(Clone, Debug)]
pub struct Progress {
    claim: String,
    node: String,
    /// Nodes before the rotation.
    nodes: Vec<String>,
    /// Pods of the workload.
    pods: usize,
    /// The node that came.
    surge: Option<String>,
    told: usize,
    seen: Vec<(Stage, String)>,
}

impl Progress {
    /// Before the rotation of a claim.
    #[must_use]
    pub fn new(before: &Sight, claim: &Claim) -> Self {
        Self {
            claim: claim.name.clone(),
            node: claim.node.clone().unwrap_or_default(),
            nodes: before.nodes.iter().map(|node| node.name.clone()).collect(),
            pods: before.pods.len(),
            surge: None,
            told: 0,
            seen: Vec::new(),
        }
    }

    /// Whether every stage was seen and told.
    #[must_use]
    pub fn over(&self) -> bool {
        self.told == STAGES.len()
    }

    /// The node that came, once it was seen.
    #[must_use]
    pub fn surge_node(&self) -> Option<&str> {
        self.surge.as_deref()
    }

    /// Takes a look in, and returns what can be told now: stages in their order, none left out.
    pub fn look(&mut self, sight: &Sight) -> Vec<(Stage, String)> {
        for stage in STAGES {
            if !self.seen.iter().any(|(seen, _)| *seen == stage)
                && let Some(sentence) = self.sentence(stage, sight)
            {
                self.seen.push((stage, sentence));
            }
        }
        let mut news = Vec::new();
        while let Some(next) = STAGES.get(self.told).and_then(|next| self.seen.iter().find(|(stage, _)| stage == next)) {
            news.push(next.clone());
            self.told += 1;
        }
        news
    }

    /// What there is to say of a stage, if it is so.
    fn sentence(&mut self, stage: Stage, sight: &Sight) -> Option<String> {
        let placeholder = sight.placeholders.first();
        let surge = self.surge.clone();
        match stage {
            Stage::Started => {
                let cordoned = sight.nodes.iter().any(|node| node.name == self.node && node.unschedulable);
                let so = sight.anchor() == Some(&self.claim) && cordoned;
                so.then(|| format!("NodeClaim {} is to be replaced; node {} is cordoned, and its Pods run on", self.claim, self.node))
            }
            Stage::Reserving => {
                let waiting = placeholder.filter(|pod| pod.node.is_none())?;
                Some(format!("Pod {} is {}: it asks Karpenter for a node", waiting.name, waiting.phase))
            }
            Stage::Bound => {
                let node = placeholder?.node.clone().filter(|node| !self.nodes.contains(node))?;
                let sentence = format!("the placeholder is bound to the new node {node}");
                self.surge = Some(node);
                Some(sentence)
            }
            Stage::Draining => {
                let so = sight.mirrored() && sight.claim(&self.claim).is_some_and(|claim| claim.deleting);
                so.then(|| format!("the new node is ready; NodeClaim {} is deleted and Karpenter drains node {}", self.claim, self.node))
            }
            Stage::Gone => {
                let so = sight.claim(&self.claim).is_none() && !sight.has_node(&self.node);
                so.then(|| format!("node {} is gone", self.node))
            }
            Stage::Moved => {
                let running = sight.pods.iter().filter(|pod| pod.running() && pod.node.as_ref() != Some(&self.node));
                let there = running.clone().find(|pod| surge.is_some() && pod.node == surge)?;
                (running.count() == self.pods).then(|| format!("Pod {} runs on node {}", there.name, surge.unwrap_or_default()))
            }
            Stage::Released => {
                let at = sight.last_rotation_at()?;
                let so = sight.claim(&self.claim).is_none() && sight.marks(&["last-rotation-at"]).is_empty();
                so.then(|| format!("nothing of the rotation is left but its time, {at}"))
            }
        }
    }
}

/// An event, as a person reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Happening {
    /// When, RFC 3339.
    pub at: String,
    /// `Normal` or `Warning`.
    pub kind: String,
    /// Reason.
    pub reason: String,
    /// Kind and name of the object.
    pub about: String,
    /// Text.
    pub note: String,
}

impl fmt::Display for Happening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = self.at.get(11..19).unwrap_or(&self.at);
        write!(f, "{time} {} {} {}: {}", self.kind, self.reason, self.about, self.note)
    }
}

/// The operator's events about objects of these names, oldest first.
///
/// # Errors
/// When the API server does not answer.
pub async fn events(cluster: &Cluster, names: &[&str]) -> Result<Vec<Happening>> {
    let objects = list(&cluster.client(), ("events.k8s.io", "v1", "Event", "events"), Some("default"), "").await?;
    let mut events: Vec<Happening> = objects.iter().filter(|event| ours(event, names)).map(happening).collect();
    events.sort_by(|one, other| one.at.cmp(&other.at));
    Ok(events)
}

fn ours(event: &Value, names: &[&str]) -> bool {
    let reporter = text(event, "/reportingController").starts_with("noderotation.io/");
    reporter && names.contains(&text(event, "/regarding/name").as_str())
}

fn happening(event: &Value) -> Happening {
    Happening {
        at: text(event, "/eventTime"),
        kind: text(event, "/type"),
        reason: text(event, "/reason"),
        about: format!("{}/{}", text(event, "/regarding/kind"), text(event, "/regarding/name")),
        note: text(event, "/note"),
    }
}

fn text(object: &Value, path: &str) -> String {
    object.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
