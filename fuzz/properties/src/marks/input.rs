//! A world from any text, in a form that people can read.
//!
//! The first line is an instant. Each other line says one thing of one object, `pool`, `old`, `new`, `old-node`, `new-node` or
//! `pod`: `old state draining` is an annotation, and what is no key in [`World::fact`] is one of these too; a key without a slash
//! is ours. There is a placeholder only if a line speaks of it.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Taint};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use noderotation_core::annotation::DISRUPTED_TAINT;
use noderotation_core::resolve::Resolution;

use super::world::{Governed, World};

/// An instant at which the window is open.
const OPEN: Timestamp = Timestamp::constant(1_767_751_200, 0);
/// More than these show nothing that fewer do not.
const MOST_LINES: usize = 64;

impl World {
    /// The world that a text describes.
    pub(super) fn read(text: &str) -> Self {
        let mut lines = text.lines();
        let now = lines.next().and_then(|line| line.trim().parse().ok()).unwrap_or(OPEN);
        let mut world = Self::new(now);
        for line in lines.take(MOST_LINES) {
            let (object, rest) = word(line);
            let (key, value) = word(rest);
            if object == "pod" {
                world.reserve();
            }
            if !world.fact(object, key, value) {
                world.annotate(object, key, value);
            }
        }
        world
    }

    /// What a line says of an object apart from its annotations; false if it says nothing of the kind.
    fn fact(&mut self, object: &str, key: &str, value: &str) -> bool {
        let at = |text: &str| text.parse().ok().map(Time);
        match (object, key) {
            ("policy", "none") => self.policy = Governed::Nobody,
            ("policy", "fallback") => self.policy = Governed::Fallback,
            ("policy", "tie") => self.policy = Governed::Tie,
            ("policy", "eager") => self.policy = Governed::Eager,
            ("writes", "end") => self.left = value.parse().ok(),
            ("work", place) => self.work(place),
            ("pod", "bound") => self.bind(value),
            ("pod", "phase") => self.phase(value),
            ("pool", "expires") => self.pool.spec.template.spec.expire_after = Some(value.to_owned()),
            ("pool", "static") => self.pool.spec.replicas = value.parse().ok(),
            ("old" | "new", "expires") => self.claim(object, |claim| claim.spec.expire_after = Some(value.to_owned())),
            ("old" | "new", "grace") => self.claim(object, |claim| claim.spec.termination_grace_period = Some(value.to_owned())),
            ("old" | "new", "on") => self.claim(object, |claim| claim.status.get_or_insert_default().node_name = Some(value.to_owned())),
            ("old" | "new", "unready") => self.claim(object, |claim| claim.status = None),
            ("old-node" | "new-node", "unready") => self.node(object, |node| node.status = None),
            ("old-node" | "new-node", "leaving") => self.node(object, |node| taint(node, DISRUPTED_TAINT)),
            ("old-node" | "new-node", "cordoned") => {
                self.node(object, |node| node.spec.get_or_insert_default().unschedulable = Some(true));
            }
            (_, "gone") => self.take(object),
            (_, "created") => self.metadata(object, |metadata| metadata.creation_timestamp = at(value)),
            (_, "deleting") => {
                let now = self.now;
                self.metadata(object, |metadata| metadata.deletion_timestamp = at(value).or(Some(Time(now))));
            }
            (_, "label") => {
                let (label, value) = word(value);
                self.metadata(object, |metadata| drop(metadata.labels.get_or_insert_default().insert(label.to_owned(), value.to_owned())));
            }
            _ => return false,
        }
        true
    }

    fn annotate(&mut self, object: &str, key: &str, value: &str) {
        let key = if key.contains('/') { key.to_owned() } else { format!("noderotation.io/{key}") };
        self.metadata(object, |metadata| drop(metadata.annotations.get_or_insert_default().insert(key, value.to_owned())));
    }

    fn metadata(&mut self, object: &str, change: impl FnOnce(&mut ObjectMeta)) {
        let metadata = match object {
            "pool" => Some(&mut self.pool.metadata),
            "old" | "new" => self.claims.get_mut(object).map(|claim| &mut claim.metadata),
            "old-node" | "new-node" => self.nodes.get_mut(object).map(|node| &mut node.metadata),
            "pod" => self.placeholder().map(|pod| &mut pod.metadata),
            _ => None,
        };
        if let Some(metadata) = metadata {
            change(metadata);
        }
    }

    /// A policy governs the pool, as the operator sees it.
    pub(super) fn is_governed(&self) -> bool {
        matches!(self.governing(), Resolution::Governed(_))
    }
}

fn taint(node: &mut Node, key: &str) {
    let taint = Taint { key: key.to_owned(), effect: "NoSchedule".to_owned(), ..Taint::default() };
    node.spec.get_or_insert_default().taints.get_or_insert_default().push(taint);
}

/// The first word of a text, and the rest of it.
fn word(text: &str) -> (&str, &str) {
    text.split_once(' ').unwrap_or((text, ""))
}
