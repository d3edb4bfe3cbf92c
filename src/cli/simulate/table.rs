//! A simulation for people: figures in columns, or what happened line by line.

use std::time::Duration;

use anstyle::{AnsiColor, Style};
use noderotation_core::duration::human;
use noderotation_simulate::{Distribution, Report, Summary, timeline as moments};

use super::report::{Simulation, Variant};
use crate::cli::text::{columns, utc};

const BOLD: Style = Style::new().bold();
const RED: Style = AnsiColor::Red.on_default();

/// Figures that are counts.
type Count = (&'static str, fn(&Summary) -> String);

const FIGURES: [Count; 17] = [
    ("nodes that there were", |life| life.nodes.to_string()),
    ("forced expiries", |life| life.forced_expiries.to_string()),
    ("rotated", |life| life.rotated.to_string()),
    ("  a new node first", |life| life.by_surge.to_string()),
    ("  into free room", |life| life.into_free_room.to_string()),
    ("  by fallback", |life| life.by_fallback.to_string()),
    ("failed attempts", |life| life.failed_attempts.to_string()),
    ("overtaken by Karpenter", |life| life.overtaken_attempts.to_string()),
    ("otherwise called off", |life| life.called_off_attempts.to_string()),
    ("under way at the end", |life| life.unfinished.to_string()),
    ("longest queue", |life| life.longest_queue.to_string()),
    ("windows", |life| life.windows.to_string()),
    ("windows missed", |life| life.missed_windows.to_string()),
    ("least margin", |life| life.margins.map_or_else(none, |margins| span(margins.min_seconds))),
    ("margin of 95 in 100", |life| life.margins.map_or_else(none, |margins| span(margins.p5_seconds))),
    ("median margin", |life| life.margins.map_or_else(none, |margins| span(margins.p50_seconds))),
    ("node-hours by surges", |life| (life.surge_node_seconds / 3600).to_string()),
];

/// The whole table with colours, which the writer drops where nobody sees them.
pub(super) fn render(simulation: &Simulation) -> String {
    let span = format!("{} UTC to {} UTC", utc(simulation.start), utc(simulation.end));
    let runs = simulation.variants.iter().map(|variant| variant.lives.len()).max().unwrap_or_default();
    let seed = simulation.variants.first().and_then(|variant| variant.lives.first()).map_or(0, |life| life.seed);
    let how = if runs == 1 { format!("seed {seed}") } else { format!("{runs} runs, seeds from {seed}") };
    let mut text = format!("{BOLD}{span}, {how}{BOLD:#}\n");
    if runs == 1 {
        text += &lined(&figures(&simulation.variants));
    } else {
        for variant in &simulation.variants {
            text += &format!("\n{BOLD}{}{BOLD:#}\n", variant.policies);
            text += &variant.distribution.as_ref().map(|distribution| lined(&of_many(distribution))).unwrap_or_default();
        }
    }
    if let [Variant { report: Some(report), .. }] = simulation.variants.as_slice()
        && report.pools.len() > 1
    {
        text += &format!("\n{}", lined(&pools(report)));
    }
    text
}

/// What happened, a line each.
pub(super) fn timeline(simulation: &Simulation) -> String {
    let mut rows = Vec::new();
    for moment in simulation.variants.iter().filter_map(|variant| variant.report.as_ref()).flat_map(moments) {
        let at = moment.at.strftime("%Y-%m-%d %H:%M:%S").to_string();
        rows.push(vec![at, moment.pool.to_owned(), moment.node.unwrap_or_default().to_owned(), moment.sentence]);
    }
    lined(&rows)
}

fn lined(rows: &[Vec<String>]) -> String {
    let line = |line: String| {
        let bad =
            line.starts_with("forced expiries") && line.contains(|c: char| ('1'..='9').contains(&c)) || line.contains("expires by force");
        if bad { format!("{RED}{line}{RED:#}\n") } else { line + "\n" }
    };
    columns(rows).into_iter().map(line).collect()
}

/// A column for each set of policies.
fn figures(variants: &[Variant]) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    if variants.len() > 1 {
        rows.push(std::iter::once(String::new()).chain(variants.iter().map(|variant| variant.policies.clone())).collect());
    }
    for (name, figure) in FIGURES {
        let lives = variants.iter().filter_map(|variant| variant.lives.first());
        rows.push(std::iter::once(name.to_owned()).chain(lives.map(|life| figure(&life.summary))).collect());
    }
    rows
}

/// A column for each quantile.
fn of_many(distribution: &Distribution) -> Vec<Vec<String>> {
    let mut rows = vec![["", "MIN", "P50", "P95", "MAX"].map(str::to_owned).to_vec()];
    let counts = [
        ("forced expiries", distribution.forced_expiries),
        ("rotated", distribution.rotated),
        ("  by fallback", distribution.by_fallback),
        ("failed attempts", distribution.failed_attempts),
        ("longest queue", distribution.longest_queue),
        ("windows missed", distribution.missed_windows),
        ("node-hours by surges", distribution.surge_node_hours),
    ];
    for (name, range) in counts {
        let cells = [range.min, range.p50, range.p95, range.max].map(|value| value.to_string());
        rows.push(std::iter::once(name.to_owned()).chain(cells).collect());
    }
    if let Some(range) = distribution.least_margin_seconds {
        let cells = [range.min, range.p50, range.p95, range.max].map(span);
        rows.push(std::iter::once("least margin".to_owned()).chain(cells).collect());
    }
    let with = format!("{} of {} runs", distribution.runs_with_forced_expiries, distribution.runs);
    rows.push(vec!["with forced expiries".to_owned(), with]);
    rows
}

fn pools(report: &Report) -> Vec<Vec<String>> {
    let head = ["POOL", "POLICY", "NODES", "ROTATED", "FALLBACK", "EXPIRED", "FAILED", "QUEUE", "MISSED", "LEAST MARGIN", "SURGE HOURS"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for pool in &report.pools {
        let life = &pool.summary;
        let counts = [life.nodes, life.rotated, life.by_fallback, life.forced_expiries, life.failed_attempts, life.longest_queue];
        let mut row = vec![pool.name.clone(), pool.governed_by.clone().unwrap_or_else(none)];
        row.extend(counts.iter().chain([&life.missed_windows]).map(ToString::to_string));
        row.push(life.margins.map_or_else(none, |margins| span(margins.min_seconds)));
        row.push((life.surge_node_seconds / 3600).to_string());
        rows.push(row);
    }
    rows
}

fn none() -> String {
    "none".to_owned()
}

/// Seconds for people, to the minute.
fn span(seconds: i64) -> String {
    let sign = if seconds < 0 { "-" } else { "" };
    format!("{sign}{}", human(Duration::from_secs(seconds.unsigned_abs() / 60 * 60)))
}
