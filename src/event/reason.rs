//! Every reason of an event: words that other people's alerts and routes know it by (D14).

use std::fmt;

use noderotation_core::policy::finding::FindingCode;

/// One list, of which the type, its names and `Reason::ALL` are made.
macro_rules! reasons {
    ($($name:ident,)*) => {
        /// Why an event is written. Names are added, never changed and never used for something else.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Reason {
            $($name,)*
            /// A finding about a schedule; its code is the reason.
            Finding(FindingCode),
        }

        impl Reason {
            /// All but those of the findings.
            #[cfg(test)]
            pub(crate) const ALL: &[Self] = &[$(Self::$name,)*];

            /// As it stands in the event.
            #[must_use]
            pub(crate) const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                    Self::Finding(code) => code.name(),
                }
            }
        }
    };
}

reasons! {
    RotationStarted,
    RotationCompleted,
    RotationFailed,
    RotationExpired,
    ForcefulFallback,
    DrainStuck,
    GovernanceLost,
    PolicyConflict,
    ShortLead,
    WindowMissed,
    InsufficientHeadroom,
    StaticNodePool,
    NodePoolNotReady,
    FreezeUnparsable,
    SurgeClamped,
    SurgeClampBandExceeded,
    SurgeClampRefused,
    SurgeUnschedulable,
    SurgeRejected,
    ReservationLost,
    ForeignAnchor,
    AnchorRestored,
    StampInFuture,
    UnrecognisedOptOut,
    CertificateWritten,
    CertificateReplaced,
    CertificateWaits,
    CertificateRefused,
    WebhookConfigurationRepaired,
    WebhookConfigurationMissing,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reasons that other people's alerts know. A change here is a break for them.
    const KNOWN: [&str; 15] = [
        "ForcefulFallback",
        "GovernanceLost",
        "InsufficientHeadroom",
        "PolicyConflict",
        "RotationCompleted",
        "RotationExpired",
        "RotationFailed",
        "RotationStarted",
        "ShortLead",
        "StaticNodePool",
        "SurgeClampBandExceeded",
        "SurgeClampRefused",
        "SurgeClamped",
        "SurgeUnschedulable",
        "WindowMissed",
    ];

    #[test]
    fn the_names_that_others_rely_on_are_there() {
        for known in KNOWN {
            assert!(Reason::ALL.iter().any(|reason| reason.name() == known), "the event {known} is gone");
        }
    }

    #[test]
    fn every_name_is_a_word_that_the_api_server_admits_and_none_stands_twice() {
        let findings = FindingCode::ALL.map(Reason::Finding);
        let names: Vec<&str> = Reason::ALL.iter().chain(&findings).map(|reason| reason.name()).collect();
        let mut once = names.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), names.len(), "{names:?}");
        assert!(names.iter().all(|name| name.len() <= 128 && name.chars().all(|c| c.is_ascii_alphanumeric())), "{names:?}");
    }
}
