//! Stories: command lines with what they print, as a reviewer reads them.
//!
//! A story is a text file under `scripts/`. A line `$ ARGUMENTS` runs the program in the story's folder; what follows is
//! its standard output, lines of its standard error after `! `, and `? CODE` if it fails. Lines that begin with `# ` tell
//! what is to be seen. `BLESS=1` records what is printed now.

#![expect(clippy::unwrap_used, reason = "the whole file is a test")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn stories() -> Vec<PathBuf> {
    let folders = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts")).unwrap();
    let files = folders.flat_map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap()).map(|file| file.unwrap().path());
    let mut stories: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|end| end == "txt")).collect();
    stories.sort();
    stories
}

/// The story with what is printed now.
fn told_again(path: &Path, story: &str) -> String {
    let mut told = String::new();
    for line in story.lines() {
        if let Some(arguments) = line.strip_prefix("$ ") {
            told.push_str(&format!("{line}\n{}\n", run(path.parent().unwrap(), arguments)));
        } else if line.starts_with("# ") {
            told.push_str(&format!("{line}\n"));
        }
    }
    format!("{}\n", told.trim_end())
}

/// What one command line prints. `< FILE` at its end is standard input.
fn run(folder: &Path, arguments: &str) -> String {
    let (arguments, input) = arguments.split_once(" < ").map_or((arguments, None), |(arguments, file)| (arguments, Some(file)));
    let input = input.map_or_else(Stdio::null, |file| std::fs::File::open(folder.join(file)).unwrap().into());
    let output = Command::new(env!("CARGO_BIN_EXE_node-rotation-controller"))
        .args(arguments.split_whitespace())
        .current_dir(folder)
        .stdin(input)
        .output()
        .unwrap();
    let mut text = String::from_utf8(output.stdout).unwrap();
    for line in String::from_utf8(output.stderr).unwrap().lines() {
        text.push_str(&format!("! {line}\n"));
    }
    if !output.status.success() {
        text.push_str(&format!("? {}\n", output.status.code().unwrap()));
    }
    text
}

#[test]
fn every_story_is_told_as_recorded() {
    let stories = stories();
    assert!(!stories.is_empty());
    let mut changed = Vec::new();
    for path in stories {
        let story = std::fs::read_to_string(&path).unwrap();
        let told = told_again(&path, &story);
        if told == story {
            continue;
        }
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, told).unwrap();
        } else {
            changed.push(format!("{}\n--- recorded\n{story}\n--- now\n{told}", path.display()));
        }
    }
    assert!(changed.is_empty(), "BLESS=1 records what is printed now\n{}", changed.join("\n"));
}

/// The YAML blocks of a text for people.
fn blocks(text: &str) -> impl Iterator<Item = &str> {
    text.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next())
}

#[test]
fn t68_every_policy_in_the_examples_and_the_documents_is_accepted_whole() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let examples = root.join("examples").read_dir().unwrap().map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
    let documents = ["README.md", "docs/check.md"].map(|path| std::fs::read_to_string(root.join(path)).unwrap());
    let policies: Vec<String> = examples
        .chain(documents.iter().flat_map(|text| blocks(text)).map(str::to_owned))
        .filter(|text| text.contains("kind: RotationPolicy"))
        .collect();
    assert!(policies.len() > 3, "{policies:?}");
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("policy.yaml");
    for policy in policies {
        std::fs::write(&file, &policy).unwrap();
        let told = run(root, &format!("check -f {}", file.display()));
        // A field that nobody knows is a fault as well.
        assert!(told.contains(" accepted, 0 refused") && !told.contains("\n? "), "{policy}\n{told}");
        std::fs::write(&file, policy.replace("maintenanceWindows:", "maintenanceWindow:")).unwrap();
        assert!(run(root, &format!("check -f {}", file.display())).contains("\n? "), "its twin with a misspelt key");
    }
}
