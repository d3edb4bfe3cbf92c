//! A cluster in miniature around the code that ships.
//!
//! The world executes what the product decides, one write at a time, as the API server would, and lets everybody else
//! act in between: Karpenter, the scheduler, people, a second leader, the clock. [`invariant`] says what must never
//! happen, in words of its own. The explorer in [`model`] visits every state within a number of perturbations.

pub mod annotation;
pub mod coverage;
pub mod decide;
pub mod fault;
pub mod fingerprint;
pub mod fleet;
pub mod instant;
pub mod invariant;
pub mod model;
pub mod moves;
pub mod plan;
pub mod play;
pub mod random;
pub mod setup;
pub mod shrink;
pub mod sight;
pub mod simulate;
pub mod worker;
pub mod world;
