//! A clock that goes wrong, for one process.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use tokio::process::Command;

use crate::repository;

/// What must be compiled and loaded into the process.
#[derive(Clone, Debug)]
pub struct Skew {
    library: PathBuf,
}

impl Skew {
    /// Compiles it into a folder, with the C compiler that Rust links with.
    ///
    /// # Errors
    /// When it does not compile; with what the compiler says.
    pub async fn compile(folder: &Path) -> Result<Self> {
        let library = folder.join("skew.so");
        let mut command = Command::new("cc");
        command.args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"]).arg(&library).arg(repository::path("e2e/src/clock/skew.c"));
        let output = command.output().await.context("running cc")?;
        ensure!(output.status.success(), "cc: {}", String::from_utf8_lossy(&output.stderr));
        Ok(Self { library })
    }

    /// The environment of a process that takes it to be so many seconds later than it is. Of a program that is linked statically
    /// the clock stays right.
    #[must_use]
    pub fn environment(&self, seconds: i64) -> Vec<(String, OsString)> {
        vec![
            ("LD_PRELOAD".to_owned(), self.library.clone().into_os_string()),
            ("CLOCK_SKEW_SECONDS".to_owned(), seconds.to_string().into()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::folder::Folder;

    #[tokio::test]
    async fn another_process_takes_it_to_be_later_and_this_one_does_not() {
        let mut folder = Folder::create().unwrap();
        folder.discard_logs();
        let skew = Skew::compile(&folder.data()).await.unwrap();
        for seconds in [600, -600] {
            let mut date = Command::new("date");
            date.arg("+%s").envs(skew.environment(seconds));
            let before = Timestamp::now().as_second();
            let told = String::from_utf8(date.output().await.unwrap().stdout).unwrap();
            let told: i64 = told.trim().parse().unwrap();
            let after = Timestamp::now().as_second();
            assert!((before + seconds..=after + seconds).contains(&told), "{before} {told} {after}");
        }
    }
}
