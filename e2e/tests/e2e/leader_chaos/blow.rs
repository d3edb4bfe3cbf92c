//! What befalls a leader, and in which order.

use std::fmt;

use e2e::door::{Cut, Failing, Part};
use fastrand::Rng;

/// What befalls a leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blow {
    /// It is killed, and another process takes its place.
    Killed,
    /// It is stopped until another has led and written, and then goes on.
    Stopped,
    /// It is cut off from the API server until another has led and written.
    CutOff(Cut),
}

const fn cut_off(part: Part, failing: Failing) -> Blow {
    Blow::CutOff(Cut { part, failing })
}

/// All of them. The first are dealt in every run.
const BLOWS: [Blow; 8] = [
    Blow::Killed,
    Blow::Stopped,
    cut_off(Part::Lease, Failing::Silent),
    cut_off(Part::Lease, Failing::Unanswered),
    cut_off(Part::Everything, Failing::Refused),
    cut_off(Part::Everything, Failing::Reset),
    cut_off(Part::Everything, Failing::Silent),
    cut_off(Part::Everything, Failing::Unanswered),
];
const ALWAYS: usize = 3;

impl fmt::Display for Blow {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Killed => write!(to, "killed"),
            Self::Stopped => write!(to, "stopped"),
            Self::CutOff(cut) => write!(to, "{cut}"),
        }
    }
}

/// So many blows in an order of the seed's, each as often as any other; where nobody asks for a number, a few.
pub(super) fn dealt(random: &mut Rng, asked_for: Option<usize>) -> Vec<Blow> {
    let (always, others) = BLOWS.split_at(ALWAYS);
    let Some(number) = asked_for else {
        let mut few: Vec<Blow> = always.iter().copied().chain(random.choice(others).copied()).collect();
        random.shuffle(&mut few);
        return few;
    };
    let mut dealt = Vec::new();
    while dealt.len() < number {
        let mut deck = BLOWS;
        random.shuffle(&mut deck);
        dealt.extend(deck.into_iter().take(number - dealt.len()));
    }
    dealt
}
