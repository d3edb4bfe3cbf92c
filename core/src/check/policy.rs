//! One policy: what the API server would say to it, and what it amounts to.

use jiff::Timestamp;
use serde_json::Value;

use super::Strictness;
use super::opening::schedule;
use super::report::{FaultReport, PolicyReport, PoolReport};
use crate::governance::Governance;
use crate::name::is_subdomain;
use crate::policy::default;
use crate::policy::fault::{Fault, FaultCode};
use crate::policy::unknown::unknown_fields;
use crate::policy::validate::validate;
use crate::policy::warning::warnings;

/// What a policy is judged among.
pub(super) struct Among<'a> {
    pub(super) governance: &'a Governance,
    pub(super) pools: &'a [PoolReport],
    pub(super) strictness: Strictness,
}

/// `metadata.name`, empty if there is none.
pub(super) fn name(policy: &Value) -> &str {
    policy.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn report(policy: &Value, among: &Among<'_>, now: Timestamp) -> PolicyReport {
    let judgement = validate(policy);
    let mut faults: Vec<Fault> = name_fault(policy).into_iter().collect();
    faults.extend(unknown_fields(policy));
    faults.extend(judgement.as_ref().err().into_iter().flatten().cloned());
    let mut told = warnings(policy, now);
    let doubts = [
        ("spec.nodePoolSelector", among.governance.conflict(), among.strictness.deny_ties),
        ("spec", infeasible(among), among.strictness.deny_infeasible),
    ];
    for (field, words, denied) in doubts {
        let doubt = words.map(|words| Fault::of(FaultCode::Invalid, field, &Value::Null, &words));
        if denied {
            faults.extend(doubt);
        } else {
            told.extend(doubt.map(|doubt| doubt.to_string()));
        }
    }
    PolicyReport {
        name: name(policy).to_owned(),
        accepted: faults.is_empty(),
        faults: faults.iter().map(FaultReport::from).collect(),
        warnings: told,
        node_pools: among.governance.won.iter().cloned().collect(),
        defaults: defaults(policy, judgement.is_ok()),
        schedule: judgement.ok().and_then(|governing| schedule(&governing.windows, now)),
        ..PolicyReport::default()
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

/// The pools that it governs and cannot rotate.
fn infeasible(among: &Among<'_>) -> Option<String> {
    let won = among.pools.iter().filter(|pool| among.governance.won.contains(&pool.name));
    let stuck: Vec<&str> = won.filter(|pool| pool.is_infeasible()).map(|pool| pool.name.as_str()).collect();
    (!stuck.is_empty()).then(|| format!("cannot rotate NodePool {}; the findings there say what to change", stuck.join(", ")))
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
