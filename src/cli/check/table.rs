//! The verdict for people: the worst first, one block an object, the numbers with their units.

use std::fmt::Write as _;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use jiff::Timestamp;
use noderotation_core::check::{ClaimReport, DerivedReport, FaultReport, Opening, PolicyReport, PoolReport, Report, Schedule};
use noderotation_core::duration::human;
use noderotation_core::policy::finding::Level;

const BOLD: Style = Style::new().bold();
const RED: Style = AnsiColor::Red.on_default();
const YELLOW: Style = AnsiColor::Yellow.on_default();
const GREEN: Style = AnsiColor::Green.on_default();

/// Letters of a line that is filled up.
const LINE: usize = 100;

/// The whole verdict with colours, which the writer drops where nobody sees them.
pub(super) fn render(report: &Report) -> String {
    let mut blocks: Vec<String> = report.policies.iter().map(policy).collect();
    blocks.extend(report.pools.iter().map(pool));
    blocks.push(summary(report));
    blocks.join("\n")
}

/// Lines with a word before them, the word only once.
#[derive(Default)]
struct Lines {
    text: String,
    last: &'static str,
}

impl Lines {
    fn title(kind: &str, name: &str) -> Self {
        let name = if name.is_empty() { "without a name" } else { name };
        Self { text: format!("{BOLD}{kind} {name}{BOLD:#}"), last: "" }
    }

    fn add(&mut self, style: Style, word: &'static str, line: &str) {
        let shown = if word == self.last { "" } else { word };
        let pad = " ".repeat(10_usize.saturating_sub(shown.len()));
        // Writing to a String cannot fail.
        let _infallible = writeln!(self.text, "  {style}{shown}{style:#}{pad}{line}");
        self.last = word;
    }

    fn say(&mut self, word: &'static str, line: &str) {
        self.add(Style::new(), word, line);
    }
}

fn policy(report: &PolicyReport) -> String {
    let mut lines = Lines::title("RotationPolicy", &report.name);
    let at = report.at.as_deref().map(|at| format!("  {at}")).unwrap_or_default();
    let verdict = if report.accepted { format!("{GREEN}accepted{GREEN:#}") } else { format!("{RED}refused{RED:#}") };
    let counts = counts(report.faults.len(), report.warnings.len());
    let _infallible = writeln!(lines.text, "{at}  {verdict}{counts}");
    for fault in &report.faults {
        lines.add(RED, "error", &fault_line(fault));
    }
    for warning in &report.warnings {
        lines.add(YELLOW, "warning", warning);
    }
    if !report.node_pools.is_empty() {
        lines.say("governs", &format!("NodePool {}", report.node_pools.join(", ")));
    }
    for line in wrapped(&report.defaults) {
        lines.say("defaults", &line);
    }
    if let Some(schedule) = &report.schedule {
        windows(schedule, &mut lines);
    }
    lines.text
}

/// The defaults, several a line.
fn wrapped(defaults: &[String]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for default in defaults {
        let default = default.strip_prefix("spec.").unwrap_or(default);
        match lines.last_mut() {
            Some(line) if line.len() + default.len() < LINE => {
                line.push_str("; ");
                line.push_str(default);
            }
            Some(_) | None => lines.push(default.to_owned()),
        }
    }
    lines
}

fn fault_line(fault: &FaultReport) -> String {
    let at = fault.at.as_deref().map(|at| format!("{at}: ")).unwrap_or_default();
    format!("{at}{}: {}", fault.field, fault.message)
}

fn windows(schedule: &Schedule, lines: &mut Lines) {
    let every = match schedule.idle_gap {
        Some(gap) => format!(
            "open for {} or longer, closed for {} or longer, at most {} from opening to opening",
            human(schedule.shortest),
            human(gap),
            human(schedule.period)
        ),
        None => "never closed".to_owned(),
    };
    lines.say("windows", &every);
    // What never closes has no end to tell; the look ahead has.
    if let Some(open) = schedule.open_now.as_ref().filter(|_| schedule.idle_gap.is_some()) {
        lines.say("open now", &format!("until {} {}, {} UTC", open.local_close, open.timezone, utc(open.close)));
    }
    let locals: Vec<String> = schedule.openings.iter().map(local).collect();
    let width = locals.iter().map(String::len).max().unwrap_or_default();
    for (opening, local) in schedule.openings.iter().zip(locals) {
        // On a clock that shows UTC anyway it is not told twice.
        let instants = match opening.timezone.as_str() {
            "UTC" => String::new(),
            _ => format!("  {} to {} UTC", utc(opening.open), utc(opening.close)),
        };
        let length = human(opening.close.duration_since(opening.open).try_into().unwrap_or_default());
        lines.say("opens", &format!("{local:width$}{instants}  {length}"));
    }
    for skipped in &schedule.skipped {
        lines.say("skips", &format!("{} {}, which the clock jumps over", skipped.local_open, skipped.timezone));
    }
}

/// On the clock of the window's zone; the closing day is told only if it is another.
fn local(opening: &Opening) -> String {
    let close = match opening.local_close.split_at_checked("Wed 2026-01-07 ".len()) {
        Some((day, time)) if opening.local_open.starts_with(day) => time,
        Some(_) | None => &opening.local_close,
    };
    format!("{} to {close} {}", opening.local_open, opening.timezone)
}

fn pool(report: &PoolReport) -> String {
    let mut lines = Lines::title("NodePool", &report.name);
    let by = report.governed_by.as_deref().map(|policy| format!("  governed by {policy}")).unwrap_or_default();
    let _infallible = writeln!(lines.text, "{by}");
    for fault in &report.faults {
        lines.add(RED, "error", &fault_line(fault));
    }
    for finding in &report.findings {
        let (style, word) = match finding.level {
            Level::Fatal => (RED, "fatal"),
            Level::Warn => (YELLOW, "warning"),
        };
        lines.add(style, word, &format!("{}: {}", finding.code, finding.message));
    }
    if let Some(why) = &report.not_rotated {
        lines.add(YELLOW, "idle", &format!("not rotated: {why}"));
    }
    if let Some(derived) = &report.derived {
        derivation(derived, &mut lines);
    }
    if !report.claims.is_empty() {
        claims(&report.claims, &mut lines);
    }
    lines.text
}

fn derivation(derived: &DerivedReport, lines: &mut Lines) {
    let grace = match derived.termination_grace_period {
        Some(period) => format!("terminationGracePeriod {}", human(period)),
        None => "no terminationGracePeriod".to_owned(),
    };
    lines.say("life", &format!("expireAfter {}, {grace}", human(derived.expire_after)));
    let lead_time = human(derived.lead_time);
    let due = match Duration::try_from(derived.age_threshold) {
        Ok(age) if !age.is_zero() => {
            let openings = if derived.chances == 1 { "1 opening".to_owned() } else { format!("{} openings", derived.chances) };
            format!("at the age of {}, {openings} before the expiry; lead time {lead_time}", human(age))
        }
        Ok(_) | Err(_) => format!("never in time; the lead time is {lead_time}"),
    };
    lines.say("due", &due);
    lines.say(
        "rotation",
        &format!(
            "about {}, at most {}; {} can start in the shortest opening",
            human(derived.rotation_estimate),
            human(derived.rotation_bound),
            derived.capacity
        ),
    );
}

fn claims(claims: &[ClaimReport], lines: &mut Lines) {
    let width = claims.iter().map(|claim| claim.name.len()).max().unwrap_or_default().max("NAME".len());
    let row = |name: &str, created: &str, due: &str, deadline: &str, rest: &str| {
        format!("{name:width$}  {created:16}  {due:16}  {deadline:16}  {rest}").trim_end().to_owned()
    };
    lines.say("claims", &row("NAME", "CREATED (UTC)", "DUE", "DEADLINE", "OPENINGS"));
    for claim in claims {
        let at = |at: Option<Timestamp>, absent: &str| at.map_or_else(|| absent.to_owned(), utc);
        let short = if claim.short_lead { "  its whole life is shorter than its lead time" } else { "" };
        let rest = format!("{}{short}", claim.chances);
        lines.say("claims", &row(&claim.name, &at(claim.created, "unknown"), &at(claim.due, "never"), &at(claim.deadline, "never"), &rest));
    }
}

fn summary(report: &Report) -> String {
    let refused = report.policies.iter().filter(|policy| !policy.accepted).count();
    let warned: usize = report.policies.iter().map(|policy| policy.warnings.len()).sum();
    let mut text: String = report.notes.iter().map(|note| format!("note: {note}\n")).collect();
    let policies = report.policies.len();
    let word = if policies == 1 { "policy" } else { "policies" };
    let unreadable = match report.pools.iter().filter(|pool| !pool.faults.is_empty()).count() {
        0 => String::new(),
        1 => "; 1 NodePool has errors".to_owned(),
        more => format!("; {more} NodePools have errors"),
    };
    let warnings = counts(0, warned);
    let _infallible = writeln!(text, "{policies} {word}: {} accepted, {refused} refused{warnings}{unreadable}", policies - refused);
    text
}

fn counts(faults: usize, warnings: usize) -> String {
    let count = |number: usize, word: &str| match number {
        0 => String::new(),
        1 => format!(", 1 {word}"),
        more => format!(", {more} {word}s"),
    };
    count(faults, "fault") + &count(warnings, "warning")
}

/// `2026-01-06 17:00`.
fn utc(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M").to_string()
}
