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
