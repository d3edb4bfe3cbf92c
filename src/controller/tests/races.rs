//! What others do between our reads and our writes, and what is told then.

use noderotation_core::annotation::STATE;

use super::log::Log;
use super::*;

fn annotate(api: &Api, collection: &str, name: &str, annotations: Value) {
    let mut object = api.get(collection, name).unwrap();
    object["metadata"]["annotations"] = annotations;
    api.put(collection, &object);
}

impl Bench {
    /// A phase was measured so often.
    fn samples(&self, phase: &str, count: usize) -> bool {
        self.counted(&format!("noderotation_duration_seconds_count{{nodepool=\"pool\",phase=\"{phase}\"}} {count}"))
    }
}

fn outcome(outcome: &str, count: usize) -> String {
    format!("noderotation_completed_total{{nodepool=\"pool\",outcome=\"{outcome}\"}} {count}")
}

#[tokio::test(start_paused = true)]
async fn t2_a_completion_that_somebody_else_has_written_is_not_told() {
    for elsewhere in [false, true] {
        let bench = Bench::new();
        bench.api.delete(NODECLAIMS, "old");
        let anchor = json!({
            ACTIVE_ROTATION: "gone", ACTIVE_ROTATION_STATE: "draining", "noderotation.io/draining-at": "2026-01-07T02:00:00Z"
        });
        annotate(&bench.api, NODEPOOLS, "pool", anchor);
        let shared = bench.lead();
        if elsewhere {
            bench.api.before("PATCH nodepools/pool", |api| {
                annotate(api, NODEPOOLS, "pool", json!({"noderotation.io/last-rotation-at": "2026-01-07T02:10:00Z"}));
            });
        }
        let log = Log::new();
        bench.pass(&shared).await.unwrap();
        let told = usize::from(!elsewhere);
        assert!(bench.counted(&outcome("success", told)) && bench.counted(&outcome("expired", 0)), "elsewhere: {elsewhere}");
        assert!(bench.samples("drain", told), "elsewhere: {elsewhere}");
        assert_eq!(log.lines().iter().filter(|line| line.contains("rotation complete")).count(), told, "elsewhere: {elsewhere}");
    }
}

#[tokio::test(start_paused = true)]
async fn t18_a_claim_that_goes_during_the_sweep_is_nobodys_failure() {
    for goes in [false, true] {
        let bench = Bench::new();
        let mut lost = claim("lost");
        lost["metadata"]["annotations"] = json!({STATE: "pending"});
        bench.api.put(NODECLAIMS, &lost);
        let shared = bench.lead();
        if goes {
            bench.api.before("PATCH nodeclaims/lost", |api| api.delete(NODECLAIMS, "lost"));
        }
        let log = Log::new();
        bench.pass(&shared).await.unwrap();
        assert!(bench.counted(&outcome("failure", usize::from(!goes))), "goes: {goes}");
        let failed = log.lines().iter().filter(|line| line.contains("failed un-anchored")).count();
        assert_eq!(failed, usize::from(!goes));
        assert!(!goes || log.lines().iter().all(|line| line.starts_with("INFO")), "{:?}", log.lines());
    }
}

/// All that a rotation of `old` leaves behind on its way, with or without its anchor.
fn rotation_of_old(api: &Api, anchor: bool) {
    // The pass after the sweep does nothing of its own.
    let mut of_pool = json!({"noderotation.io/freeze": "forever"});
    if anchor {
        of_pool[ACTIVE_ROTATION] = json!("old");
    }
    annotate(api, NODEPOOLS, "pool", of_pool);
    annotate(api, NODECLAIMS, "old", json!({STATE: "pending", "noderotation.io/started-at": "2026-01-07T02:00:00Z"}));
    api.put(NODES, &marked("old", "old"));
    api.put(PODS, &placeholder("system", "old"));
}

#[tokio::test(start_paused = true)]
async fn t20_a_rotation_that_begins_during_the_sweep_keeps_its_marks() {
    for begins in [Some("LIST nodeclaims"), Some("LIST nodes "), Some("LIST pods"), Some("LIST nodepools"), None] {
        let bench = Bench::new();
        match begins {
            Some(look) => bench.api.before(look, |api| rotation_of_old(api, true)),
            // Its twin, of which nobody knows.
            None => rotation_of_old(&bench.api, false),
        }
        let shared = bench.lead();
        // Only the sweep counts here.
        bench.api.refuse_next("READ", 500, "InternalError", 100);
        let _failed = bench.pass(&shared).await;
        assert_eq!(bench.annotation(NODES, "old", SURGE_FOR).is_some(), begins.is_some(), "{begins:?}");
        let state = bench.annotation(NODECLAIMS, "old", STATE);
        assert_eq!(state.as_deref(), Some(if begins.is_some() { "pending" } else { "failed" }), "{begins:?}");
        assert_eq!(bench.api.list(PODS).len(), usize::from(begins.is_some()), "{begins:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn r12_a_placeholder_that_is_refused_is_told_once_and_tried_again() {
    let bench = Bench::new();
    bench.api.refuse_next("POST pods", 403, "Forbidden", 2);
    let shared = bench.lead();
    let log = Log::new();
    for _ in 0..2 {
        assert_eq!(bench.pass(&shared).await.unwrap(), Action::requeue(Duration::from_secs(30)));
    }
    let told = log.lines().into_iter().filter(|line| line.contains("surge placeholder rejected")).collect::<Vec<_>>();
    assert!(told.len() == 1 && told[0].contains("detail=\"Forbidden"), "{told:?}");
    assert!(bench.api.list(PODS).is_empty());
    bench.pass(&shared).await.unwrap();
    assert_eq!(bench.api.list(PODS).len(), 1);
}
