//! What the command `cleanup` asks for and writes, and what becomes of it when others write as well.

use noderotation_core::cleanup::Scope;
use noderotation_core::rotation::effect::Effect;

use super::*;
use crate::controller::cleanup::{Outcome, carry_out, look};

const ORPHANS: Scope<'_> = Scope { namespace: "system", rival: false, everything: false };
const EVERYTHING: Scope<'_> = Scope { everything: true, ..ORPHANS };

/// A rotation of `old` in flight, with a mark on a Node that has lost its pool's label.
fn rotating() -> Bench {
    let bench = Bench::new();
    let annotated = |mut object: Value, annotations: Value| {
        object["metadata"]["annotations"] = annotations;
        object
    };
    let pool = json!({"metadata": {"name": "pool"}, "spec": {"template": {"spec": {}}}});
    bench.api.put(NODEPOOLS, &annotated(pool, json!({ACTIVE_ROTATION: "old", "noderotation.io/freeze": "2020-01-01T00:00:00Z"})));
    bench.api.put(NODECLAIMS, &annotated(claim("old"), json!({"noderotation.io/state": "pending"})));
    bench.api.put(NODES, &marked("old", "old"));
    let mut stray = marked("stray", "old");
    stray["metadata"]["labels"] = json!({});
    bench.api.put(NODES, &stray);
    bench.api.put(PODS, &placeholder("system", "old"));
    bench
}

async fn removed(bench: &Bench, scope: Scope<'_>) -> (Outcome, usize) {
    let mut told = 0;
    let outcome = carry_out(&bench.context, scope, |_, _: &Effect| told += 1).await.unwrap();
    (outcome, told)
}

#[tokio::test(start_paused = true)]
async fn markers_are_read_before_anchors_and_a_look_writes_nothing() {
    let bench = rotating();
    let plan = look(&bench.context, EVERYTHING).await.unwrap();
    assert_eq!(plan.repairs.len(), 2);
    let asked = bench.api.asked();
    assert_eq!(asked.len(), 4);
    assert!(asked[3].starts_with("LIST nodepools") && asked.iter().all(|line| line.ends_with("(metadata)")), "{asked:?}");
}

#[tokio::test(start_paused = true)]
async fn everything_goes_with_the_anchor_last_and_what_is_owned_stays_without_it() {
    let bench = rotating();
    assert_eq!(removed(&bench, ORPHANS).await.1, 0);
    let (outcome, told) = removed(&bench, EVERYTHING).await;
    assert!(outcome.plan.repairs.is_empty() && outcome.failures.is_empty());
    let writes = bench.api.writes();
    let expected =
        ["PATCH nodes/stray", "PATCH nodeclaims/old", "DELETE pods/noderotation-surge-old", "PATCH nodes/old", "PATCH nodepools/pool"];
    assert_eq!((writes, told), (expected.map(str::to_owned).to_vec(), expected.len()));
    assert_eq!(
        bench.api.get(NODEPOOLS, "pool").unwrap()["metadata"]["annotations"],
        json!({"noderotation.io/freeze": "2020-01-01T00:00:00Z"})
    );
    assert!(bench.api.get(NODECLAIMS, "old").is_some(), "no claim is ever deleted");
}

#[tokio::test(start_paused = true)]
async fn whichever_write_is_lost_to_another_the_next_look_makes_up_for_it() {
    for number in 0..5 {
        let bench = rotating();
        bench.api.fail_write(number, api::Fault::Conflict);
        let (outcome, told) = removed(&bench, EVERYTHING).await;
        assert!(outcome.plan.repairs.is_empty() && outcome.failures.is_empty(), "write {number}");
        assert_eq!(told, 5, "write {number}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_fails_is_said_and_keeps_the_anchor_but_not_what_is_apart() {
    let bench = rotating();
    bench.api.refuse_next("PATCH nodes/old", 403, "Forbidden", 1);
    let (outcome, told) = removed(&bench, EVERYTHING).await;
    assert_eq!((outcome.failures.len(), outcome.plan.repairs.len(), told), (1, 1, 3));
    assert!(bench.annotation(NODEPOOLS, "pool", ACTIVE_ROTATION).is_some());
    // The next run finds what is left.
    assert_eq!(removed(&bench, EVERYTHING).await.1, 2);
    assert_eq!(bench.annotation(NODEPOOLS, "pool", ACTIVE_ROTATION), None);
}

#[tokio::test(start_paused = true)]
async fn without_karpenters_kinds_the_nodes_are_still_looked_at() {
    let bench = rotating();
    for kind in [NODECLAIMS, NODEPOOLS] {
        bench.api.refuse_next(&format!("LIST {kind}"), 404, "NotFound", 2);
    }
    let (outcome, told) = removed(&bench, EVERYTHING).await;
    assert_eq!((outcome.failures.len(), told), (0, 3));
    assert!(bench.api.writes().iter().all(|line| !line.contains("nodepools")), "{:?}", bench.api.writes());
}

#[tokio::test(start_paused = true)]
async fn nothing_is_written_without_the_lead() {
    let mut bench = rotating();
    let context = Context { lead: Lead::default(), ..(*bench.context).clone() };
    bench.context = Arc::new(context);
    let (outcome, told) = removed(&bench, EVERYTHING).await;
    assert_eq!((outcome.failures.len(), told, bench.api.writes().len()), (2, 0, 0));
}
