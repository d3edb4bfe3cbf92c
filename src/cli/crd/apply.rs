//! `crd --apply`: what the chart's hook runs before an install, an upgrade and a rollback, since Helm never changes a
//! definition in `crds/` that is there.
//!
//! Server-side apply under our own name. Before it, the fields of `spec` that others own are handed over: what an older
//! chart, `kubectl` or the Go controller's chart has written there would stay in the schema otherwise. After it they are let
//! go, so that whoever applies another version next, such as Helm 4 with an install, meets no owner.

use anyhow::{Context as _, bail};
use jiff::Timestamp;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, Time};
use kube::ResourceExt;
use kube::api::{Api, Patch, PatchParams};
use noderotation_core::definition::{Verdict, established, judge, let_go, taken_over};
use noderotation_core::policy::schema::definition;
use serde_json::json;

use super::Options;
use crate::cli::exit::Unanswered;
use crate::cli::{on_cluster, version};
use crate::client;
use crate::controller::FIELD_MANAGER;
use crate::metrics::Metrics;

/// Races with somebody who writes it as well.
const TRIES: u32 = 5;
/// Time between two looks at whether it is served.
const PERIOD: std::time::Duration = std::time::Duration::from_millis(250);

/// Applies it and says what became of it.
pub(super) fn run(options: &Options) -> anyhow::Result<String> {
    on_cluster(Box::pin(async {
        let metrics = Metrics::new(version::VERSION, "").context("preparing the client")?;
        let client = client::connect(&options.cluster, "crd", metrics).await?;
        match tokio::time::timeout(options.timeout, apply(client)).await {
            Ok(said) => said,
            Err(_) => {
                bail!("the definition is not served after {:?}; see its conditions: kubectl describe crd {}", options.timeout, name())
            }
        }
    }))?
}

fn name() -> String {
    definition().name_any()
}

async fn apply(client: kube::Client) -> anyhow::Result<String> {
    let (api, ours, name): (Api<CustomResourceDefinition>, _, _) = (Api::all(client), definition(), name());
    let there = hand_over(&api, &ours).await?;
    let what = match there {
        Some(Verdict::Newer(version)) => {
            return Ok(format!(
                "{name} is of version {version}, which is newer than {}, and stays: policies keep what its newer fields say\n",
                version::VERSION
            ));
        }
        Some(_) => "updated",
        None => "created",
    };
    let params = PatchParams::apply(FIELD_MANAGER).force();
    let applied = match api.patch(&name, &params, &Patch::Apply(&ours)).await {
        Ok(applied) => applied,
        Err(kube::Error::Api(status)) if there.is_none() && status.is_forbidden() => bail!(
            "{name} is not on the cluster, and this account may not create it: run `node-rotation-controller crd | kubectl apply \
             --server-side -f -` with one that may, or install without --skip-crds"
        ),
        Err(error) => return Err(error).with_context(|| format!("applying {name}")),
    };
    release(&api, &name).await?;
    let mut definition = applied;
    while !established(&definition) {
        tokio::time::sleep(PERIOD).await;
        definition = api.get(&name).await.with_context(|| format!("waiting until {name} is served"))?;
    }
    Ok(format!("{name} is {what} to version {} and served\n", version::VERSION))
}

/// Takes the fields of the one that is there, if that is to be replaced; `None` when there is none.
async fn hand_over(api: &Api<CustomResourceDefinition>, ours: &CustomResourceDefinition) -> anyhow::Result<Option<Verdict>> {
    let name = ours.name_any();
    for _ in 0..TRIES {
        let Some(there) = api.get_opt(&name).await.with_context(|| Unanswered(format!("reading {name}")))? else {
            return Ok(None);
        };
        match judge(&there, ours) {
            Verdict::Replace => {}
            newer @ Verdict::Newer(_) => return Ok(Some(newer)),
            Verdict::Deleting => bail!("{name} is being deleted, and every RotationPolicy with it; wait until it is gone, then try again"),
            Verdict::Stored(versions) => bail!(
                "{name} has policies stored as {}, which this version does not know: write each policy once as one of its versions, take the \
                 others out of status.storedVersions, then try again",
                versions.join(", ")
            ),
        }
        let Some(owners) = taken_over(there.managed_fields(), FIELD_MANAGER, Time(Timestamp::now())) else {
            return Ok(Some(Verdict::Replace));
        };
        if record(api, &there, owners).await? {
            return Ok(Some(Verdict::Replace));
        }
    }
    bail!("{name} is being written by somebody else all the time; try again")
}

/// Lets all of it go again.
async fn release(api: &Api<CustomResourceDefinition>, name: &str) -> anyhow::Result<()> {
    for _ in 0..TRIES {
        let applied = api.get(name).await.with_context(|| format!("reading {name}"))?;
        let Some(owners) = let_go(applied.managed_fields()) else {
            return Ok(());
        };
        if record(api, &applied, owners).await? {
            return Ok(());
        }
    }
    bail!("{name} is being written by somebody else all the time; try again")
}

/// Writes who owns what, if nobody has written since; false when somebody has.
async fn record(
    api: &Api<CustomResourceDefinition>,
    read: &CustomResourceDefinition,
    owners: Vec<ManagedFieldsEntry>,
) -> anyhow::Result<bool> {
    let name = read.name_any();
    // A merge patch replaces a list as a whole, and the version makes it conditional.
    let patch = json!({"metadata": {"resourceVersion": read.resource_version(), "managedFields": owners}});
    match api.patch(&name, &PatchParams::default(), &Patch::Merge(&patch)).await {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.is_conflict() => Ok(false),
        Err(error) => Err(error).with_context(|| format!("recording who owns the fields of {name}")),
    }
}
