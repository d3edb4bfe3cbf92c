//! etcd: the store.

use anyhow::Result;

use super::Site;
use crate::process::Launch;

/// What to start.
///
/// # Errors
/// When no recipe builds it.
pub fn launch(site: &Site) -> Result<Launch> {
    let (clients, peers) = (format!("http://127.0.0.1:{}", site.ports.etcd), format!("http://127.0.0.1:{}", site.ports.etcd_peer));
    site.launch(
        "etcd",
        [
            format!("--data-dir={}", site.data.join("etcd").display()),
            // Nothing here outlives the machine, and syncing to disk is most of what a boot would wait for.
            "--unsafe-no-fsync".to_owned(),
            format!("--listen-client-urls={clients}"),
            format!("--advertise-client-urls={clients}"),
            format!("--listen-peer-urls={peers}"),
            format!("--initial-advertise-peer-urls={peers}"),
            format!("--initial-cluster=default={peers}"),
            "--logger=zap".to_owned(),
        ],
    )
}
