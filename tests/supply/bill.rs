//! The bill of materials of the released program, in the form CycloneDX 1.5: all that is compiled into it, or runs in the compiler
//! while it is built, with version, licence, checksum and place of origin.
//!
//! Made of what Cargo knows and nothing else, and so the same wherever and whenever it is made: no time, no random number, no
//! path.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{REGISTRY, cargo, packages, root, text};

/// Targets of the image's program, and of the binaries of a release.
pub(crate) const TARGETS: [&str; 2] = ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"];

/// Name and version of a package, as Cargo writes them.
pub(crate) type Package = (String, String);

/// What Cargo compiles for the program, for one of the targets or both.
#[derive(Default)]
pub(crate) struct Tree {
    /// Each package with those that it depends on.
    pub(crate) needs: BTreeMap<Package, BTreeSet<Package>>,
    /// Those of which there is code in the program; the others run in the compiler only.
    pub(crate) inside: BTreeSet<Package>,
}

impl Tree {
    /// Asks Cargo.
    pub(crate) fn read() -> Self {
        let mut tree = Self::default();
        for target in TARGETS {
            let mut above: Vec<Package> = Vec::new();
            for line in asked(target, "normal,build", "depth") {
                let (depth, package) = line;
                above.truncate(depth);
                if let Some(parent) = above.last() {
                    tree.needs.entry(parent.clone()).or_default().insert(package.clone());
                }
                tree.needs.entry(package.clone()).or_default();
                above.push(package);
            }
            tree.inside.extend(asked(target, "normal,no-proc-macro", "none").into_iter().map(|(_, package)| package));
        }
        tree
    }
}

/// Packages of the program in Cargo's order, each with its depth.
pub(crate) fn asked(target: &str, edges: &str, prefix: &str) -> Vec<(usize, Package)> {
    let what = ["tree", "--locked", "--offline", "--package", env!("CARGO_PKG_NAME"), "--target", target, "--edges", edges];
    let lines = cargo(&[&what[..], &["--prefix", prefix, "--format", "{p}"]].concat());
    let line = |line: &str| {
        let (depth, package) = line.split_at(line.find(|c: char| !c.is_ascii_digit())?);
        let mut words = package.split(' ');
        Some((depth.parse().unwrap_or(0), (words.next()?.to_owned(), words.next()?.trim_start_matches('v').to_owned())))
    };
    lines.lines().filter_map(line).collect()
}

/// Checksums of the packages from the registry, as the lock file has them.
fn checksums() -> BTreeMap<Package, String> {
    let lock = root("Cargo.lock");
    let value = |entry: &str, key: &str| {
        let line = entry.lines().find_map(|line| line.strip_prefix(&format!("{key} = \"")));
        line.map(|line| line.trim_end_matches('"').to_owned())
    };
    let of = |entry: &str| Some(((value(entry, "name")?, value(entry, "version")?), value(entry, "checksum")?));
    lock.split("[[package]]").filter_map(of).collect()
}

/// The compiler of the Dockerfile, whose library is in the program.
pub(crate) fn compiler() -> String {
    let dockerfile = root("Dockerfile");
    let version = dockerfile.split("rust:").nth(1).and_then(|rest| rest.split('-').next());
    version.unwrap_or_else(|| panic!("the Dockerfile names no compiler")).to_owned()
}

/// The name under which a package is spoken of elsewhere in the bill.
pub(crate) fn reference((name, version): &Package) -> String {
    format!("{name}@{version}")
}

/// The address of a package of the registry. Of all that a version may have, only its plus has another meaning there.
pub(crate) fn address((name, version): &Package) -> String {
    format!("pkg:cargo/{name}@{}", version.replace('+', "%2B"))
}

/// As SPDX writes it; older packages write a choice with a slash.
fn licence(package: &Value) -> String {
    text(package, "license").replace('/', " OR ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Where a package comes from, as far as it says so.
fn origins(package: &Value) -> Vec<Value> {
    let of = |key: &str, kind: &str| {
        let url = text(package, key);
        (url.starts_with("https://") && !url.contains(char::is_whitespace)).then(|| json!({"type": kind, "url": url}))
    };
    [of("repository", "vcs"), of("homepage", "website")].into_iter().flatten().collect()
}

fn component(package: &Value, inside: bool, checksum: Option<&String>) -> Value {
    let key = (text(package, "name").to_owned(), text(package, "version").to_owned());
    let mut component = json!({
        "type": "library",
        "bom-ref": reference(&key),
        "name": key.0,
        "version": key.1,
        "scope": if inside { "required" } else { "excluded" },
        "licenses": [{"expression": licence(package)}],
    });
    // A package of the workspace is nobody else's, whatever the registry has under its name.
    if text(package, "source") == REGISTRY {
        component["purl"] = json!(address(&key));
        component["hashes"] = json!([{"alg": "SHA-256", "content": checksum}]);
    }
    let origins = origins(package);
    if !origins.is_empty() {
        component["externalReferences"] = json!(origins);
    }
    component
}

/// The whole bill.
pub(crate) fn bill() -> Value {
    let (tree, checksums, compiler) = (Tree::read(), checksums(), compiler());
    let known: BTreeMap<Package, Value> = packages()
        .into_iter()
        .map(|package| ((text(&package, "name").to_owned(), text(&package, "version").to_owned()), package))
        .collect();
    let program = (env!("CARGO_PKG_NAME").to_owned(), env!("CARGO_PKG_VERSION").to_owned());
    let mut components: Vec<Value> = tree
        .needs
        .keys()
        .filter(|package| **package != program)
        .map(|package| component(&known[package], tree.inside.contains(package), checksums.get(package)))
        .collect();
    let library = json!({
        "type": "library",
        "bom-ref": format!("rust-std@{compiler}"),
        "name": "rust-std",
        "version": compiler,
        "description": "The standard library of the compiler, with its copy of musl.",
        "scope": "required",
        "licenses": [{"expression": "MIT OR Apache-2.0"}],
        "externalReferences": [{"type": "vcs", "url": "https://github.com/rust-lang/rust"}],
    });
    components.push(library);
    let mut dependencies: Vec<Value> = tree
        .needs
        .iter()
        .map(|(package, needs)| json!({"ref": reference(package), "dependsOn": needs.iter().map(reference).collect::<Vec<_>>()}))
        .collect();
    dependencies.push(json!({"ref": format!("rust-std@{compiler}"), "dependsOn": []}));
    json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": reference(&program),
                "name": program.0,
                "version": program.1,
                "description": env!("CARGO_PKG_DESCRIPTION"),
                "licenses": [{"expression": "Apache-2.0"}],
            },
            "properties": TARGETS.map(|target| json!({"name": "node-rotation-controller:target", "value": target})),
        },
        "components": components,
        "dependencies": dependencies,
    })
}
