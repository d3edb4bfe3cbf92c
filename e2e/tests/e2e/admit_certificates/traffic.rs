//! Policies that are applied again and again, without effect, while something else happens.

use std::future::Future;
use std::time::Duration;

use anyhow::{Result, ensure};
use e2e::cluster::Cluster;
use e2e::fleet::Fleet;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, PostParams};
use serde_json::json;

/// What became of requests for one policy.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub(super) accepted: u32,
    /// By the endpoint's own words.
    pub(super) refused: u32,
    /// With a message of anybody else.
    pub(super) failed: u32,
    /// The last such message.
    pub(super) message: String,
}

impl Tally {
    fn count(&mut self, answer: kube::Result<DynamicObject>) {
        match answer {
            Ok(_) => self.accepted += 1,
            Err(error) if error.to_string().contains("Mars/Olympus") => self.refused += 1,
            Err(error) => {
                self.failed += 1;
                self.message = error.to_string();
            }
        }
    }

    /// Nothing went wrong, and something went well.
    pub(super) fn all_accepted(&self) -> Result<()> {
        ensure!(self.accepted > 0 && self.failed == 0 && self.refused == 0, "not all requests were accepted: {self:?}");
        Ok(())
    }
}

/// Has a good policy judged every 50 ms for as long as `during` takes.
pub(super) async fn good<T>(cluster: &Cluster, during: impl Future<Output = Result<T>>) -> Result<(T, Tally)> {
    flow(cluster, Fleet::new("traffic").policy_with(&[])?, during).await
}

/// The same with a policy that only the endpoint refuses, not the schema.
pub(super) async fn bad<T>(cluster: &Cluster, during: impl Future<Output = Result<T>>) -> Result<(T, Tally)> {
    flow(cluster, Fleet::new("traffic").policy_with(&[("/spec/maintenanceWindows/0/timezone", json!("Mars/Olympus"))])?, during).await
}

async fn flow<T>(cluster: &Cluster, policy: serde_json::Value, during: impl Future<Output = Result<T>>) -> Result<(T, Tally)> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("noderotation.io", "v1alpha1", "RotationPolicy"));
    let api: Api<DynamicObject> = Api::all_with(cluster.client(), &resource);
    let policy: DynamicObject = serde_json::from_value(policy)?;
    let without_effect = PostParams { dry_run: true, ..PostParams::default() };
    let mut tally = Tally::default();
    let mut ticks = tokio::time::interval(Duration::from_millis(50));
    tokio::pin!(during);
    loop {
        tokio::select! {
            outcome = &mut during => return Ok((outcome?, tally)),
            _ = ticks.tick() => {}
        }
        tally.count(api.create(&without_effect, &policy).await);
    }
}
