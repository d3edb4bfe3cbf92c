//! One program of a run: started, watched, ended.
//!
//! Each has a process group of its own, so that Ctrl-C at the terminal reaches only this program, which then ends the
//! others in order. What it says goes to a file.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use tokio::process::{Child, Command};

use crate::namespace;
use crate::terminal::indented;

/// How much of a log an error shows.
const TAIL: usize = 12;

/// What to start.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Name of the log, without its ending.
    pub name: String,
    /// The program's file.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Environment variables, on top of those of this process.
    pub environment: Vec<(String, OsString)>,
}

/// A running program. It is killed when the value is dropped.
#[derive(Debug)]
pub struct Process {
    launch: Launch,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts a program that writes to `LOGS/NAME.log`, after what an earlier one of that name wrote.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(launch: &Launch, logs: &Path) -> Result<Self> {
        let path = logs.join(format!("{}.log", launch.name));
        let log = OpenOptions::new().create(true).append(true).open(&path).with_context(|| format!("opening {}", path.display()))?;
        let errors = log.try_clone().with_context(|| format!("opening {}", path.display()))?;
        let mut command = Command::from(namespace::leashed(launch.program.as_os_str()));
        command.args(&launch.arguments).envs(launch.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(log).stderr(errors).process_group(0).kill_on_drop(true);
        let child = command.spawn().with_context(|| format!("starting {}", launch.program.display()))?;
        Ok(Self { launch: launch.clone(), child, log: path })
    }

    /// Process number, until it has ended and that was seen.
    #[must_use]
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// How it was started.
    #[must_use]
    pub fn launch(&self) -> &Launch {
        &self.launch
    }

    /// Where it writes.
    #[must_use]
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// Bytes of memory that are its own now.
    ///
    /// # Errors
    /// When it has ended.
    pub fn resident(&self) -> Result<u64> {
        let id = self.child.id().with_context(|| format!("{} has ended", self.launch.name))?;
        let path = format!("/proc/{id}/status");
        let status = fs::read_to_string(&path).with_context(|| format!("reading {path}"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB")).and_then(|number| number.parse::<u64>().ok());
        Ok(kibibytes.with_context(|| format!("{path} does not say VmRSS"))? * 1024)
    }

    /// Succeeds while it runs.
    ///
    /// # Errors
    /// When it has ended; with the end of its log.
    pub fn check(&mut self) -> Result<()> {
        match self.child.try_wait().with_context(|| format!("looking after {}", self.launch.name))? {
            None => Ok(()),
            Some(status) => bail!("{} has ended ({status}); its log ends with:\n{}", self.launch.name, indented(&self.tail())),
        }
    }

    /// Kills it, and waits until it is gone.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub async fn kill(mut self) -> Result<()> {
        self.child.kill().await.with_context(|| format!("killing {}", self.launch.name))
    }

    /// Asks it to end with SIGTERM and waits.
    ///
    /// # Errors
    /// When it has not ended after `patience`; it is killed then.
    pub async fn terminate(mut self, patience: Duration) -> Result<ExitStatus> {
        self.signal("TERM").await?;
        match tokio::time::timeout(patience, self.child.wait()).await {
            Ok(status) => status.with_context(|| format!("waiting for {}", self.launch.name)),
            Err(_) => {
                self.child.kill().await.with_context(|| format!("killing {}", self.launch.name))?;
                bail!(
                    "{} did not end within {}s of SIGTERM; its log ends with:\n{}",
                    self.launch.name,
                    patience.as_secs(),
                    indented(&self.tail())
                )
            }
        }
    }

    /// Stops it in the middle of whatever it does, until it is resumed. Its connections stay open.
    ///
    /// # Errors
    /// When no signal can be sent.
    pub async fn pause(&self) -> Result<()> {
        self.signal("STOP").await
    }

    /// Lets it go on after a pause.
    ///
    /// # Errors
    /// When no signal can be sent.
    pub async fn resume(&self) -> Result<()> {
        self.signal("CONT").await
    }

    /// Sends it a signal, if it has not ended.
    async fn signal(&self, signal: &str) -> Result<()> {
        let Some(id) = self.child.id() else { return Ok(()) };
        // The shell's own `kill`: the standard library sends no signal but SIGKILL.
        let sent = Command::new("sh").args(["-c", "kill -\"$0\" \"$1\"", signal]).arg(id.to_string()).status().await;
        sent.with_context(|| format!("sending SIG{signal} to {}", self.launch.name))?;
        Ok(())
    }

    fn tail(&self) -> String {
        let text = fs::read(&self.log).map(|text| String::from_utf8_lossy(&text).into_owned()).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines.get(lines.len().saturating_sub(TAIL)..).unwrap_or_default().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::Folder;
    use crate::wait::{Look, until};

    fn shell(script: &str) -> (Process, Folder) {
        let mut folder = Folder::create().unwrap();
        folder.discard_logs();
        let arguments = vec!["-c".into(), script.into()];
        let launch = Launch { name: "sh".to_owned(), program: "/bin/sh".into(), arguments, environment: Vec::new() };
        (Process::start(&launch, &folder.logs()).unwrap(), folder)
    }

    #[tokio::test]
    async fn an_end_that_nobody_asked_for_is_told_with_the_log() {
        let (mut process, _folder) = shell("echo no such flag; exit 3");
        let told = until("the end", Duration::from_secs(30), async || {
            Ok(process.check().err().map_or_else(|| Look::NotYet("running".to_owned()), |error| Look::Done(error.to_string())))
        });
        let told = told.await.unwrap();
        assert!(told.contains("exit status: 3") && told.contains("no such flag"), "{told}");
    }

    #[tokio::test]
    async fn sigterm_is_enough_for_a_program_that_listens() {
        let (mut process, _folder) = shell("sleep 600");
        process.check().unwrap();
        assert!(!process.terminate(Duration::from_secs(30)).await.unwrap().success());
    }

    #[tokio::test]
    async fn a_pause_lasts_until_it_is_resumed() {
        let (process, _folder) = shell("while :; do echo on; sleep 0.01; done");
        let size = || fs::metadata(process.log()).map(|log| log.len());
        let state = || -> Result<String> {
            let status = fs::read_to_string(format!("/proc/{}/status", process.id().context("it has ended")?))?;
            Ok(status.lines().find(|line| line.starts_with("State:")).unwrap_or_default().to_owned())
        };
        process.pause().await.unwrap();
        let stopped = until("the pause", Duration::from_secs(30), async || {
            let state = state()?;
            Ok(if state.contains("stopped") { Look::Done(()) } else { Look::NotYet(state) })
        });
        stopped.await.unwrap();
        let before = size().unwrap();
        process.resume().await.unwrap();
        let goes_on = until("more of the log", Duration::from_secs(30), async || {
            Ok(if size()? > before { Look::Done(()) } else { Look::NotYet("no more".to_owned()) })
        });
        goes_on.await.unwrap();
    }

    #[tokio::test]
    async fn a_program_that_ignores_sigterm_is_killed_and_told() {
        let (process, _folder) = shell("trap '' TERM; echo deaf; while :; do sleep 0.1; done");
        let log = process.log().to_owned();
        until("the trap", Duration::from_secs(30), async || {
            Ok(if fs::read_to_string(&log)?.contains("deaf") { Look::Done(()) } else { Look::NotYet("silence".to_owned()) })
        })
        .await
        .unwrap();
        let error = process.terminate(Duration::from_millis(300)).await.unwrap_err();
        assert!(error.to_string().contains("SIGTERM"), "{error}");
    }
}
