//! The HTTPS admission endpoint of RotationPolicy (D11).
//!
//! It judges one object at a time and answers; it reads no file, calls nobody, and remembers nothing. The cluster is shown
//! to it by whoever runs it. What is a fault and what is a default is `noderotation-core`'s to say.

pub mod default;
pub mod judge;
pub mod probe;
pub mod registration;
pub mod review;
pub mod server;
pub mod validate;
pub mod warning;
