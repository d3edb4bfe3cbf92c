//! A network and process namespace of one's own for the whole program.
//!
//! The program starts itself again under `unshare`. Inside, no port is taken, no other run can be disturbed, and the
//! kernel ends every process as soon as the first one is gone, whatever ended it. The outer process only waits and
//! passes the wish to end on: it holds a pipe, and the inner one ends when the pipe does. So even SIGKILL of the outer
//! process leaves nothing behind.
//!
//! Where namespaces are not permitted, everything runs on the loopback interface of the machine, with free ports; then
//! `setpriv` has the kernel end each process with its parent.

use std::ffi::OsStr;
use std::io::{BufRead as _, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::terminal::progress;

/// Set for the inner process.
pub const INSIDE: &str = "NODE_ROTATION_E2E_INSIDE";
/// The inner process may take this long to end in order.
const PATIENCE: Duration = Duration::from_secs(20);
/// Ends a process with its parent.
const WITH_PARENT: [&str; 3] = ["setpriv", "--pdeathsig", "KILL"];

/// Where the program runs, and who may end it.
#[derive(Clone, Debug)]
pub struct Isolation {
    /// The command that others enter the namespace by; `None` on the machine's own loopback interface.
    entry: Option<String>,
    interrupted: CancellationToken,
}

/// What to do after [`enter`].
#[derive(Debug)]
pub enum Entered {
    /// Go on: this is the inner process, or the only one.
    Here(Isolation),
    /// The inner process has run and this is its result.
    Elsewhere(ExitCode),
}

/// Whether this is the inner process.
#[must_use]
pub fn is_inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}

/// Enters a namespace of one's own where that is possible, and says so where it is not.
///
/// Call it before any thread is started, and after everything that needs the network.
///
/// # Errors
/// When the inner process cannot be started or its messages cannot be read.
pub fn enter() -> Result<Entered> {
    if is_inside() {
        return inside().map(Entered::Here);
    }
    let Some(prefix) = isolating() else {
        progress("Network namespaces are not permitted here; the cluster shares the loopback interface of this machine.");
        return Ok(Entered::Here(Isolation { entry: None, interrupted: CancellationToken::new() }));
    };
    let program = std::env::current_exe().context("finding this program")?;
    let mut command = words(&prefix, program.as_os_str());
    command.args(std::env::args_os().skip(1)).env(INSIDE, "1").stdin(Stdio::piped());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("starting a runtime")?;
    runtime.block_on(supervise(command)).map(Entered::Elsewhere)
}

impl Isolation {
    /// Command that runs another one in the same network; `None` when that is the machine's.
    #[must_use]
    pub fn entry(&self) -> Option<&str> {
        self.entry.as_deref()
    }

    /// Ends when somebody wants this run to end.
    pub async fn interrupted(&self) {
        if self.entry.is_some() {
            self.interrupted.cancelled().await;
        } else {
            any_signal().await;
        }
    }
}

/// A command whose process, and all that it starts, end with this process: for long work outside of a cluster.
#[must_use]
pub fn contained(program: &str) -> Command {
    static PREFIX: OnceLock<Option<Vec<&'static str>>> = OnceLock::new();
    let prefix = PREFIX.get_or_init(|| usable(unsharing(&[]), "true"));
    prefix.as_ref().map_or_else(|| Command::new(program), |prefix| words(prefix, OsStr::new(program)))
}

/// A command whose process ends with this one, as far as the machine can do that.
#[must_use]
pub fn leashed(program: &OsStr) -> Command {
    static PREFIX: OnceLock<Option<Vec<&'static str>>> = OnceLock::new();
    if is_inside() {
        return Command::new(program);
    }
    let prefix = PREFIX.get_or_init(|| usable(WITH_PARENT.to_vec(), "true"));
    prefix.as_ref().map_or_else(|| Command::new(program), |prefix| words(prefix, program))
}

fn inside() -> Result<Isolation> {
    let raised = Command::new("ip").args(["link", "set", "lo", "up"]).status().context("running ip")?;
    if !raised.success() {
        bail!("the loopback interface of the namespace cannot be raised");
    }
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).context("reading from the outer process")?;
    let entry = line.trim().to_owned();
    ensure!(!entry.is_empty(), "{INSIDE} is set by this program itself; unset it");
    let interrupted = CancellationToken::new();
    let end = interrupted.clone();
    std::thread::spawn(move || {
        let mut rest = Vec::new();
        let _ended = std::io::stdin().lock().read_to_end(&mut rest);
        end.cancel();
    });
    Ok(Isolation { entry: Some(entry), interrupted })
}

async fn supervise(command: Command) -> Result<ExitCode> {
    let mut child = tokio::process::Command::from(command).spawn().context("starting again in a namespace")?;
    let id = child.id().context("the inner process has ended at once")?;
    let mut pipe =
        child.stdin.take().context("the inner process has no pipe")?.into_owned_fd().map(std::fs::File::from).context("taking the pipe")?;
    writeln!(pipe, "{}", entry(id, is_root())).context("writing to the inner process")?;
    let status = tokio::select! {
        status = child.wait() => status.context("waiting for the inner process")?,
        () = any_signal() => {
            drop(pipe);
            match tokio::time::timeout(PATIENCE, child.wait()).await {
                Ok(status) => status.context("waiting for the inner process")?,
                Err(_) => {
                    progress("The run did not end in time and is killed.");
                    child.kill().await.context("killing the inner process")?;
                    return Ok(ExitCode::FAILURE);
                }
            }
        }
    };
    Ok(exit_code(status))
}

/// Only the outer process knows its number and its user as others see them.
fn entry(process: u32, root: bool) -> String {
    let user = if root { "" } else { " --user --preserve-credentials" };
    format!("nsenter --target {process}{user} --net")
}

fn exit_code(status: ExitStatus) -> ExitCode {
    status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
}

async fn any_signal() {
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    let waits = kinds.into_iter().filter_map(|kind| signal(kind).ok()).map(|mut signal| Box::pin(async move { signal.recv().await }));
    futures::future::select_all(waits).await;
}

/// The words before a program that give it a network and process namespace, if that works here.
fn isolating() -> Option<Vec<&'static str>> {
    usable(unsharing(&["--net"]), "ip link set lo up")
}

fn unsharing(more: &[&'static str]) -> Vec<&'static str> {
    let mut prefix = WITH_PARENT.to_vec();
    prefix.extend(["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]);
    prefix.extend(more);
    if !is_root() {
        prefix.push("--map-root-user");
    }
    prefix
}

/// The words, if a shell command succeeds behind them.
fn usable(prefix: Vec<&'static str>, trial: &str) -> Option<Vec<&'static str>> {
    let mut command = words(&prefix, OsStr::new("sh"));
    let status = command.args(["-c", trial]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success()).then_some(prefix)
}

fn words(prefix: &[&str], program: &OsStr) -> Command {
    match prefix.split_first() {
        Some((first, rest)) => {
            let mut command = Command::new(first);
            command.args(rest).arg(program);
            command
        }
        None => Command::new(program),
    }
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prefix_comes_before_the_program() {
        let command = words(&["setpriv", "--pdeathsig", "KILL"], OsStr::new("etcd"));
        let arguments: Vec<_> = command.get_args().collect();
        assert_eq!((command.get_program(), arguments), (OsStr::new("setpriv"), ["--pdeathsig", "KILL", "etcd"].map(OsStr::new).to_vec()));
    }

    #[test]
    fn a_prefix_that_does_not_work_is_not_used() {
        assert_eq!(usable(vec!["env"], "true"), Some(vec!["env"]));
        assert_eq!(usable(vec!["env"], "false"), None);
        assert_eq!(usable(vec!["/no/such/program"], "true"), None);
    }

    #[test]
    fn others_enter_by_process_and_user() {
        assert_eq!(entry(7, true), "nsenter --target 7 --net");
        assert_eq!(entry(7, false), "nsenter --target 7 --user --preserve-credentials --net");
    }
}
