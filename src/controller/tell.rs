//! Tells people what a pass came to: log lines, events, counters and gauges.
//!
//! Announcements are told as they are, since each belongs to a write that has landed. Notices and idle reasons hold
//! for many passes and are told when they begin.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use kube::ResourceExt;
use kube::runtime::reflector::{ObjectRef, Store};
use noderotation_core::karpenter::NodePool;
use noderotation_core::rotation::announcement::{Announcement, Notice, Outcome, Swept};
use noderotation_core::rotation::report::{Activity, Report};
use noderotation_core::selection::{Standing, Survey};
use tracing::info;

use crate::controller::caches::GuardedClaim;
use crate::controller::told::Told;
use crate::controller::{Context, announce, apply, gauges, journal};
use crate::event::EventRecord;

/// Tells, and remembers what was told.
pub(crate) struct Teller {
    context: Arc<Context>,
    claims: Store<GuardedClaim>,
    told: Mutex<HashMap<String, Told>>,
}

impl Teller {
    pub(crate) fn new(context: Arc<Context>, claims: Store<GuardedClaim>) -> Self {
        Self { context, claims, told: Mutex::new(HashMap::new()) }
    }

    /// The pool no longer exists: its series go as well.
    pub(crate) fn forget(&self, pool: &str) {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).remove(pool);
        self.context.board.remove(pool);
        self.context.metrics.drop_pool(pool);
    }

    /// Tells what a write that landed has brought about.
    pub(crate) fn announce(&self, pool: &NodePool, announcement: &Announcement) {
        let name = pool.name_any();
        journal::log(&name, announcement);
        self.count(&name, announcement);
        for event in announce::events(pool, announcement) {
            self.publish(event);
        }
    }

    /// With the uid of the NodeClaim, without which `kubectl describe` does not find the event. One that is gone has none,
    /// and nobody describes it.
    fn publish(&self, mut event: EventRecord) {
        for reference in std::iter::once(&mut event.regarding).chain(&mut event.related).filter(|reference| reference.uid.is_none()) {
            let claim = reference.name.as_deref().and_then(|name| self.claims.get(&ObjectRef::new(name)));
            reference.uid = claim.and_then(|claim| claim.uid());
        }
        self.context.events.publish(event);
    }

    fn count(&self, pool: &str, announcement: &Announcement) {
        let metrics = &self.context.metrics;
        match announcement {
            Announcement::SurgeReady { surge_wait, .. } => metrics.observe_phase(pool, "surge_wait", surge_wait.as_secs_f64()),
            Announcement::Completed { drain, .. } => {
                metrics.completed(pool, Outcome::Success.label());
                if let Some(drain) = drain {
                    metrics.observe_phase(pool, "drain", drain.as_secs_f64());
                }
            }
            Announcement::Failed { .. } => metrics.completed(pool, Outcome::Failure.label()),
            Announcement::ForcefulFallback { .. } => metrics.forceful_fallback(pool),
            Announcement::WindowMissed { .. } => metrics.window_missed(pool),
            Announcement::Swept(Swept::Claim { .. }) => metrics.completed(pool, Outcome::Failure.label()),
            Announcement::Expired { .. } => metrics.completed(pool, Outcome::Expired.label()),
            Announcement::Started { .. }
            | Announcement::PlaceholderCreated { .. }
            | Announcement::DrainStarted { .. }
            | Announcement::GovernanceLost { .. }
            | Announcement::ForeignAnchor { .. }
            | Announcement::StampInFuture { .. }
            | Announcement::UnrecognisedOptOut { .. }
            | Announcement::Swept(Swept::Placeholder { .. } | Swept::Node { .. } | Swept::Anchor { .. } | Swept::Companions)
            | Announcement::ReservationLost { .. } => {}
        }
    }

    /// Sets the gauges, and tells notices and idle reasons that were not there in the pass before.
    pub(crate) fn report(&self, pool: &NodePool, report: &Report, mut notices: Vec<Notice>, refused: Option<&apply::Error>) {
        let name = pool.name_any();
        if let (Some(apply::Error::Rejected { message }), Some(claim)) = (refused, report.activity.claim()) {
            notices.push(Notice::SurgeRejected { claim: claim.to_owned(), message: message.clone() });
        }
        self.gauges(&name, report);
        self.context.board.post(&name, report);
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let told = told.entry(name.clone()).or_default();
        for notice in told.news(pool.uid().as_deref(), notices) {
            journal::log_notice(&name, &notice);
            self.publish(announce::notice_event(pool, &notice));
        }
        let (idle, survey) = (idle_reason(&report.activity), report.survey.as_ref());
        let changed = told.idles_for_another_reason(idle.map(|reason| format!("{reason} {}", census(survey))));
        if let Some(reason) = idle.filter(|_| changed) {
            log_idle(&name, reason, survey);
        }
    }

    fn gauges(&self, pool: &str, report: &Report) {
        let metrics = &self.context.metrics;
        if report.survey.is_some() {
            metrics.gauges(pool, &gauges::of(report));
        } else if report.policy_conflict {
            metrics.policy_conflict(pool);
        } else {
            metrics.drop_pool_gauges(pool);
        }
    }
}

/// Why nothing rotates, as the log line names it; `None` while a rotation is in flight or no policy asks for one.
fn idle_reason(activity: &Activity) -> Option<&'static str> {
    match activity {
        Activity::NodePoolDeleting => Some("NodePoolDeleting"),
        Activity::StaticNodePool => Some("StaticNodePool"),
        Activity::NodePoolNotReady => Some("NodePoolNotReady"),
        Activity::Infeasible => Some("infeasibleSchedule"),
        Activity::Gated(closed) => Some(closed.gate.name()),
        Activity::OrphanDraining(_) => Some("orphanDraining"),
        Activity::NoEligibleClaim => Some("noEligibleClaim"),
        Activity::NoHeadroom(_) => Some("insufficientHeadroom"),
        Activity::Ungoverned
        | Activity::Conflict(_)
        | Activity::Sweeping
        | Activity::Starting(_)
        | Activity::Pending(_)
        | Activity::RollingBack(_)
        | Activity::Draining(_)
        | Activity::Ending(_) => None,
    }
}

fn census(survey: Option<&Survey>) -> String {
    let buckets = survey.iter().flat_map(|survey| &survey.census);
    buckets.map(|(standing, count)| format!("{standing:?}={count}")).collect::<Vec<_>>().join(" ")
}

fn log_idle(pool: &str, reason: &str, survey: Option<&Survey>) {
    let count = |standing| survey.and_then(|survey| survey.census.get(&standing)).copied().unwrap_or(0);
    info!(
        nodepool = pool,
        reason,
        claims = survey.map_or(0, |survey| survey.census.values().sum::<usize>()),
        eligible = count(Standing::Eligible),
        notTriggered = count(Standing::NotTriggered),
        inBackoff = count(Standing::InBackoff),
        inFlight = count(Standing::InFlight),
        optedOut = count(Standing::OptedOut),
        deleting = count(Standing::Deleting),
        disrupted = count(Standing::Disrupted),
        notReady = count(Standing::NotReady),
        terminal = count(Standing::Terminal),
        "no rotation candidate"
    );
}
