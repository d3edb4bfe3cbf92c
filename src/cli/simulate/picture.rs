//! A life in the shape that the page draws: that of a plan, with what has become of each node in place of what is expected.

use noderotation_core::check::Strictness;
use noderotation_core::duration::go_string;
use noderotation_core::policy::governing::Governing;
use noderotation_core::resolve::{PolicyEntry, Resolution, resolve};
use noderotation_manifest::Manifest;
use noderotation_simulate::fleet::PoolPlan;
use noderotation_simulate::{Attempt, End, Fleet, Mode, NodeLife, Outcome, PoolReport, Report};
use serde::Serialize;

use super::table::{FIGURES, Row};
use crate::cli::check::judge;
use crate::cli::plan::build::{WINDOWS, local, why};
use crate::cli::plan::report::{EXPIRES, Line, Plan, Pool, Window};

/// How an attempt ends that has replaced nothing.
const CALLED_OFF: &str = "called off";

/// What the page reads.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Picture {
    /// As in a plan.
    #[serde(flatten)]
    plan: Plan,
    /// All of it is past.
    lived: bool,
    /// Figures of all pools with their names.
    figures: Vec<(&'static str, String)>,
}

/// Draws a life under the policies of `manifest`.
pub(super) fn picture(fleet: &Fleet, mut manifest: Manifest, entries: &[PolicyEntry], report: &Report) -> Picture {
    manifest.pools = fleet.pools.iter().map(PoolPlan::object).collect();
    let mut verdict = judge(&manifest, Strictness::default(), fleet.start);
    let mut pools: Vec<Pool> = Vec::new();
    for (lived, plan) in report.pools.iter().zip(&fleet.pools) {
        let verdict = verdict.pools.iter_mut().find(|pool| pool.name == plan.name).map(std::mem::take).unwrap_or_default();
        let governing = resolve(&plan.labels, entries);
        let clock = match &governing {
            Resolution::Governed(governing) => Some(&**governing),
            Resolution::Conflict { .. } | Resolution::Invalid { .. } | Resolution::Ungoverned => None,
        };
        let windows = lived.windows.iter().take(WINDOWS).map(|window| Window { open: window.open, close: window.close });
        pools.push(Pool {
            name: plan.name.clone(),
            why: why(&governing, &plan.object(), entries),
            governed_by: lived.governed_by.clone(),
            state: String::new(),
            sentence: String::new(),
            gates: Vec::new(),
            faults: verdict.faults,
            findings: verdict.findings,
            derived: verdict.derived,
            formulas: Vec::new(),
            claims: Vec::new(),
            calendar: calendar(lived, report, clock),
            missed_windows: lived.missed_windows.clone(),
            ends_at: None,
            windows: windows.collect(),
            last_rotation_at: None,
        });
    }
    let plan = Plan { at: report.start, until: report.end, difference: None, refused: Vec::new(), pools, notes: Vec::new() };
    let figures = FIGURES.iter().map(|Row { name, figure, .. }| (name.trim_start(), figure(&report.summary))).collect();
    Picture { plan, lived: true, figures }
}

/// Attempts and forced expiries in the order of their begins.
fn calendar(pool: &PoolReport, report: &Report, clock: Option<&Governing>) -> Vec<Line> {
    let attempts = pool.rotations.iter().map(|attempt| of_attempt(attempt, report, clock));
    let expired = pool.nodes.iter().filter(|node| node.end == End::Expired).filter_map(|node| of_expiry(node, report, clock));
    let mut lines: Vec<Line> = attempts.chain(expired).collect();
    lines.sort_by_key(|line| line.start);
    lines
}

fn of_attempt(attempt: &Attempt, report: &Report, clock: Option<&Governing>) -> Line {
    let how = match (attempt.outcome, attempt.mode) {
        (Outcome::Failed | Outcome::Expired | Outcome::CalledOff, _) => CALLED_OFF,
        (Outcome::Success | Outcome::Unfinished, Mode::Surge) => "surge",
        (Outcome::Success | Outcome::Unfinished, Mode::FreeRoom) => "surge into free room",
        (Outcome::Success | Outcome::Unfinished, Mode::Fallback) => "fallback",
    };
    let end = attempt.end.unwrap_or(report.end);
    let (local_start, timezone) = local(attempt.start, clock);
    let margin = attempt.margin_seconds.map(|seconds| {
        let sign = if seconds < 0 { "-" } else { "" };
        format!("{sign}{}", go_string(std::time::Duration::from_secs(seconds.unsigned_abs())))
    });
    Line {
        claim: attempt.node.clone(),
        node: None,
        successor: false,
        how,
        start: attempt.start,
        drain: attempt.drain.unwrap_or(end),
        end,
        deadline: attempt.deadline,
        margin,
        local_start,
        timezone,
    }
}

fn of_expiry(node: &NodeLife, report: &Report, clock: Option<&Governing>) -> Option<Line> {
    let start = node.deleted?;
    let (local_start, timezone) = local(start, clock);
    Some(Line {
        claim: node.name.clone(),
        node: None,
        successor: false,
        how: EXPIRES,
        start,
        drain: start,
        end: node.gone.unwrap_or(report.end),
        deadline: node.deadline,
        margin: None,
        local_start,
        timezone,
    })
}
