//! What keeps the repository consistent and no compiler looks at.

#![expect(clippy::unwrap_used, clippy::panic, reason = "the whole file is a test")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(file: impl AsRef<Path>) -> String {
    let file = root().join(file);
    std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Directories of the member crates, the root package included.
fn members() -> Vec<&'static str> {
    let manifest = read("Cargo.toml");
    for member in ["core", "cert", "manifest", "forecast", "simulate", "webhook", "sim", "e2e", "fuzz/properties"] {
        assert!(manifest.contains(&format!("\"{member}\"")), "{member} is not a member of the workspace");
    }
    vec![".", "core", "cert", "manifest", "forecast", "simulate", "webhook", "sim", "e2e", "fuzz/properties"]
}

fn sources() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = members().iter().flat_map(|m| [root().join(m).join("src"), root().join(m).join("tests")]).collect();
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    assert!(found.len() > 50, "only {} source files were found", found.len());
    found
}

fn relative(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().display().to_string().trim_start_matches("./").to_owned()
}

#[test]
fn every_member_takes_the_lints_of_the_workspace() {
    for member in members() {
        let manifest = read(Path::new(member).join("Cargo.toml"));
        let lints = manifest.split("\n[lints]").nth(1).unwrap_or_default();
        assert!(lints.trim_start().starts_with("workspace = true"), "{member}/Cargo.toml has no `[lints] workspace = true`");
    }
}

#[test]
fn every_file_says_what_it_is_for_in_a_sentence() {
    for path in sources() {
        let text = std::fs::read_to_string(&path).unwrap();
        let first = text.lines().next().unwrap_or_default();
        let paragraph: String =
            text.lines().take_while(|line| line.starts_with("//! ")).map(|line| line.trim_start_matches("//!")).collect();
        assert!(first.starts_with("//! "), "{} does not begin with a module sentence", relative(&path));
        assert!(paragraph.ends_with(['.', ':', '?', '`']), "{}: the first paragraph does not end a sentence", relative(&path));
    }
}

#[test]
fn no_module_is_a_drawer() {
    let drawers: BTreeSet<&str> =
        ["common", "commons", "util", "utils", "helper", "helpers", "misc", "shared", "base", "manager", "types", "mod"].into();
    for path in sources() {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        assert!(!drawers.contains(name.as_str()), "{}: the name says nothing about what is in it", relative(&path));
    }
}

#[test]
fn files_stay_within_one_subject() {
    // What may be longer, and why.
    let excused = [("core/src/rotation/tests.rs", "one test a story"), ("core/src/rotation/tests/world.rs", "one world")];
    for path in sources() {
        let lines = std::fs::read_to_string(&path).unwrap().lines().count();
        let name = relative(&path);
        if !excused.iter().any(|(file, _)| *file == name) {
            assert!(lines <= 400, "{name} has {lines} lines: split it by subject");
        }
    }
}

/// Names of the packages in the lock file.
fn locked() -> BTreeSet<String> {
    read("Cargo.lock").lines().filter_map(|line| line.strip_prefix("name = \"")).map(|name| name.trim_end_matches('"').to_owned()).collect()
}

#[test]
fn there_is_one_tls_provider() {
    let packages = locked();
    assert!(packages.contains("ring"));
    for other in ["aws-lc-rs", "aws-lc-sys", "openssl", "openssl-sys", "native-tls"] {
        assert!(!packages.contains(other), "{other} is in the lock file");
    }
}

#[test]
fn the_core_depends_on_nothing_that_could_wait_or_send() {
    let output = std::process::Command::new(env!("CARGO"))
        .args([
            "tree",
            "--locked",
            "--offline",
            "--package",
            "noderotation-core",
            "--edges",
            "normal",
            "--prefix",
            "none",
            "--format",
            "{p}",
        ])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8(output.stdout).unwrap();
    let packages: BTreeSet<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(packages.contains("jiff"), "the tree was not read: {tree}");
    for banned in ["tokio", "hyper", "kube-client", "kube-runtime", "tracing", "prometheus", "rand", "reqwest"] {
        assert!(!packages.contains(banned), "core depends on {banned}");
    }
}

#[test]
fn every_direct_dependency_is_justified() {
    let justified = read("docs/dependencies.md");
    let manifest = read("Cargo.toml");
    let table = manifest.split("[workspace.dependencies]").nth(1).and_then(|rest| rest.split("\n[").next()).unwrap_or_default();
    let names: Vec<&str> = table.lines().filter_map(|line| line.split_once(" = ")).map(|(name, _)| name).collect();
    assert!(names.len() > 20, "the table of dependencies was not read");
    let cells = justified.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next());
    let listed: BTreeSet<&str> = cells.flat_map(|cell| cell.split(", ")).collect();
    for name in names.iter().filter(|name| !name.starts_with("noderotation-") && !name.starts_with('#')) {
        assert!(listed.contains(name), "docs/dependencies.md does not say why {name} is there");
    }
    for name in listed.iter().filter(|name| !["crate", "part"].contains(name)) {
        assert!(
            !name.contains(char::is_alphabetic) || names.contains(name),
            "docs/dependencies.md speaks of {name}, which is not a dependency"
        );
    }
}

#[test]
fn no_code_outside_tests_can_panic_on_purpose() {
    // Clippy holds unwrap, expect, panic and indexing; an expectation would silence it.
    for path in sources() {
        let text = std::fs::read_to_string(&path).unwrap();
        for lint in ["unwrap_used", "expect_used", "clippy::panic", "indexing_slicing", "string_slice"] {
            let name = relative(&path);
            let is_test = name.starts_with("e2e/") || name.split('/').take(2).any(|folder| folder == "tests");
            assert!(is_test || !text.contains(lint), "{name} silences {lint}");
        }
    }
}

#[test]
fn every_test_that_a_document_names_exists() {
    let code: String = sources().iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let mut named = 0;
    let decisions = root().join("docs/adr").read_dir().unwrap().map(|entry| relative(&entry.unwrap().path()));
    for document in decisions.chain(["ARCHITECTURE.md".to_owned()]) {
        for word in read(&document).split('`').skip(1).step_by(2) {
            let is_name = word.matches('_').count() >= 3 && word.chars().all(|c| c.is_ascii_lowercase() || c == '_' || c.is_ascii_digit());
            if is_name && !word.starts_with("noderotation_") {
                named += 1;
                assert!(code.contains(&format!("fn {word}(")), "{document} names the test {word}, which does not exist");
            }
        }
    }
    assert!(named > 40, "only {named} tests are named");
}

/// Of a name that stands twice the first is lost without a word, in Helm and in most editors.
#[test]
fn no_name_stands_twice_in_the_charts_values() {
    let once: serde_yaml_ng::Result<serde_yaml_ng::Value> = serde_yaml_ng::from_str("a: {b: 1}\na: {c: 2}");
    assert!(once.is_err(), "the reader lets it pass");
    for file in ["values.yaml", "values.schema.json", "Chart.yaml"] {
        let text = read(format!("charts/node-rotation-controller/{file}"));
        // JSON is YAML as well, and this reader of YAML minds.
        let value: serde_yaml_ng::Result<serde_yaml_ng::Value> = serde_yaml_ng::from_str(&text);
        assert!(value.is_ok(), "{file}: {}", value.unwrap_err());
    }
}

#[test]
fn every_room_that_the_architecture_names_exists() {
    let rooms: Vec<String> =
        read("ARCHITECTURE.md").lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next().map(str::to_owned)).collect();
    assert!(rooms.len() >= 8, "the table of rooms was not read");
    for room in &rooms {
        assert!(root().join(room).exists(), "ARCHITECTURE.md names {room}, which does not exist");
    }
    for member in ["core/", "cert/", "webhook/", "e2e/", "src/", "fuzz/", "charts/", "crds/"] {
        assert!(rooms.iter().any(|room| room == member), "ARCHITECTURE.md does not name {member}");
    }
}
