//! What must hold of the workflows: that they can be read, have no more rights than they need, run nothing that can change
//! without a change here, and name only what exists.

use std::collections::BTreeSet;

use serde_yaml_ng::Value;

use super::root;

/// Each workflow with its name.
fn workflows() -> Vec<(String, String, Value)> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(".github/workflows");
    let mut found: Vec<(String, String, Value)> = folder
        .read_dir()
        .unwrap()
        .map(|entry| {
            let name = format!(".github/workflows/{}", entry.unwrap().file_name().to_str().unwrap());
            let text = root(&name);
            let value = serde_yaml_ng::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
            (name, text, value)
        })
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(
        found.iter().map(|(name, ..)| name.as_str()).collect::<Vec<_>>(),
        [".github/workflows/ci.yml", ".github/workflows/release.yml"]
    );
    found
}

/// The jobs of a workflow with their names.
fn jobs(workflow: &Value) -> Vec<(&str, &Value)> {
    let jobs = workflow["jobs"].as_mapping().unwrap();
    jobs.iter().map(|(name, job)| (name.as_str().unwrap(), job)).collect()
}

fn steps(workflow: &Value) -> Vec<&Value> {
    jobs(workflow).into_iter().flat_map(|(_, job)| job["steps"].as_sequence().unwrap()).collect()
}

#[test]
fn no_workflow_has_rights_that_no_job_of_it_asks_for() {
    for (name, _, workflow) in workflows() {
        let all = workflow["permissions"].as_mapping().unwrap_or_else(|| panic!("{name} has no permissions at the top"));
        assert!(all.values().all(|right| right.as_str() == Some("read")), "{name}: every job of it may write");
        for (job, value) in jobs(&workflow) {
            let rights = value["permissions"].as_mapping().unwrap_or(all);
            assert!(!rights.is_empty(), "{name}: {job} says nothing of its rights");
            let writes: BTreeSet<&str> =
                rights.iter().filter(|(_, right)| right.as_str() == Some("write")).filter_map(|(what, _)| what.as_str()).collect();
            let expected: &[&str] = match job {
                "image" | "chart" => &["attestations", "id-token", "packages"],
                "binaries" => &["attestations", "id-token"],
                "release" => &["contents"],
                _ => &[],
            };
            assert_eq!(writes, expected.iter().copied().collect(), "{name}: {job}");
        }
    }
}

/// By the whole hash of a commit; the version beside it is for people. A name can be moved to other code.
#[test]
fn every_action_is_pinned_by_its_commit() {
    let mut found = 0;
    for (name, text, workflow) in workflows() {
        for line in text.lines().filter_map(|line| line.trim_start().trim_start_matches("- ").strip_prefix("uses: ")) {
            let (action, version) = line.split_once(" # ").unwrap_or_else(|| panic!("{name}: {line} does not say its version"));
            let (_, commit) = action.split_once('@').unwrap_or_else(|| panic!("{name}: {line} is not pinned"));
            assert!(commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()), "{name}: {line} is not pinned by a commit");
            assert!(version.starts_with('v') && version.matches('.').count() == 2, "{name}: {line} does not say its version");
            found += 1;
        }
        assert_eq!(steps(&workflow).iter().filter(|step| step["uses"].is_string()).count(), text.matches("uses: ").count(), "{name}");
    }
    assert!(found > 10, "only {found} actions were found");
}

/// One action has one version everywhere.
#[test]
fn no_action_is_there_in_two_versions() {
    let mut pinned: BTreeSet<String> = BTreeSet::new();
    for (_, _, workflow) in workflows() {
        pinned.extend(steps(&workflow).iter().filter_map(|step| step["uses"].as_str()).map(str::to_owned));
    }
    let names: BTreeSet<&str> = pinned.iter().filter_map(|action| action.split('@').next()).collect();
    assert_eq!(names.len(), pinned.len(), "{pinned:?}");
}

#[test]
fn what_others_may_write_is_no_text_of_a_script_and_no_token_is_left_behind() {
    for (name, _, workflow) in workflows() {
        for step in steps(&workflow) {
            let script = step["run"].as_str().unwrap_or_default();
            assert!(!script.contains("${{"), "{name}: an expression becomes text of a script: {script}");
            let is_checkout = step["uses"].as_str().is_some_and(|action| action.starts_with("actions/checkout@"));
            assert!(!is_checkout || step["with"]["persist-credentials"].as_bool() == Some(false), "{name}: a checkout keeps its token");
        }
    }
}

#[test]
fn every_job_says_on_what_it_runs_and_ends_by_itself() {
    for (name, _, workflow) in workflows() {
        for (job, value) in jobs(&workflow) {
            let machine = value["runs-on"].as_str().unwrap_or_default();
            assert!(machine.starts_with("ubuntu-") && machine != "ubuntu-latest", "{name}: {job} runs on {machine:?}");
            assert!(value["timeout-minutes"].as_u64().is_some(), "{name}: {job} has no end");
        }
    }
}

#[test]
fn every_target_and_file_that_a_workflow_names_exists() {
    let makefile = root("Makefile");
    let targets: BTreeSet<&str> = makefile.lines().filter_map(|line| line.strip_prefix(".PHONY: ")).collect();
    let mut named: BTreeSet<String> = BTreeSet::new();
    for (name, _, workflow) in workflows() {
        for script in steps(&workflow).iter().filter_map(|step| step["run"].as_str()) {
            for words in script.lines().filter_map(|line| line.trim().strip_prefix("make ")) {
                let words = words.split(' ').take_while(|word| !word.contains('='));
                named.extend(words.map(str::to_owned));
            }
            for file in script.split([' ', '\n', '"']).filter(|word| word.starts_with("charts/") || *word == "Cargo.toml") {
                assert!(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(file).exists(), "{name} names {file}");
            }
        }
    }
    for target in ["lint", "test", "deny", "msrv", "sbom", "man"] {
        assert!(named.contains(target), "no workflow runs make {target}");
    }
    for target in named {
        assert!(targets.contains(target.as_str()), "there is no target {target}");
    }
}
