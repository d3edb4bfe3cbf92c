//! What a program wants of the machine that it is started on, as `readelf` tells it.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

/// What a program's file says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The processor, in readelf's words.
    pub machine: String,
    /// The loader that the kernel is to start first; a static program names none.
    pub loader: Option<String>,
    /// Libraries that must be there.
    pub libraries: Vec<String>,
}

impl Program {
    /// Reads the file.
    ///
    /// # Errors
    /// When it is no program, or readelf is missing.
    pub fn of(file: &Path) -> Result<Self> {
        let output = Command::new("readelf")
            .args(["--wide", "--file-header", "--program-headers", "--dynamic"])
            .arg(file)
            .env("LC_ALL", "C")
            .output();
        let output = output.context("running readelf, which comes with a C compiler")?;
        let said = String::from_utf8_lossy(&output.stdout);
        ensure!(output.status.success(), "readelf {}: {}", file.display(), String::from_utf8_lossy(&output.stderr).trim());
        Self::read(&said).with_context(|| format!("{} is no program", file.display()))
    }

    fn read(said: &str) -> Option<Self> {
        let machine = said.lines().find_map(|line| line.trim().strip_prefix("Machine:"))?.trim().to_owned();
        let after = |line: &str, start: &str| Some(line.split_once(start)?.1.trim_end_matches(']').to_owned());
        let loader = said.lines().find_map(|line| after(line, "[Requesting program interpreter: "));
        let libraries = said.lines().filter(|line| line.contains("(NEEDED)")).filter_map(|line| after(line, "[")).collect();
        Some(Self { machine, loader, libraries })
    }

    /// Whether it needs no other file.
    #[must_use]
    pub fn is_static(&self) -> bool {
        self.loader.is_none() && self.libraries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_this_test_is_linked_against_is_told() {
        let this = Program::of(&std::env::current_exe().unwrap()).unwrap();
        assert!(this.loader.as_ref().is_some_and(|loader| loader.contains("ld-")), "{this:?}");
        assert!(this.libraries.iter().any(|library| library.starts_with("libc.")), "{this:?}");
        assert!(!this.is_static());
    }

    #[test]
    fn a_static_program_names_neither_loader_nor_library() {
        let said = "  Machine:                           AArch64\n  DYNAMIC        0x1\n 0x000000006ffffffb (FLAGS_1)  Flags: NOW PIE\n";
        let expected = Program { machine: "AArch64".to_owned(), loader: None, libraries: Vec::new() };
        assert_eq!(Program::read(said), Some(expected.clone()));
        assert!(expected.is_static());
    }

    #[test]
    fn other_files_are_no_programs() {
        assert!(Program::of(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml").as_path()).is_err());
    }
}
