//! What is yet to happen, in the order of time; of one instant, what was planned first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use jiff::Timestamp;

/// Something that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// A node that was launched is Ready.
    Ready(u32),
    /// Karpenter gives a launch up.
    LaunchFails(u32),
    /// A node reaches its deadline.
    Expire(u32),
    /// A node has drained.
    Gone(u32),
    /// A node has had nothing to do for long.
    Idle(u32),
    /// The work needs so many nodes.
    Keep(u64),
    /// The work needs some more for a while.
    CycleBegins(usize),
    /// It no longer does.
    CycleEnds(usize),
    /// A person freezes the pool until then.
    Freeze(Timestamp),
    /// An operator takes the lead, and sweeps.
    NewLead,
    /// Something that was in the way is over.
    Look,
}

/// A queue of events.
#[derive(Debug, Default)]
pub(super) struct Events {
    heap: BinaryHeap<Reverse<(Timestamp, u64, Event)>>,
    pushed: u64,
}

impl Events {
    pub(super) fn push(&mut self, at: Timestamp, event: Event) {
        self.pushed += 1;
        self.heap.push(Reverse((at, self.pushed, event)));
    }

    /// When the next one happens.
    pub(super) fn next_at(&self) -> Option<Timestamp> {
        self.heap.peek().map(|Reverse((at, ..))| *at)
    }

    /// The next one, if it happens no later than `now`.
    pub(super) fn pop(&mut self, now: Timestamp) -> Option<Event> {
        self.next_at().filter(|at| *at <= now)?;
        self.heap.pop().map(|Reverse((.., event))| event)
    }
}
