//! Faults put into the product on purpose: the rules must catch each of them, or they hold nothing.
//!
//! The code that ships is not touched. It is made blind to something before it is asked, what it says is distorted
//! afterwards, it is given another policy, or the shell around it errs.

mod all;

use crate::plan::Plan;
use crate::setup::Schedule;
use crate::sight::Sight;
use crate::world::write::{What, Write};

pub use all::FAULTS;

/// A fault.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// What the product is made to do wrong.
    pub name: &'static str,
    /// How.
    pub kind: Kind,
}

/// How a fault is made.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// It does not see something.
    Blind(fn(&mut Sight)),
    /// It writes something else.
    Distorts(fn(&mut Plan)),
    /// It takes such a write for done and goes on.
    Skips(fn(&Write) -> bool),
    /// It judges by another policy.
    Believes(fn(&mut Schedule)),
    /// The shell errs.
    Shell(Shell),
}

/// How the shell errs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shell {
    /// It writes whatever the version is.
    Unconditional,
    /// It carries on with the list after a lost race.
    GoesOn,
    /// It tells before it knows whether the write has landed.
    TellsFirst,
}

impl Fault {
    /// What the product is made to see.
    #[must_use]
    pub fn seen(&self, sight: &Sight) -> Sight {
        let mut sight = sight.clone();
        if let Kind::Blind(to) = self.kind {
            to(&mut sight);
        }
        sight
    }

    /// What it is made to write. `None`: it takes its only write for done, and is asked again with [`Self::done`].
    #[must_use]
    pub fn written(&self, mut plan: Plan) -> Option<Plan> {
        match self.kind {
            Kind::Distorts(how) => how(&mut plan),
            Kind::Skips(which) if matches!(plan.writes.as_slice(), [write] if which(write)) => return None,
            Kind::Skips(_) | Kind::Blind(_) | Kind::Believes(_) | Kind::Shell(_) => {}
        }
        Some(plan)
    }

    /// The sight as if the plan had been carried out.
    pub fn done(sight: &mut Sight, plan: &Plan) {
        let Some(claim) = sight.close_up.as_mut().and_then(|close_up| close_up.claim.as_mut()) else {
            return;
        };
        for write in &plan.writes {
            if let What::Claim { change, .. } = &write.what {
                claim.annotations.apply(change);
            }
        }
    }

    /// The shell errs in this way.
    #[must_use]
    pub fn is(&self, shell: Shell) -> bool {
        matches!(self.kind, Kind::Shell(how) if how == shell)
    }
}
