//! A second cluster beside the first, and what is left of it after it is ended from outside: nothing.

use std::fs::{self, File};
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use e2e::cluster::Cluster;
use e2e::namespace;
use e2e::wait::{Look, until};
use libtest_mimic::Trial;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::bed::{Bed, SOON};

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    vec![
        bed.trial("leave_nothing::after_sigterm", after_sigterm),
        bed.trial("leave_nothing::after_sigkill", after_sigkill),
        bed.trial("leave_nothing::two_clusters_do_not_share_anything", two_clusters_do_not_share_anything),
    ]
}

async fn after_sigterm(first: &Cluster) -> Result<()> {
    let folder = Second::boot(first).await?.end("TERM").await?;
    ensure!(!fs::exists(&folder).context("looking for the folder")?, "{folder} is left");
    Ok(())
}

async fn after_sigkill(first: &Cluster) -> Result<()> {
    let folder = Second::boot(first).await?.end("KILL").await?;
    // Nobody may have been left to remove the folder; the next run does that.
    let next = Second::boot(first).await?;
    ensure!(!fs::exists(&folder).context("looking for the folder")?, "{folder} is left");
    next.end("TERM").await?;
    Ok(())
}

async fn two_clusters_do_not_share_anything(first: &Cluster) -> Result<()> {
    let second = Second::boot(first).await?;
    ensure!(!first.kubeconfig().starts_with(&second.folder), "both use {}", second.folder);
    // The first one answers while the other is up, and after that has ended.
    first.kubectl(&["create", "configmap", "first"]).await?.accepted()?;
    second.end("TERM").await?;
    first.kubectl(&["delete", "configmap", "first"]).await?.accepted()?;
    Ok(())
}

/// A cluster of another run, in a process of its own.
struct Second {
    child: Child,
    /// Its temporary folder, which stands in the command line or environment of each of its processes.
    folder: String,
}

impl Second {
    async fn boot(first: &Cluster) -> Result<Self> {
        let log = first.logs().join("second.log");
        let mut child = Command::new(env!("CARGO_BIN_EXE_e2e"))
            .arg("up")
            .env_remove(namespace::INSIDE)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(&log).with_context(|| format!("creating {}", log.display()))?)
            .kill_on_drop(true)
            .spawn()
            .context("starting a second run")?;
        let mut lines = BufReader::new(child.stdout.take().context("it has no output")?).lines();
        let said = async {
            while let Some(line) = lines.next_line().await.context("reading what it says")? {
                if let Some(logs) = line.strip_prefix("# Logs: ") {
                    return Ok(logs.trim_end_matches("/logs").to_owned());
                }
            }
            anyhow::bail!("it ended before it was up; see {}", log.display())
        };
        let folder = tokio::time::timeout(SOON, said).await.context("waiting for a second cluster")??;
        let second = Self { child, folder };
        let running = second.processes()?;
        ensure!(running.len() >= 6, "too few processes belong to it: {running:?}");
        Ok(second)
    }

    /// Sends a signal to the outer process and waits until every process of the run is gone; returns the run's folder.
    async fn end(mut self, signal: &str) -> Result<String> {
        let id = self.child.id().context("it has ended by itself")?;
        let sent = Command::new("sh").args(["-c", "kill -s \"$0\" \"$1\"", signal, &id.to_string()]).status().await;
        ensure!(sent.context("sending a signal")?.success(), "SIG{signal} was not sent");
        tokio::time::timeout(SOON, self.child.wait()).await.context("waiting for the outer process")??;
        until("the end of every process of the second cluster", SOON, async || {
            let left = self.processes()?;
            Ok(if left.is_empty() { Look::Done(()) } else { Look::NotYet(left.join("; ")) })
        })
        .await?;
        Ok(self.folder)
    }

    /// Command lines of the processes that name its folder, there or in their environment.
    fn processes(&self) -> Result<Vec<String>> {
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").context("reading /proc")? {
            let folder = entry.context("reading /proc")?.path();
            // A process may end in between.
            let text =
                |name: &str| fs::read(folder.join(name)).map(|text| String::from_utf8_lossy(&text).replace('\0', " ")).unwrap_or_default();
            let (command, environment) = (text("cmdline"), text("environ"));
            if command.contains(&self.folder) || environment.contains(&self.folder) {
                found.push(command);
            }
        }
        Ok(found)
    }
}
