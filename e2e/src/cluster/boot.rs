//! From nothing to a cluster with Karpenter.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::Api;
use serde_json::{Value, json};

use super::{Cluster, ServiceMode, environment};
use crate::component::{Ports, Site, apiserver, controller_manager, etcd, karpenter, kwok, scheduler};
use crate::folder::Folder;
use crate::http;
use crate::kubeconfig::{self, Caller};
use crate::kubelet::{self, Kubelet};
use crate::namespace::Isolation;
use crate::pki::{self, ADMIN, CONTROLLER_MANAGER, Files, SCHEDULER};
use crate::process::{Launch, Process};
use crate::tool::Tool;
use crate::toolchain::Toolchain;
use crate::wait::{Look, until};

/// Each stage of the boot may take this long on a busy machine.
const DEADLINE: Duration = Duration::from_secs(90);
/// The Node on which Pods run that are no business of Karpenter's, such as those of the chart.
const SYSTEM_NODE: &str = "system";

impl Cluster {
    /// Boots a cluster. It is ready to provision nodes on return.
    ///
    /// # Errors
    /// When a program does not start or does not become ready; its log is named.
    pub async fn boot(toolchain: Toolchain, isolation: Isolation) -> Result<Self> {
        let begun = Instant::now();
        let folder = Folder::create()?;
        let (services, service_mode) = service_range(jiff::Timestamp::now().subsec_nanosecond().unsigned_abs());
        let site = Site { toolchain, data: folder.data(), keys: folder.keys(), logs: folder.logs(), ports: Ports::choose()?, services };
        write_keys(&site)?;
        link_binaries(&site, &folder)?;
        let mut boot = Boot { processes: Vec::new(), tool: kubectl(&site)?, site };
        boot.start(&etcd::launch(&boot.site)?)?;
        boot.start(&apiserver::launch(&boot.site)?)?;
        let client = Self::client_from(&boot.site.kubeconfig(ADMIN.user)).await?;
        let tool = boot.tool.clone();
        boot.wait("the API server", async || Ok(tool.run(&["get", "--raw", "/readyz"], "").await?.accepted()? == "ok")).await?;
        boot.start(&controller_manager::launch(&boot.site)?)?;
        boot.start(&scheduler::launch(&boot.site)?)?;
        boot.apply_manifests().await?;
        boot.start(&kwok::launch(&boot.site)?)?;
        boot.start(&karpenter::launch(&boot.site)?)?;
        let probe = boot.site.ports.karpenter_probe;
        boot.wait("Karpenter", async || Ok(http::get(probe, "/readyz").await?.status == 200)).await?;
        boot.wait("the ServiceAccount default/default", async || {
            Ok(Api::<ServiceAccount>::namespaced(client.clone(), "default").get_opt("default").await?.is_some())
        })
        .await?;
        let Boot { site, processes, tool: _ } = boot;
        let kubelet = Kubelet::start(client.clone(), site.clone());
        Ok(Self {
            site,
            client,
            processes: Mutex::new(processes),
            _kubelet: kubelet,
            service_mode,
            isolation,
            boot_time: begun.elapsed(),
            folder,
        })
    }
}

struct Boot {
    site: Site,
    tool: Tool,
    processes: Vec<Process>,
}

impl Boot {
    fn start(&mut self, launch: &Launch) -> Result<()> {
        self.processes.push(Process::start(launch, &self.site.logs)?);
        Ok(())
    }

    /// Waits, but not for what can no longer come.
    async fn wait(&mut self, what: &str, ready: impl AsyncFn() -> Result<bool>) -> Result<()> {
        let outcome = until(what, DEADLINE, async || {
            if let Err(ended) = self.processes.iter_mut().try_for_each(Process::check) {
                return Ok(Look::Done(Err(ended)));
            }
            Ok(if ready().await? { Look::Done(Ok(())) } else { Look::NotYet("not ready".to_owned()) })
        });
        outcome.await?
    }

    /// Everything that kwok and Karpenter want to find when they start.
    async fn apply_manifests(&self) -> Result<()> {
        let (kwok, karpenter) = (self.site.toolchain.manifests("kwok")?, self.site.toolchain.manifests("karpenter")?);
        let crd = kwok.join("kwok.x-k8s.io_stages.yaml");
        self.apply(&["--filename", &crd.to_string_lossy(), "--filename", &karpenter.to_string_lossy()], "").await?;
        let established = ["wait", "--for=condition=Established", "--all", "crd", "--timeout=60s"];
        self.tool.run(&established, "").await?.accepted()?;
        self.apply(
            &["--filename", &kwok.to_string_lossy(), "--filename", "-"],
            &format!("{}\n---\n{}", karpenter::NODE_CLASS, system_node()),
        )
        .await?;
        // Pods of Jobs are run, not marked.
        let key = format!(".metadata.labels[\"{}\"]", kubelet::JOB);
        let patch = json!([{"op": "add", "path": "/spec/selector/matchExpressions/-", "value": {"key": key, "operator": "DoesNotExist"}}]);
        let stage = ["patch", "stage", "pod-ready", "--type=json", "--patch", &patch.to_string()];
        self.tool.run(&stage, "").await?.accepted()?;
        Ok(())
    }

    async fn apply(&self, files: &[&str], input: &str) -> Result<()> {
        // Server-side: the annotation of the other way is too small for Karpenter's CRDs.
        let arguments = [&["apply", "--server-side"], files].concat();
        self.tool.run(&arguments, input).await?.accepted()?;
        Ok(())
    }
}

fn kubectl(site: &Site) -> Result<Tool> {
    Ok(Tool { program: site.toolchain.binary("kubectl")?, environment: environment(site) })
}

fn write_keys(site: &Site) -> Result<()> {
    pki::write(&site.keys)?;
    let authority = Files::named(&site.keys, "ca").certificate;
    for subject in [ADMIN, CONTROLLER_MANAGER, SCHEDULER] {
        let files = Files::named(&site.keys, subject.user);
        let path = site.kubeconfig(subject.user);
        let text = kubeconfig::text(site.ports.apiserver, &authority, &Caller::Certificate(&files));
        fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}

fn link_binaries(site: &Site, folder: &Folder) -> Result<()> {
    for (name, path) in site.toolchain.binaries() {
        let link = folder.bin().join(name);
        std::os::unix::fs::symlink(&path, &link).with_context(|| format!("linking {}", link.display()))?;
    }
    Ok(())
}

/// Addresses for Services, within the loopback network, so that whoever listens on one is reached without any routing.
/// Every run has its own, since several may share the machine's loopback interface.
fn service_range(seed: u32) -> (String, ServiceMode) {
    let [_, high, low, _] = seed.to_be_bytes();
    // 127.0.x.y is left to others.
    let first = Ipv4Addr::new(127, high.max(1), low, 1);
    let listener = TcpListener::bind(SocketAddr::from((first, 443)));
    let mode = if listener.is_ok() { ServiceMode::Reachable } else { ServiceMode::Unreachable };
    (format!("127.{}.{low}.0/24", high.max(1)), mode)
}

fn system_node() -> Value {
    let size = json!({"cpu": "32", "memory": "64Gi", "pods": "110", "ephemeral-storage": "100Gi"});
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": SYSTEM_NODE,
            "annotations": {"kwok.x-k8s.io/node": "fake"},
            "labels": {
                "kubernetes.io/hostname": SYSTEM_NODE,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                "topology.kubernetes.io/zone": "system",
            },
        },
        "status": {"allocatable": size, "capacity": size},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn service_ranges_lie_in_the_loopback_network_and_off_its_usual_part() {
        for (seed, expected) in [(0, "127.1.0.0/24"), (0x00_60_05_00, "127.96.5.0/24"), (u32::MAX, "127.255.255.0/24")] {
            assert_eq!(service_range(seed).0, expected, "{seed:#x}");
        }
    }
}
