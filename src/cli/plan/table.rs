//! The plan for people: one block a pool, what is wrong first, the calendar last.

use std::fmt::Write as _;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use jiff::Timestamp;
use noderotation_core::check::FaultReport;
use noderotation_core::duration::{human, parse};
use noderotation_core::policy::finding::Level;

use super::difference::{Changed, Difference};
use super::report::{Claim, EXPIRES, Line, Plan, Pool};
use crate::cli::text::{columns, utc};

const BOLD: Style = Style::new().bold();
const RED: Style = AnsiColor::Red.on_default();
const YELLOW: Style = AnsiColor::Yellow.on_default();

/// Names that are told of what holds a drain up; the rest is a number.
const NAMED: usize = 3;

/// The whole plan with colours, which the writer drops where nobody sees them.
pub(super) fn render(plan: &Plan, wide: bool) -> String {
    let mut blocks: Vec<String> =
        plan.refused.iter().map(|refused| block("RotationPolicy", &refused.name, "refused", faults(&refused.faults))).collect();
    blocks.extend(plan.pools.iter().map(|pool| self::pool(pool, wide)));
    blocks.extend(plan.difference.as_ref().map(difference));
    blocks.push(summary(plan));
    blocks.join("\n")
}

/// A line with the word before it.
type Row = (Style, &'static str, String);

fn block(kind: &str, name: &str, beside: &str, rows: Vec<Row>) -> String {
    let name = if name.is_empty() { "without a name" } else { name };
    let beside = if beside.is_empty() { String::new() } else { format!("  {beside}") };
    let mut text = format!("{BOLD}{kind} {name}{BOLD:#}{beside}\n");
    let mut last = "";
    for (style, word, line) in rows {
        let shown = if word == last { "" } else { word };
        let pad = " ".repeat(10_usize.saturating_sub(shown.len()));
        // Writing to a String cannot fail.
        let _infallible = writeln!(text, "  {style}{shown}{style:#}{pad}{line}");
        last = word;
    }
    text
}

fn plain(word: &'static str, line: String) -> Row {
    (Style::new(), word, line)
}

fn faults(faults: &[FaultReport]) -> Vec<Row> {
    faults.iter().map(|fault| (RED, "error", format!("{}: {}", fault.field, fault.message))).collect()
}

fn pool(pool: &Pool, wide: bool) -> String {
    let mut rows = faults(&pool.faults);
    for finding in &pool.findings {
        let (style, word) = match finding.level {
            Level::Fatal => (RED, "fatal"),
            Level::Warn => (YELLOW, "warning"),
        };
        rows.push((style, word, format!("{}: {}", finding.code, finding.message)));
    }
    rows.push(plain("why", pool.why.clone()));
    if pool.governed_by.is_some() {
        rows.push(plain("now", format!("{}: {}", pool.state, pool.sentence)));
        let gates = pool.gates.iter().map(|gate| match (gate.open, gate.until) {
            (true, _) => format!("{} open", gate.gate),
            (false, Some(until)) => format!("{} closed until {} UTC", gate.gate, utc(until)),
            (false, None) => format!("{} closed", gate.gate),
        });
        rows.push(plain("gates", gates.collect::<Vec<_>>().join("; ")));
    }
    let width = pool.formulas.iter().map(|formula| formula.name.len()).max().unwrap_or_default();
    rows.extend(pool.formulas.iter().map(|formula| plain("derived", format!("{:width$}  {}", formula.name, formula.formula))));
    rows.extend(columns(&claims(&pool.claims, wide)).into_iter().map(|line| plain("claims", line)));
    rows.extend(pool.claims.iter().filter_map(|claim| Some((YELLOW, "held", held(claim, wide)?))));
    rows.extend(pool.missed_windows.iter().map(|at| (YELLOW, "missed", format!("the window that opens {} UTC goes by unused", utc(*at)))));
    let lines = columns(&lines(&pool.calendar, wide));
    let styles = std::iter::once(Style::new()).chain(pool.calendar.iter().map(|line| if line.how == EXPIRES { RED } else { Style::new() }));
    rows.extend(lines.into_iter().zip(styles).map(|(line, style)| plain("calendar", format!("{style}{line}{style:#}"))));
    let by = pool.governed_by.as_deref().map(|policy| format!("governed by {policy}")).unwrap_or_default();
    block("NodePool", &pool.name, &by, rows)
}

fn claims(claims: &[Claim], wide: bool) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    if !claims.is_empty() {
        let head = if wide {
            &["NAME", "NODE", "CREATED (UTC)", "AGE", "DUE (UTC)", "DEADLINE (UTC)", "BUCKET", "REASON"][..]
        } else {
            &["NAME", "AGE", "DUE (UTC)", "DEADLINE (UTC)", "REASON"][..]
        };
        rows.push(head.iter().map(|word| (*word).to_owned()).collect());
    }
    for claim in claims {
        let at = |at: Option<Timestamp>, absent: &str| at.map_or_else(|| absent.to_owned(), utc);
        let age = claim.age.as_deref().map(rounded).unwrap_or_default();
        let (due, deadline) = (at(claim.due, "never"), at(claim.deadline, "never"));
        rows.push(if wide {
            let node = claim.node.clone().unwrap_or_default();
            vec![claim.name.clone(), node, at(claim.created, "unknown"), age, due, deadline, claim.bucket.clone(), claim.reason.to_owned()]
        } else {
            vec![claim.name.clone(), age, due, deadline, claim.reason.to_owned()]
        });
    }
    rows
}

/// What would hold the drain of a claim's node up.
fn held(claim: &Claim, wide: bool) -> Option<String> {
    let budgets = (!claim.held_by_budgets.is_empty())
        .then(|| format!("PodDisruptionBudgets {} allow no eviction", some(&claim.held_by_budgets, wide)));
    let pods = (!claim.held_by_pods.is_empty()).then(|| format!("Pods {} ask not to be disrupted", some(&claim.held_by_pods, wide)));
    let all: Vec<String> = budgets.into_iter().chain(pods).collect();
    (!all.is_empty()).then(|| format!("the drain of {}: {}", claim.name, all.join("; ")))
}

fn some(names: &[String], wide: bool) -> String {
    let shown = if wide { names.len() } else { NAMED };
    let more = names.len().saturating_sub(shown);
    let list = names.iter().take(shown).cloned().collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{list} and {more} more") } else { list }
}

/// The calendar; on a clock that shows UTC anyway that is not told twice.
fn lines(calendar: &[Line], wide: bool) -> Vec<Vec<String>> {
    let zoned = calendar.iter().any(|line| line.timezone != "UTC");
    let mut rows = Vec::new();
    if let Some(first) = calendar.first() {
        let one = calendar.iter().all(|line| line.timezone == first.timezone);
        let mut head = vec![if one { format!("START ({})", first.timezone) } else { "START".to_owned() }];
        head.extend(zoned.then(|| "START (UTC)".to_owned()));
        head.extend(wide.then(|| "DRAIN (UTC)".to_owned()));
        head.extend(["END (UTC)", "CLAIM", "NODE", "HOW", "MARGIN"].map(str::to_owned));
        rows.push(head);
    }
    for line in calendar {
        let local = if line.timezone == "UTC" || calendar.iter().all(|other| other.timezone == line.timezone) {
            line.local_start.clone()
        } else {
            format!("{} {}", line.local_start, line.timezone)
        };
        let mut row = vec![local];
        row.extend(zoned.then(|| utc(line.start)));
        row.extend(wide.then(|| utc(line.drain)));
        let margin = match line.margin.as_deref() {
            _ if line.how == EXPIRES => "none".to_owned(),
            Some(margin) => rounded(margin),
            None => "no deadline".to_owned(),
        };
        let node = line.node.clone().unwrap_or_default();
        let claim = if line.successor { format!("{} (yet to come)", line.claim) } else { line.claim.clone() };
        row.extend([utc(line.end), claim, node, line.how.to_owned(), margin]);
        rows.push(row);
    }
    rows
}

fn difference(difference: &Difference) -> String {
    let changed = difference.pools.iter().flat_map(of_pool);
    let count = |number: usize| if number == 1 { "1 node expires".to_owned() } else { format!("{number} nodes expire") };
    let expiries = format!("{} by force before, {} after", count(difference.expiries_before), difference.expiries_after);
    let mut rows: Vec<Row> = changed.collect();
    if rows.is_empty() {
        rows.push(plain("same", "no NodePool changes its policy, and no node its end".to_owned()));
    }
    rows.push(plain("in all", expiries));
    block("What", "changes", "", rows)
}

fn of_pool(changed: &Changed) -> Vec<Row> {
    let who = |name: &Option<String>| name.clone().unwrap_or_else(|| "nobody".to_owned());
    let mut rows = Vec::new();
    if changed.governed_before != changed.governed_after {
        let (before, after) = (who(&changed.governed_before), who(&changed.governed_after));
        rows.push(plain("governs", format!("NodePool {}: {before} -> {after}", changed.name)));
    }
    let end = |line: &Option<Line>| match line {
        Some(line) => format!("{} UTC {}", utc(line.start), line.how),
        None => "no end in sight".to_owned(),
    };
    let table = changed.claims.iter().map(|change| vec![change.claim.clone(), end(&change.before), "->".to_owned(), end(&change.after)]);
    rows.extend(columns(&table.collect::<Vec<_>>()).into_iter().map(|line| plain("claims", line)));
    rows
}

fn summary(plan: &Plan) -> String {
    let present = || plan.pools.iter().flat_map(|pool| &pool.calendar).filter(|line| !line.successor);
    let count = |how: &str| present().filter(|line| line.how == how).count();
    let (expired, fallback) = (count(EXPIRES), count("fallback"));
    let rotated = present().count() - expired;
    let claims: usize = plan.pools.iter().map(|pool| pool.claims.len()).sum();
    let span = human(Duration::try_from(plan.until.duration_since(plan.at)).unwrap_or_default());
    format!(
        "{claims} NodeClaims as of {} UTC: {rotated} rotated, {fallback} of them by fallback, {expired} expired by force within {span}\n",
        utc(plan.at)
    )
}

/// A Go duration for people, to the minute.
fn rounded(text: &str) -> String {
    let (sign, text) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let seconds = parse(text).unwrap_or_default().as_secs();
    format!("{sign}{}", human(Duration::from_secs(seconds / 60 * 60)))
}
