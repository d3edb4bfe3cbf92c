//! Puts the forecast and the verdict of `check` side by side; decides nothing.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use noderotation_core::check::{PoolReport, Report as Verdict};
use noderotation_core::duration::go_string;
use noderotation_core::gate::{self, Gate as CoreGate};
use noderotation_core::karpenter::NodePool;
use noderotation_core::policy::governing::Governing;
use noderotation_core::policy::selector::Selector;
use noderotation_core::resolve::{PolicyEntry, Resolution};
use noderotation_core::selection::Standing;
use noderotation_forecast::{ClaimForecast, Entry, Mode, PoolForecast};

use super::formula::formulas;
use super::report::{Claim, EXPIRES, Gate, Line, Pool, Refused, Window};

/// Openings that are told of a pool: some weeks of the densest schedule that is of use.
pub(in crate::cli) const WINDOWS: usize = 1_000;

/// What is told of one pool.
pub(super) fn pool(
    forecast: PoolForecast,
    verdict: Option<PoolReport>,
    object: &NodePool,
    policies: &[PolicyEntry],
    (now, until): (Timestamp, Timestamp),
) -> Pool {
    let verdict = verdict.unwrap_or_default();
    let governing = match &forecast.governing {
        Resolution::Governed(governing) => Some(governing),
        Resolution::Conflict { .. } | Resolution::Invalid { .. } | Resolution::Ungoverned => None,
    };
    let period = forecast.report.as_ref().and_then(|report| report.derived.as_ref()?.period_of(governing?, now));
    let derived = verdict.derived.as_ref().zip(period);
    let mut claims: Vec<Claim> = forecast.claims.into_iter().map(|forecast| claim(forecast, now)).collect();
    claims.sort_by(|a, b| {
        (a.deadline.is_none(), a.deadline, a.created, &a.name).cmp(&(b.deadline.is_none(), b.deadline, b.created, &b.name))
    });
    Pool {
        why: why(&forecast.governing, object, policies),
        state: forecast.report.as_ref().map(|report| report.activity.state().name()).unwrap_or_default(),
        sentence: forecast.report.as_ref().map(|report| report.activity.sentence()).unwrap_or_default(),
        gates: governing.map(|governing| gates(governing, object, now)).unwrap_or_default(),
        formulas: governing.zip(derived).map(|(governing, (derived, period))| formulas(governing, derived, period)).unwrap_or_default(),
        calendar: forecast.entries.into_iter().map(|entry| line(entry, governing.map(|governing| &**governing))).collect(),
        name: forecast.pool,
        governed_by: verdict.governed_by,
        faults: verdict.faults,
        findings: verdict.findings,
        derived: verdict.derived,
        claims,
        missed_windows: forecast.missed,
        ends_at: forecast.cut,
        windows: governing.map(|governing| windows(governing, now, until)).unwrap_or_default(),
        last_rotation_at: object.marks(now).last_rotation_at,
    }
}

fn windows(governing: &Governing, now: Timestamp, until: Timestamp) -> Vec<Window> {
    let upcoming = governing.windows.upcoming(now).take_while(|occurrence| occurrence.open < until).take(WINDOWS);
    upcoming.map(|occurrence| Window { open: occurrence.open, close: occurrence.close }).collect()
}

/// The policies that the API server would refuse.
pub(super) fn refused(verdict: &Verdict) -> Vec<Refused> {
    let refused = verdict.policies.iter().filter(|policy| !policy.accepted);
    refused.map(|policy| Refused { name: policy.name.clone(), faults: policy.faults.clone() }).collect()
}

/// Why this policy governs, or none does.
pub(in crate::cli) fn why(governing: &Resolution, pool: &NodePool, policies: &[PolicyEntry]) -> String {
    let winner = match governing {
        Resolution::Governed(winner) => winner,
        Resolution::Conflict { message, .. } | Resolution::Invalid { message, .. } => return message.clone(),
        Resolution::Ungoverned => return "no RotationPolicy selects it".to_owned(),
    };
    let labels = pool.metadata.labels.clone().unwrap_or_default();
    let selects = |entry: &&PolicyEntry| entry.name != winner.name && entry.selector.as_ref().is_some_and(|s| s.matches(&labels));
    let mut others: Vec<String> = policies
        .iter()
        .filter(selects)
        .map(|entry| format!("{} with {}", entry.name, entry.selector.as_ref().map(Selector::specificity).unwrap_or_default()))
        .collect();
    others.sort();
    match others.as_slice() {
        [] => "no other RotationPolicy selects it".to_owned(),
        others => format!("its selector has most entries, {}; {} select it too", winner.selector.specificity(), others.join(", ")),
    }
}

fn gates(governing: &Governing, pool: &NodePool, now: Timestamp) -> Vec<Gate> {
    let marks = pool.marks(now);
    let closed: Vec<gate::Closed> = gate::closed(governing, &marks, None, now).collect();
    let of = |gate: CoreGate| {
        let found = closed.iter().find(|closed| closed.gate == gate);
        Gate { gate: gate.name(), open: found.is_none(), until: found.and_then(|closed| closed.until) }
    };
    CoreGate::ALL.into_iter().map(of).collect()
}

fn claim(forecast: ClaimForecast, now: Timestamp) -> Claim {
    let age = forecast.created.and_then(|created| std::time::Duration::try_from(now.duration_since(created)).ok());
    let (bucket, reason) = bucket(forecast.standing);
    Claim {
        name: forecast.name,
        node: forecast.node,
        created: forecast.created,
        age: age.map(go_string),
        due: forecast.due,
        deadline: forecast.deadline,
        bucket: bucket.to_owned(),
        reason,
        held_by_budgets: forecast.holds.budgets,
        held_by_pods: forecast.holds.pods,
    }
}

/// A word and a sentence for what selection makes of a claim.
fn bucket(standing: Standing) -> (&'static str, &'static str) {
    match standing {
        Standing::OptedOut => ("optedOut", "somebody protects its node with karpenter.sh/do-not-disrupt"),
        Standing::Deleting => ("deleting", "it is being deleted"),
        Standing::Disrupted => ("disrupted", "Karpenter has chosen it for disruption"),
        Standing::NotReady => ("notReady", "it is not Ready, or has no Node"),
        Standing::InFlight => ("inFlight", "its rotation is under way"),
        Standing::Terminal => ("terminal", "Karpenter took it during its rotation"),
        Standing::NotTriggered => ("notTriggered", "it is not due yet"),
        Standing::InBackoff => ("inBackoff", "its last attempt has failed, and it waits for the next"),
        Standing::Eligible => ("eligible", "it may be rotated"),
    }
}

fn line(entry: Entry, governing: Option<&Governing>) -> Line {
    let margin = entry.margin().map(|margin| {
        let sign = if margin.is_negative() { "-" } else { "" };
        format!("{sign}{}", go_string(margin.unsigned_abs()))
    });
    let (local_start, timezone) = local(entry.start, governing);
    let how = match entry.mode {
        Mode::Provisioned => "surge",
        Mode::Absorbed => "surge into free room",
        Mode::Surgeless => "fallback",
        Mode::Expired => EXPIRES,
    };
    Line {
        claim: entry.claim,
        node: entry.node,
        successor: entry.successor,
        how,
        start: entry.start,
        drain: entry.drain,
        end: entry.end,
        deadline: entry.deadline,
        margin,
        local_start,
        timezone,
    }
}

/// On the clock of the window that is open then, or else of the policy's first.
pub(in crate::cli) fn local(at: Timestamp, governing: Option<&Governing>) -> (String, String) {
    let entries = governing.map(|governing| governing.windows.entries()).unwrap_or_default();
    let entry = entries.iter().find(|entry| entry.contains(at)).or_else(|| entries.first());
    let zone = entry.map_or(TimeZone::UTC, |entry| entry.zone.clone());
    let name = entry.map_or_else(|| "UTC".to_owned(), |entry| entry.zone_name.clone());
    (zone.to_datetime(at).strftime("%a %Y-%m-%d %H:%M").to_string(), name)
}
