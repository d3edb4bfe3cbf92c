//! What a person is told about a policy, in whatever way it is written, by the real API server through the Service.
//!
//! A table of policies that differ from a good one, each created by `kubectl apply`, by `kubectl apply --server-side` and
//! with `--dry-run=server`, and made of the good one by the merge patch that `kubectl edit` sends.

mod row;

use anyhow::{Context as _, Result, ensure};
use e2e::cluster::Cluster;
use e2e::fleet::Fleet;
use e2e::operator::Operator;
use e2e::tool::Answer;
use e2e::wait::{Look, until};
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::bed::{self, Bed, SOON, finish};
use row::{CONTESTED, NAME, Row, SHORT, UNBORN, Verdict};

/// How often a GitOps tool applies what it has applied before.
const SYNCS: usize = 100;
const KIND: &str = "rotationpolicy";

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    vec![
        bed.trial("admit_rules::each_doubt_is_told_and_each_fault_refused_however_it_is_written", each_is_told),
        bed.trial("admit_rules::what_the_flags_deny_is_refused_however_it_is_written", each_is_denied),
        bed.trial("admit_rules::a_tie_that_was_there_before_refuses_no_change", a_tie_that_was_there),
        bed.trial("admit_rules::a_hundred_syncs_of_one_manifest_change_nothing", a_hundred_syncs),
    ]
}

/// The policy that nothing is to be said against: always open, and due as late as it can be.
fn good() -> Fleet {
    Fleet { age_threshold: "auto".to_owned(), ..Fleet::new(NAME) }
}

/// An operator and what surrounds the judged policy: its own pool, a pool with a rival, a pool that no weekly window fits,
/// and a policy that waits for a pool. Ready as soon as the endpoint sees them.
async fn surroundings(cluster: &Cluster, flags: &[&str]) -> Result<Operator> {
    let operator = bed::operator_with(cluster, flags).await?;
    let rival = Fleet { name: CONTESTED.to_owned(), ..good() };
    let short = Fleet { name: SHORT.to_owned(), expire_after: "24h".to_owned(), ..good() };
    for pool in [good().node_pool(), rival.node_pool(), short.node_pool()] {
        cluster.apply(&pool.to_string()).await?.accepted()?;
    }
    let twin = Fleet { name: UNBORN.to_owned(), ..good() };
    for (policy, name) in [(rival, "rules-rival"), (twin, "rules-twin")] {
        let policy = policy.policy_with(&[("/metadata/name", json!(name))])?;
        cluster.apply(&policy.to_string()).await?.accepted()?;
    }
    until("the endpoint to have nothing to say against a good policy", SOON, async || {
        let answer = apply(cluster, &good().policy(), &["--dry-run=server"]).await?;
        Ok(if answer.success && answer.errors.is_empty() { Look::Done(()) } else { Look::NotYet(answer.errors) })
    })
    .await?;
    Ok(operator)
}

async fn tidy_up(cluster: &Cluster, operator: Operator) -> Result<()> {
    cluster.kubectl(&["delete", KIND, "rules-rival", "rules-twin", "--ignore-not-found"]).await?.accepted()?;
    cluster.kubectl(&["delete", "nodepool", CONTESTED, SHORT, "--wait=false"]).await?.accepted()?;
    finish(cluster, &good(), operator).await
}

async fn apply(cluster: &Cluster, policy: &Value, flags: &[&str]) -> Result<Answer> {
    cluster.kubectl_with(&[&["apply", "--filename", "-"], flags].concat(), &policy.to_string()).await
}

async fn stored(cluster: &Cluster) -> Result<Option<Value>> {
    let found = cluster.kubectl(&["get", KIND, NAME, "--ignore-not-found", "--output", "json"]).await?.accepted()?;
    Ok(if found.trim().is_empty() { None } else { Some(serde_json::from_str(&found).context("reading the stored policy")?) })
}

async fn remove(cluster: &Cluster) -> Result<()> {
    cluster.kubectl(&["delete", KIND, NAME, "--ignore-not-found"]).await?.accepted()?;
    Ok(())
}

async fn each_is_told(cluster: &Cluster) -> Result<()> {
    let operator = surroundings(cluster, &[]).await?;
    for row in row::always().iter().chain(&row::as_the_flags_say(Verdict::Warned)) {
        each_way(cluster, row).await.with_context(|| row.name)?;
    }
    let counted = operator.metrics().await?;
    for (operation, verdict) in [("create", "warned"), ("create", "refused"), ("update", "warned"), ("update", "refused")] {
        let count = counted.value("noderotation_admission_requests_total", &[("operation", operation), ("verdict", verdict)]);
        ensure!(count.is_some_and(|count| count > 0.0), "{operation} {verdict}: {count:?}");
    }
    refusals_are_logged(cluster)?;
    tidy_up(cluster, operator).await
}

/// Each refusal is one line with policy, user, operation and every fault.
fn refusals_are_logged(cluster: &Cluster) -> Result<()> {
    let log = std::fs::read_to_string(cluster.logs().join("operator.log")).context("reading the operator's log")?;
    let of_the_table = |line: &&str| line.contains("policy refused") && line.contains("Mars/Olympus") && line.contains("readyTimeout");
    for operation in ["CREATE", "UPDATE"] {
        let line = log.lines().filter(of_the_table).find(|line| line.contains(operation));
        let line: Value = serde_json::from_str(line.with_context(|| format!("no refused {operation} is logged"))?)?;
        let text = line.to_string();
        for told in [format!("\"policy\":\"{NAME}\""), "\"user\":\"".to_owned(), "spec.surge.failurePause".to_owned()] {
            ensure!(text.contains(&told), "{told} is not in {text}");
        }
    }
    Ok(())
}

async fn each_is_denied(cluster: &Cluster) -> Result<()> {
    let operator = surroundings(cluster, &["--tie=deny", "--infeasible=deny"]).await?;
    for row in row::as_the_flags_say(Verdict::Refused) {
        each_way(cluster, &row).await.with_context(|| row.name)?;
    }
    tidy_up(cluster, operator).await
}

/// Creates the row's policy in three ways and changes the good one into it in a fourth.
async fn each_way(cluster: &Cluster, row: &Row) -> Result<()> {
    let policy = good().policy_with(&row.changes)?;
    for flags in [&["--dry-run=server"] as &[&str], &["--server-side", "--dry-run=server"], &[], &["--server-side"]] {
        let answer = apply(cluster, &policy, flags).await?;
        told(&answer, row)?;
        let expected = row.verdict == Verdict::Warned && !flags.contains(&"--dry-run=server");
        ensure!(stored(cluster).await?.is_some() == expected, "apply {flags:?} has left the wrong state");
        remove(cluster).await?;
    }
    good().govern(cluster).await?;
    let before = stored(cluster).await?;
    let patch = json!({"spec": policy.get("spec")}).to_string();
    let answer = cluster.kubectl(&["patch", KIND, NAME, "--type=merge", "--patch", &patch]).await?;
    told(&answer, row)?;
    let spec = |policy: &Option<Value>| policy.as_ref().and_then(|policy| policy.get("spec").cloned());
    let changed = spec(&stored(cluster).await?) != spec(&before);
    ensure!(changed == (row.verdict == Verdict::Warned), "the patch has left the wrong spec");
    remove(cluster).await
}

/// What kubectl prints: a warning a line, or the refusal.
fn told(answer: &Answer, row: &Row) -> Result<()> {
    ensure!(answer.success == (row.verdict == Verdict::Warned), "{}: {}{}", answer.command, answer.output, answer.errors);
    for text in &row.texts {
        let in_a_warning = |line: &str| line.starts_with("Warning: ") && line.contains(text);
        let said = match row.verdict {
            Verdict::Warned => answer.errors.lines().any(in_a_warning),
            Verdict::Refused => answer.errors.contains(text),
        };
        ensure!(said, "{text:?} is not said by {}: {}", answer.command, answer.errors);
    }
    Ok(())
}

async fn a_tie_that_was_there(cluster: &Cluster) -> Result<()> {
    let lax = surroundings(cluster, &[]).await?;
    let tied = good().policy_with(&[("/spec/nodePoolSelector/matchLabels", json!({e2e::fleet::LABEL: CONTESTED}))])?;
    apply(cluster, &tied, &[]).await?.accepted()?;
    let status = lax.sigterm().await?;
    ensure!(status.success(), "the operator ended with {status}");
    let operator = bed::operator_with(cluster, &["--tie=deny"]).await?;
    let patch = |spec: Value| json!({"spec": spec}).to_string();
    let arguments = |patch| ["patch", KIND, NAME, "--type=merge", "--patch", patch];
    // The stricter operator sees the tie, and lets pass what does not bring it about.
    let chances = patch(json!({"minRotationChances": 3}));
    let answer = cluster.kubectl(&arguments(&chances)).await?;
    ensure!(answer.errors.contains("Warning: spec.nodePoolSelector: ties with rules-rival"), "{}", answer.errors);
    answer.accepted()?;
    // Out of the tie, and not back into it.
    let (out, back) = (json!({e2e::fleet::LABEL: NAME}), json!({e2e::fleet::LABEL: CONTESTED}));
    let [out, back] = [out, back].map(|labels| patch(json!({"nodePoolSelector": {"matchLabels": labels}})));
    cluster.kubectl(&arguments(&out)).await?.accepted()?;
    let refusal = cluster.kubectl(&arguments(&back)).await?.refused()?;
    ensure!(refusal.contains("ties with rules-rival for NodePool rules-contested"), "{refusal}");
    tidy_up(cluster, operator).await
}

async fn a_hundred_syncs(cluster: &Cluster) -> Result<()> {
    let operator = surroundings(cluster, &[]).await?;
    let resource =
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("noderotation.io", "v1alpha1", "RotationPolicy"), "rotationpolicies");
    let api: Api<DynamicObject> = Api::all_with(cluster.client(), &resource);
    let sync = async |policy: &Value| api.patch(NAME, &PatchParams::apply("gitops"), &Patch::Apply(policy)).await.context("applying");
    let manifest = good().policy();
    let first = sync(&manifest).await?;
    let pause = |object: &DynamicObject| object.data.pointer("/spec/surge/failurePause").cloned();
    ensure!(pause(&first) == Some(json!("1h")), "the pause is derived as {:?}", pause(&first));
    // The status is another manager's. It says first that the policy is in force, and after a pass over the pool the rest.
    let before = until("the whole status", SOON, async || {
        let object = api.get(NAME).await?;
        let conditions = object.data.pointer("/status/conditions").and_then(Value::as_array);
        let told = conditions.into_iter().flatten().any(|condition| condition.get("type") == Some(&json!("Progressing")));
        Ok(if told { Look::Done(object) } else { Look::NotYet(format!("{:?}", object.data)) })
    })
    .await?;
    for _ in 0..SYNCS {
        sync(&manifest).await?;
    }
    let after = api.get(NAME).await?;
    ensure!(after.metadata.generation == Some(1), "{SYNCS} syncs have made generation {:?}", after.metadata.generation);
    ensure!(after == before, "{SYNCS} syncs have changed {before:?} into {after:?}");
    // What was derived belongs to nobody, follows what it comes from, and gives way without a conflict.
    let longer = good().policy_with(&[("/spec/surge/cooldownAfter", json!("2h"))])?;
    let followed = sync(&longer).await?;
    ensure!(pause(&followed) == Some(json!("2h")), "the pause has not followed: {:?}", pause(&followed));
    let own = good().policy_with(&[("/spec/surge/failurePause", json!("2h"))])?;
    let taken = sync(&own).await?;
    ensure!(pause(&taken) == Some(json!("2h")), "the pause was not taken over: {:?}", pause(&taken));
    ensure!(sync(&own).await?.metadata == taken.metadata, "a value of one's own is not kept as it is");
    tidy_up(cluster, operator).await
}
