//! What a pass had seen when it decided, judged by the words of the specification and not by the product's own code.

use crate::annotation::{Key, Value};
use crate::instant::Instant;
use crate::setup::Policy;
use crate::sight::{CloseUp, Sight};
use crate::world::object::{Bytes, Phase, Pod, Role, Stage};

/// The facts that the invariants ask for once a write has landed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The time on the leader's clock.
    pub at: Instant,
    /// A cache of the worker stood still.
    pub lagging: bool,
    /// The anchor.
    pub anchor: Value,
    /// The mirror says `draining`.
    pub mirror: bool,
    /// A policy governs the pool.
    pub governed: bool,
    /// The placeholder ran, and was not terminating, on a Ready node of the pool that is not the candidate's and that
    /// nobody takes away (I2).
    pub reserved: bool,
    /// The claim was in rotation.
    pub begun: bool,
    /// The host of the surge was closed and ran nothing but the placeholder (I8).
    pub emptied: bool,
}

impl Facts {
    /// The canonical form.
    pub fn encode(&self, out: &mut Bytes) {
        out.word(self.at.0);
        out.word(self.anchor.0);
        out.flags([self.lagging, self.mirror, self.governed, self.reserved, self.begun, self.emptied]);
    }
}

/// The facts of a sight.
#[must_use]
pub fn facts(sight: &Sight, at: Instant, lagging: bool) -> Facts {
    let close_up = sight.close_up.as_ref();
    Facts {
        at,
        lagging,
        anchor: sight.pool.annotations.get(Key::Anchor),
        mirror: sight.pool.annotations.get(Key::Mirror).is("draining"),
        governed: sight.pool.selected && matches!(sight.policy, Policy::Valid | Policy::Hasty),
        reserved: close_up.is_some_and(|close_up| reserved(sight, close_up)),
        begun: close_up.is_some_and(begun),
        emptied: close_up.is_some_and(emptied),
    }
}

fn reserved(sight: &Sight, close_up: &CloseUp) -> bool {
    let Some((placeholder, host)) = close_up.placeholder.zip(close_up.surge_node) else {
        return false;
    };
    let owner = close_up.surge_claim.filter(|claim| claim.id == host.id);
    let sound_pod = placeholder.labelled && placeholder.phase == Phase::Running && !placeholder.terminating;
    let sound_node = host.ready && !host.tainted && !host.deleting && host.pool == sight.pool.id;
    let sound_claim = owner.is_some_and(|claim| claim.deleted.is_none() && claim.stage == Stage::Ready);
    let elsewhere = close_up.name.as_claim() != Some(host.id) && placeholder.node == Some(host.id);
    sound_pod && sound_node && sound_claim && elsewhere
}

fn begun(close_up: &CloseUp) -> bool {
    let state = close_up.claim.map(|claim| claim.annotations.get(Key::State)).unwrap_or_default();
    state.is_present() && !state.is("failed")
}

fn emptied(close_up: &CloseUp) -> bool {
    let own = |pod: &Pod| close_up.name.as_claim().map(Role::Placeholder) == Some(pod.role) && pod.labelled;
    let idle = |pod: &Pod| own(pod) || pod.phase == Phase::Failed;
    close_up.surge_node.is_some_and(|node| node.unschedulable)
        && close_up.pods_on_surge_node.as_ref().is_some_and(|pods| pods.iter().all(idle))
}
