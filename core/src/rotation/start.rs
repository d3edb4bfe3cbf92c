//! The start of a rotation: gates, candidate, headroom, anchor (§5.2 steps 2 and 3).

use kube::ResourceExt;

use crate::annotation::{ACTIVE_ROTATION, ClaimState, stored};
use crate::gate;
use crate::headroom;
use crate::policy::finding::Level;
use crate::rotation::announcement::{Announcement, Notice};
use crate::rotation::effect::Effect;
use crate::rotation::observation::Seen;
use crate::rotation::pass::{Pass, Rotation};
use crate::rotation::report::Activity;
use crate::rotation::reservation;
use crate::rotation::{Decision, Next};
use crate::schedule::LONG_REQUEUE;

/// Begins the rotation of the most urgent claim, or says why none begins.
pub(super) fn start(pass: &Pass<'_>) -> Seen<Decision> {
    if let Some(refusal) = refusal(pass) {
        return Seen::Continue(refusal);
    }
    let wait = Next::After(LONG_REQUEUE);
    let Some(candidate) = pass.survey.as_ref().and_then(|survey| survey.eligible.first()) else {
        let change = pass.survey.as_ref().and_then(|survey| survey.next_change);
        return Seen::Continue(pass.rest(Activity::NoEligibleClaim, pass.until(change)));
    };
    // From here on only live reads count: the survey above has taken the claim from the close-up.
    let close_up = pass.observation.close_up(&candidate.name)?;
    let Some(claim) = &close_up.claim else {
        return Seen::Continue(pass.rest(Activity::NoEligibleClaim, wait));
    };
    let rotation = Rotation::new(pass, close_up, claim);
    let Some(placeholder) = reservation::placeholder(&rotation)? else {
        return Seen::Continue(pass.rest(Activity::NoEligibleClaim, wait));
    };
    let shortfalls = headroom::shortfalls(pass.pool(), &placeholder.sizing.requests);
    if !shortfalls.is_empty() {
        let notice = Notice::headroom(&candidate.name, &shortfalls);
        let mut decision = pass.rest(Activity::NoHeadroom(shortfalls), wait);
        decision.notices.push(notice);
        return Seen::Continue(decision);
    }
    let anchor = Effect::AnnotatePool { pool: pass.pool_target(), change: [(ACTIVE_ROTATION, Some(candidate.name.clone()))].into() };
    let age = stored(pass.now).duration_since(candidate.created);
    let started = Announcement::Started {
        claim: candidate.name.clone(),
        age: age.try_into().unwrap_or_default(),
        deadline: candidate.deadline,
        eligible: pass.survey.as_ref().map_or(0, |survey| survey.eligible.len()),
    };
    let effects = vec![anchor.then(started)];
    Seen::Continue(pass.act(Activity::Starting(candidate.name.clone()), effects, Next::Again))
}

/// What keeps any rotation of the pool from beginning, the first that applies.
fn refusal(pass: &Pass<'_>) -> Option<Decision> {
    let wait = Next::After(LONG_REQUEUE);
    let Some(governing) = pass.governing.as_deref() else {
        return Some(match pass.conflict() {
            Some(message) => pass.rest(Activity::Conflict(message), wait),
            None => pass.rest(Activity::Ungoverned, Next::OnChange),
        });
    };
    if pass.pool().metadata.deletion_timestamp.is_some() {
        return Some(pass.rest(Activity::NodePoolDeleting, wait));
    }
    if pass.pool().spec.replicas.is_some() {
        let mut decision = pass.rest(Activity::StaticNodePool, wait);
        decision.notices.push(Notice::StaticNodePool);
        return Some(decision);
    }
    let findings = pass.derived.as_ref().map(|derived| derived.findings.as_slice()).unwrap_or_default();
    if findings.iter().any(|finding| finding.level == Level::Fatal) {
        return Some(pass.rest(Activity::Infeasible, wait));
    }
    if let Some(closed) = gate::first_closed(governing, &pass.marks, None, pass.now) {
        return Some(pass.rest(Activity::Gated(closed), pass.until(closed.until)));
    }
    orphan(pass).map(|name| pass.rest(Activity::OrphanDraining(name), wait))
}

/// A claim that still drains from a rotation whose anchor is gone: a second one must wait for it (review 6).
fn orphan(pass: &Pass<'_>) -> Option<String> {
    let mut claims = pass.observation.claims.iter();
    let orphan = claims.find(|claim| claim.deleting() && claim.marks(pass.now).state == ClaimState::Draining);
    orphan.map(ResourceExt::name_any)
}
