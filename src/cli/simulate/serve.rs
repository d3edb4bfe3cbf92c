//! `simulate --serve`: the page over a fleet and policies, in which both can be edited.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;

use noderotation_manifest::Manifest;
use noderotation_simulate::fleet::Times;
use noderotation_simulate::run as live;
use serde_json::Value;

use super::input::{Set, fleet};
use super::picture::picture;
use super::{Options, refuse};
use crate::cli::serve::{self, joined};
use crate::cli::source;
use crate::ui::{Fault, Subject, Texts};

/// Serves until the process is ended.
///
/// # Errors
/// When the address is taken.
pub(super) fn run(options: &Options, path: &std::path::Path, address: SocketAddr) -> anyhow::Result<ExitCode> {
    let mut errors = Vec::new();
    let policies: Vec<String> =
        source::texts_of(&options.filenames, options.recursive, &mut errors).into_iter().map(|(_, text)| text).collect();
    let fleet = source::one_text(path).map_err(|error| errors.push(error)).unwrap_or_default();
    if !errors.is_empty() {
        return Ok(refuse(&errors, 2));
    }
    let (times, seed) = (options.times(), options.seed);
    let texts = Texts { policy: joined(&policies), fleet };
    serve::run(address, Subject::Simulation, texts, Arc::new(move |texts: &Texts| answer(texts, times, seed)))
}

/// What becomes of the texts.
fn answer(texts: &Texts, times: Times, seed: u64) -> Result<Value, Vec<Fault>> {
    let mut manifest = Manifest::default();
    manifest.add("policy", &texts.policy);
    let mut faults: Vec<Fault> = manifest.errors.iter().map(|line| Fault::located(line)).collect();
    if manifest.policies.is_empty() && faults.is_empty() {
        let message = "there is no RotationPolicy of noderotation.io/v1alpha1; write one";
        faults.push(Fault { at: Some("policy:1:1".to_owned()), ..Fault::new(message) });
    }
    let set = Set { name: "policy".to_owned(), manifest };
    let fleet = match fleet("fleet", &texts.fleet, times) {
        Ok(fleet) => Some(fleet),
        Err(found) => {
            faults.extend(found);
            None
        }
    };
    // Only which windows a policy has depends on the time, not whether it is accepted.
    let at = fleet.as_ref().map_or(jiff::Timestamp::UNIX_EPOCH, |fleet| fleet.start);
    faults.extend(set.refusals(at));
    let Some(fleet) = fleet.filter(|_| faults.is_empty()) else { return Err(faults) };
    let entries = set.entries();
    let report = live(&fleet, &entries, seed);
    serde_json::to_value(picture(&fleet, set.manifest, &entries, &report))
        .map_err(|error| vec![Fault::new(format!("the simulation cannot be written as JSON: {error}"))])
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLEET: &str = "start: 2026-01-01T00:00:00Z\nend: 2026-02-01T00:00:00Z\npools:\n  - name: api\n    expireAfter: 336h\n    \
                         terminationGracePeriod: 1h\n    nodes: [{count: 3, within: 48h}]\n";
    const POLICY: &str = "apiVersion: noderotation.io/v1alpha1\nkind: RotationPolicy\nmetadata: {name: p}\nspec:\n  nodePoolSelector: {}\n  \
                          maintenanceWindows:\n    - {timezone: UTC, days: [Wed, Sat], start: \"02:00\", end: \"06:00\"}\n";

    fn ask(policy: &str, fleet: &str) -> Result<Value, Vec<Fault>> {
        answer(&Texts { policy: policy.to_owned(), fleet: fleet.to_owned() }, Times::default(), 1)
    }

    #[test]
    fn the_picture_has_the_windows_and_every_rotation_of_the_life() {
        let picture = ask(POLICY, FLEET).unwrap();
        let pool = &picture["pools"][0];
        assert_eq!(pool["windows"][0], serde_json::json!({"open": "2026-01-03T02:00:00Z", "close": "2026-01-03T06:00:00Z"}));
        let calendar = pool["calendar"].as_array().unwrap();
        let rotated = picture["figures"].as_array().unwrap().iter().find(|figure| figure[0] == "rotated").unwrap()[1].clone();
        assert_eq!(rotated, calendar.len().to_string());
        assert!(calendar.iter().all(|line| line["how"] == "surge" && line["timezone"] == "UTC"), "{calendar:?}");
    }

    #[test]
    fn a_policy_that_selects_nothing_leaves_every_node_to_expire() {
        let picture = ask(&POLICY.replace("nodePoolSelector: {}", "nodePoolSelector: {matchLabels: {a: b}}"), FLEET).unwrap();
        let pool = &picture["pools"][0];
        assert_eq!(pool["why"], "no RotationPolicy selects it");
        let calendar = pool["calendar"].as_array().unwrap();
        assert!(calendar.len() >= 3 && calendar.iter().all(|line| line["how"] == "expires"), "{calendar:?}");
    }

    #[test]
    fn all_faults_of_both_texts_are_told_with_their_places() {
        let faults = ask(&POLICY.replace("UTC", "Nowhere"), &FLEET.replace("336h", "14d").replace("2026-02", "2025-02")).unwrap_err();
        let places: Vec<String> = faults.iter().filter_map(|fault| fault.at.clone()).collect();
        assert_eq!(places, ["fleet:2:6", "fleet:5:18", "policy:7:18"], "{faults:?}");
        let faults = ask("", "pools: [").unwrap_err();
        assert!(faults.len() == 2 && faults[1].at.as_deref().is_some_and(|at| at.starts_with("fleet:")), "{faults:?}");
    }
}
