//! A whole cluster: booted in seconds, used through its API server, ended without a trace.

pub(crate) mod account;
mod boot;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};
use kube::config::{KubeConfigOptions, Kubeconfig};

use crate::component::Site;
use crate::folder::Folder;
use crate::kubelet::Kubelet;
use crate::namespace::Isolation;
use crate::operator;
use crate::pki::{ADMIN, Files};
use crate::process::Process;
use crate::tool::{Answer, Tool};
use crate::wait::{Look, until};

/// The API server must be back within this time, on a busy machine.
const READY: Duration = Duration::from_secs(90);

/// Whether the API server reaches what listens on the address of a Service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceMode {
    /// Listen on the Service's address and port: the whole path is real.
    Reachable,
    /// This user may not listen on port 443 here, so nothing can be reached through a Service.
    Unreachable,
}

/// A major version of Helm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Helm {
    /// Client-side apply, and what most people have.
    Three,
    /// Server-side apply.
    Four,
}

/// A running cluster.
pub struct Cluster {
    site: Site,
    client: kube::Client,
    /// In the order in which they were started last.
    processes: Mutex<Vec<Process>>,
    /// Runs Pods of Jobs.
    _kubelet: Kubelet,
    service_mode: ServiceMode,
    isolation: Isolation,
    boot_time: Duration,
    /// Last, so that the processes are gone before their folder.
    folder: Folder,
}

impl Cluster {
    /// A client with all rights.
    #[must_use]
    pub fn client(&self) -> kube::Client {
        self.client.clone()
    }

    /// Where the cluster is.
    #[must_use]
    pub fn site(&self) -> &Site {
        &self.site
    }

    /// Folder with the log of every program, and `audit.log` of the API server.
    #[must_use]
    pub fn logs(&self) -> &Path {
        &self.site.logs
    }

    /// Folder with kubectl, helm and the others under their own names.
    #[must_use]
    pub fn bin(&self) -> PathBuf {
        self.folder.bin()
    }

    /// A kubeconfig with all rights.
    #[must_use]
    pub fn kubeconfig(&self) -> PathBuf {
        self.site.kubeconfig(ADMIN.user)
    }

    /// Whether Services can be reached.
    #[must_use]
    pub fn service_mode(&self) -> ServiceMode {
        self.service_mode
    }

    /// Where the program runs.
    #[must_use]
    pub fn isolation(&self) -> &Isolation {
        &self.isolation
    }

    /// How long the boot took.
    #[must_use]
    pub fn boot_time(&self) -> Duration {
        self.boot_time
    }

    /// Runs kubectl with all rights.
    ///
    /// # Errors
    /// When it cannot be run. A refusal is an answer.
    pub async fn kubectl(&self, arguments: &[&str]) -> Result<Answer> {
        self.tool("kubectl")?.run(arguments, "").await
    }

    /// Runs kubectl with all rights and with `input` as its standard input.
    ///
    /// # Errors
    /// When it cannot be run. A refusal is an answer.
    pub async fn kubectl_with(&self, arguments: &[&str], input: &str) -> Result<Answer> {
        self.tool("kubectl")?.run(arguments, input).await
    }

    /// Gives kubectl's `apply` a manifest, as a person does.
    ///
    /// # Errors
    /// When kubectl cannot be run. A refusal is an answer.
    pub async fn apply(&self, manifest: &str) -> Result<Answer> {
        self.kubectl_with(&["apply", "--filename", "-"], manifest).await
    }

    /// Runs helm with all rights.
    ///
    /// # Errors
    /// When it cannot be run. A refusal is an answer.
    pub async fn helm(&self, arguments: &[&str]) -> Result<Answer> {
        self.tool("helm")?.run(arguments, "").await
    }

    /// Runs the Helm of this major version with all rights.
    ///
    /// # Errors
    /// When it cannot be run. A refusal is an answer.
    pub async fn helm_of(&self, helm: Helm, arguments: &[&str]) -> Result<Answer> {
        let name = match helm {
            Helm::Three => "helm3",
            Helm::Four => "helm",
        };
        self.tool(name)?.run(arguments, "").await
    }

    /// Runs the operator's binary as a person at a terminal does, with all rights.
    ///
    /// # Errors
    /// When it cannot be run. A refusal is an answer.
    pub async fn command(&self, arguments: &[&str]) -> Result<Answer> {
        Tool { program: operator::binary()?, environment: environment(&self.site) }.run(arguments, "").await
    }

    /// Succeeds while every program of the cluster runs.
    ///
    /// # Errors
    /// When one has ended; with the end of its log.
    pub fn check(&mut self) -> Result<()> {
        self.processes.get_mut().unwrap_or_else(PoisonError::into_inner).iter_mut().try_for_each(Process::check)
    }

    /// Kills one of the cluster's programs, starts it again when `meanwhile` is over, and waits until the API server is ready.
    ///
    /// # Errors
    /// When there is no such program, or it cannot be started again; and what comes of `meanwhile`.
    pub async fn without<T>(&self, program: &str, meanwhile: impl Future<Output = Result<T>>) -> Result<T> {
        let killed = {
            let mut processes = self.running();
            let place = processes.iter().position(|process| process.launch().name == program);
            processes.remove(place.with_context(|| format!("no {program} runs"))?)
        };
        let launch = killed.launch().clone();
        killed.kill().await?;
        let outcome = meanwhile.await;
        let started = Process::start(&launch, self.logs())?;
        self.running().push(started);
        until(&format!("the cluster after the end of {program}"), READY, async || {
            let answer = self.kubectl(&["get", "--raw", "/readyz"]).await?;
            Ok(if answer.output == "ok" { Look::Done(()) } else { Look::NotYet(answer.errors) })
        })
        .await?;
        outcome
    }

    fn running(&self) -> MutexGuard<'_, Vec<Process>> {
        self.processes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a kubeconfig with a fresh token of a ServiceAccount, and so with exactly its rights.
    ///
    /// # Errors
    /// When there is no such ServiceAccount.
    pub async fn service_account_kubeconfig(&self, namespace: &str, name: &str) -> Result<PathBuf> {
        account::kubeconfig(&self.client, &self.site, namespace, name).await
    }

    /// A fresh token of a ServiceAccount.
    ///
    /// # Errors
    /// When there is no such ServiceAccount.
    pub async fn service_account_token(&self, namespace: &str, name: &str) -> Result<String> {
        account::token(&self.client, namespace, name).await
    }

    /// A token of a ServiceAccount that is valid as long as a Secret of the same namespace is there.
    ///
    /// # Errors
    /// When there is no such ServiceAccount or no such Secret.
    pub async fn bound_token(&self, namespace: &str, name: &str, secret: &str) -> Result<String> {
        account::bound_token(&self.client, namespace, name, Some(secret)).await
    }

    /// Writes a kubeconfig that takes a token from a file, for which it has a place: the paths of both. `name` is part of them.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn kubeconfig_with_token_file(&self, name: &str) -> Result<(PathBuf, PathBuf)> {
        account::kubeconfig_with_file(&self.site, name)
    }

    /// The certificate of the authority that has signed the API server's.
    #[must_use]
    pub fn authority(&self) -> PathBuf {
        Files::named(&self.site.keys, "ca").certificate
    }

    /// A client from a kubeconfig.
    ///
    /// # Errors
    /// When the file is not a kubeconfig.
    pub async fn client_from(path: &Path) -> Result<kube::Client> {
        let reading = || format!("reading {}", path.display());
        let kubeconfig = Kubeconfig::read_from(path).with_context(reading)?;
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.with_context(reading)?;
        kube::Client::try_from(config).with_context(reading)
    }

    /// Ends every program of the cluster, youngest first, and removes its folder; after a failure the logs stay.
    ///
    /// # Errors
    /// When a program cannot be ended.
    pub async fn close(mut self, success: bool) -> Result<()> {
        if success {
            self.folder.discard_logs();
        }
        // There is nothing to save: the database goes with the folder.
        let mut processes = self.processes.into_inner().unwrap_or_else(PoisonError::into_inner);
        while let Some(process) = processes.pop() {
            process.kill().await?;
        }
        Ok(())
    }

    /// A program of the test bed, to be run with all rights.
    ///
    /// # Errors
    /// When no recipe builds it.
    pub fn tool(&self, name: &str) -> Result<Tool> {
        Ok(Tool { program: self.site.toolchain.binary(name)?, environment: environment(&self.site) })
    }
}

/// Keeps kubectl and helm from reading or writing anything of the person at the terminal.
fn environment(site: &Site) -> Vec<(String, OsString)> {
    let set = |name: &str, value: PathBuf| (name.to_owned(), value.into_os_string());
    vec![
        set("KUBECONFIG", site.kubeconfig(ADMIN.user)),
        set("KUBECACHEDIR", site.data.join("kubectl")),
        set("HELM_CACHE_HOME", site.data.join("helm-cache")),
        set("HELM_CONFIG_HOME", site.data.join("helm-config")),
        set("HELM_DATA_HOME", site.data.join("helm-data")),
    ]
}
