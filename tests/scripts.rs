//! Stories: command lines with what they print, as a reviewer reads them.
//!
//! A story is a text file under `scripts/`. A line `$ ARGUMENTS` runs the program in the story's folder; what follows is
//! its standard output, lines of its standard error after `! `, and `? CODE` if it fails. Lines that begin with `# ` tell
//! what is to be seen. A block `console` of a page is a story too; it runs in the root of the repository, and its lines
//! begin with `$ node-rotation-controller`. `BLESS=1` records what is printed now.

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

/// The story with what is printed now, told in a folder by command lines that begin so.
fn told_again(folder: &Path, prompt: &str, story: &str) -> String {
    let mut told = String::new();
    for line in story.lines() {
        if let Some(arguments) = line.strip_prefix(prompt) {
            told.push_str(&format!("{line}\n{}\n", run(folder, arguments)));
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
        let told = told_again(path.parent().unwrap(), "$ ", &story);
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

/// Every page for people, by its path.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders: Vec<PathBuf> = ["docs", "charts"].map(|folder| root.join(folder)).into();
    let mut found = vec![root.join("README.md")];
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().unwrap().map(Result::unwrap) {
            match entry.path() {
                path if path.is_dir() => folders.push(path),
                path if path.extension().is_some_and(|end| end == "md") => found.push(path),
                _ => {}
            }
        }
    }
    found.sort();
    found
}

/// The blocks of code of a page in one language.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let inside = text.split("\n```").skip(1).step_by(2);
    inside.filter_map(|block| block.split_once('\n')).filter(|(of, _)| *of == language).map(|(_, block)| block).collect()
}

#[test]
fn every_page_shows_what_the_program_prints() {
    let (root, prompt) = (Path::new(env!("CARGO_MANIFEST_DIR")), "$ node-rotation-controller ");
    let (mut stories, mut changed) = (0, Vec::new());
    for path in pages() {
        let text = std::fs::read_to_string(&path).unwrap();
        let mut now = text.clone();
        for story in blocks(&text, "console") {
            stories += 1;
            assert!(story.starts_with(prompt), "{}: what runs in this block?\n{story}", path.display());
            now = now.replace(&format!("\n```console\n{story}\n```"), &format!("\n```console\n{}```", told_again(root, prompt, story)));
        }
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, now).unwrap();
        } else if now != text {
            changed.push(format!("{}\n--- now\n{now}", path.display()));
        }
    }
    assert!(stories > 3, "only {stories} blocks were found");
    assert!(changed.is_empty(), "BLESS=1 records what is printed now\n{}", changed.join("\n"));
}

/// What `check` says of a manifest; of one without a policy, beside a policy that governs whatever is in it.
fn judged(manifest: &str) -> String {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("manifest.yaml");
    std::fs::write(&file, manifest).unwrap();
    let beside = if manifest.contains("kind: RotationPolicy") { "" } else { "-f examples/catch-all.yaml " };
    run(Path::new(env!("CARGO_MANIFEST_DIR")), &format!("check {beside}-f {}", file.display()))
}

#[test]
fn t68_every_manifest_in_the_examples_and_the_pages_is_accepted_whole() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let examples = root.join("examples").read_dir().unwrap().map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
    let texts: Vec<String> = pages().iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let in_pages = texts.iter().flat_map(|text| blocks(text, "yaml")).map(str::to_owned);
    let manifests: Vec<String> = examples.chain(in_pages).collect();
    let policies = || manifests.iter().filter(|text| text.contains("kind: RotationPolicy"));
    assert!(policies().count() > 5, "{manifests:?}");
    for manifest in &manifests {
        // Values of the chart are judged by its schema, and say that they are none of these.
        assert!(manifest.contains("apiVersion: ") || manifest.starts_with("# values.yaml\n"), "what is this?\n{manifest}");
        let told = judged(manifest);
        // A field that nobody knows is a fault as well.
        assert!(told.contains(" accepted, 0 refused") && !told.contains("\n? "), "{manifest}\n{told}");
    }
    for policy in policies() {
        let twin = judged(&policy.replace("maintenanceWindows:", "maintenanceWindow:"));
        assert!(twin.contains("\n? "), "its twin with a misspelt key\n{twin}");
    }
}
