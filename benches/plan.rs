//! What `plan` costs, from the start of the program to its end. `make bench` runs it.

#![expect(clippy::unwrap_used, reason = "the whole file is a benchmark")]

use std::process::{Command, Stdio};

use criterion::{Criterion, criterion_group, criterion_main};
use serde_json::{Value, json};

/// So many pools, with ten claims each as `kubectl get -o json` prints them.
fn cluster(pools: usize) -> Value {
    let life = json!({"expireAfter": "336h", "terminationGracePeriod": "1h"});
    let condition = |kind: &str| json!({"type": kind, "status": "True", "reason": kind, "lastTransitionTime": "2025-12-20T00:00:00Z"});
    let conditions: Vec<Value> = ["Launched", "Registered", "Initialized", "Ready"].map(condition).into();
    let mut items = Vec::new();
    for pool in 0..pools {
        let name = format!("pool-{pool}");
        let spec = json!({"template": {"spec": life}});
        items.push(json!({"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": name}, "spec": spec}));
        for claim in 0..10 {
            let labels = json!({"karpenter.sh/nodepool": name, "kubernetes.io/arch": "amd64", "topology.kubernetes.io/zone": "a"});
            items.push(json!({
                "apiVersion": "karpenter.sh/v1",
                "kind": "NodeClaim",
                "metadata": {
                    "name": format!("{name}-{claim}"),
                    "uid": format!("{pool}-{claim}"),
                    "creationTimestamp": format!("2025-12-2{}T0{claim}:00:00Z", claim % 7),
                    "labels": labels,
                },
                "spec": life,
                "status": {
                    "nodeName": format!("node-{pool}-{claim}"),
                    "allocatable": {"cpu": "3920m", "memory": "14Gi", "pods": "58"},
                    "conditions": conditions,
                },
            }));
        }
    }
    json!({"apiVersion": "v1", "kind": "List", "items": items})
}

const POLICY: &str = "apiVersion: noderotation.io/v1alpha1\nkind: RotationPolicy\nmetadata: {name: all}\nspec:\n  nodePoolSelector: {}\n  \
                      maintenanceWindows:\n    - {timezone: America/New_York, days: [Wed, Sat], start: \"02:00\", end: \"06:00\"}\n";

fn plan(criterion: &mut Criterion) {
    let folder = std::env::temp_dir().join(format!("node-rotation-plan-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let policy = folder.join("policy.yaml");
    std::fs::write(&policy, POLICY).unwrap();
    let mut group = criterion.benchmark_group("plan");
    group.sample_size(10);
    let cluster = cluster(1000);
    let texts = [("json", serde_json::to_string_pretty(&cluster).unwrap()), ("yaml", serde_yaml_ng::to_string(&cluster).unwrap())];
    for (format, text) in texts {
        let file = folder.join(format!("cluster.{format}"));
        std::fs::write(&file, text).unwrap();
        group.bench_function(format!("1,000 pools and 10,000 claims in {format}"), |b| {
            b.iter(|| {
                let mut command = Command::new(env!("CARGO_BIN_EXE_node-rotation-controller"));
                let command = command.args(["plan", "--at", "2026-01-01T00:00:00Z", "-f"]).arg(&policy).arg("-f").arg(&file);
                assert!(command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().code().is_some_and(|code| code < 2));
            });
        });
    }
    group.finish();
    std::fs::remove_dir_all(&folder).unwrap();
}

criterion_group!(benches, plan);
criterion_main!(benches);
