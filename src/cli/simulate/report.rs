//! What `simulate` tells, in the shape of its JSON. Instants are RFC 3339 in UTC, spans whole seconds.

use jiff::Timestamp;
use noderotation_simulate::{Distribution, Report, Summary, distribution};
use serde::Serialize;

/// Lives of one fleet, under one set of policies or two.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Simulation {
    /// When each begins.
    pub(super) start: Timestamp,
    /// When each ends.
    pub(super) end: Timestamp,
    /// One for each set of policies.
    pub(super) variants: Vec<Variant>,
    /// What is worth knowing.
    pub(super) notes: Vec<String>,
}

/// Lives under one set of policies.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Variant {
    /// Where the policies are written.
    pub(super) policies: String,
    /// One for each run.
    pub(super) lives: Vec<Life>,
    /// Of several runs together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) distribution: Option<Distribution>,
    /// Of a single run, everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) report: Option<Report>,
}

/// One life in figures.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Life {
    /// What chance was drawn from.
    pub(super) seed: u64,
    /// The figures.
    pub(super) summary: Summary,
}

/// One life in a line of its own.
#[derive(Debug, Serialize)]
pub(super) struct Line<'a> {
    /// The word for it among the events of a time line.
    pub(super) event: &'static str,
    /// Where the policies are written.
    pub(super) policies: &'a str,
    /// The life.
    #[serde(flatten)]
    pub(super) life: &'a Life,
}

impl Simulation {
    /// No node expires by force in any life.
    pub(super) fn is_well(&self) -> bool {
        self.variants.iter().flat_map(|variant| &variant.lives).all(|life| life.summary.forced_expiries == 0)
    }
}

impl Variant {
    /// Its lives together.
    pub(super) fn distribution(&self) -> Distribution {
        distribution(&self.lives.iter().map(|life| life.summary.clone()).collect::<Vec<_>>())
    }
}
