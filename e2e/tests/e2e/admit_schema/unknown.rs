//! What becomes of a key that the schema does not know: refused by those who ask for it, dropped for all others.

use anyhow::{Context as _, Result, bail, ensure};
use e2e::cluster::Cluster;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams, ValidationDirective};
use libtest_mimic::Trial;
use noderotation_core::policy::RotationPolicy;
use serde_json::{Value, json};

use super::row::good;
use super::server::{Answer, Cause, Server, Unknown};
use crate::bed::Bed;

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    vec![
        bed.trial("admit_schema::c155_a_misspelt_key_is_refused_or_has_no_effect", c155_a_misspelt_key_is_refused_or_has_no_effect),
        bed.trial("admit_schema::c156_apply_and_create_treat_unknown_keys_as_told", c156_apply_and_create_treat_unknown_keys_as_told),
        bed.trial("admit_schema::c177_the_singular_of_a_field_is_no_field", c177_the_singular_of_a_field_is_no_field),
    ]
}

/// `readyTimeout` without its second `e`.
fn misspelt() -> Value {
    let mut policy = good();
    policy["spec"]["surge"] = json!({"readyTimout": "1h"});
    policy
}

fn stored(answer: Answer) -> Result<Value> {
    match answer {
        Answer::Admitted(stored) => Ok(stored),
        Answer::Refused(causes) => bail!("the server refuses it: {causes:?}"),
    }
}

fn refused(answer: Answer) -> Result<Vec<Cause>> {
    match answer {
        Answer::Admitted(stored) => bail!("the server admits it: {stored}"),
        Answer::Refused(causes) => Ok(causes),
    }
}

fn is_pruned(stored: &Value) -> Result<()> {
    let surge = stored.pointer("/spec/surge").context("the surge is gone")?;
    ensure!(surge.get("readyTimout").is_none(), "the unknown key is kept: {surge}");
    ensure!(surge["readyTimeout"] == "15m", "the default is not there: {surge}");
    Ok(())
}

async fn c155_a_misspelt_key_is_refused_or_has_no_effect(cluster: &Cluster) -> Result<()> {
    let server = Server::alone(cluster).await?;
    let causes = refused(server.post(&misspelt(), Unknown::Strict).await?)?;
    ensure!(causes[0].message.contains("unknown field \"spec.surge.readyTimout\""), "{causes:?}");
    is_pruned(&stored(server.post(&misspelt(), Unknown::Ignore).await?)?)?;
    // kubectl asks for the strict way unless it is told otherwise.
    let refusal = cluster.apply(&misspelt().to_string()).await?.refused()?;
    ensure!(refusal.contains("unknown field \"spec.surge.readyTimout\""), "{refusal}");
    Ok(())
}

/// A server-side apply refuses it whatever it is told; any other write drops it where validation is off.
async fn c156_apply_and_create_treat_unknown_keys_as_told(cluster: &Cluster) -> Result<()> {
    let server = Server::alone(cluster).await?;
    let resource = ApiResource::erase::<RotationPolicy>(&());
    let policies: Api<DynamicObject> = Api::all_with(cluster.client(), &resource);
    for directive in [ValidationDirective::Strict, ValidationDirective::Ignore] {
        let parameters = PatchParams { field_validation: Some(directive.clone()), ..PatchParams::apply("e2e").dry_run() };
        policies.patch("schema", &parameters, &Patch::Apply(good())).await.context("applying a good policy")?;
        let refusal = policies.patch("schema", &parameters, &Patch::Apply(misspelt())).await.err();
        let refusal = refusal.with_context(|| format!("an apply with {directive:?} is admitted"))?.to_string();
        ensure!(refusal.contains("readyTimout") && refusal.contains("field not declared in schema"), "{directive:?}: {refusal}");
    }
    is_pruned(&stored(server.post(&misspelt(), Unknown::Ignore).await?)?)
}

async fn c177_the_singular_of_a_field_is_no_field(cluster: &Cluster) -> Result<()> {
    let server = Server::alone(cluster).await?;
    let mut policy = good();
    let spec = policy["spec"].as_object_mut().context("the spec is no object")?;
    let windows = spec.remove("maintenanceWindows").context("there are no windows")?;
    spec.insert("maintenanceWindow".to_owned(), windows);
    let causes = refused(server.post(&policy, Unknown::Strict).await?)?;
    ensure!(causes[0].message.contains("unknown field \"spec.maintenanceWindow\""), "{causes:?}");
    let causes = refused(server.post(&policy, Unknown::Ignore).await?)?;
    ensure!(causes.iter().any(|cause| cause.field == "spec.maintenanceWindows" && cause.message.contains("Required value")), "{causes:?}");
    Ok(())
}
