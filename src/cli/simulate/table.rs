//! A simulation for people: figures in columns, or what happened line by line.

use std::time::Duration;

use anstyle::{AnsiColor, Style};
use noderotation_core::duration::human;
use noderotation_simulate::{Distribution, Margins, Report, Summary, timeline as moments};

use super::report::{Simulation, Variant};
use crate::cli::text::{columns, utc};

const BOLD: Style = Style::new().bold();
const RED: Style = AnsiColor::Red.on_default();

/// A figure of a life.
pub(super) struct Row {
    /// What it is; indented if it is a part of the one above.
    pub(super) name: &'static str,
    /// As people write it.
    pub(super) figure: fn(&Summary) -> String,
}

const EXPIRIES: &str = "forced expiries";

/// All figures, the one that matters most first.
pub(super) const FIGURES: [Row; 18] = [
    Row { name: EXPIRIES, figure: |life| life.forced_expiries.to_string() },
    Row { name: "rotated", figure: |life| life.rotated.to_string() },
    Row { name: "  a new node first", figure: |life| life.by_surge.to_string() },
    Row { name: "  into free room", figure: |life| life.into_free_room.to_string() },
    Row { name: "  by fallback", figure: |life| life.by_fallback.to_string() },
    Row { name: "failed attempts", figure: |life| life.failed_attempts.to_string() },
    Row { name: "overtaken by Karpenter", figure: |life| life.overtaken_attempts.to_string() },
    Row { name: "otherwise called off", figure: |life| life.called_off_attempts.to_string() },
    Row { name: "under way at the end", figure: |life| life.unfinished.to_string() },
    Row { name: "margin at least", figure: |life| margin(life, |margins| margins.min_seconds) },
    Row { name: "  of 99 in 100 rotations", figure: |life| margin(life, |margins| margins.p1_seconds) },
    Row { name: "  of 95 in 100 rotations", figure: |life| margin(life, |margins| margins.p5_seconds) },
    Row { name: "  of half of them", figure: |life| margin(life, |margins| margins.p50_seconds) },
    Row { name: "longest queue", figure: |life| life.longest_queue.to_string() },
    Row { name: "windows", figure: |life| life.windows.to_string() },
    Row { name: "  missed", figure: |life| life.missed_windows.to_string() },
    Row { name: "nodes in all", figure: |life| life.nodes.to_string() },
    Row { name: "node-hours for surges", figure: |life| hours(life) },
];

/// The whole table with colours, which the writer drops where nobody sees them.
pub(super) fn render(simulation: &Simulation) -> String {
    let span = format!("{} UTC to {} UTC", utc(simulation.start), utc(simulation.end));
    let runs = simulation.variants.iter().map(|variant| variant.lives.len()).max().unwrap_or_default();
    let seed = simulation.variants.first().and_then(|variant| variant.lives.first()).map_or(0, |life| life.seed);
    let how = if runs == 1 { format!("seed {seed}") } else { format!("{runs} runs with the seeds from {seed} on") };
    let mut text = format!("{BOLD}{span}, {how}{BOLD:#}\n");
    if runs == 1 {
        text += &lined(&figures(&simulation.variants));
    } else {
        for variant in &simulation.variants {
            text += &format!("\n{BOLD}{}{BOLD:#}\n", variant.policies);
            text += &variant.distribution.as_ref().map(of_many).unwrap_or_default();
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
    let mut rows = vec![["TIME (UTC)", "NODEPOOL", "NODE", "WHAT HAPPENS"].map(str::to_owned).to_vec()];
    for moment in simulation.variants.iter().filter_map(|variant| variant.report.as_ref()).flat_map(moments) {
        let at = moment.at.strftime("%Y-%m-%d %H:%M:%S").to_string();
        rows.push(vec![at, moment.pool.to_owned(), moment.node.unwrap_or_default().to_owned(), moment.sentence]);
    }
    lined(&rows)
}

fn lined(rows: &[Vec<String>]) -> String {
    let line = |line: String| {
        let some = line.starts_with(EXPIRIES) && line.contains(|c: char| ('1'..='9').contains(&c));
        if some || line.contains("expires by force") { format!("{RED}{line}{RED:#}\n") } else { line + "\n" }
    };
    columns(rows).into_iter().map(line).collect()
}

/// A column for each set of policies.
fn figures(variants: &[Variant]) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    if variants.len() > 1 {
        rows.push(std::iter::once(String::new()).chain(variants.iter().map(|variant| variant.policies.clone())).collect());
    }
    for row in &FIGURES {
        let lives = variants.iter().filter_map(|variant| variant.lives.first());
        rows.push(std::iter::once(row.name.to_owned()).chain(lives.map(|life| (row.figure)(&life.summary))).collect());
    }
    rows
}

/// A column for each quantile.
fn of_many(distribution: &Distribution) -> String {
    let mut rows = vec![["", "LEAST", "HALF", "95 IN 100", "MOST"].map(str::to_owned).to_vec()];
    let counts = [
        (EXPIRIES, distribution.forced_expiries),
        ("rotated", distribution.rotated),
        ("  by fallback", distribution.by_fallback),
        ("failed attempts", distribution.failed_attempts),
        ("longest queue", distribution.longest_queue),
        ("windows missed", distribution.missed_windows),
        ("node-hours for surges", distribution.surge_node_hours),
    ];
    for (name, range) in counts {
        let cells = [range.min, range.p50, range.p95, range.max].map(|value| value.to_string());
        rows.push(std::iter::once(name.to_owned()).chain(cells).collect());
    }
    if let Some(range) = distribution.least_margin_seconds {
        let cells = [range.min, range.p50, range.p95, range.max].map(span);
        rows.push(std::iter::once("least margin".to_owned()).chain(cells).collect());
    }
    let told = format!("A node expires by force in {} of {} runs.", distribution.runs_with_forced_expiries, distribution.runs);
    format!("{}{told}\n", lined(&rows))
}

fn pools(report: &Report) -> Vec<Vec<String>> {
    let head =
        ["NODEPOOL", "POLICY", "NODES", "ROTATED", "FALLBACK", "EXPIRED", "FAILED", "QUEUE", "MISSED", "LEAST MARGIN", "SURGE HOURS"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for pool in &report.pools {
        let life = &pool.summary;
        let counts = [life.nodes, life.rotated, life.by_fallback, life.forced_expiries, life.failed_attempts, life.longest_queue];
        let mut row = vec![pool.name.clone(), pool.governed_by.clone().unwrap_or_else(|| "none".to_owned())];
        row.extend(counts.iter().chain([&life.missed_windows]).map(ToString::to_string));
        row.extend([margin(life, |margins| margins.min_seconds), hours(life)]);
        rows.push(row);
    }
    rows
}

fn margin(life: &Summary, of: fn(&Margins) -> i64) -> String {
    life.margins.as_ref().map_or_else(|| "none".to_owned(), |margins| span(of(margins)))
}

fn hours(life: &Summary) -> String {
    (life.surge_node_seconds / 3600).to_string()
}

/// Seconds for people, to the minute.
fn span(seconds: i64) -> String {
    let sign = if seconds < 0 { "-" } else { "" };
    format!("{sign}{}", human(Duration::from_secs(seconds.unsigned_abs() / 60 * 60)))
}
