//! Certificates of the admission endpoint: issue, store, rotate, reload.
