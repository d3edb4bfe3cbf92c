//! What a schedule cannot do, or can barely do: one table of codes with their level (D5).

use std::fmt;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The pool is not rotated.
    Fatal,
    /// The pool is rotated, but look here.
    Warn,
}

/// Which finding. The names are event reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingCode {
    /// No window ever opens.
    NoWindows,
    /// `minRotationChances` below 1.
    KBelowOne,
    /// `minRotationChances` of 1.
    KBelowTwo,
    /// The derived age threshold is not positive.
    ANonPositive,
    /// The given age threshold is not positive.
    OverrideNonPositive,
    /// The given age threshold leaves no window before the expiry.
    OverrideGBelowOne,
    /// The given age threshold leaves fewer windows than asked for.
    OverrideGBelowK,
    /// The age threshold is shorter than the time between windows.
    AVeryAggressive,
    /// The pool has no grace period.
    TGPUnset,
    /// Life and grace period exceed 21 days.
    HardCapExceeded,
    /// A failed claim is tried again before the attempt's own time limit.
    RetryBackoffShort,
    /// The drain estimate exceeds the grace period.
    DrainEstimateAboveTGP,
    /// The provisioning estimate exceeds the time limit.
    ProvisioningEstimateAboveReadyTimeout,
    /// Claims come due faster than windows allow.
    ThroughputBelowArrival,
    /// Claims born together cannot all be rotated in time.
    ThroughputBurstShortfall,
    /// A rotation may outlast the closed time between windows.
    RotationSpansNextWindow,
}

impl FindingCode {
    /// How bad it is.
    #[must_use]
    pub fn level(self) -> Level {
        match self {
            Self::NoWindows | Self::KBelowOne | Self::ANonPositive | Self::OverrideNonPositive | Self::OverrideGBelowOne => Level::Fatal,
            Self::KBelowTwo
            | Self::OverrideGBelowK
            | Self::AVeryAggressive
            | Self::TGPUnset
            | Self::HardCapExceeded
            | Self::RetryBackoffShort
            | Self::DrainEstimateAboveTGP
            | Self::ProvisioningEstimateAboveReadyTimeout
            | Self::ThroughputBelowArrival
            | Self::ThroughputBurstShortfall
            | Self::RotationSpansNextWindow => Level::Warn,
        }
    }
}

impl fmt::Display for FindingCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The names of the variants are the wire names.
        fmt::Debug::fmt(self, f)
    }
}

/// One finding about a policy and a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Which.
    pub code: FindingCode,
    /// How bad.
    pub level: Level,
    /// What is the matter and what to change, with the numbers.
    pub sentence: String,
}

impl Finding {
    /// A finding with its sentence.
    #[must_use]
    pub fn new(code: FindingCode, sentence: String) -> Self {
        Self { code, level: code.level(), sentence }
    }
}
