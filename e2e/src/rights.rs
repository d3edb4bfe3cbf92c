//! Whether the chart grants its accounts exactly the rights that they use.
//!
//! What is granted is read from the rendered chart, what is used from the audit log of the API server. Nothing is inferred
//! from the program's source.

pub mod exception;
pub mod finding;
pub mod rendered;

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use anyhow::{Context as _, Result};

use crate::audit::{self, Request};
use crate::chart;
use crate::tool::Tool;

use finding::{Finding, Seen, judge, twice};

/// The sets of values that the trials install or upgrade to and that differ in what is granted. No other set grants a right of
/// another shape; the trials of the chart's values look after that.
pub const VALUES: [&[&str]; 3] = [&[], &["certificates.mode=certManager"], &["certificates.mode=certManager", "webhook.register=false"]];
/// What the program calls itself.
const AGENT: &str = "node-rotation-controller/";

/// One verb on one kind of object, for one account.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Right {
    /// User name of the ServiceAccount.
    pub account: String,
    /// API group; empty for the first one.
    pub group: String,
    /// Resource, with its subresource after a slash.
    pub resource: String,
    /// The verb.
    pub verb: String,
    /// The one namespace in which it holds; `None` for the whole cluster.
    pub namespace: Option<String>,
    /// The one object on which it holds; `None` for any.
    pub name: Option<String>,
}

impl Right {
    /// Whether it allows a request. That of a new object carries no name yet when it is judged.
    #[must_use]
    pub fn allows(&self, request: &Request) -> bool {
        let unnamed = request.verb == "create" && !request.resource.contains('/');
        self.account == request.user
            && self.group == request.group
            && self.resource == request.resource
            && self.verb == request.verb
            && self.namespace.as_ref().is_none_or(|namespace| *namespace == request.namespace)
            && self.name.as_ref().is_none_or(|name| !unnamed && *name == request.name)
    }

    /// Whether it allows all that `other` allows.
    #[must_use]
    pub fn includes(&self, other: &Self) -> bool {
        let what = |right: &Self| (right.account.clone(), right.group.clone(), right.resource.clone(), right.verb.clone());
        let limit = |own: &Option<String>, others: &Option<String>| own.is_none() || own == others;
        what(self) == what(other) && limit(&self.namespace, &other.namespace) && limit(&self.name, &other.name)
    }

    /// What is left of it when names and accounts are taken away, which are other ones in other releases.
    #[must_use]
    pub fn shape(&self) -> String {
        let named = if self.name.is_some() { " of one name" } else { "" };
        format!("{}{named}", Self { account: String::new(), name: None, ..self.clone() })
    }
}

/// `list coordination.k8s.io/leases "name" in namespace system, for account`.
impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slash = if self.group.is_empty() { "" } else { "/" };
        write!(f, "{} {}{slash}{}", self.verb, self.group, self.resource)?;
        if let Some(name) = &self.name {
            write!(f, " {name:?}")?;
        }
        match &self.namespace {
            Some(namespace) => write!(f, " in namespace {namespace}")?,
            None => write!(f, " in the whole cluster")?,
        }
        match self.account.rsplit(':').next() {
            None | Some("") => Ok(()),
            Some(account) => write!(f, ", for {account}"),
        }
    }
}

/// What the chart grants, whatever its values.
///
/// # Errors
/// When helm cannot render it, or it grants what cannot be compared, such as `*`.
pub async fn granted(helm: &Tool) -> Result<BTreeSet<Right>> {
    Ok(renderings(helm).await?.into_iter().flatten().collect())
}

/// The same for each set of values.
async fn renderings(helm: &Tool) -> Result<Vec<Vec<Right>>> {
    let mut all = Vec::new();
    for values in VALUES {
        let text = chart::template(helm, values).await?;
        all.push(rendered::rights(&text).with_context(|| format!("the chart with the values {values:?}"))?);
    }
    Ok(all)
}

/// What is wrong with the chart's rights, by the logs of a run in which as much was `seen`.
///
/// # Errors
/// When the chart cannot be rendered or a log not be read.
pub async fn compare(helm: &Tool, logs: &[PathBuf], seen: Seen) -> Result<Comparison> {
    let renderings = renderings(helm).await?;
    let mut findings: BTreeSet<Finding> = renderings.iter().flat_map(|rights| twice(rights)).collect();
    let granted: BTreeSet<Right> = renderings.into_iter().flatten().collect();
    let accounts = format!("system:serviceaccount:{}:", chart::NAMESPACE);
    let mut requests = Vec::new();
    for log in logs {
        requests.extend(audit::read(log, |request| request.user.starts_with(&accounts) && request.agent.starts_with(AGENT))?);
    }
    findings.extend(judge(&granted, &requests, &exception::ALL, seen));
    Ok(Comparison { granted: granted.len(), requests: requests.len(), findings })
}

/// The outcome of [`compare`].
#[derive(Clone, Debug)]
pub struct Comparison {
    /// How many rights are granted.
    pub granted: usize,
    /// How many requests of the chart's accounts the logs have.
    pub requests: usize,
    /// What is wrong.
    pub findings: BTreeSet<Finding>,
}

#[cfg(test)]
mod tests;
