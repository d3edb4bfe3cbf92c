//! The plan that a replica makes of what its watches show, for the page of `run --ui`.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::input::Input;
use super::serve::told;
use crate::controller::Board;
use crate::controller::view::Objects;
use crate::ui::{Fault, Look, kept};

/// How far the plan goes, as with `plan`.
const HORIZON: Duration = Duration::from_secs(90 * 24 * 3600);
/// One plan serves all who ask within this time.
const AGE: Duration = Duration::from_secs(10);

/// What the page of a replica draws: its plan while it leads, and else why there is none.
pub(crate) fn look(board: Board) -> Look {
    let seen = board.clone();
    let plan = kept(
        Arc::new(move || match seen.view().and_then(|view| view.objects()) {
            Some(objects) => of_objects(objects, Timestamp::now()),
            None => Err(vec![Fault::new("the caches of this replica are not filled yet; ask again in a moment")]),
        }),
        AGE,
    );
    Arc::new(move || {
        // What is kept is of a lead that may be over.
        if board.view().is_none() {
            let words = "this replica does not lead, and sees no NodeClaims; ask the one that does: the Lease names its holder";
            return Err(vec![Fault::new(words)]);
        }
        plan()
    })
}

fn of_objects(objects: Objects, now: Timestamp) -> Result<Value, Vec<Fault>> {
    let Objects { policies, pools, claims, nodes } = objects;
    let input = Input { policies, pools, claims, nodes, ..Input::default() };
    told(&super::plan(input, &[], now, now.saturating_add(HORIZON).unwrap_or(Timestamp::MAX)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_replica_that_does_not_lead_says_so() {
        let faults = look(Board::default())().unwrap_err();
        assert!(faults[0].message.starts_with("this replica does not lead"), "{faults:?}");
    }

    #[test]
    fn the_plan_is_that_of_the_command() {
        let life = json!({"expireAfter": "336h", "terminationGracePeriod": "1h"});
        let window = json!({"timezone": "UTC", "days": ["Wed", "Sat"], "start": "02:00", "end": "06:00"});
        let policy = json!({
            "apiVersion": "noderotation.io/v1alpha1", "kind": "RotationPolicy", "metadata": {"name": "all"},
            "spec": {"nodePoolSelector": {}, "maintenanceWindows": [window]},
        });
        let pool = json!({"metadata": {"name": "a"}, "spec": {"template": {"spec": life}}});
        let claim = json!({
            "metadata": {"name": "a-1", "creationTimestamp": "2025-12-28T00:00:00Z", "labels": {"karpenter.sh/nodepool": "a"}},
            "spec": life,
        });
        let objects = Objects {
            policies: vec![policy],
            pools: vec![serde_json::from_value(pool).unwrap()],
            claims: vec![serde_json::from_value(claim).unwrap()],
            nodes: Vec::new(),
        };
        let plan = of_objects(objects, "2026-01-05T00:00:00Z".parse().unwrap()).unwrap();
        assert_eq!(plan.pointer("/pools/0/governedBy"), Some(&json!("all")));
        assert_eq!(plan.pointer("/pools/0/calendar/0/start"), Some(&json!("2026-01-07T02:00:00Z")));
        assert_eq!(plan.pointer("/pools/0/claims/0/deadline"), Some(&json!("2026-01-11T00:00:00Z")));
    }
}
