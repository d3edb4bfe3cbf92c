//! What every state of a rotation works with: the pool as read, its policy, and the claim in rotation.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;

use crate::annotation::{ClaimMarks, Freeze, NODEPOOL_LABEL, PoolMarks};
use crate::karpenter::{NodeClaim, NodePool};
use crate::policy::finding::Level;
use crate::policy::governing::Governing;
use crate::resolve::Resolution;
use crate::rotation::announcement::Notice;
use crate::rotation::effect::{Planned, Target};
use crate::rotation::observation::{CloseUp, Observation};
use crate::rotation::report::{Activity, Report};
use crate::rotation::{Decision, Next};
use crate::schedule::{self, Derived, LONG_REQUEUE, PoolLife};
use crate::selection::{self, Survey};
use crate::window::Measures;

/// One look at one pool.
pub(super) struct Pass<'a> {
    pub(super) observation: &'a Observation,
    pub(super) now: Timestamp,
    pub(super) marks: PoolMarks,
    pub(super) governing: Option<Arc<Governing>>,
    pub(super) derived: Option<Derived>,
    pub(super) survey: Option<Survey>,
}

/// What a pass has worked out, for another one over the same objects at the same instant.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    judged: Option<Judged>,
    measured: Option<Measured>,
}

/// What was measured on a policy's windows, which neither objects nor a little time change.
#[derive(Clone, Debug)]
struct Measured {
    governing: Arc<Governing>,
    from: Timestamp,
    /// Before this it comes to the same.
    held: Timestamp,
    measures: Option<Measures>,
}

#[derive(Clone, Debug)]
struct Judged {
    marks: PoolMarks,
    governing: Option<Arc<Governing>>,
    derived: Option<Derived>,
    survey: Option<Survey>,
}

impl Memory {
    /// The objects have changed, or the time.
    pub fn forget(&mut self) {
        self.judged = None;
    }

    fn measures(&mut self, governing: &Arc<Governing>, now: Timestamp) -> Option<Measures> {
        let known = self.measured.as_ref().filter(|measured| Arc::ptr_eq(&measured.governing, governing));
        if let Some(measured) = known.filter(|measured| measured.from == now || measured.from <= now && now < measured.held) {
            return measured.measures;
        }
        let (measures, held) = governing.windows.measures_held(now);
        self.measured = Some(Measured { governing: Arc::clone(governing), from: now, held, measures });
        measures
    }
}

impl<'a> Pass<'a> {
    pub(super) fn new(observation: &'a Observation, now: Timestamp) -> Self {
        Self::recalling(observation, now, &mut Memory::default())
    }

    /// A pass that takes what is in `memory` as its own; [`Self::remember`] puts it back.
    pub(super) fn recalling(observation: &'a Observation, now: Timestamp, memory: &mut Memory) -> Self {
        if let Some(Judged { marks, governing, derived, survey }) = memory.judged.take() {
            return Self { observation, now, marks, governing, derived, survey };
        }
        let governing = match &observation.governing {
            Resolution::Governed(governing) => Some(Arc::clone(governing)),
            Resolution::Conflict { .. } | Resolution::Invalid { .. } | Resolution::Ungoverned => None,
        };
        let pool = &observation.pool;
        let claims = claims(observation);
        let life = PoolLife::of(pool);
        let derived = governing.as_ref().map(|governing| {
            // Nothing is measured for a pool that never expires.
            let measures = life.expire_after.and_then(|_| memory.measures(governing, now));
            schedule::derive_in(governing, &life, claims.len(), measures)
        });
        let survey = governing.as_deref().zip(derived.as_ref()).map(|(governing, derived)| {
            let period = derived.period_of(governing, now).unwrap_or_default();
            selection::survey(governing, period, claims, &observation.nodes_by_name(), now)
        });
        Self { observation, now, marks: pool.marks(now), governing, derived, survey }
    }

    /// Leaves what it has worked out to the next pass over the same.
    pub(super) fn remember(self, memory: &mut Memory) {
        let Self { marks, governing, derived, survey, .. } = self;
        memory.judged = Some(Judged { marks, governing, derived, survey });
    }

    pub(super) fn pool(&self) -> &'a NodePool {
        &self.observation.pool
    }

    pub(super) fn pool_name(&self) -> String {
        self.pool().name_any()
    }

    pub(super) fn pool_target(&self) -> Target {
        Target::of(self.pool())
    }

    /// The claim belongs to the pool, by Karpenter's label.
    pub(super) fn has_claim(&self, claim: &NodeClaim) -> bool {
        claim.pool() == Some(self.pool_name().as_str())
    }

    /// The Node belongs to the pool, by Karpenter's label.
    pub(super) fn has_node(&self, node: &Node) -> bool {
        node.labels().get(NODEPOOL_LABEL) == Some(&self.pool_name())
    }

    /// How many claims the pool has.
    pub(super) fn claims(&self) -> usize {
        self.survey.as_ref().map_or(0, |survey| survey.census.values().sum())
    }

    /// The pool refills itself, or is on its way out: no rotation of it ever begins.
    pub(super) fn never_rotated(&self) -> bool {
        self.pool().spec.replicas.is_some() || self.pool().metadata.deletion_timestamp.is_some()
    }

    /// Look again when this instant has come, at least once a minute.
    pub(super) fn until(&self, at: Option<Timestamp>) -> Next {
        // The trigger is strict, so a second later it has surely come.
        let wait =
            at.and_then(|at| Duration::try_from(at.duration_since(self.now)).ok()).map(|wait| wait.saturating_add(Duration::from_secs(1)));
        Next::After(wait.map_or(LONG_REQUEUE, |wait| wait.min(LONG_REQUEUE)))
    }

    /// A decision that writes nothing.
    pub(super) fn rest(&self, activity: Activity, next: Next) -> Decision {
        self.act(activity, Vec::new(), next)
    }

    /// A decision with writes.
    pub(super) fn act(&self, activity: Activity, effects: Vec<Planned>, next: Next) -> Decision {
        Decision { effects, notices: self.notices(), report: self.report(activity), next }
    }

    fn report(&self, activity: Activity) -> Report {
        Report {
            policy: self.governing.clone(),
            activity,
            window_open: self.governing.as_ref().is_some_and(|g| g.windows.contains(self.now)),
            next_window: self.governing.as_ref().and_then(|g| g.windows.current_or_next(self.now)),
            freeze_until: match self.marks.freeze {
                Freeze::Until(until) => Some(until),
                Freeze::None | Freeze::Unreadable(_) => None,
            },
            survey: self.survey.clone(),
            derived: self.derived.clone(),
            drain_stuck: false,
            policy_conflict: self.conflict().is_some(),
        }
    }

    fn notices(&self) -> Vec<Notice> {
        let mut notices = Vec::new();
        if let Some(message) = self.conflict() {
            notices.push(Notice::PolicyConflict { message });
        }
        if let Freeze::Unreadable(value) = &self.marks.freeze {
            notices.push(Notice::FreezeUnparsable { value: value.clone() });
        }
        for finding in self.derived.iter().flat_map(|derived| &derived.findings) {
            notices.push(Notice::Finding { code: finding.code, fatal: finding.level == Level::Fatal, sentence: finding.sentence.clone() });
        }
        for claim in self.survey.iter().flat_map(|survey| &survey.short_lead) {
            notices.push(Notice::ShortLead { claim: claim.clone() });
        }
        notices
    }

    /// Why no policy can be said to govern the pool, where that is somebody's mistake.
    pub(super) fn conflict(&self) -> Option<String> {
        match &self.observation.governing {
            Resolution::Conflict { message, .. } | Resolution::Invalid { message, .. } => Some(message.clone()),
            Resolution::Governed(_) | Resolution::Ungoverned => None,
        }
    }
}

/// The pool's claims: those of the cache, but the one of the close-up as it is now.
fn claims(observation: &Observation) -> Vec<&NodeClaim> {
    let Some(close_up) = &observation.close_up else {
        return observation.claims.iter().collect();
    };
    let others = observation.claims.iter().filter(|claim| claim.metadata.name.as_ref() != Some(&close_up.name));
    others.chain(&close_up.claim).collect()
}

/// The rotation in flight: its claim exists and belongs to the pool.
pub(super) struct Rotation<'a> {
    pub(super) pass: &'a Pass<'a>,
    pub(super) close_up: &'a CloseUp,
    pub(super) claim: &'a NodeClaim,
    pub(super) marks: ClaimMarks,
}

impl<'a> Rotation<'a> {
    pub(super) fn new(pass: &'a Pass<'a>, close_up: &'a CloseUp, claim: &'a NodeClaim) -> Self {
        Self { pass, close_up, claim, marks: claim.marks(pass.now) }
    }

    pub(super) fn name(&self) -> String {
        self.claim.name_any()
    }

    pub(super) fn claim_target(&self) -> Target {
        Target::of(self.claim)
    }
}
