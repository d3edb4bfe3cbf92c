//! The kubelet of Pods of Jobs: they run to their end for real, since Helm waits for what their hooks have done.
//!
//! kwok marks all other Pods Running and leaves these alone. The operator's binary is started with the arguments of the
//! Pod's container and the token of its ServiceAccount; its exit code becomes the Pod's, and what it says the log
//! `POD.log`.

use std::fs::File;
use std::process::Stdio;
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow};
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use kube::api::{Api, Patch, PatchParams, WatchEvent, WatchParams};
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::task::JoinHandle;

use crate::cluster::account;
use crate::component::Site;
use crate::namespace;
use crate::operator;
use crate::terminal::progress;

/// What the Job controller labels its Pods with; kwok's stages leave out Pods that have it.
pub const JOB: &str = "batch.kubernetes.io/job-name";

/// It runs until it is dropped.
#[derive(Debug)]
pub struct Kubelet(JoinHandle<()>);

impl Drop for Kubelet {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Kubelet {
    /// Runs Pods of Jobs from now on.
    #[must_use]
    pub fn start(client: kube::Client, site: Site) -> Self {
        Self(tokio::spawn(run(client, Arc::new(site))))
    }
}

async fn run(client: kube::Client, site: Arc<Site>) {
    let pods: Api<Pod> = Api::all(client.clone());
    loop {
        // Every watch begins with the Pods that are there.
        if let Ok(events) = pods.watch(&WatchParams::default().labels(JOB), "0").await {
            let mut events = Box::pin(events);
            while let Some(Ok(event)) = events.next().await {
                if let WatchEvent::Added(pod) | WatchEvent::Modified(pod) = event
                    && waits(&pod)
                    && let Err(error) = to_its_end(&client, &site, &pod).await
                {
                    progress(&format!("the Pod {} was not run: {error:#}", pod.name_any()));
                }
            }
        }
        // The API server is away, or has ended the watch.
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    }
}

/// It is bound to a Node and has not begun.
fn waits(pod: &Pod) -> bool {
    let bound = pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some());
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    bound && phase == Some("Pending") && pod.metadata.deletion_timestamp.is_none()
}

async fn to_its_end(client: &kube::Client, site: &Site, pod: &Pod) -> Result<()> {
    let (namespace, name) = (pod.namespace().unwrap_or_default(), pod.name_any());
    let pods: Api<Pod> = Api::namespaced(client.clone(), &namespace);
    // An event may be older than what this program has written since.
    if !pods.get_opt(&name).await?.is_some_and(|live| waits(&live)) {
        return Ok(());
    }
    let spec = pod.spec.as_ref().ok_or_else(|| anyhow!("it has no spec"))?;
    let container = spec.containers.first().ok_or_else(|| anyhow!("it has no container"))?;
    let account = spec.service_account_name.as_deref().unwrap_or("default");
    let kubeconfig = account::kubeconfig(client, site, &namespace, account).await?;
    let path = site.logs.join(format!("{name}.log"));
    let log = File::create(&path).with_context(|| format!("creating {}", path.display()))?;
    let errors = log.try_clone().with_context(|| format!("opening {}", path.display()))?;
    let mut command = Command::from(namespace::leashed(operator::binary()?.as_os_str()));
    command.args(container.args.iter().flatten()).env("KUBECONFIG", kubeconfig).kill_on_drop(true);
    let ended = command.stdin(Stdio::null()).stdout(log).stderr(errors).status().await.context("running the operator's binary")?;
    let status = ended_with(&container.name, ended.code().unwrap_or(128));
    // A Pod that was deleted meanwhile needs no status.
    match pods.patch_status(&name, &PatchParams::default(), &Patch::Merge(&status)).await {
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        outcome => outcome.map(|_| ()).with_context(|| format!("writing the status of Pod {name}")),
    }
}

fn ended_with(container: &str, code: i32) -> Value {
    let (phase, reason) = if code == 0 { ("Succeeded", "Completed") } else { ("Failed", "Error") };
    let state = json!({"terminated": {"exitCode": code, "reason": reason}});
    let container = json!({"name": container, "image": "", "imageID": "", "ready": false, "restartCount": 0, "state": state});
    json!({"status": {"phase": phase, "containerStatuses": [container]}})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pods_that_are_bound_and_have_not_begun_are_run() {
        let pod = |node: Value, phase: &str| {
            serde_json::from_value::<Pod>(json!({"spec": {"nodeName": node, "containers": []}, "status": {"phase": phase}}))
        };
        assert!(waits(&pod(json!("system"), "Pending").unwrap()));
        assert!(!waits(&pod(Value::Null, "Pending").unwrap()));
        assert!(!waits(&pod(json!("system"), "Succeeded").unwrap()));
    }

    #[test]
    fn the_exit_code_decides_the_phase() {
        assert_eq!(ended_with("c", 0).pointer("/status/phase"), Some(&json!("Succeeded")));
        assert_eq!(ended_with("c", 2).pointer("/status/containerStatuses/0/state/terminated/exitCode"), Some(&json!(2)));
        assert_eq!(ended_with("c", 1).pointer("/status/phase"), Some(&json!("Failed")));
    }
}
