//! Certificates of the admission endpoint: issue, store, rotate, reload (D12).
//!
//! Values in, values out: no clock, no file and no request is in here. The shell reads and writes the Secret; this
//! crate says what is to be in it, and swaps what rustls serves.

pub mod bundle;
pub mod issue;
pub mod pair;
pub mod resolver;
pub mod rotation;
pub mod secret;
pub mod serving;
pub mod trust;
