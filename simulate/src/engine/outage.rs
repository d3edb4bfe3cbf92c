//! Who does not reach the API server, and until when.

use jiff::Timestamp;

use crate::fleet::{Outage, Who};

/// All outages, those that touch joined.
pub(super) struct Outages {
    operator: Vec<(Timestamp, Timestamp)>,
    everybody: Vec<(Timestamp, Timestamp)>,
}

impl Outages {
    pub(super) fn of(all: &[Outage]) -> Self {
        let everybody = all.iter().filter(|outage| outage.of == Who::Everybody);
        // What nobody reaches, the operator does not reach either.
        Self { operator: joined(all.iter()), everybody: joined(everybody) }
    }

    /// When the operator is back, if it is away at `at`.
    pub(super) fn operator_until(&self, at: Timestamp) -> Option<Timestamp> {
        until(&self.operator, at)
    }

    /// When everybody is back, likewise.
    pub(super) fn everybody_until(&self, at: Timestamp) -> Option<Timestamp> {
        until(&self.everybody, at)
    }

    /// When the operator comes back, each time.
    pub(super) fn ends(&self) -> Vec<Timestamp> {
        self.operator.iter().map(|(_, to)| *to).collect()
    }
}

fn until(spells: &[(Timestamp, Timestamp)], at: Timestamp) -> Option<Timestamp> {
    spells.iter().find(|(from, to)| *from <= at && at < *to).map(|(_, to)| *to)
}

fn joined<'a>(outages: impl Iterator<Item = &'a Outage>) -> Vec<(Timestamp, Timestamp)> {
    let mut spells: Vec<(Timestamp, Timestamp)> = outages.map(|outage| (outage.from, outage.to)).collect();
    spells.sort_unstable();
    let mut joined: Vec<(Timestamp, Timestamp)> = Vec::new();
    for (from, to) in spells {
        match joined.last_mut() {
            Some((_, last)) if from <= *last => *last = to.max(*last),
            Some(_) | None => joined.push((from, to)),
        }
    }
    joined
}
