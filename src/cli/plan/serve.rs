//! `plan --serve`: the page over the files that were given, in which policy and cluster can be edited.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use noderotation_core::check::Strictness;
use noderotation_manifest::Manifest;
use serde_json::Value;

use super::input::Input;
use super::report::Plan;
use super::{Options, refuse};
use crate::cli::check::judge;
use crate::cli::serve::{self, joined};
use crate::cli::source;
use crate::ui::{Fault, Subject, Texts};

/// Serves until the process is ended.
///
/// # Errors
/// When the address is taken.
pub(super) fn run(options: &Options, address: SocketAddr) -> anyhow::Result<ExitCode> {
    let texts = match texts(options) {
        Ok(texts) => texts,
        Err(errors) => return Ok(refuse(&errors)),
    };
    let (at, horizon) = (options.at, options.horizon);
    let calculation = Arc::new(move |texts: &Texts| answer(texts, at.unwrap_or_else(Timestamp::now), horizon));
    serve::run(address, Subject::Plan, texts, calculation)
}

/// What is to be edited: files that have nothing but policies, and everything else.
fn texts(options: &Options) -> Result<Texts, Vec<String>> {
    let (mut errors, mut policy, mut fleet) = (Vec::new(), Vec::new(), Vec::new());
    for (name, text) in source::texts_of(&options.filenames, options.recursive, &mut errors) {
        let mut manifest = Manifest::of_a_cluster();
        manifest.add(&name, &text);
        let Manifest { policies, pools, claims, nodes, pods, budgets, .. } = &manifest;
        let others = pools.len() + claims.len() + nodes.len() + pods.len() + budgets.len();
        if others == 0 && !policies.is_empty() {
            policy.push(text);
        } else {
            policy.extend(policies.iter().filter_map(|policy| serde_yaml_ng::to_string(&plain(&policy.value)).ok()));
            fleet.push(text);
        }
        errors.append(&mut manifest.errors);
    }
    if errors.is_empty() { Ok(Texts { policy: joined(&policy), fleet: joined(&fleet) }) } else { Err(errors) }
}

/// Without what a server has put in and nobody edits.
fn plain(policy: &Value) -> Value {
    let mut plain = policy.clone();
    if let Some(object) = plain.as_object_mut() {
        object.remove("status");
    }
    if let Some(metadata) = plain.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    plain
}

/// The plan of the texts; a policy in the one text counts in place of that of its name in the other.
fn answer(texts: &Texts, at: Timestamp, horizon: Duration) -> Result<Value, Vec<Fault>> {
    let mut manifest = Manifest::of_a_cluster();
    manifest.add("cluster", &texts.fleet);
    manifest.add("policy", &texts.policy);
    let mut faults: Vec<Fault> = manifest.errors.iter().map(|line| Fault::located(line)).collect();
    let verdict = judge(&manifest, Strictness::default(), at);
    let refused = verdict.policies.into_iter().filter(|policy| !policy.accepted).flat_map(|policy| policy.faults);
    faults.extend(refused.map(Fault::from));
    if manifest.pools.is_empty() && faults.is_empty() {
        let message = "there is no NodePool of karpenter.sh/v1, and so nothing to plan; write one";
        faults.push(Fault { at: Some("cluster:1:1".to_owned()), message: message.to_owned(), ..Fault::default() });
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    let until = at.saturating_add(horizon).unwrap_or(Timestamp::MAX);
    told(&super::plan(Input::of(manifest), &[], at, until))
}

/// A plan as the page reads it.
pub(super) fn told(plan: &Plan) -> Result<Value, Vec<Fault>> {
    serde_json::to_value(plan).map_err(|error| vec![Fault::new(format!("the plan cannot be written as JSON: {error}"))])
}

#[cfg(test)]
mod tests {
    use super::*;

    const POOL: &str = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec: {template: {spec: {expireAfter: 336h}}}\n";
    const POLICY: &str = "apiVersion: noderotation.io/v1alpha1\nkind: RotationPolicy\nmetadata: {name: p}\nspec:\n  nodePoolSelector: {}\n  \
                          maintenanceWindows:\n    - {timezone: UTC, days: [Wed, Sat], start: \"02:00\", end: \"06:00\"}\n";

    fn ask(policy: &str, fleet: &str) -> Result<Value, Vec<Fault>> {
        let texts = Texts { policy: policy.to_owned(), fleet: fleet.to_owned() };
        answer(&texts, Timestamp::constant(1_767_571_200, 0), Duration::from_secs(30 * 24 * 3600))
    }

    #[test]
    fn the_plan_has_the_windows_of_its_horizon() {
        let plan = ask(POLICY, POOL).unwrap();
        let windows = plan["pools"][0]["windows"].as_array().unwrap();
        assert_eq!(windows[0], serde_json::json!({"open": "2026-01-07T02:00:00Z", "close": "2026-01-07T06:00:00Z"}));
        assert_eq!(windows.len(), 8);
    }

    #[test]
    fn all_faults_of_both_texts_are_told_with_their_places() {
        let faults = ask(&POLICY.replace("02:00", "25:00").replace("UTC", "Nowhere"), "kind: [").unwrap_err();
        let places: Vec<&str> = faults.iter().filter_map(|fault| fault.at.as_deref()).collect();
        assert_eq!(places.len(), faults.len(), "{faults:?}");
        assert!(places.iter().any(|place| place.starts_with("cluster:")), "{faults:?}");
        assert_eq!(places.iter().filter(|place| place.starts_with("policy:7:")).count(), 2, "{faults:?}");
    }

    #[test]
    fn a_cluster_without_a_pool_is_a_fault() {
        let faults = ask(POLICY, "").unwrap_err();
        assert!(faults[0].message.starts_with("there is no NodePool"), "{faults:?}");
    }
}
