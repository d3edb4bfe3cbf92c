//! What is told of a pool: its claims as they are, and what will become of them.

use jiff::{SignedDuration, Timestamp};
use noderotation_core::resolve::Resolution;
use noderotation_core::rotation::report::Report;
use noderotation_core::rotation::stuck::Holds;
use noderotation_core::selection::Standing;

/// How a node comes to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// Rotated, with a node launched in its place first.
    Provisioned,
    /// Rotated, with room found on another node of its pool first.
    Absorbed,
    /// Rotated without a surge, near its deadline.
    Surgeless,
    /// Expired by force, since no rotation comes in time.
    Expired,
}

/// The end of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Name of the NodeClaim.
    pub claim: String,
    /// Name of its Node, where it has one.
    pub node: Option<String>,
    /// It is none of those that were there at the beginning, but came in the place of one.
    pub successor: bool,
    /// How it ends.
    pub mode: Mode,
    /// When its rotation begins; of one that was in flight already, when it began.
    pub start: Timestamp,
    /// When the drain begins. From here on no deadline matters.
    pub drain: Timestamp,
    /// When it is expected to be gone.
    pub end: Timestamp,
    /// When Karpenter would delete it by force; `None` is never.
    pub deadline: Option<Timestamp>,
}

impl Entry {
    /// What is left until the deadline when the drain begins; `None` without a deadline.
    #[must_use]
    pub fn margin(&self) -> Option<SignedDuration> {
        Some(self.deadline?.duration_since(self.drain))
    }
}

/// One claim as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimForecast {
    /// Its name.
    pub name: String,
    /// Name of its Node, where it has one.
    pub node: Option<String>,
    /// When it was created; `None` if that is not known.
    pub created: Option<Timestamp>,
    /// From when on it is due; `None` is never.
    pub due: Option<Timestamp>,
    /// When Karpenter deletes it by force; `None` is never.
    pub deadline: Option<Timestamp>,
    /// What selection makes of it.
    pub standing: Standing,
    /// What would hold its drain up now.
    pub holds: Holds,
}

/// What is expected of a pool.
#[derive(Clone, Debug)]
pub struct PoolForecast {
    /// Its name.
    pub pool: String,
    /// Who governs it.
    pub governing: Resolution,
    /// What a pass over it would see now; `None` if that cannot be said.
    pub report: Option<Report>,
    /// Its claims, by name; none without a policy, which alone says what they are due for.
    pub claims: Vec<ClaimForecast>,
    /// The ends of its nodes, in their order.
    pub entries: Vec<Entry>,
    /// Openings that go by unused although claims are due.
    pub missed: Vec<Timestamp>,
    /// Nothing is told of what comes later than this: the pool's nodes come and go too often for it.
    pub cut: Option<Timestamp>,
}

impl PoolForecast {
    /// Those that were there at the beginning.
    pub fn of_present_claims(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| !entry.successor)
    }
}
