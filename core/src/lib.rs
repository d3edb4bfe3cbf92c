//! Every rule of node rotation as pure functions.
//!
//! The operator, the admission endpoint and the offline commands call the same functions, so that a rule exists once.
//!
//! What may never be in here: a clock, a network or file access, a log line, a metric, randomness, an
//! async function. A decision is a function of an observation and of `now`; it returns what is to be done.

pub mod annotation;
pub mod backoff;
pub mod check;
pub mod cleanup;
pub mod definition;
pub mod doubt;
pub mod duration;
pub mod few;
pub mod gate;
pub mod governance;
pub mod headroom;
pub mod karpenter;
pub mod missed_window;
pub mod name;
pub mod nearest;
pub mod placeholder;
pub mod policy;
pub mod resolve;
pub mod rotation;
pub mod schedule;
pub mod selection;
pub mod status;
pub mod surroundings;
pub mod sweep;
pub mod window;
