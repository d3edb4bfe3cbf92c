//! The page that draws a plan: its files, the server that hands them out, and who calculates what it asks for.
//!
//! The files are in the program, and ask nobody but this server. Two commands serve them: `plan --serve`, where policy and
//! cluster are edited in the page, and `run --ui`, which only tells.

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

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What people write in the page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Texts {
    /// RotationPolicies, as YAML or JSON.
    pub(crate) policy: String,
    /// Everything else of the cluster, likewise.
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

impl Fault {
    /// One that is in no text.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }
}

/// From the texts to what is drawn, in the shape of `plan -o json`; or all that is wrong with them.
pub(crate) type Calculation = Arc<dyn Fn(&Texts) -> Result<Value, Vec<Fault>> + Send + Sync>;

/// What is drawn where nobody writes; or why there is nothing to draw now.
pub(crate) type Look = Arc<dyn Fn() -> Result<Value, Vec<Fault>> + Send + Sync>;
