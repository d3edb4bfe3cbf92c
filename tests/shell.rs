//! What a shell sees of the program: completions, asked of the shell itself, and exit codes where output cannot be written.

#![expect(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "the whole file is a test")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_node-rotation-controller");

/// Command lines with a word that is not finished, and the words that finish it.
const LINES: [(&str, &[&str]); 8] = [
    ("node-rotation-controller ch", &["check"]),
    ("node-rotation-controller c", &["check", "cleanup", "crd", "completion"]),
    ("node-rotation-controller check --recur", &["--recursive"]),
    ("node-rotation-controller plan -o ic", &["ics"]),
    ("node-rotation-controller plan --output wi", &["wide"]),
    ("node-rotation-controller run --certificates cert", &["cert-manager"]),
    ("node-rotation-controller completion f", &["fish"]),
    ("node-rotation-controller check -f policy-of-", &["policy-of-this-test.yaml"]),
];

fn completion(shell: &str) -> String {
    let output = Command::new(PROGRAM).args(["completion", shell]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// An empty folder with the script and a file to be completed.
fn folder(shell: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("completion-{shell}"));
    let _not_there = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("completion"), completion(shell)).unwrap();
    std::fs::write(folder.join("policy-of-this-test.yaml"), "").unwrap();
    folder
}

/// What a shell prints that runs `script` with one argument; `None` where it is not installed.
fn ask(shell: &str, arguments: &[&str], folder: &Path) -> Option<String> {
    let asked = Command::new(shell).args(arguments).current_dir(folder).env("HOME", folder).stdin(Stdio::null()).output();
    let Output { stdout, stderr, .. } = match asked {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            println!("SKIPPED: {shell} is not installed, so nobody has asked it to complete");
            return None;
        }
        Err(error) => panic!("{shell}: {error}"),
    };
    let text = String::from_utf8_lossy(&stdout).into_owned();
    assert!(!text.is_empty(), "{shell} {arguments:?}: {}", String::from_utf8_lossy(&stderr));
    Some(text)
}

fn sorted<'a>(words: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut words: Vec<String> = words.into_iter().map(str::to_owned).collect();
    words.sort();
    words.dedup();
    words
}

#[test]
fn bash_completes_command_lines() {
    let folder = folder("bash");
    // Bash calls the function that `complete` has named, with these variables set.
    let script = "source ./completion; read -ra COMP_WORDS <<< \"$1\"; COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); \
                  COMP_LINE=$1; COMP_POINT=${#1}; \
                  f=$(complete -p node-rotation-controller | sed 's/.*-F \\([^ ]*\\).*/\\1/'); \
                  $f node-rotation-controller \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD - 1]}\"; \
                  printf '%s\\n' \"${COMPREPLY[@]}\"";
    for (line, expected) in LINES {
        let Some(text) = ask("bash", &["--norc", "-c", script, "bash", line], &folder) else { return };
        assert_eq!(sorted(text.lines()), sorted(expected.iter().copied()), "{line}");
    }
}

#[test]
fn fish_completes_command_lines() {
    let folder = folder("fish");
    // The library completes flags and their values for fish, but nothing that has its meaning from its place.
    for (line, expected) in LINES.into_iter().filter(|(line, _)| !line.contains(" completion ")) {
        let script = format!("source ./completion; complete -C '{line}'");
        let Some(text) = ask("fish", &["--no-config", "-c", &script], &folder) else { return };
        // Behind a tab stands what the word means.
        let words = text.lines().map(|line| line.split('\t').next().unwrap_or_default());
        assert_eq!(sorted(words), sorted(expected.iter().copied()), "{line}");
    }
}

/// A terminal is typed into: the word, a tab, and a return; the command that then runs prints its own words.
#[test]
fn zsh_completes_command_lines() {
    let folder = folder("zsh");
    let script = "zmodload zsh/zpty && zpty z 'TERM=dumb zsh -f -i' && \
                  zpty -w z 'PS1=; autoload -U compinit; compinit -u -D; source ./completion; compdef _node-rotation-controller \
                  node-rotation-controller; node-rotation-controller() { print -r -- \"words:\" $* \":end\" }; print re\"\"ady' && \
                  zpty -r -m z got '*ready*' && zpty -w -n z \"$1\"$'\\t\\n' && zpty -r -m z got '*words:*:end*' && print -r -- $got";
    for (line, expected) in LINES.iter().filter(|(_, expected)| expected.len() == 1) {
        let Some(text) = ask("zsh", &["-f", "-c", script, "zsh", line], &folder) else { return };
        let (begin, _) = line.rsplit_once(' ').unwrap();
        let wanted = format!("{begin} {}", expected[0]).replace("node-rotation-controller", "words:");
        assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").contains(&wanted), "{line}: {text:?}");
    }
}

#[test]
fn every_shell_has_a_script_that_knows_every_command() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = completion(shell);
        for command in ["run", "check", "plan", "simulate", "cleanup", "crd", "completion", "version", "--recursive", "--kubeconfig"] {
            assert!(script.contains(command.trim_start_matches('-')), "the script for {shell} does not know {command}");
        }
    }
}

/// `head` and a full disk: the one has what it wants, the other has not.
#[test]
fn output_that_cannot_be_written_is_told_and_a_reader_that_has_gone_is_not() {
    for arguments in [&["version"] as &[&str], &["crd"], &["completion", "bash"], &["check", "-f", "examples/weekly.yaml"]] {
        let command = |stdout: Stdio| {
            let root = env!("CARGO_MANIFEST_DIR");
            Command::new(PROGRAM).args(arguments).current_dir(root).stdout(stdout).stderr(Stdio::piped()).output().unwrap()
        };
        if let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") {
            let output = command(full.into());
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
            assert!(told.contains("error: writing to standard output"), "{arguments:?}: {told}");
        } else {
            println!("SKIPPED: there is no /dev/full, so nothing was written to a full disk");
        }
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = command(writer.into());
        assert!(output.status.success() && output.stderr.is_empty(), "{arguments:?}: {output:?}");
    }
}
