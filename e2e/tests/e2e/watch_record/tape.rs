//! A recording in the making.

use anyhow::{Context as _, Result};
use e2e::cluster::Cluster;
use e2e::exposition::Exposition;
use e2e::fleet::Fleet;
use e2e::operator::Operator;
use e2e::recording::{Recording, of_pod};
use jiff::Timestamp;
use serde_json::json;

use crate::scene::{annotate, measured};

/// Long after any test.
const FROZEN: &str = "2100-01-01T00:00:00Z";
/// The same in Unix seconds.
const FROZEN_SECONDS: f64 = 4_102_444_800.0;

/// What is kept of a scrape.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// All but histograms and the counts of requests, which no alert asks for.
    Alerts,
    /// Everything.
    All,
}

/// Writes down scrapes under the name of a situation.
pub(crate) struct Tape {
    situation: String,
    keep: Keep,
    recording: Recording,
}

impl Tape {
    /// A new one, which says what happens.
    pub(crate) fn new(situation: &str, keep: Keep, says: &str) -> Self {
        Self { situation: situation.to_owned(), keep, recording: Recording::new(says, Timestamp::now()) }
    }

    /// Scrapes an operator that runs in the one Pod.
    pub(crate) async fn read(&mut self, name: &str, operator: &Operator) -> Result<()> {
        let exposition = operator.metrics().await?;
        self.keep(name, &[(format!("{}-1", self.situation), exposition)]);
        Ok(())
    }

    /// The same with two; the second may be gone.
    pub(crate) async fn read_two(&mut self, name: &str, one: Option<&Operator>, two: &Operator) -> Result<()> {
        let mut scrapes = Vec::new();
        for (number, operator) in [(1, one), (2, Some(two))] {
            if let Some(operator) = operator {
                scrapes.push((format!("{}-{number}", self.situation), operator.metrics().await?));
            }
        }
        self.keep(name, &scrapes);
        Ok(())
    }

    fn keep(&mut self, name: &str, scrapes: &[(String, Exposition)]) {
        let ours = format!("nodepool=\"{}\"", self.situation);
        let wanted = |series: &str| {
            let of_requests =
                ["_bucket", "_sum", "_seconds_count{", "_api_requests", "_admission_requests"].iter().any(|part| series.contains(part));
            let of_others = series.contains("nodepool=\"") && !series.contains(&ours);
            series.starts_with("noderotation_") && !of_others && (self.keep == Keep::All || !of_requests)
        };
        let samples: Vec<(String, &str)> = scrapes
            .iter()
            .flat_map(|(pod, scrape)| scrape.samples().map(move |(series, value)| (pod, series, value)))
            .filter(|(_, series, _)| wanted(series))
            .map(|(pod, series, value)| (of_pod(series, pod), value))
            .collect();
        self.recording.read(name, Timestamp::now(), samples);
    }

    /// Governs a fleet that is frozen, so that all its series are there and nothing has begun; reads, and lets it begin.
    pub(crate) async fn before(&mut self, cluster: &Cluster, operator: &Operator, fleet: &Fleet, policy: &str) -> Result<()> {
        annotate(cluster, "nodepool", &fleet.name, &json!({"noderotation.io/freeze": FROZEN})).await?;
        cluster.apply(policy).await?.accepted()?;
        measured(operator, fleet, "noderotation_freeze_until_timestamp", |value| value == Some(FROZEN_SECONDS)).await?;
        self.read("before", operator).await?;
        annotate(cluster, "nodepool", &fleet.name, &json!({"noderotation.io/freeze": null})).await
    }

    /// Writes the file.
    pub(crate) fn save(self) -> Result<()> {
        let folder = super::folder();
        std::fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
        let path = folder.join(format!("{}.txt", self.situation));
        std::fs::write(&path, self.recording.to_string()).with_context(|| format!("writing {}", path.display()))
    }
}
