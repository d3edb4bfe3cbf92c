//! What `check` costs, from the start of the program to its verdict. `make bench` runs it.

#![expect(clippy::unwrap_used, reason = "the whole file is a benchmark")]

use std::fmt::Write as _;
use std::process::{Command, Stdio};

use criterion::{Criterion, criterion_group, criterion_main};

/// Policies of one file, each with a selector of its own and two windows.
fn policies(count: usize) -> String {
    let mut text = String::new();
    for index in 0..count {
        writeln!(
            text,
            "---\napiVersion: noderotation.io/v1alpha1\nkind: RotationPolicy\nmetadata:\n  name: policy-{index}\nspec:\n  \
             nodePoolSelector:\n    matchLabels:\n      team: team-{index}\n  maintenanceWindows:\n    \
             - {{timezone: America/New_York, days: [Wed, Sat], start: \"02:00\", end: \"06:00\"}}\n    \
             - {{timezone: Europe/Berlin, days: [Sun], start: \"22:00\", end: \"06:00\"}}\n  surge:\n    readyTimeout: 20m"
        )
        .unwrap();
    }
    text
}

fn check(criterion: &mut Criterion) {
    let folder = std::env::temp_dir().join(format!("node-rotation-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut group = criterion.benchmark_group("check");
    group.sample_size(10);
    for count in [1, 1000] {
        let file = folder.join(format!("{count}.yaml"));
        std::fs::write(&file, policies(count)).unwrap();
        group.bench_function(format!("{count} policies"), |b| {
            b.iter(|| {
                let mut command = Command::new(env!("CARGO_BIN_EXE_node-rotation-controller"));
                let status = command.args(["check", "-f"]).arg(&file).stdout(Stdio::null()).status().unwrap();
                assert!(status.success());
            });
        });
    }
    group.finish();
    std::fs::remove_dir_all(&folder).unwrap();
}

criterion_group!(benches, check);
criterion_main!(benches);
