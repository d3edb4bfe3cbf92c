//! A life as it went by, moment by moment.

use jiff::Timestamp;
use serde::Serialize;

use crate::report::{Attempt, End, NodeLife, Outcome, PoolReport, Report};

/// Something that has happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Moment<'a> {
    /// When.
    pub at: Timestamp,
    /// In which pool.
    pub pool: &'a str,
    /// What, in one word.
    pub event: &'static str,
    /// To which node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<&'a str>,
    /// The same for people.
    pub sentence: String,
}

/// All moments, in their order.
#[must_use]
pub fn timeline(report: &Report) -> Vec<Moment<'_>> {
    let mut moments: Vec<Moment<'_>> = report.pools.iter().flat_map(of_pool).collect();
    // Stable: what one follows from the other at the same instant stays in its order.
    moments.sort_by_key(|moment| moment.at);
    moments
}

fn of_pool(pool: &PoolReport) -> Vec<Moment<'_>> {
    let missed = pool.missed_windows.iter().map(|at| Moment {
        at: *at,
        pool: &pool.name,
        event: "windowMissed",
        node: None,
        sentence: "the window that opens goes by unused although nodes are due".to_owned(),
    });
    let attempts = pool.rotations.iter().flat_map(|attempt| of_attempt(&pool.name, attempt));
    let nodes = pool.nodes.iter().filter_map(|node| of_node(&pool.name, node));
    // What befalls a node comes before what its rotation makes of it.
    nodes.chain(missed).chain(attempts).collect()
}

fn of_attempt<'a>(pool: &'a str, attempt: &'a Attempt) -> Vec<Moment<'a>> {
    let moment = |at, event, sentence| Moment { at, pool, event, node: Some(attempt.node.as_str()), sentence };
    let mut moments = vec![moment(attempt.start, "rotationBegins", "its rotation begins".to_owned())];
    if let Some(at) = attempt.drain {
        let margin =
            attempt.margin_seconds.map_or_else(|| "no deadline".to_owned(), |margin| format!("{} before its deadline", span(margin)));
        moments.push(moment(at, "drainBegins", format!("its drain begins, {margin}")));
    }
    let (event, sentence) = match attempt.outcome {
        Outcome::Success => ("rotationEnds", "it is replaced"),
        Outcome::Failed => ("rotationFails", "its rotation is called off: no replacement came in time"),
        Outcome::Expired => ("rotationOvertaken", "its rotation is over: Karpenter was quicker"),
        Outcome::CalledOff => ("rotationCalledOff", "its rotation is called off"),
        Outcome::Unfinished => return moments,
    };
    moments.extend(attempt.end.map(|at| moment(at, event, sentence.to_owned())));
    moments
}

fn of_node<'a>(pool: &'a str, node: &'a NodeLife) -> Option<Moment<'a>> {
    let (event, sentence) = match node.end {
        End::Expired => ("nodeExpires", "it expires by force"),
        End::ScaledDown => ("nodeScaledDown", "it goes: there is too little work"),
        End::Removed => ("nodeRemoved", "it goes: it has nothing to do"),
        End::NeverReady => ("nodeNeverReady", "its launch is given up"),
        End::Alive | End::Rotated => return None,
    };
    Some(Moment { at: node.deleted?, pool, event, node: Some(&node.name), sentence: sentence.to_owned() })
}

/// Seconds for people, to the minute.
fn span(seconds: i64) -> String {
    let sign = if seconds < 0 { "-" } else { "" };
    format!("{sign}{}", noderotation_core::duration::human(std::time::Duration::from_secs(seconds.unsigned_abs() / 60 * 60)))
}
