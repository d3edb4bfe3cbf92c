//! What is to be done about what is doubtful: the value of `--tie` and `--infeasible`, of `run` and of `check`.

use clap::ValueEnum;
use noderotation_core::doubt::Strictness;

/// How much a doubt weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Severity {
    /// Tell it.
    Warn,
    /// Refuse the policy.
    Deny,
}

impl Severity {
    /// What both flags amount to.
    pub(crate) fn strictness(tie: Self, infeasible: Self) -> Strictness {
        Strictness { deny_ties: tie == Self::Deny, deny_infeasible: infeasible == Self::Deny }
    }
}
