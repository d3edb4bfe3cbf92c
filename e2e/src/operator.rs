//! The operator, as a process of this machine with the rights and the arguments that the chart gives it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};

use crate::chart;
use crate::cluster::{Cluster, ServiceMode};
use crate::exposition::Exposition;
use crate::http;
use crate::port;
use crate::process::{Launch, Process};
use crate::repository;
use crate::wait::{Look, until};

const BINARY: &str = "node-rotation-controller";
/// Environment variable that names a finished operator to use; nothing is built then.
pub const OPERATOR: &str = "NODE_ROTATION_E2E_OPERATOR";
/// The operator must be ready within this time, on a busy machine.
const READY: Duration = Duration::from_secs(60);
/// It must have ended within this time of SIGTERM: the chart's terminationGracePeriodSeconds.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running operator.
#[derive(Debug)]
pub struct Operator {
    process: Process,
    metrics: u16,
    probe: u16,
}

/// Builds the operator's binary, with the cargo that builds this program, unless a finished one is named.
///
/// # Errors
/// When it does not compile; cargo has said why.
pub fn build() -> Result<()> {
    if std::env::var_os(OPERATOR).is_some() {
        return Ok(());
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let root = repository::path("");
    let mut command = Command::new(cargo);
    command.args(["build", "--locked", "--quiet", "--bin", BINARY]).current_dir(root);
    if binary()?.parent().is_some_and(|folder| folder.ends_with("release")) {
        command.arg("--release");
    }
    let status = command.status().context("running cargo")?;
    if !status.success() {
        bail!("the operator does not build");
    }
    Ok(())
}

/// The operator's binary: the one that is named, else beside this program, or above it in a test.
///
/// # Errors
/// When this program cannot be found.
pub fn binary() -> Result<PathBuf> {
    if let Some(named) = std::env::var_os(OPERATOR) {
        return Ok(named.into());
    }
    let this = std::env::current_exe().context("finding this program")?;
    let folder = this.parent().ok_or_else(|| anyhow!("{} is in no folder", this.display()))?;
    let folder = if folder.ends_with("deps") { folder.parent().unwrap_or(folder) } else { folder };
    Ok(folder.join(BINARY))
}

impl Operator {
    /// Starts the operator with the arguments of the chart's Deployment. `overrides` are further `--flag=value`; a flag of
    /// the Deployment gives way to the same one there.
    ///
    /// # Errors
    /// When the chart is not installed or the operator cannot be started.
    pub async fn start(cluster: &Cluster, overrides: &[&str]) -> Result<Self> {
        Self::start_in(cluster, overrides, &[]).await
    }

    /// The same, with further variables in its environment.
    ///
    /// # Errors
    /// When the chart is not installed or the operator cannot be started.
    pub async fn start_in(cluster: &Cluster, overrides: &[&str], environment: &[(String, OsString)]) -> Result<Self> {
        let account = chart::service_account(cluster).await?;
        let kubeconfig = cluster.service_account_kubeconfig(chart::NAMESPACE, &account).await?;
        let kubeconfig = format!("--kubeconfig={}", kubeconfig.display());
        let program = binary()?;
        let environment = [&[("HOSTNAME".to_owned(), OsString::from("e2e"))], environment].concat();
        let launch = |arguments| Ok(Launch { name: "operator".to_owned(), program, arguments, environment });
        Self::start_as(cluster, &[&[kubeconfig.as_str()], overrides].concat(), launch).await
    }

    /// The same, where `launch` says how a program with these arguments is started.
    ///
    /// # Errors
    /// When the chart is not installed or the operator cannot be started.
    pub async fn start_as(cluster: &Cluster, overrides: &[&str], launch: impl FnOnce(Vec<OsString>) -> Result<Launch>) -> Result<Self> {
        let [metrics, probe] = port::free()?;
        let mut ours =
            vec![format!("--metrics-bind-address=127.0.0.1:{metrics}"), format!("--health-probe-bind-address=127.0.0.1:{probe}")];
        match cluster.service_mode() {
            ServiceMode::Reachable => ours.push(format!("--webhook-bind-address={}", chart::webhook_address(cluster).await?)),
            ServiceMode::Unreachable => {
                ours.extend(["--webhook-bind-address=127.0.0.1:0".to_owned(), "--webhook-register=false".to_owned()]);
            }
        }
        ours.extend(overrides.iter().map(|argument| (*argument).to_owned()));
        let arguments = merged(chart::operator_arguments(cluster).await?, ours);
        let launch = launch(arguments.into_iter().map(Into::into).collect())?;
        Ok(Self { process: Process::start(&launch, cluster.logs())?, metrics, probe })
    }

    /// Waits until it says that it is ready, and leads.
    ///
    /// # Errors
    /// When it ends instead, or takes too long; with what it said last.
    pub async fn wait_ready(&mut self) -> Result<()> {
        self.wait("the operator to be ready and to lead", true).await
    }

    /// Waits until it says that it is ready, whether or not it leads.
    ///
    /// # Errors
    /// When it ends instead, or takes too long; with what it said last.
    pub async fn wait_serving(&mut self) -> Result<()> {
        self.wait("the operator to be ready", false).await
    }

    async fn wait(&mut self, what: &str, leading: bool) -> Result<()> {
        let outcome = until(what, READY, async || {
            if let Err(ended) = self.process.check() {
                return Ok(Look::Done(Err(ended)));
            }
            let answer = self.readiness().await?;
            if answer.status != 200 {
                return Ok(Look::NotYet(answer.body));
            }
            let enough = !leading || self.leads().await?;
            Ok(if enough { Look::Done(Ok(())) } else { Look::NotYet("ready, but it does not lead".to_owned()) })
        });
        outcome.await?
    }

    /// Whether it says that it leads.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn leads(&self) -> Result<bool> {
        Ok(self.metrics().await?.value("noderotation_leader", &[]) == Some(1.0))
    }

    /// Where it answers probes, on 127.0.0.1.
    #[must_use]
    pub fn probe(&self) -> u16 {
        self.probe
    }

    /// Bytes of memory that are its own now.
    ///
    /// # Errors
    /// When it has ended.
    pub fn resident(&self) -> Result<u64> {
        self.process.resident()
    }

    /// What it answers at /readyz now.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn readiness(&self) -> Result<http::Answer> {
        http::get(self.probe, "/readyz").await
    }

    /// What it exposes at /metrics now.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn metrics(&self) -> Result<Exposition> {
        let answer = http::get(self.metrics, "/metrics").await?;
        if answer.status != 200 {
            bail!("/metrics answers {}", answer.status);
        }
        Ok(Exposition::new(answer.body))
    }

    /// What it says at /debug/state, for which it must have been started with `--debug-state`.
    ///
    /// # Errors
    /// When it does not answer with JSON.
    pub async fn debug_state(&self) -> Result<serde_json::Value> {
        let answer = http::get(self.metrics, "/debug/state").await?;
        serde_json::from_str(&answer.body).with_context(|| format!("/debug/state answers {}: {}", answer.status, answer.body))
    }

    /// What its page draws, for which it must have been started with `--ui`.
    ///
    /// # Errors
    /// When it does not answer with a plan.
    pub async fn page_plan(&self) -> Result<serde_json::Value> {
        let answer = http::get(self.metrics, "/ui/plan.json").await?;
        if answer.status != 200 {
            bail!("/ui/plan.json answers {}: {}", answer.status, answer.body);
        }
        serde_json::from_str(&answer.body).with_context(|| format!("/ui/plan.json answers {}", answer.body))
    }

    /// Where it exposes metrics.
    #[must_use]
    pub fn metrics_url(&self) -> String {
        format!("http://127.0.0.1:{}/metrics", self.metrics)
    }

    /// Process number, until it has ended and that was seen.
    #[must_use]
    pub fn id(&self) -> Option<u32> {
        self.process.id()
    }

    /// Succeeds while it runs.
    ///
    /// # Errors
    /// When it has ended; with the end of its log.
    pub fn check(&mut self) -> Result<()> {
        self.process.check()
    }

    /// Stops it in the middle of whatever it does, as a machine does that is moved or starved.
    ///
    /// # Errors
    /// When no signal can be sent.
    pub async fn pause(&self) -> Result<()> {
        self.process.pause().await
    }

    /// Lets it go on after a pause.
    ///
    /// # Errors
    /// When no signal can be sent.
    pub async fn resume(&self) -> Result<()> {
        self.process.resume().await
    }

    /// Kills it, as a lost machine does.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub async fn sigkill(self) -> Result<()> {
        self.process.kill().await
    }

    /// Ends it, as the kubelet does.
    ///
    /// # Errors
    /// When it does not end in the time that the chart grants.
    pub async fn sigterm(self) -> Result<ExitStatus> {
        self.process.terminate(PATIENCE).await
    }
}

/// The first arguments without those flags that the second ones set, then the second ones.
fn merged(first: Vec<String>, second: Vec<String>) -> Vec<String> {
    let flag = |argument: &str| argument.split('=').next().unwrap_or_default().to_owned();
    let mut arguments: Vec<String> = Vec::new();
    for argument in first.into_iter().chain(second) {
        if argument.starts_with("--") {
            arguments.retain(|earlier| flag(earlier) != flag(&argument));
        }
        arguments.push(argument);
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_flags_replace_earlier_ones() {
        let owned = |arguments: &[&str]| arguments.iter().map(|argument| (*argument).to_owned()).collect::<Vec<_>>();
        let chart = owned(&["run", "--metrics-bind-address=:8080", "--leader-elect=true", "--lease-duration=15s"]);
        let ours = owned(&["--metrics-bind-address=127.0.0.1:1", "--kubeconfig=/k", "--lease-duration=4s", "--lease-duration=5s"]);
        let expected = ["run", "--leader-elect=true", "--metrics-bind-address=127.0.0.1:1", "--kubeconfig=/k", "--lease-duration=5s"];
        assert_eq!(merged(chart, ours), owned(&expected));
    }

    #[test]
    fn the_binary_is_not_among_the_dependencies() {
        let path = binary().unwrap();
        assert!(path.ends_with(BINARY) && !path.parent().unwrap().ends_with("deps"), "{}", path.display());
    }
}
