//! Writes as the API server carries them out: under preconditions, and without a new version where nothing changes.

use crate::annotation::{Key, Value};
use crate::world::World;
use crate::world::object::{Bytes, Deleter, Phase, Pod, Role};

/// A change of annotations.
pub type Change = Vec<(Key, Value)>;

/// One write of the product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// Annotations of a NodePool.
    Pool {
        /// Which.
        id: u8,
        /// What changes.
        change: Change,
    },
    /// Annotations of a NodeClaim.
    Claim {
        /// Which.
        id: u16,
        /// What changes.
        change: Change,
    },
    /// Annotations of a Node, and whether it is cordoned.
    Node {
        /// Which.
        id: u16,
        /// What changes.
        change: Change,
        /// Cordon, uncordon, or leave as it is.
        unschedulable: Option<bool>,
        /// The list ends if the answer shows that the node is being taken away.
        unless_leaving: bool,
    },
    /// Create the placeholder of a claim.
    Create {
        /// The claim.
        claim: u16,
        /// The NodePool that it asks for.
        pool: u8,
        /// Requested cpu, in thousandths.
        milli: u32,
    },
    /// Delete the placeholder of a claim.
    DeletePod {
        /// The claim.
        claim: u16,
    },
    /// Delete a claim.
    DeleteClaim {
        /// Which.
        id: u16,
    },
}

impl What {
    /// What kind of write it is.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Pool { .. } => "write pool",
            Self::Claim { .. } => "write claim",
            Self::Node { .. } => "write node",
            Self::Create { .. } => "create placeholder",
            Self::DeletePod { .. } => "delete placeholder",
            Self::DeleteClaim { .. } => "delete claim",
        }
    }

    /// What it changes of annotations.
    #[must_use]
    pub fn change(&self) -> &[(Key, Value)] {
        match self {
            Self::Pool { change, .. } | Self::Claim { change, .. } | Self::Node { change, .. } => change,
            Self::Create { .. } | Self::DeletePod { .. } | Self::DeleteClaim { .. } => &[],
        }
    }

    /// Numbers of claims in it.
    #[must_use]
    pub fn numbers(&self) -> Vec<u16> {
        let id = match self {
            Self::Pool { .. } => None,
            Self::Claim { id, .. } | Self::Node { id, .. } | Self::DeleteClaim { id } => Some(*id),
            Self::Create { claim, .. } | Self::DeletePod { claim } => Some(*claim),
        };
        self.change().iter().filter_map(|(_, value)| value.as_claim()).chain(id).collect()
    }
}

/// What the product tells once a write has landed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is described where the product declares it")]
pub enum Told {
    Started,
    PlaceholderCreated,
    SurgeReady,
    DrainStarted,
    Completed,
    Failed,
    Expired,
    GovernanceLost,
    ForeignAnchor,
    ReservationLost,
    ForcefulFallback,
    Swept,
    StampInFuture,
    UnrecognisedOptOut,
    WindowMissed,
}

/// A write with its preconditions and what is told once it has landed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// What is written.
    pub what: What,
    /// The `resourceVersion` that the object must have.
    pub version: u32,
    /// The `uid` that a Pod must have.
    pub uid: u32,
    /// Told afterwards.
    pub told: Vec<Told>,
}

/// How a write went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It landed.
    Landed,
    /// What was wanted was there before.
    Already,
    /// Somebody was faster.
    Conflict,
    /// It landed, and the answer shows that the node is being taken away.
    Leaving,
    /// The API server does not let the placeholder in.
    Rejected,
}

impl World {
    /// Carries a write out.
    pub fn carry_out(&mut self, write: &Write) -> Outcome {
        match &write.what {
            What::Pool { id, change } => self.patch_pool(*id, change, write.version),
            What::Claim { id, change } => self.patch_claim(*id, change, write.version),
            What::Node { id, change, unschedulable, unless_leaving } => {
                let outcome = self.patch_node(*id, change, *unschedulable, write.version);
                let leaving = self.node(*id).is_some_and(|node| node.tainted || node.deleting);
                if outcome == Outcome::Landed && *unless_leaving && leaving { Outcome::Leaving } else { outcome }
            }
            What::Create { claim, pool, milli } => self.create(*claim, *pool, *milli),
            What::DeletePod { claim } => self.delete_pod(*claim, write),
            What::DeleteClaim { id } => self.delete_claim(*id, write.version),
        }
    }

    /// The version that a write would have to name to land.
    #[must_use]
    pub fn version_of(&self, what: &What) -> Option<u32> {
        match what {
            What::Pool { id, .. } => self.pool(*id).map(|pool| pool.version),
            What::Claim { id, .. } | What::DeleteClaim { id } => self.claim(*id).map(|claim| claim.version),
            What::Node { id, .. } => self.node(*id).map(|node| node.version),
            What::Create { .. } => None,
            What::DeletePod { claim } => self.pod(Role::Placeholder(*claim)).map(|pod| pod.version),
        }
    }

    /// A patch that sets what is set already raises no version.
    fn patch_pool(&mut self, id: u8, change: &Change, version: u32) -> Outcome {
        let Some(pool) = self.pool(id).filter(|pool| pool.version == version) else {
            return Outcome::Conflict;
        };
        if pool.annotations.differ_from(change) {
            self.change_pool(id, |pool| pool.annotations.apply(change));
        }
        Outcome::Landed
    }

    fn patch_claim(&mut self, id: u16, change: &Change, version: u32) -> Outcome {
        let Some(claim) = self.claim(id).filter(|claim| claim.version == version) else {
            return Outcome::Conflict;
        };
        if claim.annotations.differ_from(change) {
            self.change_claim(id, |claim| claim.annotations.apply(change));
        }
        Outcome::Landed
    }

    fn patch_node(&mut self, id: u16, change: &Change, unschedulable: Option<bool>, version: u32) -> Outcome {
        let Some(node) = self.node(id).filter(|node| node.version == version) else {
            return Outcome::Conflict;
        };
        let flips = unschedulable.is_some_and(|unschedulable| unschedulable != node.unschedulable);
        if flips || node.annotations.differ_from(change) {
            self.change_node(id, |node| {
                node.annotations.apply(change);
                node.unschedulable = unschedulable.unwrap_or(node.unschedulable);
                node.cordoned_by_person &= node.unschedulable;
                node.protected_by_person &= node.annotations.get(Key::Protection).is("true");
            });
        }
        Outcome::Landed
    }

    fn create(&mut self, claim: u16, pool: u8, milli: u32) -> Outcome {
        let role = Role::Placeholder(claim);
        if self.pod(role).is_some() {
            return Outcome::Already;
        }
        if self.rejecting {
            return Outcome::Rejected;
        }
        self.add_pod(role, milli, Some(pool), None, Phase::Pending);
        self.claims.iter_mut().filter(|other| other.id == claim).for_each(|claim| claim.withdrawn = false);
        Outcome::Landed
    }

    fn delete_pod(&mut self, claim: u16, write: &Write) -> Outcome {
        let role = Role::Placeholder(claim);
        match self.pod(role) {
            None => Outcome::Already,
            Some(pod) if pod.uid != write.uid || pod.version != write.version => Outcome::Conflict,
            Some(pod) => {
                let sound = self.is_sound(pod);
                self.claims.iter_mut().filter(|other| other.id == claim).for_each(|claim| claim.withdrawn |= sound);
                // Its grace period is zero: the API server does not wait for the kubelet.
                self.pods.retain(|pod| pod.role != role);
                Outcome::Landed
            }
        }
    }

    /// The placeholder reserves what it stands for.
    #[must_use]
    pub fn is_sound(&self, placeholder: &Pod) -> bool {
        let host = placeholder.node.and_then(|id| self.node(id).zip(self.claim(id)));
        placeholder.phase == Phase::Running
            && !placeholder.terminating
            && host.is_some_and(|(node, claim)| !node.tainted && !node.deleting && claim.deleted.is_none())
    }

    fn delete_claim(&mut self, id: u16, version: u32) -> Outcome {
        match self.claim(id) {
            None => Outcome::Already,
            Some(claim) if claim.version != version => Outcome::Conflict,
            Some(claim) => {
                if claim.deleted.is_none() {
                    let now = self.now;
                    let rotated = self.pools.iter().any(|pool| pool.annotations.get(Key::Anchor) == Value::claim(id));
                    self.change_claim(id, |claim| {
                        claim.deleted = Some(now);
                        claim.deleter = Some(if rotated { Deleter::Us } else { Deleter::Reaper });
                    });
                }
                Outcome::Landed
            }
        }
    }
}

impl Write {
    /// Its canonical form: of its preconditions only whether they hold.
    pub fn encode(&self, world: &World, out: &mut Bytes) {
        let (kind, id) = match &self.what {
            What::Pool { id, .. } => (0, u16::from(*id)),
            What::Claim { id, .. } => (1, *id),
            What::Node { id, .. } => (2, *id),
            What::Create { claim, .. } => (3, *claim),
            What::DeletePod { claim } => (4, *claim),
            What::DeleteClaim { id } => (5, *id),
        };
        out.byte(kind);
        out.half(id);
        for (key, value) in self.what.change() {
            out.byte(*key as u8);
            out.word(value.0);
        }
        if let What::Node { unschedulable, unless_leaving, .. } = &self.what {
            out.flags([unschedulable.is_some(), *unschedulable == Some(true), *unless_leaving]);
        }
        if let What::Create { pool, milli, .. } = &self.what {
            out.byte(*pool);
            out.word(*milli);
        }
        for told in &self.told {
            out.byte(0x80 | *told as u8);
        }
        out.flags([world.version_of(&self.what) == Some(self.version)]);
    }
}
