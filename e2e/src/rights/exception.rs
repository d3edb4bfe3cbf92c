//! Rights that are granted although no run uses them: each with its reason, and none without.
//!
//! An entry that is used after all, or that is not granted any more, fails as well.

/// A right that stays.
#[derive(Clone, Copy, Debug)]
pub struct Exception {
    /// The right, as a finding spells it.
    pub right: &'static str,
    /// Why it stays.
    pub reason: &'static str,
}

/// All of them.
pub const ALL: [Exception; 0] = [];
