//! One pool: who governs it, what follows for it and its claims, and what stands in the way.

use jiff::Timestamp;
use kube::ResourceExt;

use super::report::{ClaimReport, DerivedReport, FaultReport, FindingReport, PoolReport};
use crate::duration;
use crate::karpenter::{NodeClaim, NodeClaimSpec, NodePool};
use crate::policy::fault::{Fault, FaultCode};
use crate::policy::governing::Governing;
use crate::resolve::{PolicyEntry, Resolution, resolve};
use crate::schedule::{self, PoolLife, derive};
use crate::selection;

/// The report of a pool and its `claims`.
pub(super) fn report(pool: &NodePool, policies: &[PolicyEntry], claims: &[&NodeClaim], now: Timestamp) -> PoolReport {
    let faults = faults("spec.template.spec", &pool.spec.template.spec);
    let mut report = PoolReport { name: pool.name_any(), faults, ..PoolReport::default() };
    match resolve(pool.labels(), policies) {
        Resolution::Governed(governing) => govern(&mut report, pool, &governing, claims, now),
        Resolution::Invalid { policy, .. } => {
            report.not_rotated = Some(format!("the RotationPolicy {policy}, which selects it, is refused"));
        }
        Resolution::Conflict { message, .. } => report.not_rotated = Some(message),
        Resolution::Ungoverned => report.not_rotated = Some("no RotationPolicy selects it".to_owned()),
    }
    report
}

fn govern(report: &mut PoolReport, pool: &NodePool, governing: &Governing, claims: &[&NodeClaim], now: Timestamp) {
    let life = PoolLife::of(pool);
    let derived = derive(governing, &life, claims.len(), now);
    report.governed_by = Some(governing.name.clone());
    report.findings = derived.findings.iter().map(FindingReport::from).collect();
    report.not_rotated = not_rotated(pool, derived.is_infeasible());
    let period = derived.period_of(governing, now);
    report.derived = life.expire_after.zip(period).map(|(expire_after, period)| DerivedReport {
        expire_after,
        termination_grace_period: life.termination_grace_period,
        lead_time: schedule::lead_time(governing, period, life.termination_grace_period),
        age_threshold: derived.age_threshold,
        chances: derived.chances,
        capacity: derived.capacity,
        rotation_bound: derived.t_rot,
        rotation_estimate: derived.t_rot_estimate,
    });
    let mut claims: Vec<ClaimReport> =
        period.into_iter().flat_map(|period| claims.iter().map(move |claim| self::claim(governing, period, claim))).collect();
    claims.sort_by(|a, b| {
        (a.deadline.is_none(), a.deadline, a.created, &a.name).cmp(&(b.deadline.is_none(), b.deadline, b.created, &b.name))
    });
    report.claims = claims;
}

fn not_rotated(pool: &NodePool, infeasible: bool) -> Option<String> {
    if pool.spec.replicas.is_some() {
        return Some("it is static (spec.replicas is set) and refills itself, so its nodes are never rotated".to_owned());
    }
    if pool.metadata.deletion_timestamp.is_some() {
        return Some("it is being deleted".to_owned());
    }
    infeasible.then(|| "its schedule cannot work; see the fatal finding".to_owned())
}

fn claim(governing: &Governing, period: std::time::Duration, claim: &NodeClaim) -> ClaimReport {
    let created = claim.creation_timestamp().map(|at| at.0);
    let selection::Life { due, deadline, short_lead } = selection::Life::of(governing, period, claim);
    // Not before there is anything to rotate.
    let due = due.map(|at| at.max(claim.created()));
    let chances = due.zip(deadline).map_or(0, |(due, deadline)| governing.windows.occurrences(due, deadline).len());
    ClaimReport { name: claim.name_any(), created, due, deadline, chances, short_lead }
}

/// What Karpenter would refuse, and what would silently count as never here.
fn faults(path: &str, spec: &NodeClaimSpec) -> Vec<FaultReport> {
    let fields =
        [("expireAfter", spec.expire_after.as_deref(), true), ("terminationGracePeriod", spec.termination_grace_period.as_deref(), false)];
    let mut faults = Vec::new();
    for (field, text, never) in fields {
        let Some(text) = text.filter(|text| !(never && *text == "Never")) else {
            continue;
        };
        if let Err(fault) = duration::parse(text) {
            faults.push(FaultReport::from(&Fault::of(FaultCode::Invalid, &format!("{path}.{field}"), &text.into(), &fault.to_string())));
        }
    }
    faults
}
