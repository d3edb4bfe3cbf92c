//! The invariants of one decision (D1), checked without the decider's own functions.

use std::collections::BTreeMap;

use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use kube::ResourceExt;

use super::world::World;
use crate::annotation::*;
use crate::rotation::Decision;
use crate::rotation::effect::Effect;

const COMPANIONS: [&str; 5] = [ACTIVE_ROTATION_STATE, DRAINING_AT, SURGE_WAIT, SURGE_PATH, ROTATION_MODE];

/// The pool's annotations while the writes of a decision land one by one.
struct Pool<'a> {
    world: &'a World,
    annotations: BTreeMap<String, String>,
}

/// Holds I2, I3, I4, I6, I7 and I8 against what the decision is about to do to the world.
pub(super) fn hold(world: &World, decision: &Decision) {
    let mut pool = Pool { world, annotations: world.pool.annotations().clone() };
    for (index, planned) in decision.effects.iter().enumerate() {
        match &planned.effect {
            Effect::AnnotatePool { change, .. } => pool.annotate(change, index + 1 == decision.effects.len()),
            Effect::AnnotateClaim { claim, change } => {
                let begins = matches!(change.get(STATE), Some(Some(state)) if state == "pending" || state == "draining");
                assert!(!begins || pool.anchor() == Some(&claim.name), "I3: {} begins without its anchor", claim.name);
            }
            Effect::MarkNode { node, change, unschedulable, .. } => pool.mark(&node.name, change, *unschedulable),
            Effect::CreatePlaceholder { .. } => assert!(pool.anchor().is_some(), "I3: a placeholder without an anchor"),
            Effect::DeletePlaceholder { pod, .. } => {
                let object = &world.pods[&pod.name];
                assert!(object.labels().contains_key(SURGE_FOR), "a stranger's Pod is deleted");
            }
            Effect::DeleteClaim { claim } if pool.anchor() == Some(&claim.name) => pool.drain(&claim.name),
            Effect::DeleteClaim { claim } => pool.reap(&claim.name),
        }
    }
}

impl Pool<'_> {
    fn anchor(&self) -> Option<&String> {
        self.annotations.get(ACTIVE_ROTATION).filter(|anchor| !anchor.is_empty())
    }

    fn annotate(&mut self, change: &Change, last: bool) {
        let before = self.anchor().cloned();
        for (key, value) in change {
            match value {
                Some(value) => self.annotations.insert((*key).to_owned(), value.clone()),
                None => self.annotations.remove(*key),
            };
        }
        for key in COMPANIONS {
            let left = self.annotations.contains_key(key) && (change.contains_key(key) || before.is_some());
            assert!(self.anchor().is_some() || !left, "I4: {key} without an anchor");
        }
        match (before, self.anchor()) {
            (None, Some(anchor)) => self.begin(&anchor.clone()),
            (Some(before), anchor) => {
                assert!(anchor.is_none() || anchor == Some(&before), "I1: an anchor is replaced");
                assert!(anchor.is_some() || last, "I3: something is done after the anchor is released");
            }
            (None, None) => {}
        }
    }

    /// A new anchor: at the begin of a rotation, or back on a claim that drains already.
    fn begin(&self, anchor: &str) {
        let claim = &self.world.claims[anchor];
        if claim.metadata.deletion_timestamp.is_some() {
            // What nobody understands may have been our drain, and so may what has a surge and says nothing.
            let state = claim.annotations().get(STATE).map(String::as_str).unwrap_or_default();
            let marked = |annotations: &BTreeMap<String, String>| annotations.get(SURGE_FOR).is_some_and(|claim| claim == anchor);
            let pods = self.world.pods.values().any(|pod| marked(pod.labels()) || marked(pod.annotations()));
            let surge = pods || self.world.nodes.values().any(|node| marked(node.annotations()));
            let ours = if state.is_empty() { surge } else { !["pending", "failed", "expired"].contains(&state) };
            assert!(ours, "I1: {anchor} is not ours to anchor");
            return;
        }
        let local = TimeZone::UTC.to_datetime(self.world.now);
        let open = [Weekday::Wednesday, Weekday::Saturday].contains(&local.weekday()) && (2..6).contains(&local.hour());
        assert!(open, "I7: a start outside the window");
        assert!(self.world.pool.spec.replicas.is_none() && self.world.pool.metadata.deletion_timestamp.is_none(), "I7: an unfit pool");
        let in_force = |freeze: &String| freeze.parse().map_or(true, |until: jiff::Timestamp| until > self.world.now);
        let frozen = self.annotations.get(FREEZE).filter(|freeze| !freeze.is_empty()).is_some_and(in_force);
        assert!(!frozen, "I7: a start during a freeze");
    }

    fn mark(&self, node: &str, change: &Change, unschedulable: Option<bool>) {
        let before = self.world.nodes[node].annotations();
        let has = |key: &str| before.contains_key(key);
        assert!(unschedulable != Some(false) || has(CORDONED), "I6: a person's cordon is lifted on {node}");
        if let Some(value) = change.get(DO_NOT_DISRUPT) {
            let by_a_person = before.get(DO_NOT_DISRUPT).is_some_and(|value| value == "true") && !has(DO_NOT_DISRUPT_OWNED);
            assert!(!by_a_person, "I6: a person's protection becomes {value:?} on {node}");
        }
        if let Some(Some(claim)) = change.get(SURGE_FOR) {
            assert_eq!(self.anchor(), Some(claim), "I3: {node} is marked without an anchor");
        }
    }

    /// I2: after the mirror, and with a sound reservation or without a surge on purpose.
    fn drain(&self, claim: &str) {
        let says = |key: &str, value: &str| self.annotations.get(key).is_some_and(|text| text == value);
        assert!(says(ACTIVE_ROTATION_STATE, "draining"), "I2: {claim} is deleted without the mirror");
        if says(ROTATION_MODE, "forceful-fallback") {
            return;
        }
        let world = self.world;
        let text = |map: &BTreeMap<String, String>, key: &str| map.get(key).cloned().unwrap_or_default();
        let sound = world.pods.values().any(|pod| {
            let host = pod.spec.as_ref().and_then(|spec| spec.node_name.clone()).unwrap_or_default();
            let candidate = world.claims[claim].status.as_ref().and_then(|status| status.node_name.clone());
            let ready = world.nodes.get(&host).is_some_and(|node| {
                let conditions = node.status.as_ref().and_then(|status| status.conditions.clone()).unwrap_or_default();
                let going = node.metadata.deletion_timestamp.is_some();
                conditions.iter().any(|c| c.type_ == "Ready" && c.status == "True")
                    && text(node.labels(), NODEPOOL_LABEL) == "pool"
                    && !going
            });
            text(pod.labels(), SURGE_FOR) == claim
                && pod.metadata.deletion_timestamp.is_none()
                && pod.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Running")
                && Some(&host) != candidate.as_ref()
                && ready
        });
        assert!(sound, "I2: {claim} is deleted without a reservation");
    }

    /// I8: only the recorded claim of a pending rotation, and nobody else on its node.
    fn reap(&self, claim: &str) {
        let world = self.world;
        let old = self.anchor().expect("I8: a claim is deleted without a rotation");
        let draining = self.annotations.get(ACTIVE_ROTATION_STATE).is_some_and(|text| text == "draining");
        assert!(!draining, "I8: a claim is reaped in mid-drain");
        assert_eq!(world.claims[old].annotations().get(SURGE_CLAIM).map(String::as_str), Some(claim), "I8: {claim} was not recorded");
        let host = world.claims[claim].status.as_ref().and_then(|status| status.node_name.clone());
        for pod in world.pods.values().filter(|pod| pod.spec.as_ref().and_then(|spec| spec.node_name.clone()) == host) {
            let ended = pod
                .status
                .as_ref()
                .and_then(|status| status.phase.as_deref())
                .is_some_and(|phase| phase != "Running" && phase != "Pending");
            assert!(ended || pod.labels().get(SURGE_FOR) == Some(old), "I8: {claim} is reaped under {}", pod.name_any());
        }
    }
}
