//! A counter-example as a story that a person can read.

use std::fmt;

use super::fair::{Fair, calm};
use crate::annotation::{Key, Value};
use crate::decide::Decider;
use crate::invariant::Violation;
use crate::moves::{Move, moves};
use crate::play::play;
use crate::setup::Setup;
use crate::worker::Event;
use crate::world::World;
use crate::world::write::{What, Write};

/// How a rule came to be broken.
#[derive(Clone, Debug)]
pub struct Story {
    /// What happened, in order.
    pub lines: Vec<String>,
    /// The rule that does not hold.
    pub violation: Violation,
    /// The moves, to be played again.
    pub moves: Vec<Move>,
}

impl Story {
    /// The story of a path from the beginning, given by the places of its moves; the last move may be the one that broke
    /// the rule, else it is the fair run from the last state.
    pub(super) fn of(setup: &Setup, decider: &Decider, places: &[u16], last: Option<Move>, violation: Violation) -> Self {
        let mut world = World::new(setup);
        let mut path = Vec::new();
        for place in places {
            let Some((what, _)) = moves(&world, setup, decider).get(usize::from(*place)).copied() else {
                break;
            };
            world = play(setup, decider, &world, what).after;
            path.push(what);
        }
        Self::tell_all(setup, decider, &path, last.is_none(), violation)
    }

    /// The story of moves from the beginning. Where none of them breaks the rule, the fair run after them does.
    #[must_use]
    pub fn of_moves(setup: &Setup, decider: &Decider, path: &[Move], violation: Violation) -> Self {
        let mut world = World::new(setup);
        let mut sound = true;
        for what in path {
            let played = play(setup, decider, &world, *what);
            sound &= played.violation.is_none();
            world = played.after;
        }
        Self::tell_all(setup, decider, path, sound, violation)
    }

    fn tell_all(setup: &Setup, decider: &Decider, path: &[Move], fair: bool, violation: Violation) -> Self {
        let mut world = World::new(setup);
        let mut story = Self { lines: Vec::new(), violation, moves: path.to_vec() };
        for what in path {
            let played = play(setup, decider, &world, *what);
            world = played.after;
            story.tell(&world, *what, played.event.as_ref());
        }
        if fair {
            story.lines.push("from here on nothing is perturbed any more".to_owned());
            let mut world = calm(&world);
            for what in Fair::default().follow(setup, decider, &world.clone()).moves {
                let played = play(setup, decider, &world, what);
                world = played.after;
                story.tell(&world, what, played.event.as_ref());
            }
        }
        story
    }

    fn tell(&mut self, after: &World, what: Move, event: Option<&Event>) {
        let line = match event {
            Some(Event::Rested(plan)) => format!("{what}: rests, {}", plan.activity),
            Some(Event::Decided(plan)) => {
                let list: Vec<String> = plan.writes.iter().map(written).collect();
                format!("{what}: decides {}, will write: {}", plan.activity, list.join(" | "))
            }
            Some(Event::Wrote { write, outcome, told, .. }) => {
                let told = if *told && !write.told.is_empty() { format!(", tells {:?}", write.told) } else { String::new() };
                format!("{what}: {}: {outcome:?}{told}", written(write))
            }
            Some(Event::Looked) => format!("{what}: has looked and waits"),
            Some(Event::NoPool) | None => what.to_string(),
        };
        self.lines.push(format!("{} {line}", after.now));
    }
}

/// A write in words.
fn written(write: &Write) -> String {
    let change = |change: &[(Key, Value)]| {
        let entry =
            |(key, value): &(Key, Value)| if value.is_present() { format!("{key:?}={}", value.text()) } else { format!("-{key:?}") };
        change.iter().map(entry).collect::<Vec<_>>().join(" ")
    };
    match &write.what {
        What::Pool { id, change: list } => format!("pool-{id} {}", change(list)),
        What::Claim { id, change: list } => format!("claim-{id} {}", change(list)),
        What::Node { id, change: list, unschedulable, .. } => {
            let cordon = match unschedulable {
                Some(true) => " cordon",
                Some(false) => " uncordon",
                None => "",
            };
            format!("node-{id} {}{cordon}", change(list))
        }
        What::Create { claim, milli, .. } => format!("create placeholder of claim-{claim} ({milli}m)"),
        What::DeletePod { claim } => format!("delete placeholder of claim-{claim}"),
        What::DeleteClaim { id } => format!("delete claim-{id}"),
    }
}

impl fmt::Display for Story {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, line) in self.lines.iter().enumerate() {
            writeln!(f, "{:4}  {line}", number + 1)?;
        }
        write!(f, "{}: {}", self.violation.rule, self.violation.sentence)
    }
}
