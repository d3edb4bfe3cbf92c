//! The situations that were published, lived through: what docs/simulate.md says of them is what comes of them.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "the whole file is a test")]

use std::path::Path;

use noderotation_core::check::{PoolReport, Strictness, Subjects, check};
use noderotation_core::duration::human;
use noderotation_core::resolve::PolicyEntry;
use noderotation_simulate::fleet::{PoolPlan, Times, read};
use noderotation_simulate::{End, Fleet, Report, run};
use serde_json::Value;

fn text(file: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(file)).unwrap()
}

fn yaml(file: &str) -> Value {
    serde_yaml_ng::from_str(&text(&format!("simulate/{file}.yaml"))).unwrap()
}

/// A fleet under a policy.
struct Situation {
    fleet: Fleet,
    policy: Value,
}

impl Situation {
    fn of(fleet: &str, policy: &str) -> Self {
        Self { fleet: read(&yaml(fleet), Times::default()).unwrap(), policy: yaml(policy) }
    }

    fn live(&self, seed: u64) -> Report {
        run(&self.fleet, &[PolicyEntry::from_object(&self.policy)], seed)
    }

    /// What `check` says of the pool, with as many claims as it has nodes.
    fn verdict(&self) -> PoolReport {
        let pools: Vec<_> = self.fleet.pools.iter().map(PoolPlan::object).collect();
        let claims: Vec<_> = (0..self.fleet.pools[0].nodes[0].count).map(|number| claim(&self.fleet, number)).collect();
        let subjects = Subjects { policies: std::slice::from_ref(&self.policy), pools: &pools, claims: &claims };
        check(subjects, Strictness::default(), self.fleet.start).pools.remove(0)
    }
}

fn claim(fleet: &Fleet, number: u64) -> noderotation_core::karpenter::NodeClaim {
    let pool = fleet.pools[0].object();
    serde_json::from_value(serde_json::json!({
        "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "spec": pool.spec.template.spec,
        "metadata": {"name": format!("api-{number}"), "labels": {"karpenter.sh/nodepool": fleet.pools[0].name}},
    }))
    .unwrap()
}

fn findings(verdict: &PoolReport, of: &str) -> String {
    let found: Vec<&str> = verdict.findings.iter().map(|finding| finding.code.as_str()).filter(|code| code.starts_with(of)).collect();
    if found.is_empty() { "none".to_owned() } else { found.join(", ") }
}

/// Of the nodes of the start, those that expired by force.
fn of_the_first(report: &Report, count: usize) -> usize {
    report.pools[0].nodes.iter().take(count).filter(|node| node.end == End::Expired).count()
}

/// Every row of the page, with what is so now in its last column.
fn rows() -> Vec<[String; 3]> {
    let row = |situation: &str, figure: &str, here: String| [situation.to_owned(), figure.to_owned(), here];
    let soak = Situation::of("soak", "soak-policy");
    let [long, short, fallback] = ["batch-policy", "batch-short", "batch-short-fallback"].map(|policy| Situation::of("batch", policy));
    let (verdict, derived) = (soak.verdict(), soak.verdict().derived.unwrap());
    let lived = soak.live(1);
    let expiries: usize = (1..=5).map(|seed| soak.live(seed).summary.forced_expiries).sum();
    let mut rows = vec![
        row("soak", "age at which a node is due", human(derived.age_threshold.unsigned_abs())),
        row("soak", "rotations that can start in a window", derived.capacity.to_string()),
        row("soak", "chances before the deadline", derived.chances.to_string()),
        row("soak", "longest that a rotation may take", human(derived.rotation_bound)),
        row("soak", "findings", findings(&verdict, "")),
        row("soak", "forced expiries in 12 h, 5 seeds", expiries.to_string()),
        row("soak", "rotations in 12 h", lived.summary.rotated.to_string()),
    ];
    for (name, situation) in [("batch, 4 h", &long), ("batch, 30 min", &short)] {
        let verdict = situation.verdict();
        let capacity = verdict.derived.as_ref().unwrap().capacity.to_string();
        rows.push(row(name, "rotations that can start in a window", capacity));
        rows.push(row(name, "burst warning", findings(&verdict, "ThroughputBurst")));
    }
    let lived = long.live(1);
    let pool = &lived.pools[0];
    let first = pool.windows.iter().find(|window| pool.rotations[0].start < window.close).unwrap();
    let starts = pool.rotations.iter().filter(|attempt| attempt.start < first.close).count();
    rows.push(row("batch, 4 h", "starts in the first window", starts.to_string()));
    rows.push(row("batch, 4 h", "forced expiries in 8 weeks", lived.summary.forced_expiries.to_string()));
    let figure = "of the 12, expired by force at their first deadline";
    rows.push(row("batch, 30 min", figure, of_the_first(&short.live(1), 12).to_string()));
    let lived = fallback.live(1);
    rows.push(row("batch, 30 min, fallback", figure, of_the_first(&lived, 12).to_string()));
    rows.push(row("batch, 30 min, fallback", "rotations by fallback in 8 weeks", lived.summary.by_fallback.to_string()));
    rows
}

#[test]
fn c211_what_the_page_says_of_the_published_situations_is_what_comes_of_them() {
    let page = text("simulate.md");
    let table = page.split("| situation | figure | published | here |\n").nth(1).unwrap();
    let told: Vec<Vec<&str>> = table
        .lines()
        .skip(1)
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    let rows = rows();
    for [situation, figure, here] in &rows {
        let row = told.iter().find(|row| row[0] == situation && row[1] == figure);
        assert_eq!(row.map(|row| row[3]), Some(here.as_str()), "{situation}: {figure}");
    }
    assert_eq!(told.len(), rows.len());
}
