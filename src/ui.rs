//! The page that draws a plan: its files, the server that hands them out, and who calculates what it asks for.
//!
//! The files are in the program, and ask nobody but this server. Three commands serve them: `plan --serve` and
//! `simulate --serve`, where policy and cluster or fleet are edited in the page, and `run --ui`, which only tells.

mod assets;
mod desk;
mod guard;
mod kept;
mod routes;
#[cfg(test)]
mod tests;

pub(crate) use desk::Desk;
pub(crate) use guard::Hosts;
pub(crate) use kept::kept;
pub(crate) use routes::{editor, viewer};

use std::fmt;
use std::sync::Arc;

use noderotation_core::check::FaultReport;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What the page draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Subject {
    /// What is expected of a cluster.
    Plan,
    /// What has become of a made-up fleet.
    Simulation,
}

/// What people write in the page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Texts {
    /// RotationPolicies, as YAML or JSON.
    pub(crate) policy: String,
    /// Everything else of the cluster, likewise; or a made-up fleet.
    pub(crate) fleet: String,
}

/// Something wrong, in words that say what to write instead.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Fault {
    /// Where it is written: `policy:7:5` is text, line and column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) at: Option<String>,
    /// Path of the field; empty where it is in no single one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) field: String,
    /// What is wrong.
    pub(crate) message: String,
}

impl From<FaultReport> for Fault {
    fn from(fault: FaultReport) -> Self {
        Self { at: fault.at, field: fault.field, message: fault.message }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.at.as_deref().into_iter().chain([self.field.as_str()]).filter(|part| !part.is_empty());
        place.into_iter().try_for_each(|part| write!(f, "{part}: "))?;
        f.write_str(&self.message)
    }
}

impl Fault {
    /// `policy:7:5: words` with its place apart.
    pub(crate) fn located(line: &str) -> Self {
        match line.split_once(": ") {
            Some((at, message)) if at.contains(':') => Self { at: Some(at.to_owned()), message: message.to_owned(), ..Self::default() },
            _ => Self::new(line),
        }
    }

    /// One that is in no text.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }
}

/// From the texts to what is drawn, in the shape of `plan -o json`; or all that is wrong with them.
pub(crate) type Calculation = Arc<dyn Fn(&Texts) -> Result<Value, Vec<Fault>> + Send + Sync>;

/// What is drawn where nobody writes; or why there is nothing to draw now.
pub(crate) type Look = Arc<dyn Fn() -> Result<Value, Vec<Fault>> + Send + Sync>;
