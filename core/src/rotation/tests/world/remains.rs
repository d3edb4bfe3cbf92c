//! What must never be, and what must not be left.

use super::*;

impl World {
    /// Invariants that hold between any two passes, written without the decider's own functions.
    pub(in crate::rotation::tests) fn check(&self) {
        let has = |key: &str| self.pool.annotations().contains_key(key);
        for companion in [ACTIVE_ROTATION_STATE, DRAINING_AT, SURGE_WAIT, SURGE_PATH, ROTATION_MODE] {
            assert!(has(ACTIVE_ROTATION) || !has(companion), "I4: {companion} without an anchor");
        }
        let deleting =
            self.claims.values().filter(|claim| claim.metadata.deletion_timestamp.is_some() && !claim.name_any().starts_with("surge"));
        for claim in deleting {
            assert!(has(ACTIVE_ROTATION_STATE), "I2: {} is deleted without the mirror", claim.name_any());
        }
        if !has(ACTIVE_ROTATION) {
            self.assert_no_marks_on_nodes();
        }
    }

    pub(in crate::rotation::tests) fn assert_no_marks_on_nodes(&self) {
        for node in self.nodes.values() {
            for key in [SURGE_FOR, DO_NOT_DISRUPT_OWNED, CORDONED] {
                assert!(!node.annotations().contains_key(key), "{key} is left on {}", node.name_any());
            }
        }
        let placeholders: Vec<_> = self.pods.keys().filter(|name| name.starts_with("noderotation-surge")).collect();
        assert!(placeholders.is_empty(), "{placeholders:?} are left");
    }

    /// Nothing of ours is left anywhere, but what the pauses need (L3).
    pub(in crate::rotation::tests) fn assert_clean(&self) {
        self.assert_no_marks_on_nodes();
        let ours = |key: &&String| key.starts_with("noderotation.io/") && !key.ends_with("-at");
        assert_eq!(self.pool.annotations().keys().filter(ours).count(), 0, "{:?}", self.pool.annotations());
        for claim in self.claims.values() {
            let left: Vec<_> = claim.annotations().keys().filter(|key| key.starts_with("noderotation.io/")).collect();
            assert!(left.is_empty(), "{left:?} are left on {}", claim.name_any());
        }
    }
}
