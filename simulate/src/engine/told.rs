//! What the operator announces, made into a record, and what the record comes to.

use noderotation_core::resolve::Resolution;
use noderotation_core::rotation::announcement::{Announcement, Swept};

use super::Play;
use crate::report::{Attempt, Mode, Outcome, PoolReport, Window};
use crate::summary::Summary;

impl Play<'_> {
    /// Takes down what has landed.
    pub(super) fn hear(&mut self, announcement: Announcement) {
        match announcement {
            Announcement::Started { claim, deadline, surgeless, .. } => {
                let mode = if surgeless { Mode::Fallback } else { Mode::Surge };
                let (start, outcome) = (self.now, Outcome::Unfinished);
                self.rotations.push(Attempt { node: claim, start, drain: None, end: None, mode, outcome, deadline, margin_seconds: None });
            }
            Announcement::SurgeReady { claim, surge_path, .. } => {
                if surge_path.as_deref() == Some("absorbed") {
                    self.with_attempt(&claim, |attempt| attempt.mode = Mode::FreeRoom);
                }
            }
            Announcement::DrainStarted { claim, forceful_fallback, .. } => {
                let now = self.now;
                self.with_attempt(&claim, |attempt| {
                    attempt.drain = Some(now);
                    attempt.margin_seconds = attempt.deadline.map(|deadline| deadline.duration_since(now).as_secs());
                    if forceful_fallback {
                        attempt.mode = Mode::Fallback;
                    }
                });
            }
            Announcement::Completed { claim, drain, forceful_fallback, .. } => {
                // The node that came first was there all the while.
                if !forceful_fallback {
                    self.surge_node_seconds += drain.unwrap_or_default().as_secs();
                }
                self.end(&claim, Outcome::Success);
            }
            Announcement::Failed { claim, .. } => self.end(&claim, Outcome::Failed),
            Announcement::Expired { claim, .. } => self.end(&claim, Outcome::Expired),
            Announcement::GovernanceLost { claim, .. } | Announcement::Swept(Swept::Claim { claim }) => {
                self.end(&claim, Outcome::CalledOff);
            }
            Announcement::WindowMissed { opened_at, .. } => self.missed.push(opened_at),
            Announcement::ForcefulFallback { .. }
            | Announcement::PlaceholderCreated { .. }
            | Announcement::ForeignAnchor { .. }
            | Announcement::Swept(_)
            | Announcement::StampInFuture { .. }
            | Announcement::UnrecognisedOptOut { .. }
            | Announcement::ReservationLost { .. } => {}
        }
    }

    fn with_attempt(&mut self, claim: &str, change: impl FnOnce(&mut Attempt)) {
        let open = self.rotations.iter_mut().rev().take(8).find(|attempt| attempt.node == claim && attempt.end.is_none());
        if let Some(attempt) = open {
            change(attempt);
        }
    }

    fn end(&mut self, claim: &str, outcome: Outcome) {
        let now = self.now;
        self.with_attempt(claim, |attempt| (attempt.end, attempt.outcome) = (Some(now), outcome));
    }

    /// An attempt at the claim is under way.
    pub(super) fn is_in_rotation(&self, claim: &str) -> bool {
        self.rotations.iter().rev().take(8).any(|attempt| attempt.node == claim && attempt.end.is_none())
    }

    /// All that there is to tell.
    pub(super) fn report(self) -> PoolReport {
        let (start, end) = (self.fleet.start, self.fleet.end);
        let (governed_by, ungoverned, windows) = match &self.observation.governing {
            Resolution::Governed(governing) => (Some(governing.name.clone()), None, governing.windows.occurrences(start, end)),
            Resolution::Conflict { message, .. } | Resolution::Invalid { message, .. } => (None, Some(message.clone()), Vec::new()),
            Resolution::Ungoverned => (None, Some("no RotationPolicy selects it".to_owned()), Vec::new()),
        };
        let windows: Vec<Window> = windows.iter().map(|window| Window { open: window.open, close: window.close }).collect();
        let summary = Summary {
            windows: windows.len(),
            missed_windows: self.missed.len(),
            longest_queue: self.longest_queue,
            surge_node_seconds: self.surge_node_seconds,
            ..Summary::of(&self.lives, &self.rotations)
        };
        PoolReport {
            name: self.plan.name.clone(),
            governed_by,
            ungoverned,
            summary,
            windows,
            missed_windows: self.missed,
            rotations: self.rotations,
            nodes: self.lives,
        }
    }
}
