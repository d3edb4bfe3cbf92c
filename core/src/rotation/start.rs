//! The start of a rotation: gates, candidate, headroom, anchor (§5.2 steps 2 and 3).

use crate::annotation::{ACTIVE_ROTATION, stored};
use crate::gate;
use crate::headroom;
use crate::rotation::announcement::{Announcement, Notice};
use crate::rotation::effect::Effect;
use crate::rotation::observation::Seen;
use crate::rotation::pass::{Pass, Rotation};
use crate::rotation::report::Activity;
use crate::rotation::reservation;
use crate::rotation::{Decision, Next, ahead, failed, fallback, opening, orphan};
use crate::schedule::{Derived, LONG_REQUEUE, SHORT_REQUEUE};
use crate::selection::Candidate;

/// Begins the rotation of the most urgent claim, or says why none begins.
pub(super) fn start(pass: &Pass<'_>) -> Seen<Decision> {
    Seen::Continue(opening::note(pass, choose(pass)?))
}

fn choose(pass: &Pass<'_>) -> Seen<Decision> {
    if let Some(sweep) = orphan::put_right(pass)? {
        return Seen::Continue(sweep);
    }
    if let Some(repair) = ahead::put_right(pass) {
        return Seen::Continue(repair);
    }
    if let Some(refusal) = refusal(pass) {
        return Seen::Continue(refusal);
    }
    let closed = pass.governing.as_deref().and_then(|governing| gate::first_closed(governing, &pass.marks, None, pass.now));
    if let Some(candidate) = fallback::candidate(pass, closed) {
        return fallback::begin(pass, candidate);
    }
    if let Some(closed) = closed {
        return Seen::Continue(pass.rest(Activity::Gated(closed), pass.until(closed.until)));
    }
    let Some(candidate) = pass.survey.as_ref().and_then(|survey| survey.eligible.first()) else {
        return Seen::Continue(nothing_eligible(pass));
    };
    begin(pass, candidate)
}

/// Begins the rotation of the candidate, if one more node fits.
fn begin(pass: &Pass<'_>, candidate: &Candidate) -> Seen<Decision> {
    let Some(rotation) = confirmed(pass, candidate)? else {
        return Seen::Continue(behind(pass));
    };
    let Some(placeholder) = reservation::placeholder(&rotation)? else {
        return Seen::Continue(nothing_eligible(pass));
    };
    let shortfalls = headroom::shortfalls(pass.pool(), pass.claims(), &placeholder.sizing.requests);
    if !shortfalls.is_empty() {
        let notice = Notice::headroom(&candidate.name, &shortfalls);
        let mut decision = pass.rest(Activity::NoHeadroom(shortfalls), Next::After(LONG_REQUEUE));
        decision.notices.push(notice);
        return Seen::Continue(decision);
    }
    let mut change = failed::recorded(&rotation);
    change.insert(ACTIVE_ROTATION, Some(candidate.name.clone()));
    let anchor = Effect::AnnotatePool { pool: pass.pool_target(), change };
    let effects = vec![anchor.then(started(pass, candidate, false))];
    Seen::Continue(pass.act(Activity::Starting(candidate.name.clone()), effects, Next::Again))
}

/// The candidate as live reads show it: from here on only they count, and the survey has taken claim and node from them.
///
/// `None`: live reads have shown that the caches are behind.
pub(super) fn confirmed<'a>(pass: &'a Pass<'_>, candidate: &Candidate) -> Seen<Option<Rotation<'a>>> {
    let overtaken = pass.observation.close_up.as_ref().is_some_and(|close_up| close_up.name != candidate.name);
    if overtaken {
        return Seen::Continue(None);
    }
    let close_up = pass.observation.close_up(&candidate.name)?;
    let claim = close_up.claim.as_ref().filter(|claim| pass.has_claim(claim));
    Seen::Continue(claim.map(|claim| Rotation::new(pass, close_up, claim)))
}

/// The caches' choice is no longer one. Another is not made from the same caches: they would name the first again.
pub(super) fn behind(pass: &Pass<'_>) -> Decision {
    pass.rest(Activity::NoEligibleClaim, Next::After(SHORT_REQUEUE))
}

/// No claim may be rotated; the next look comes no later than the next claim's turn.
fn nothing_eligible(pass: &Pass<'_>) -> Decision {
    let change = pass.survey.as_ref().and_then(|survey| survey.next_change);
    pass.rest(Activity::NoEligibleClaim, pass.until(change))
}

/// What is told once the anchor is written.
pub(super) fn started(pass: &Pass<'_>, candidate: &Candidate, surgeless: bool) -> Announcement {
    let age = stored(pass.now).duration_since(candidate.created);
    Announcement::Started {
        claim: candidate.name.clone(),
        age: age.try_into().unwrap_or_default(),
        deadline: candidate.deadline,
        eligible: pass.survey.as_ref().map_or(0, |survey| survey.eligible.len()),
        surgeless,
    }
}

/// What keeps any rotation of the pool from beginning, the first that applies.
fn refusal(pass: &Pass<'_>) -> Option<Decision> {
    let wait = Next::After(LONG_REQUEUE);
    if pass.governing.is_none() {
        return Some(match pass.conflict() {
            Some(message) => pass.rest(Activity::Conflict(message), wait),
            None => pass.rest(Activity::Ungoverned, Next::OnChange),
        });
    }
    if pass.pool().metadata.deletion_timestamp.is_some() {
        return Some(pass.rest(Activity::NodePoolDeleting, wait));
    }
    if pass.pool().spec.replicas.is_some() {
        let mut decision = pass.rest(Activity::StaticNodePool, wait);
        decision.notices.push(Notice::StaticNodePool);
        return Some(decision);
    }
    // Each attempt would wait in vain for its surge, and a drain without one would leave Pods without a node.
    if pass.pool().is_broken() {
        let mut decision = pass.rest(Activity::NodePoolNotReady, wait);
        decision.notices.push(Notice::NodePoolNotReady);
        return Some(decision);
    }
    if pass.derived.as_ref().is_some_and(Derived::is_infeasible) {
        return Some(pass.rest(Activity::Infeasible, wait));
    }
    orphan::draining(pass).map(|name| pass.rest(Activity::OrphanDraining(name), wait))
}
