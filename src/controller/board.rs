//! What the last pass over each pool has seen, for whoever tells of it: status and `/debug/state`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use noderotation_core::rotation::report::Report;
use serde_json::Value;
use tokio::sync::Notify;

use crate::controller::view::View;

/// The last report of each pool. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Board(Arc<Inner>);

#[derive(Default)]
struct Inner {
    reports: Mutex<BTreeMap<String, Arc<Report>>>,
    view: Mutex<Option<View>>,
    changed: Notify,
}

impl Board {
    /// A pass is over.
    pub(crate) fn post(&self, pool: &str, report: &Report) {
        let mut reports = self.0.reports.lock().unwrap_or_else(PoisonError::into_inner);
        if reports.get(pool).is_none_or(|before| **before != *report) {
            reports.insert(pool.to_owned(), Arc::new(report.clone()));
            self.0.changed.notify_one();
        }
    }

    /// The pool no longer exists.
    pub(crate) fn remove(&self, pool: &str) {
        self.0.reports.lock().unwrap_or_else(PoisonError::into_inner).remove(pool);
    }

    /// The lead is over: what was seen is no longer true.
    pub(crate) fn clear(&self) {
        self.0.reports.lock().unwrap_or_else(PoisonError::into_inner).clear();
        *self.0.view.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The watches of a lead have begun.
    pub(super) fn show(&self, view: View) {
        *self.0.view.lock().unwrap_or_else(PoisonError::into_inner) = Some(view);
    }

    /// What they show; `None` on a replica that does not lead.
    pub(crate) fn view(&self) -> Option<View> {
        self.0.view.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Every report by the name of its pool, as JSON; none on a replica that does not lead.
    pub(crate) fn to_json(&self) -> Value {
        let reports = self.0.reports.lock().unwrap_or_else(PoisonError::into_inner).clone();
        reports.iter().map(|(pool, report)| (pool.clone(), report.to_json())).collect()
    }

    /// What the last pass over a pool has seen.
    pub(crate) fn of(&self, pool: &str) -> Option<Arc<Report>> {
        self.0.reports.lock().unwrap_or_else(PoisonError::into_inner).get(pool).cloned()
    }

    /// Waits until a report differs from the one before it.
    pub(crate) async fn changed(&self) {
        self.0.changed.notified().await;
    }
}
