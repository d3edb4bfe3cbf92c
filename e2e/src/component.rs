//! How each program of the cluster is started: its flags, and why they are what they are.
//!
//! One file a program; each is a function from the site to what to start, and starts nothing.

pub mod apiserver;
pub mod controller_manager;
pub mod etcd;
pub mod karpenter;
pub mod kwok;
pub mod scheduler;

use std::path::PathBuf;

use crate::port;
use crate::process::Launch;
use crate::toolchain::Toolchain;

/// Where one cluster is: its folders, ports and addresses.
#[derive(Clone, Debug)]
pub struct Site {
    /// The built programs.
    pub toolchain: Toolchain,
    /// Folder for state.
    pub data: PathBuf,
    /// Folder for certificates, keys and kubeconfigs.
    pub keys: PathBuf,
    /// Folder for logs.
    pub logs: PathBuf,
    /// Ports on 127.0.0.1.
    pub ports: Ports,
    /// Addresses of Services, as a CIDR.
    pub services: String,
}

/// Ports of the programs, all on 127.0.0.1.
#[derive(Clone, Copy, Debug)]
pub struct Ports {
    /// etcd, for clients.
    pub etcd: u16,
    /// etcd, for peers that do not exist.
    pub etcd_peer: u16,
    /// kube-apiserver.
    pub apiserver: u16,
    /// kube-controller-manager.
    pub controller_manager: u16,
    /// kube-scheduler.
    pub scheduler: u16,
    /// kwok's server.
    pub kwok: u16,
    /// Karpenter's metrics.
    pub karpenter_metrics: u16,
    /// Karpenter's probes.
    pub karpenter_probe: u16,
}

impl Ports {
    /// Free ones.
    ///
    /// # Errors
    /// When the machine has none.
    pub fn choose() -> anyhow::Result<Self> {
        let [etcd, etcd_peer, apiserver, controller_manager, scheduler, kwok, karpenter_metrics, karpenter_probe] = port::free()?;
        Ok(Self { etcd, etcd_peer, apiserver, controller_manager, scheduler, kwok, karpenter_metrics, karpenter_probe })
    }
}

impl Site {
    /// The kubeconfig of a user.
    #[must_use]
    pub fn kubeconfig(&self, user: &str) -> PathBuf {
        self.keys.join(format!("{}.kubeconfig", user.replace(':', "-")))
    }

    fn launch<const N: usize>(&self, name: &str, arguments: [String; N]) -> anyhow::Result<Launch> {
        Ok(Launch {
            name: name.to_owned(),
            program: self.toolchain.binary(name)?,
            arguments: arguments.into_iter().map(Into::into).collect(),
            environment: Vec::new(),
        })
    }
}
