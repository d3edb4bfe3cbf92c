//! The objects of the world, as the API server holds them and with what only the world knows of them.
//!
//! What only the world knows (who cordoned, who deleted, for whom a node was launched) is for the invariants; the
//! product never sees it.

use std::fmt;

use crate::annotation::Annotations;
use crate::instant::Instant;

/// A NodePool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Its number, and its name.
    pub id: u8,
    /// `resourceVersion`.
    pub version: u32,
    /// It carries the label that the policy selects.
    pub selected: bool,
    /// `spec.replicas` is set.
    pub fixed: bool,
    /// Its limit of nodes leaves no room.
    pub full: bool,
    /// Its annotations.
    pub annotations: Annotations,
    /// Outcomes told since the anchor was written; only the world knows.
    pub told: u8,
    /// An attempt was begun under this anchor; only the world knows.
    pub begun: bool,
    /// A person has taken the annotations away since the last write of ours; only the world knows.
    pub stripped: bool,
    /// The answer to a write of this rotation was lost, so that an outcome may go untold; only the world knows.
    pub answer_lost: bool,
}

/// How far Karpenter has come with a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// It exists.
    Launched,
    /// It has a Node, which is not initialized.
    Registered,
    /// Ready and initialized.
    Ready,
}

/// Who asked for the deletion of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deleter {
    /// The product, as the claim to be rotated.
    Us,
    /// The product, as the claim of a surge that came too late.
    Reaper,
    /// Karpenter: expired, consolidated, drifted.
    Karpenter,
    /// A person.
    Person,
}

/// A NodeClaim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Its number, and its name.
    pub id: u16,
    /// `resourceVersion`.
    pub version: u32,
    /// The NodePool that its label names.
    pub pool: u8,
    /// `creationTimestamp`.
    pub created: Instant,
    /// `spec.expireAfter` in seconds; 0 is `Never`.
    pub expire_after: u32,
    /// `spec.terminationGracePeriod` in seconds; 0 is unset.
    pub grace: u32,
    /// `deletionTimestamp`.
    pub deleted: Option<Instant>,
    /// How far Karpenter has come.
    pub stage: Stage,
    /// Condition `DisruptionReason`.
    pub disrupted: bool,
    /// Its annotations.
    pub annotations: Annotations,
    /// For the placeholder of this claim; only the world knows.
    pub launched_for: Option<u16>,
    /// Claims whose placeholder was waiting for a node when this one was launched, a bit each; only the world knows.
    pub awaited: u32,
    /// Who asked for its deletion; only the world knows.
    pub deleter: Option<Deleter>,
    /// A PodDisruptionBudget holds its drain up; only the world knows.
    pub stuck: bool,
    /// The product has taken a sound reservation of it away; only the world knows.
    pub withdrawn: bool,
}

/// A Node; it has the number of its claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its number, and its name.
    pub id: u16,
    /// `resourceVersion`.
    pub version: u32,
    /// The NodePool that its label names.
    pub pool: u8,
    /// Condition `Ready`.
    pub ready: bool,
    /// `spec.unschedulable`.
    pub unschedulable: bool,
    /// Karpenter's taint `disrupted`.
    pub tainted: bool,
    /// `deletionTimestamp` is set.
    pub deleting: bool,
    /// Its annotations.
    pub annotations: Annotations,
    /// A person cordoned it; only the world knows.
    pub cordoned_by_person: bool,
    /// A person set `do-not-disrupt: "true"`; only the world knows.
    pub protected_by_person: bool,
}

/// What a Pod is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Has the name of the placeholder of this claim.
    Placeholder(u16),
    /// Somebody's work.
    Work(u16),
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Placeholder(id) => write!(f, "the placeholder of claim-{id}"),
            Self::Work(id) => write!(f, "work-{id}"),
        }
    }
}

/// `status.phase`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Not yet running.
    Pending,
    /// Running.
    Running,
    /// Has run to its end or was evicted by the kubelet.
    Failed,
}

/// A Pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pod {
    /// What it is, and its name.
    pub role: Role,
    /// `uid`.
    pub uid: u32,
    /// `resourceVersion`.
    pub version: u32,
    /// `creationTimestamp`.
    pub created: Instant,
    /// It asks for a node of this NodePool.
    pub pool: Option<u8>,
    /// `spec.nodeName`.
    pub node: Option<u16>,
    /// `status.phase`.
    pub phase: Phase,
    /// `deletionTimestamp` is set.
    pub terminating: bool,
    /// Requested cpu, in thousandths.
    pub milli: u32,
    /// A placeholder by its label, not only by its name.
    pub labelled: bool,
}

/// Somewhere to put the canonical form of an object.
#[derive(Debug, Default)]
pub struct Bytes(pub Vec<u8>);

impl Bytes {
    /// A small number.
    pub fn byte(&mut self, value: u8) {
        self.0.push(value);
    }

    /// A number.
    pub fn half(&mut self, value: u16) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    /// A large number.
    pub fn word(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    /// Yes or no, several at once.
    pub fn flags<const N: usize>(&mut self, flags: [bool; N]) {
        let mut byte = 0u8;
        for flag in flags {
            byte = (byte << 1) | u8::from(flag);
        }
        self.byte(byte);
    }

    /// A number that may be missing.
    pub fn maybe(&mut self, value: Option<u16>) {
        self.half(value.map_or(0, |value| value.saturating_add(1)));
    }

    fn annotations(&mut self, annotations: &Annotations, places: usize) {
        for value in annotations.words().iter().take(places) {
            self.word(value.0);
        }
    }
}

impl Pool {
    /// What the product can see of it, without the version.
    pub fn encode(&self, out: &mut Bytes) {
        out.byte(self.id);
        out.flags([self.selected, self.fixed, self.full]);
        out.annotations(&self.annotations, crate::annotation::POOL.len());
    }

    /// What only the world knows.
    pub fn encode_hidden(&self, out: &mut Bytes) {
        out.byte(self.told);
        out.flags([self.begun, self.answer_lost, self.stripped]);
    }
}

impl Claim {
    /// What the product can see of it, without the version.
    pub fn encode(&self, out: &mut Bytes) {
        out.half(self.id);
        out.byte(self.pool);
        out.word(self.created.0);
        out.word(self.expire_after);
        out.word(self.grace);
        out.word(self.deleted.map_or(0, |at| at.0));
        out.byte(match self.stage {
            Stage::Launched => 0,
            Stage::Registered => 1,
            Stage::Ready => 2,
        });
        out.flags([self.disrupted]);
        out.annotations(&self.annotations, crate::annotation::CLAIM.len());
    }

    /// What only the world knows.
    pub fn encode_hidden(&self, out: &mut Bytes) {
        out.maybe(self.launched_for);
        out.word(self.awaited);
        out.byte(match self.deleter {
            None => 0,
            Some(Deleter::Us) => 1,
            Some(Deleter::Reaper) => 2,
            Some(Deleter::Karpenter) => 3,
            Some(Deleter::Person) => 4,
        });
        out.flags([self.stuck, self.withdrawn]);
    }

    /// When Karpenter deletes it by force.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        (self.expire_after > 0).then(|| self.created.plus(self.expire_after))
    }

    /// The placeholder of `claim` was waiting when this claim was launched.
    #[must_use]
    pub fn awaited_by(&self, claim: u16) -> bool {
        1u32.checked_shl(claim.into()).is_some_and(|bit| self.awaited & bit != 0)
    }

    /// It has a Node.
    #[must_use]
    pub fn has_node(&self) -> bool {
        self.stage >= Stage::Registered
    }
}

impl Node {
    /// What the product can see of it, without the version.
    pub fn encode(&self, out: &mut Bytes) {
        out.half(self.id);
        out.byte(self.pool);
        out.flags([self.ready, self.unschedulable, self.tainted, self.deleting]);
        out.annotations(&self.annotations, crate::annotation::NODE.len());
    }

    /// What only the world knows.
    pub fn encode_hidden(&self, out: &mut Bytes) {
        out.flags([self.cordoned_by_person, self.protected_by_person]);
    }

    /// New Pods may be scheduled there.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.ready && !self.unschedulable && !self.tainted && !self.deleting
    }
}

impl Pod {
    /// What the product can see of it, without version and uid.
    pub fn encode(&self, out: &mut Bytes) {
        let (kind, id) = match self.role {
            Role::Placeholder(id) => (0, id),
            Role::Work(id) => (1, id),
        };
        out.byte(kind);
        out.half(id);
        out.word(self.created.0);
        out.byte(self.pool.unwrap_or(u8::MAX));
        out.maybe(self.node);
        out.byte(match self.phase {
            Phase::Pending => 0,
            Phase::Running => 1,
            Phase::Failed => 2,
        });
        out.flags([self.terminating, self.labelled]);
        out.word(self.milli);
    }
}
