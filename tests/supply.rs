//! What comes into the program from others, as Cargo knows it, held against what `deny.toml` allows.
//!
//! `make deny` asks cargo-deny the same and more; this needs no tool that has to be installed.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "the whole file is a test")]

/// Parts in `tests/supply/`.
mod supply {
    pub(crate) mod bill;
    pub(crate) mod form;
    mod tests;
    mod workflows;

    pub(crate) use super::{REGISTRY, cargo, packages, read as root, text};
}

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

/// The registry that Cargo takes packages from unless it is told otherwise.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";
/// Processors for which a release is built.
const PLATFORMS: [&str; 2] = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];

/// The text of a file of the repository.
fn read(file: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap()
}

fn rules() -> String {
    read("deny.toml")
}

/// What stands in quotes in the list of that name, line by line.
fn list(rules: &str, name: &str) -> Vec<Vec<String>> {
    let (_, after) = rules.split_once(&format!("\n{name} = [\n")).unwrap_or_else(|| panic!("deny.toml has no list {name}"));
    let lines = after.lines().take_while(|line| *line != "]").filter(|line| !line.trim_start().starts_with('#'));
    lines.map(|line| line.split('"').skip(1).step_by(2).map(str::to_owned).collect()).collect()
}

/// What Cargo says.
fn cargo(arguments: &[&str]) -> String {
    let command = std::process::Command::new(env!("CARGO")).args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output();
    let output = command.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// All packages of the lock file, as far as some platform and feature could need them.
fn packages() -> Vec<Value> {
    let metadata: Value = serde_json::from_str(&cargo(&["metadata", "--locked", "--offline", "--format-version", "1"])).unwrap();
    let packages = metadata["packages"].as_array().unwrap().clone();
    assert!(packages.len() > 200, "only {} packages were read", packages.len());
    packages
}

fn text<'a>(package: &'a Value, key: &str) -> &'a str {
    package[key].as_str().unwrap_or_default()
}

/// Whether a licence expression can be met with what is allowed; `OR` binds less than `AND`.
fn is_met(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let expression = expression.replace('/', " OR ");
    // No expression in use has brackets in brackets: each is judged by itself, and stands then for its answer.
    let mut flat = expression.split_whitespace().collect::<Vec<_>>().join(" ");
    while let Some((before, rest)) = flat.split_once('(') {
        let (inner, after) = rest.split_once(')').unwrap_or((rest, ""));
        flat = format!("{before}{}{after}", if is_met(inner, allowed) { "YES" } else { "NO" });
    }
    flat.split(" OR ").any(|choice| choice.split(" AND ").all(|licence| licence == "YES" || allowed.contains(licence)))
}

#[test]
fn every_licence_is_allowed() {
    let allowed: BTreeSet<String> = list(&rules(), "allow").into_iter().flatten().collect();
    for package in packages() {
        let (name, licence) = (text(&package, "name"), text(&package, "license"));
        assert!(is_met(licence, &allowed), "{name} is under {licence:?}, which deny.toml does not allow");
    }
}

#[test]
fn a_choice_of_licences_is_met_by_one_and_a_sum_by_all() {
    let allowed: BTreeSet<String> = ["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned).into();
    for good in ["MIT", "GPL-3.0 OR MIT", "GPL-3.0/MIT", "(MIT OR GPL-3.0) AND ISC", "Apache-2.0 WITH LLVM-exception"] {
        assert!(is_met(good, &allowed), "{good}");
    }
    for bad in ["", "GPL-3.0", "MIT AND GPL-3.0", "(MIT AND GPL-3.0) OR GPL-2.0", "Apache-2.0"] {
        assert!(!is_met(bad, &allowed), "{bad}");
    }
}

#[test]
fn every_package_is_ours_or_from_the_registry() {
    for package in packages() {
        let source = package["source"].as_str();
        let ours = source.is_none() && text(&package, "manifest_path").starts_with(env!("CARGO_MANIFEST_DIR"));
        assert!(ours || source == Some(REGISTRY), "{} comes from {source:?}", text(&package, "name"));
    }
}

#[test]
fn no_package_is_banned() {
    let banned = list(&rules(), "deny");
    assert!(banned.iter().any(|line| line[0] == "openssl"), "the list was not read");
    let names: BTreeSet<String> = packages().iter().map(|package| text(package, "name").to_owned()).collect();
    for line in banned {
        assert!(!names.contains(&line[0]), "{} is banned: {}", line[0], line[1]);
    }
}

/// No package asks for a compiler that is newer than the one that this workspace asks for.
#[test]
fn the_oldest_compiler_is_old_enough_for_none_to_need_a_newer_one() {
    let number = |version: &str| -> Vec<u32> { version.split('.').map(|part| part.parse().unwrap()).take(2).collect() };
    let packages = packages();
    let own = packages.iter().find(|package| text(package, "name") == env!("CARGO_PKG_NAME")).unwrap();
    let ours = number(text(own, "rust_version"));
    for package in packages.iter().filter(|package| package["rust_version"].is_string()) {
        let theirs = number(text(package, "rust_version"));
        assert!(theirs <= ours, "{} needs Rust {theirs:?}, and Cargo.toml says {ours:?}", text(package, "name"));
    }
}

#[test]
fn every_second_version_of_a_package_has_a_reason_and_every_reason_a_second_version() {
    let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for platform in PLATFORMS {
        // What is compiled, but for what is in tests only: that reaches nobody.
        let what = ["tree", "--locked", "--offline", "--workspace", "--edges", "normal,build", "--target", platform];
        for line in cargo(&[&what[..], &["--prefix", "none", "--format", "{p}"]].concat()).lines() {
            let mut words = line.split(' ');
            let (Some(name), Some(version)) = (words.next(), words.next()) else { continue };
            versions.entry(name.to_owned()).or_default().insert(version.trim_start_matches('v').to_owned());
        }
    }
    assert!(versions.len() > 150, "only {} packages were read", versions.len());
    let skipped: BTreeMap<String, String> =
        list(&rules(), "skip").into_iter().map(|line| (line[0].clone(), line.get(1).cloned().unwrap_or_default())).collect();
    for (name, of_name) in versions.iter().filter(|(_, of_name)| of_name.len() > 1) {
        let unexplained: Vec<&String> = of_name.iter().filter(|version| !skipped.contains_key(&format!("{name}@{version}"))).collect();
        assert!(unexplained.len() <= 1, "{name} is there as {unexplained:?}: give all but one a reason in deny.toml");
    }
    for (package, reason) in skipped {
        let (name, version) = package.split_once('@').unwrap();
        let there = versions.get(name).is_some_and(|of_name| of_name.len() > 1 && of_name.contains(version));
        assert!(there && !reason.is_empty(), "deny.toml skips {package}, of which there is no second version, or gives no reason");
    }
}
