//! One policy: what the API server would say to it, and what it amounts to.

use jiff::Timestamp;
use serde_json::Value;

use super::Strictness;
use super::opening::schedule;
use super::report::{FaultReport, PolicyReport};
use crate::doubt::{Among, Doubt, Matter, doubts};
use crate::governance::Governance;
use crate::name::is_subdomain;
use crate::policy::default;
use crate::policy::fault::{Fault, FaultCode};
use crate::policy::unknown::unknown_fields;
use crate::policy::warning::warnings;
use crate::resolve::PolicyEntry;

/// Where a policy stands.
pub(super) struct Place<'a> {
    pub(super) governance: &'a Governance,
    pub(super) among: Among<'a>,
    pub(super) strictness: Strictness,
}

/// `metadata.name`, empty if there is none.
pub(super) fn name(policy: &Value) -> &str {
    policy.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn report(policy: &Value, place: &Place<'_>, now: Timestamp) -> PolicyReport {
    let entry = PolicyEntry::from_object(policy);
    let mut faults: Vec<Fault> = name_fault(policy).into_iter().collect();
    faults.extend(unknown_fields(policy));
    faults.extend(entry.judgement.as_ref().err().into_iter().flatten().cloned());
    let mut told = Vec::new();
    for doubt in doubts(&entry, place.governance, place.among, now).into_iter().filter(|doubt| is_told_here(doubt, place)) {
        if doubt.is_denied(place.strictness) {
            faults.push(doubt.fault());
        } else {
            told.push(doubt.fault().to_string());
        }
    }
    let governing = entry.judgement.ok();
    told.extend(governing.iter().flat_map(|governing| warnings(policy, governing, now)));
    PolicyReport {
        name: name(policy).to_owned(),
        accepted: faults.is_empty(),
        faults: faults.iter().map(FaultReport::from).collect(),
        warnings: told,
        node_pools: place.governance.won.iter().cloned().collect(),
        defaults: defaults(policy, governing.is_some()),
        schedule: governing.and_then(|governing| schedule(&governing.windows, now)),
        ..PolicyReport::default()
    }
}

/// Findings that refuse nothing are told at their pools. Without any pool in the input nothing is known of the cluster's.
fn is_told_here(doubt: &Doubt, place: &Place<'_>) -> bool {
    match doubt.matter {
        Matter::Tie | Matter::Infeasible | Matter::SameSelector => true,
        Matter::NoPool => !place.among.pools.is_empty(),
        Matter::Finding => false,
    }
}

/// Of several policies with one name the API server would hold the last.
pub(super) fn refuse_doubles(sorted: &mut [PolicyReport]) {
    let mut previous: Option<String> = None;
    for report in sorted {
        if !report.name.is_empty() && previous.as_ref() == Some(&report.name) {
            let words = "is the name of another policy here, which this one would replace; write another name";
            let fault = Fault::of(FaultCode::Duplicate, "metadata.name", &report.name.as_str().into(), words);
            report.faults.push(FaultReport::from(&fault));
            report.accepted = false;
        }
        previous = Some(report.name.clone());
    }
}

/// The API server's rule for the names of most objects.
fn name_fault(policy: &Value) -> Option<Fault> {
    let metadata = policy.get("metadata");
    let (name, prefix) = (metadata.and_then(|m| m.get("name")), metadata.and_then(|m| m.get("generateName")));
    match (name.and_then(Value::as_str), prefix) {
        (Some(name), _) if is_subdomain(name) => None,
        (Some(name), _) if !name.is_empty() => {
            let words = "is not a name; write at most 253 lowercase letters, digits, '-' or '.', with a letter or digit at both ends";
            Some(Fault::of(FaultCode::Invalid, "metadata.name", &name.into(), words))
        }
        (Some(_) | None, Some(_)) => None,
        (Some(_) | None, None) => Some(Fault::missing("metadata.name", "write a name such as weekly")),
    }
}

/// What defaulting adds, as `path: value`. A policy with faults is refused before that.
fn defaults(policy: &Value, valid: bool) -> Vec<String> {
    let mut added = Vec::new();
    if valid {
        let nothing = Value::Null;
        let filled = default::apply(None, policy);
        compare("spec", policy.get("spec").unwrap_or(&nothing), filled.get("spec").unwrap_or(&nothing), &mut added);
    }
    added
}

fn compare(path: &str, given: &Value, filled: &Value, added: &mut Vec<String>) {
    match (given, filled) {
        (given, Value::Object(fields)) if !given.is_array() => {
            for (key, value) in fields {
                compare(&format!("{path}.{key}"), given.get(key).unwrap_or(&Value::Null), value, added);
            }
        }
        (Value::Null, value) if !value.is_null() => added.push(format!("{path}: {}", words(value))),
        _ => {}
    }
}

fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(words).collect::<Vec<_>>().join(", "),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => value.to_string(),
    }
}
