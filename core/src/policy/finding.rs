//! What a schedule cannot do, or can barely do: one table of codes with their level (D5).

use std::fmt;

use serde::Serialize;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The pool is not rotated.
    Fatal,
    /// The pool is rotated, but look here.
    #[serde(rename = "warning")]
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
    /// Every code, in the order in which findings are told.
    pub const ALL: [Self; 16] = [
        Self::NoWindows,
        Self::KBelowOne,
        Self::KBelowTwo,
        Self::ANonPositive,
        Self::OverrideNonPositive,
        Self::OverrideGBelowOne,
        Self::OverrideGBelowK,
        Self::AVeryAggressive,
        Self::TGPUnset,
        Self::HardCapExceeded,
        Self::RetryBackoffShort,
        Self::DrainEstimateAboveTGP,
        Self::ProvisioningEstimateAboveReadyTimeout,
        Self::ThroughputBelowArrival,
        Self::ThroughputBurstShortfall,
        Self::RotationSpansNextWindow,
    ];

    /// The table: the name on the wire and the level of each code.
    const fn entry(self) -> (&'static str, Level) {
        match self {
            Self::NoWindows => ("NoWindows", Level::Fatal),
            Self::KBelowOne => ("KBelowOne", Level::Fatal),
            Self::KBelowTwo => ("KBelowTwo", Level::Warn),
            Self::ANonPositive => ("ANonPositive", Level::Fatal),
            Self::OverrideNonPositive => ("OverrideNonPositive", Level::Fatal),
            Self::OverrideGBelowOne => ("OverrideGBelowOne", Level::Fatal),
            Self::OverrideGBelowK => ("OverrideGBelowK", Level::Warn),
            Self::AVeryAggressive => ("AVeryAggressive", Level::Warn),
            Self::TGPUnset => ("TGPUnset", Level::Warn),
            Self::HardCapExceeded => ("HardCapExceeded", Level::Warn),
            Self::RetryBackoffShort => ("RetryBackoffShort", Level::Warn),
            Self::DrainEstimateAboveTGP => ("DrainEstimateAboveTGP", Level::Warn),
            Self::ProvisioningEstimateAboveReadyTimeout => ("ProvisioningEstimateAboveReadyTimeout", Level::Warn),
            Self::ThroughputBelowArrival => ("ThroughputBelowArrival", Level::Warn),
            Self::ThroughputBurstShortfall => ("ThroughputBurstShortfall", Level::Warn),
            Self::RotationSpansNextWindow => ("RotationSpansNextWindow", Level::Warn),
        }
    }

    /// The reason of the event and the value of the label.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.entry().0
    }

    /// It says nothing of the pool: the policy alone shows it, and is warned of it without one.
    #[must_use]
    pub const fn is_of_the_policy_alone(self) -> bool {
        matches!(self, Self::KBelowTwo | Self::RetryBackoffShort | Self::ProvisioningEstimateAboveReadyTimeout)
    }

    /// How bad it is.
    #[must_use]
    pub const fn level(self) -> Level {
        self.entry().1
    }
}

impl fmt::Display for FindingCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_complete_and_in_order() {
        assert!(FindingCode::ALL.is_sorted());
        let names: Vec<String> = FindingCode::ALL.iter().map(|code| format!("{code:?}")).collect();
        let wire: Vec<&str> = FindingCode::ALL.iter().map(|code| code.name()).collect();
        assert_eq!(wire, names, "a name on the wire is the name in the code");
        // The enum has no more variants than the list: the last one's place is the list's last.
        assert_eq!(FindingCode::RotationSpansNextWindow as usize + 1, FindingCode::ALL.len());
    }

    #[test]
    fn only_what_keeps_a_pool_from_being_rotated_is_fatal() {
        let fatal: Vec<&str> = FindingCode::ALL.iter().filter(|code| code.level() == Level::Fatal).map(|code| code.name()).collect();
        assert_eq!(fatal, ["NoWindows", "KBelowOne", "ANonPositive", "OverrideNonPositive", "OverrideGBelowOne"]);
    }
}
