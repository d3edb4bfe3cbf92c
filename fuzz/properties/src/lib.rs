//! What the rules owe to any input, as functions of bytes.
//!
//! A property takes whatever bytes there are and panics if the rules break a promise. The fuzzer runs them with inputs
//! that it grows by coverage; the unit tests run them over the committed seeds and some thousand variations of these.
//! What judges shares no code with what is judged.

pub mod cluster;
pub mod duration;
pub mod manifest;
pub mod marks;
pub mod pair;
pub mod policy;
pub mod review;
#[cfg(test)]
mod tests;
pub mod window;

use jiff::Timestamp;

/// When everybody is asked, in a year with changes of the clocks to come.
const NOW: Timestamp = Timestamp::constant(1_767_225_600, 0);
