//! The stamp of an occurrence that was seen open, as part of what a pass over a pool without a rotation writes (D14).

use crate::annotation::{ACTIVE_ROTATION, Change, OpenedAt, WINDOW_OPENED_AT, stamp};
use crate::missed_window::{Circumstances, Judgement, Stamp, judge};
use crate::resolve::Resolution;
use crate::rotation::Decision;
use crate::rotation::announcement::Announcement;
use crate::rotation::effect::{Effect, Planned};
use crate::rotation::pass::Pass;

/// Adds what becomes of the stamp to a decision: to the write that anchors a rotation, or as a write of its own where
/// nothing else is written.
pub(super) fn note(pass: &Pass<'_>, mut decision: Decision) -> Decision {
    let Judgement { stamp: verdict, missed } = judgement(pass);
    let value = match verdict {
        Stamp::Keep => return decision,
        Stamp::Write(opened) => Some(stamp(opened)),
        Stamp::Remove => None,
    };
    let missed = missed.map(|opened_at| {
        let survey = pass.survey.as_ref();
        let (eligible, in_backoff) = survey.map_or((0, 0), |survey| (survey.eligible.len(), survey.in_backoff.len()));
        Announcement::WindowMissed { opened_at, eligible, in_backoff }
    });
    match decision.effects.first_mut() {
        Some(Planned { effect: Effect::AnnotatePool { change, .. }, then }) if change.contains_key(ACTIVE_ROTATION) => {
            change.insert(WINDOW_OPENED_AT, value);
            then.splice(0..0, missed);
        }
        // Something is put right first; the stamp's turn comes with the next step.
        Some(_) => {}
        None => {
            let change: Change = [(WINDOW_OPENED_AT, value)].into();
            let effect = Effect::AnnotatePool { pool: pass.pool_target(), change };
            decision.effects.push(Planned { effect, then: missed.into_iter().collect() });
        }
    }
    decision
}

fn judgement(pass: &Pass<'_>) -> Judgement {
    let opened = pass.marks.window_opened_at;
    // Nobody can say whether a pool in conflict had anything to rotate: the stamp waits for whoever governs it next.
    let undecided = matches!(pass.observation.governing, Resolution::Conflict { .. } | Resolution::Invalid { .. });
    let Some(governing) = pass.governing.as_deref().filter(|_| !pass.never_rotated()) else {
        let stamp = if opened == OpenedAt::Missing || undecided { Stamp::Keep } else { Stamp::Remove };
        return Judgement { stamp, missed: None };
    };
    let circumstances = Circumstances {
        windows: &governing.windows,
        opened,
        outstanding: pass.survey.as_ref().map_or(0, |survey| survey.eligible.len() + survey.in_backoff.len()),
        frozen: pass.marks.frozen(),
        last_rotation_at: pass.marks.last_rotation_at,
    };
    judge(&circumstances, pass.now)
}
