//! A program that is run to its end for its answer: kubectl, helm, cargo.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context as _, Result, bail};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

/// How a tool is called, apart from its arguments.
#[derive(Clone, Debug)]
pub struct Tool {
    /// Its file.
    pub program: PathBuf,
    /// Environment variables, on top of those of this process.
    pub environment: Vec<(String, OsString)>,
}

/// What a tool answered.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The command line, for messages.
    pub command: String,
    /// It exited with 0.
    pub success: bool,
    /// What it exited with, unless a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub output: String,
    /// Standard error.
    pub errors: String,
}

impl Tool {
    /// Runs it with `input` as its standard input.
    ///
    /// # Errors
    /// When it cannot be run. That it fails is an answer.
    pub async fn run(&self, arguments: &[&str], input: &str) -> Result<Answer> {
        let name = self.program.file_name().map_or_else(|| self.program.display().to_string(), |name| name.to_string_lossy().into_owned());
        let command = format!("{name} {}", arguments.join(" "));
        let mut child = Command::new(&self.program)
            .args(arguments)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("running {command}"))?;
        if let Some(mut stdin) = child.stdin.take() {
            // A tool that does not read its input closes the pipe early; that is its business.
            let _unread = stdin.write_all(input.as_bytes()).await;
        }
        let output = child.wait_with_output().await.with_context(|| format!("running {command}"))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(Answer {
            command,
            success: output.status.success(),
            code: output.status.code(),
            output: text(&output.stdout),
            errors: text(&output.stderr),
        })
    }
}

impl Answer {
    /// Its standard output, if it succeeded.
    ///
    /// # Errors
    /// What it said, if it failed.
    pub fn accepted(self) -> Result<String> {
        if !self.success {
            bail!("{} failed: {}", self.command, self.errors.trim());
        }
        Ok(self.output)
    }

    /// Its standard error, if it failed.
    ///
    /// # Errors
    /// When it succeeded, which was not expected.
    pub fn refused(self) -> Result<String> {
        if self.success {
            bail!("{} succeeded, though it must be refused: {}", self.command, self.output.trim());
        }
        Ok(self.errors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell() -> Tool {
        Tool { program: "/bin/sh".into(), environment: vec![("GREETING".to_owned(), "hello".into())] }
    }

    #[tokio::test]
    async fn input_output_and_environment_go_through() {
        let answer = shell().run(&["-c", "read name; echo $GREETING $name"], "node\n").await.unwrap();
        assert_eq!(answer.accepted().unwrap(), "hello node\n");
    }

    #[tokio::test]
    async fn a_failure_is_an_answer() {
        let answer = shell().run(&["-c", "echo not so >&2; exit 1"], "").await.unwrap();
        assert_eq!(answer.clone().refused().unwrap(), "not so\n");
        assert_eq!(answer.accepted().unwrap_err().to_string(), "sh -c echo not so >&2; exit 1 failed: not so");
    }
}
