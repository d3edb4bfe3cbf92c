//! What it costs to live through a year, as a table; `make bench` runs it. Each row is a process of its own, so that its memory
//! is its own.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "the whole file is a benchmark")]

use std::hint::black_box;
use std::process::Command;
use std::time::Duration;

use noderotation_core::resolve::PolicyEntry;
use noderotation_simulate::fleet::{Times, read};
use noderotation_simulate::{Fleet, run};
use serde_json::json;

/// Pools, nodes of each, and for how long they live.
const ROWS: [(usize, usize, &str); 4] = [(100, 10, "720h"), (100, 10, "336h"), (1_000, 10, "720h"), (10, 100, "720h")];
/// The quickest of these counts: whatever else the machine does only makes it slower.
const TURNS: usize = 3;

/// Nodes born over a week, in ordinary weather.
fn fleet((pools, nodes, expire_after): (usize, usize, &str)) -> Fleet {
    let pool = |number: usize| {
        json!({
            "name": format!("pool-{number}"), "expireAfter": expire_after, "terminationGracePeriod": "1h",
            "nodes": [{"count": nodes, "within": "168h"}],
            "provisioning": {"min": "1m", "p50": "3m", "max": "9m"}, "drain": {"min": "1m", "p50": "5m", "max": "20m"}, "launchFails": "1%",
        })
    };
    let pools: Vec<serde_json::Value> = (0..pools).map(pool).collect();
    read(&json!({"start": "2026-01-01T00:00:00Z", "end": "2027-01-01T00:00:00Z", "pools": pools}), Times::default()).unwrap()
}

/// Time that this process has had of a core, where the system tells it: it does not grow with what else the machine does.
fn on_core(since: std::time::Instant) -> Duration {
    let told = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    told.split(' ').next().and_then(|count| count.parse().ok()).map_or_else(|| since.elapsed(), Duration::from_nanos)
}

#[expect(clippy::disallowed_methods, reason = "it measures the time that passes")]
fn measure(row: (usize, usize, &str)) {
    let window = json!({"timezone": "America/New_York", "days": ["Wed", "Sat"], "start": "02:00", "end": "06:00"});
    let policy = json!({"metadata": {"name": "all"}, "spec": {"nodePoolSelector": {}, "maintenanceWindows": [window]}});
    let policies = vec![PolicyEntry::from_object(&policy)];
    let fleet = fleet(row);
    let (mut quickest, mut rotated) = (Duration::MAX, 0);
    for _ in 0..TURNS {
        let start = std::time::Instant::now();
        let begin = on_core(start);
        let report = black_box(run(&fleet, &policies, 1));
        quickest = quickest.min(on_core(start).saturating_sub(begin));
        rotated = report.summary.rotated;
    }
    let (pools, nodes, expire_after) = row;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    let peak = peak.map_or_else(|| "unknown".to_owned(), |kib| format!("{} MiB", kib / 1024));
    println!("| {} in {pools} pools, `{expire_after}` | {rotated} | {:.2} s | {peak} |", pools * nodes, quickest.as_secs_f64());
}

fn main() {
    let given = std::env::args().nth(1).and_then(|number| ROWS.get(number.parse::<usize>().ok()?));
    if let Some(row) = given {
        return measure(*row);
    }
    println!("| nodes, expireAfter | rotations in a year | time of a core | peak memory |\n|---|---|---|---|");
    for number in 0..ROWS.len() {
        assert!(Command::new(std::env::current_exe().unwrap()).arg(number.to_string()).status().unwrap().success());
    }
}
