//! What can be wrong with rights, told so that a person knows what to change.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::Right;
use super::exception::Exception;
use crate::audit::Request;
use crate::chart;

/// Roles that Kubernetes itself binds to everybody who is known: discovery, and questions about one's own rights.
const OF_EVERYBODY: [&str; 3] =
    [r#"ClusterRole "system:basic-user""#, r#"ClusterRole "system:discovery""#, r#"ClusterRole "system:public-info-viewer""#];
/// Namespaces in which the chart can grant something: its own, and that of events about objects without one.
const NAMESPACES: [&str; 2] = [chart::NAMESPACE, "default"];

/// How much of what the program can do was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// All of it, so that what was not used is not needed.
    Everything,
    /// Some of it: only what was used says something.
    Part,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Finding {
    /// Granted and never used.
    NeverUsed(Right),
    /// Granted for more than it was used for, which this says.
    TooWide(Right, String),
    /// Granted by two rules, of which the second one allows no more than the first.
    Twice(Right, Right),
    /// Used, and not granted by the chart: as often, for one on this object.
    NotGranted(Right, usize, String),
    /// Excused, although it is used.
    UsedException(&'static str),
    /// Excused, although it is not granted.
    UselessException(&'static str),
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NeverUsed(right) => write!(f, "granted and never used: {right}"),
            Self::TooWide(right, used) => write!(f, "granted more widely than used: {right}; {used}"),
            Self::Twice(wide, narrow) if wide == narrow => write!(f, "granted twice: {wide}"),
            Self::Twice(wide, narrow) => write!(f, "granted twice: {narrow}; {wide} includes it"),
            Self::NotGranted(right, times, object) => write!(f, "used and not granted: {right} (requests: {times}, one on {object:?})"),
            Self::UsedException(right) => write!(f, "an exception that is used: {right}; take it out of the list"),
            Self::UselessException(right) => write!(f, "an exception for what is not granted: {right}; take it out of the list"),
        }
    }
}

/// Rights that one rendering of the chart grants more than once.
#[must_use]
pub fn twice(rights: &[Right]) -> Vec<Finding> {
    let mut found = Vec::new();
    for (index, right) in rights.iter().enumerate() {
        for other in rights.iter().skip(index + 1) {
            if right.includes(other) {
                found.push(Finding::Twice(right.clone(), other.clone()));
            } else if other.includes(right) {
                found.push(Finding::Twice(other.clone(), right.clone()));
            }
        }
    }
    found
}

/// Compares what is granted with what the requests of its accounts took.
///
/// A request counts as allowed by what `granted` says, not by what became of it: an operator whose release is just being
/// removed loses its rights one by one.
#[must_use]
pub fn judge(granted: &BTreeSet<Right>, requests: &[Request], exceptions: &[Exception], seen: Seen) -> Vec<Finding> {
    let mut found = not_granted(granted, requests);
    let spelt: BTreeSet<String> = granted.iter().map(ToString::to_string).collect();
    found.extend(exceptions.iter().filter(|e| !spelt.contains(e.right)).map(|e| Finding::UselessException(e.right)));
    if seen == Seen::Part {
        return found;
    }
    for right in granted {
        let spelt = right.to_string();
        let exception = exceptions.iter().find(|exception| exception.right == spelt);
        let uses: Vec<&Request> = requests.iter().filter(|request| right.allows(request)).collect();
        match (uses.is_empty(), exception) {
            (true, None) => found.push(Finding::NeverUsed(right.clone())),
            (true, Some(_)) => {}
            (false, Some(exception)) => found.push(Finding::UsedException(exception.right)),
            (false, None) => found.extend(narrower(right, &uses).map(|used| Finding::TooWide(right.clone(), used))),
        }
    }
    found
}

/// What nobody but the chart could have granted, and it does not.
fn not_granted(granted: &BTreeSet<Right>, requests: &[Request]) -> Vec<Finding> {
    let mut lacking: BTreeMap<Right, (usize, &str)> = BTreeMap::new();
    let of_everybody = |request: &&Request| OF_EVERYBODY.contains(&request.allowed_by.as_str());
    for request in requests.iter().filter(|request| !of_everybody(request)) {
        if !granted.iter().any(|right| right.allows(request)) {
            let path = request.uri.split('?').next().unwrap_or_default();
            let right = Right {
                account: request.user.clone(),
                group: request.group.clone(),
                resource: if request.resource.is_empty() { path.to_owned() } else { request.resource.clone() },
                verb: request.verb.clone(),
                namespace: Some(request.namespace.clone()).filter(|namespace| !namespace.is_empty()),
                name: None,
            };
            lacking.entry(right).or_insert((0, request.name.as_str())).0 += 1;
        }
    }
    lacking.into_iter().map(|(right, (times, name))| Finding::NotGranted(right, times, name.to_owned())).collect()
}

/// What a right was used for, if one for less would have been enough.
fn narrower(right: &Right, uses: &[&Request]) -> Option<String> {
    let namespaces: BTreeSet<&str> = uses.iter().map(|request| request.namespace.as_str()).collect();
    if right.namespace.is_none() && namespaces.iter().all(|namespace| NAMESPACES.contains(namespace)) {
        return Some(format!("only in {}", namespaces.into_iter().collect::<Vec<_>>().join(" and ")));
    }
    let names: BTreeSet<&str> = uses.iter().map(|request| request.name.as_str()).collect();
    // A rule for new objects cannot be limited to a name, nor one for events, whose names have the time in them.
    let nameable = right.verb != "create" && right.resource != "events";
    match (names.len(), names.first()) {
        (1, Some(name)) if right.name.is_none() && nameable && !name.is_empty() => Some(format!("only on {name:?}")),
        _ => None,
    }
}
