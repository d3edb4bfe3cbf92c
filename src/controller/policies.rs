//! The policies as last seen, parsed once per change and shared by all passes.

use std::sync::{Arc, PoisonError, RwLock};

use kube::core::DynamicObject;
use noderotation_core::resolve::PolicyEntry;

/// All policies of the cluster, valid or not.
#[derive(Clone, Default)]
pub(crate) struct Policies(Arc<RwLock<Arc<Vec<PolicyEntry>>>>);

impl Policies {
    /// Replaces the whole list. Judged from the raw object, so that none is too malformed to be judged (I11).
    pub(crate) fn replace(&self, objects: &[Arc<DynamicObject>]) {
        let mut entries: Vec<PolicyEntry> = objects
            .iter()
            .filter_map(|object| serde_json::to_value(object.as_ref()).ok())
            .map(|object| PolicyEntry::from_object(&object))
            .collect();
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(entries);
    }

    /// The list as of the last change.
    pub(crate) fn current(&self) -> Arc<Vec<PolicyEntry>> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}
