//! A whole rotation through the shell, and with each of its writes going wrong in each way.

use noderotation_core::annotation::DO_NOT_DISRUPT_OWNED;

use super::api::Fault;
use super::*;

impl Bench {
    /// Karpenter and the scheduler: a node for a placeholder that has none.
    fn provision(&self) {
        for mut pod in self.api.list(PODS).into_iter().filter(|pod| pod["spec"]["nodeName"].is_null()) {
            let mut claim = claim("surge-1");
            claim["metadata"]["creationTimestamp"] = json!("2026-01-07T02:00:30Z");
            self.api.put(NODECLAIMS, &claim);
            self.api.put(NODES, &node("surge-1"));
            pod["spec"]["nodeName"] = json!("surge-1");
            pod["status"] = json!({"phase": "Running"});
            self.api.put(PODS, &pod);
        }
    }

    /// Karpenter: what is being deleted has drained.
    fn finish_drains(&self) {
        for claim in self.api.list(NODECLAIMS).iter().filter(|claim| !claim["metadata"]["deletionTimestamp"].is_null()) {
            let name = claim["metadata"]["name"].as_str().unwrap();
            self.api.delete(NODECLAIMS, name);
            self.api.delete(NODES, name);
        }
    }

    /// Passes until the old claim is gone and the pool is free again, each with a lead and caches of its own.
    async fn rotate(&self) {
        for _ in 0..8 {
            // What a pass cannot do, the next one makes up for.
            let _failed = self.pass(&self.lead()).await;
            self.provision();
            let _failed = self.pass(&self.lead()).await;
            self.finish_drains();
            let _failed = self.pass(&self.lead()).await;
            let free = self.annotation(NODEPOOLS, "pool", ACTIVE_ROTATION).is_none();
            if free && self.api.get(NODECLAIMS, "old").is_none() {
                return;
            }
        }
    }

    fn assert_clean(&self, what: &str) {
        assert!(self.api.get(NODECLAIMS, "old").is_none() && self.api.get(NODECLAIMS, "surge-1").is_some(), "{what}");
        assert!(self.api.list(PODS).is_empty(), "{what}");
        for key in [SURGE_FOR, CORDONED, DO_NOT_DISRUPT_OWNED] {
            assert_eq!(self.annotation(NODES, "surge-1", key), None, "{what}: {key}");
        }
        for key in [ACTIVE_ROTATION, ACTIVE_ROTATION_STATE] {
            assert_eq!(self.annotation(NODEPOOLS, "pool", key), None, "{what}: {key}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_writes_of_a_rotation_are_these_and_no_others() {
    let bench = Bench::new();
    bench.rotate().await;
    bench.assert_clean("undisturbed");
    let writes = [
        "PATCH nodepools/pool",
        "PATCH nodeclaims/old",
        "PATCH nodes/old",
        "POST pods ",
        "PATCH nodeclaims/old",
        "PATCH nodes/surge-1",
        "PATCH nodepools/pool",
        "PATCH nodeclaims/old",
        "DELETE nodeclaims/old",
        "DELETE pods/noderotation-surge-old",
        "PATCH nodes/surge-1",
        "PATCH nodepools/pool",
    ];
    assert_eq!(bench.api.writes(), writes);
    assert!(bench.counted("noderotation_completed_total{nodepool=\"pool\",outcome=\"success\"} 1"));
}

#[tokio::test(start_paused = true)]
async fn t12_a_rotation_ends_once_and_leaves_nothing_whichever_write_goes_wrong_and_however() {
    let clean = Bench::new();
    clean.rotate().await;
    let last = clean.api.writes().len() - 1;
    let delete = clean.api.writes().iter().position(|line| line == "DELETE nodeclaims/old").unwrap();
    for number in 0..=last {
        for fault in [Fault::Conflict, Fault::Lost, Fault::Unanswered] {
            let bench = Bench::new();
            bench.api.fail_write(number, fault);
            bench.rotate().await;
            let what = format!("write {number}: {fault:?}");
            bench.assert_clean(&what);
            // What is told belongs to a write that was answered: once at most, and never for another outcome.
            let told = bench.counted("noderotation_completed_total{nodepool=\"pool\",outcome=\"success\"} 1");
            assert_eq!(told, !(number == last && fault == Fault::Unanswered), "{what}");
            for outcome in ["failure", "expired"] {
                let none = format!("noderotation_completed_total{{nodepool=\"pool\",outcome=\"{outcome}\"}} 0");
                assert!(bench.counted(&none), "{what}: {outcome}");
            }
            for phase in ["surge_wait", "drain"] {
                let series = format!("noderotation_duration_seconds_count{{nodepool=\"pool\",phase=\"{phase}\"}}");
                let lines = bench.metrics.render();
                let samples = lines.lines().find_map(|line| line.strip_prefix(&series)).map_or("0", str::trim);
                // None where the answer of the write that ends the phase did not arrive.
                let end = if phase == "drain" { last } else { delete };
                assert_eq!(samples, if number == end && fault == Fault::Unanswered { "0" } else { "1" }, "{what}: {phase}");
            }
        }
    }
}
