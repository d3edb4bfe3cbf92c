//! A decision of the product in the world's own terms.

use noderotation_core::annotation::NODEPOOL_LABEL;
use noderotation_core::placeholder::Amount;
use noderotation_core::rotation::announcement::{Announcement, Outcome};
use noderotation_core::rotation::effect::{Effect, Planned, Proceed, Target};
use noderotation_core::rotation::{Decision, Next};

use crate::annotation::{Key, Value};
use crate::sight::{Sight, Unrepresentable};
use crate::world::write::{Change, Told, What, Write};

/// A decision. The `version` of each write is the number of the copy that it was decided from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// In order.
    pub writes: Vec<Write>,
    /// Decide again at once.
    pub again: bool,
    /// The drain is said to be stuck.
    pub drain_stuck: bool,
    /// What the pool is said to be doing.
    pub activity: String,
}

impl Plan {
    /// Translates a decision.
    ///
    /// # Errors
    /// It writes something that the world cannot represent.
    pub fn of(decision: &Decision) -> Result<Self, Unrepresentable> {
        Ok(Self {
            writes: decision.effects.iter().map(write).collect::<Result<_, _>>()?,
            again: decision.next == Next::Again,
            drain_stuck: decision.report.drain_stuck,
            activity: format!("{:?}", decision.report.activity),
        })
    }

    /// The writes with the versions of the copies that were seen.
    ///
    /// # Errors
    /// A write names a version that was not seen: it would not be conditional (I10).
    pub fn bound(&self, sight: &Sight) -> Result<Vec<Write>, Unrepresentable> {
        let bind = |write: &Write| {
            let mut write = write.clone();
            if !matches!(write.what, What::Create { .. }) {
                let seen = sight.copy(write.version);
                let unseen = || Unrepresentable(format!("a write of a version that was not seen: {write:?}"));
                (write.version, write.uid) = seen.ok_or_else(unseen)?;
            }
            Ok(write)
        };
        self.writes.iter().map(bind).collect()
    }
}

fn write(planned: &Planned) -> Result<Write, Unrepresentable> {
    let (what, version) = match &planned.effect {
        Effect::AnnotatePool { pool, change } => (What::Pool { id: number(&pool.name, "pool-")?, change: changes(change)? }, copy(pool)?),
        Effect::AnnotateClaim { claim, change } => {
            (What::Claim { id: number(&claim.name, "claim-")?, change: changes(change)? }, copy(claim)?)
        }
        Effect::MarkNode { node, change, unschedulable, proceed } => {
            let id = number(&node.name, "node-")?;
            let unless_leaving = *proceed == Proceed::UnlessLeaving;
            (What::Node { id, change: changes(change)?, unschedulable: *unschedulable, unless_leaving }, copy(node)?)
        }
        Effect::CreatePlaceholder { pod } => {
            let name = pod.metadata.name.as_deref().unwrap_or_default();
            let requests = pod.spec.iter().flat_map(|spec| &spec.containers).filter_map(|c| c.resources.as_ref()?.requests.as_ref());
            let cpu = requests.filter_map(|requests| requests.get("cpu")).next();
            let milli = cpu.and_then(|cpu| thousandths(&cpu.0)).ok_or_else(|| Unrepresentable(format!("the request of {name}")))?;
            let pool = pod.metadata.labels.iter().flatten().find(|(key, _)| *key == NODEPOOL_LABEL).map(|(_, pool)| pool.as_str());
            let pool = number(pool.unwrap_or_default(), "pool-")?;
            (What::Create { claim: number(name, "noderotation-surge-claim-")?, pool, milli }, 0)
        }
        Effect::DeletePlaceholder { pod, .. } => (What::DeletePod { claim: number(&pod.name, "noderotation-surge-claim-")? }, copy(pod)?),
        Effect::DeleteClaim { claim } => (What::DeleteClaim { id: number(&claim.name, "claim-")? }, copy(claim)?),
    };
    Ok(Write { what, version, uid: 0, told: planned.then.iter().map(told).collect() })
}

fn number<N: std::str::FromStr>(name: &str, prefix: &str) -> Result<N, Unrepresentable> {
    name.strip_prefix(prefix).and_then(|number| number.parse().ok()).ok_or_else(|| Unrepresentable(format!("an object named {name:?}")))
}

/// The number of the copy that the write was decided from.
fn copy(target: &Target) -> Result<u32, Unrepresentable> {
    target.version.parse().map_err(|_| Unrepresentable(format!("an unconditional write of {}", target.name)))
}

/// The least number of thousandths of a cpu that a quantity holds.
fn thousandths(quantity: &str) -> Option<u32> {
    let amount = Amount::parse(quantity).ok()?;
    (0..=64_000).find(|milli| Amount::milli(*milli) >= amount)
}

fn changes(change: &noderotation_core::annotation::Change) -> Result<Change, Unrepresentable> {
    let entry = |(key, value): (&&'static str, &Option<String>)| {
        let known = Key::of(key).ok_or_else(|| Unrepresentable(format!("the annotation {key}")))?;
        let value = value.as_ref().map(|text| Value::read(text).ok_or_else(|| Unrepresentable(format!("{key}={text:?}"))));
        Ok((known, value.transpose()?.unwrap_or(Value::ABSENT)))
    };
    change.iter().map(entry).collect()
}

fn told(announcement: &Announcement) -> Told {
    match announcement {
        Announcement::Started { .. } => Told::Started,
        Announcement::PlaceholderCreated { .. } => Told::PlaceholderCreated,
        Announcement::SurgeReady { .. } => Told::SurgeReady,
        Announcement::DrainStarted { .. } => Told::DrainStarted,
        Announcement::Completed { .. } => Told::Completed,
        Announcement::Failed { .. } => Told::Failed,
        Announcement::Expired { .. } => Told::Expired,
        Announcement::GovernanceLost { .. } => Told::GovernanceLost,
        Announcement::ForeignAnchor { .. } => Told::ForeignAnchor,
        Announcement::ReservationLost { .. } => Told::ReservationLost,
        Announcement::ForcefulFallback { .. } => Told::ForcefulFallback,
        Announcement::Swept(_) => Told::Swept,
        Announcement::StampInFuture { .. } => Told::StampInFuture,
        Announcement::UnrecognisedOptOut { .. } => Told::UnrecognisedOptOut,
        Announcement::WindowMissed { .. } => Told::WindowMissed,
    }
}

impl Told {
    /// It counts as the outcome of a rotation.
    #[must_use]
    pub fn outcome(self) -> Option<Outcome> {
        match self {
            Self::Completed => Some(Outcome::Success),
            Self::Failed => Some(Outcome::Failure),
            Self::Expired => Some(Outcome::Expired),
            Self::Started
            | Self::PlaceholderCreated
            | Self::SurgeReady
            | Self::DrainStarted
            | Self::GovernanceLost
            | Self::ForeignAnchor
            | Self::ReservationLost
            | Self::ForcefulFallback
            | Self::Swept
            | Self::StampInFuture
            | Self::UnrecognisedOptOut
            | Self::WindowMissed => None,
        }
    }
}
