//! What a GitOps tool does all day: the same manifests are applied again, while the operator runs and owns its entries and
//! its Secret. Nothing changes, nobody fights, and no tool sees a difference.

use anyhow::{Context as _, Result, ensure};
use e2e::chart;
use e2e::cluster::{Cluster, Helm};
use e2e::gitops::{self, Pair, Verdict};
use e2e::stranger;
use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::bed::{self, Bed};
use crate::definition;

/// Name of the policy in the examples for both tools.
const POLICY: &str = "api";
const SERVER_SIDE: &[&str] = &["--server-side", "--field-manager=argocd-controller"];
const CLIENT_SIDE: &[&str] = &[];

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    vec![
        bed.trial("gitops_applies::every_helm_renders_the_same_every_time", every_helm_renders_the_same_every_time),
        bed.trial("gitops_applies::argo_cd_skips_the_hook_that_it_does_not_need", argo_cd_skips_the_hook_that_it_does_not_need),
        bed.trial("gitops_applies::nothing_changes_server_side", async |cluster: &Cluster| nothing_changes(cluster, SERVER_SIDE).await),
        bed.trial("gitops_applies::nothing_changes_client_side", async |cluster: &Cluster| nothing_changes(cluster, CLIENT_SIDE).await),
        bed.trial("gitops_applies::an_injected_bundle_stays", an_injected_bundle_stays),
        bed.trial("gitops_applies::nothing_changes_by_helm_3", async |cluster: &Cluster| nothing_changes_by(cluster, Helm::Three).await),
        bed.trial("gitops_applies::nothing_changes_by_helm_4", async |cluster: &Cluster| nothing_changes_by(cluster, Helm::Four).await),
    ]
}

/// The values of the example for Argo CD, with more objects; those for Flux are the same.
fn values() -> Result<Value> {
    let at = |document: Value, place: &str| document.pointer(place).cloned().with_context(|| format!("{place} is missing"));
    let mut values = at(gitops::document("argocd-application.yaml")?, "/spec/source/helm/valuesObject")?;
    let of_flux = at(gitops::document("flux-helmrelease.yaml")?, "/spec/values")?;
    ensure!(values == of_flux, "the examples differ: {values} and {of_flux}");
    let more =
        json!({"networkPolicy": {"enabled": true}, "prometheusRule": {"enabled": true}, "metrics": {"serviceMonitor": {"enabled": true}}});
    let (values_of, more) = (values.as_object_mut().context("no values")?, more.as_object().context("no values")?);
    values_of.extend(more.clone());
    Ok(values)
}

async fn template(cluster: &Cluster, helm_of: Helm, values: &Value, flags: &[&str]) -> Result<String> {
    chart::run(cluster, helm_of, "template", values, &[&["--kube-version", "1.37.2"], flags].concat()).await
}

fn field<'a>(object: &'a Value, place: &str) -> &'a str {
    object.pointer(place).and_then(Value::as_str).unwrap_or_default()
}

fn named(object: &Value) -> String {
    format!("{} {}", field(object, "/kind"), field(object, "/metadata/name"))
}

async fn every_helm_renders_the_same_every_time(cluster: &Cluster) -> Result<()> {
    let self_signed = values()?;
    let statics = json!({"certificates": {"mode": "certManager"}, "webhook": {"register": false}});
    for values in [self_signed, statics] {
        let [three, four] = [every_time(cluster, Helm::Three, &values).await?, every_time(cluster, Helm::Four, &values).await?];
        ensure!(three.len() > 15 && three == four, "{three:?}\nand\n{four:?}");
        let secrets = three.iter().filter(|object| field(object, "/kind") == "Secret");
        ensure!(secrets.count() == 0, "the chart holds a key");
    }
    Ok(())
}

/// What is rendered, in an order of ours: the two do not order kinds in the same way.
async fn every_time(cluster: &Cluster, helm: Helm, values: &Value) -> Result<Vec<Value>> {
    let text = template(cluster, helm, values, &[]).await?;
    ensure!(text == template(cluster, helm, values, &[]).await?, "{helm:?} renders something else the second time");
    let mut objects = chart::documents(&text)?;
    objects.sort_by_key(named);
    Ok(objects)
}

async fn argo_cd_skips_the_hook_that_it_does_not_need(cluster: &Cluster) -> Result<()> {
    let objects = chart::documents(&template(cluster, Helm::Four, &values()?, &["--include-crds"]).await?)?;
    let pairs: Vec<Pair> = objects.iter().map(|wanted| Pair { wanted: wanted.clone(), live: Value::Null }).collect();
    let verdicts = Verdict::of(cluster, &pairs).await?;
    let mut never: Vec<String> = Vec::new();
    for (object, verdict) in objects.iter().zip(&verdicts) {
        match verdict.phase().as_str() {
            "never" => never.push(named(object)),
            phase => ensure!(phase == "in wave 0", "{} is applied {phase}", named(object)),
        }
    }
    never.sort();
    let name = chart::RELEASE;
    // The last one is run before the Application is deleted, by the part of Argo CD that deletes.
    let expected = ["ClusterRole", "ClusterRoleBinding", "Job", "ServiceAccount"].map(|kind| format!("{kind} {name}-crds"));
    let mut expected = [&expected[..], &[format!("Job {name}-cleanup")]].concat();
    expected.sort();
    ensure!(never == expected, "no part of a sync are {never:?}");
    Ok(())
}

/// Applies them in place of the release, starts the operator, and applies them again.
async fn nothing_changes(cluster: &Cluster, how: &[&str]) -> Result<()> {
    stranger::prometheus_operator(cluster).await?;
    let values = values()?;
    let text = template(cluster, Helm::Four, &values, &["--include-crds", "--no-hooks"]).await?;
    in_place_of_the_release(cluster, &values, async {
        apply(cluster, how, &text).await?;
        let operator = bed::operator(cluster).await?;
        settle(cluster).await?;
        let before = Objects::of(cluster, &text).await?;
        ensure!(before.names().iter().any(|name| name.ends_with("-webhook-tls")), "the operator has made no Secret: {:?}", before.names());
        for _ in 0..2 {
            apply(cluster, how, &text).await?;
            before.are_the_same_as(&Objects::of(cluster, &text).await?)?;
        }
        let diff = cluster.kubectl_with(&[&["diff"], how, &["--filename", "-"]].concat(), &text).await?;
        ensure!(diff.code == Some(0) && diff.output.is_empty(), "kubectl sees a difference: {}{}", diff.output, diff.errors);
        no_difference_for_argo_cd(cluster, &text, &before).await?;
        let status = operator.sigterm().await?;
        ensure!(status.success(), "the operator ended with {status} after SIGTERM");
        Ok(())
    })
    .await
}

/// cert-manager's injector owns one field inside of what the chart renders.
async fn an_injected_bundle_stays(cluster: &Cluster) -> Result<()> {
    stranger::cert_manager(cluster).await?;
    let values = json!({"certificates": {"mode": "certManager"}, "webhook": {"register": false}});
    let text = template(cluster, Helm::Four, &values, &["--no-hooks"]).await?;
    in_place_of_the_release(cluster, &values, async {
        for how in [SERVER_SIDE, CLIENT_SIDE] {
            apply(cluster, how, &text).await?;
            for kind in ["mutatingwebhookconfiguration", "validatingwebhookconfiguration"] {
                let bundle = json!([{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": "LS0tCg=="}]).to_string();
                let name = format!("{}-static", chart::RELEASE);
                let patch = ["patch", kind, &name, "--type=json", "--patch", &bundle, "--field-manager=cert-manager-cainjector"];
                cluster.kubectl(&patch).await?.accepted()?;
            }
            cluster
                .kubectl(&["rollout", "status", &format!("deployment/{}", chart::RELEASE), "--namespace", chart::NAMESPACE])
                .await?
                .accepted()?;
            let before = Objects::of(cluster, &text).await?;
            apply(cluster, how, &text).await?;
            before.are_the_same_as(&Objects::of(cluster, &text).await?)?;
            no_difference_for_argo_cd(cluster, &text, &before).await?;
        }
        Ok(())
    })
    .await
}

async fn nothing_changes_by(cluster: &Cluster, with: Helm) -> Result<()> {
    stranger::prometheus_operator(cluster).await?;
    let values = values()?;
    let text = template(cluster, with, &values, &["--include-crds", "--no-hooks"]).await?;
    chart::uninstall(cluster).await?;
    bed::free(cluster).await?;
    let test = async {
        chart::run(cluster, with, "install", &values, &[]).await?;
        let operator = bed::operator(cluster).await?;
        settle(cluster).await?;
        let before = Objects::of(cluster, &text).await?;
        for _ in 0..2 {
            chart::run(cluster, with, "upgrade", &values, &[]).await?;
            before.are_the_same_as(&Objects::of(cluster, &text).await?)?;
        }
        let status = operator.sigterm().await?;
        ensure!(status.success(), "the operator ended with {status} after SIGTERM");
        Ok(())
    };
    let outcome = test.await;
    chart::uninstall(cluster).await?;
    bed::free(cluster).await?;
    chart::install(cluster, &[]).await?;
    outcome
}

/// Takes the release away for a test that applies these values by other means, and puts it back.
async fn in_place_of_the_release(cluster: &Cluster, values: &Value, test: impl Future<Output = Result<()>>) -> Result<()> {
    chart::uninstall(cluster).await?;
    bed::free(cluster).await?;
    let outcome = test.await;
    let text = template(cluster, Helm::Four, values, &["--no-hooks"]).await?;
    cluster.kubectl_with(&["delete", "--ignore-not-found", "--filename", "-"], &text).await?.accepted()?;
    cluster.kubectl(&["annotate", "crd", definition::NAME, "kubectl.kubernetes.io/last-applied-configuration-"]).await?.accepted()?;
    bed::free(cluster).await?;
    chart::install(cluster, &[]).await?;
    outcome
}

/// Without force: nobody else owns a field that differs.
async fn apply(cluster: &Cluster, how: &[&str], text: &str) -> Result<()> {
    cluster.kubectl_with(&[&["apply"], how, &["--filename", "-"]].concat(), text).await?.accepted()?;
    Ok(())
}

/// Waits until those who write into what was applied have written it.
async fn settle(cluster: &Cluster) -> Result<()> {
    let deployment = format!("deployment/{}", chart::RELEASE);
    cluster.kubectl(&["rollout", "status", &deployment, "--namespace", chart::NAMESPACE, "--timeout=90s"]).await?.accepted()?;
    cluster.kubectl(&["wait", "--for=condition=Ready", &format!("rotationpolicy/{POLICY}"), "--timeout=90s"]).await?.accepted()?;
    Ok(())
}

async fn no_difference_for_argo_cd(cluster: &Cluster, text: &str, live: &Objects) -> Result<()> {
    let pair = |wanted: Value| Pair { live: live.0.iter().find(|live| named(live) == named(&wanted)).cloned().unwrap_or_default(), wanted };
    let pairs: Vec<Pair> = chart::documents(text)?.into_iter().map(pair).collect();
    for (pair, verdict) in pairs.iter().zip(Verdict::of(cluster, &pairs).await?) {
        ensure!(!pair.live.is_null(), "{} is not on the cluster", named(&pair.wanted));
        if let Some(wants) = verdict.difference() {
            anyhow::bail!("for Argo CD {} is out of sync: {}\nshould be {wants}", named(&pair.wanted), pair.live);
        }
    }
    // It would see one.
    let labelled = |pair: &&Pair| pair.wanted.pointer("/metadata/labels").is_some();
    let mut twin = pairs.iter().find(labelled).context("nothing has labels")?.clone();
    let labels = twin.wanted.pointer_mut("/metadata/labels").and_then(Value::as_object_mut).context("it has no labels")?;
    labels.insert("e2e".to_owned(), json!("twin"));
    let verdict = Verdict::of(cluster, &[twin]).await?;
    ensure!(verdict.iter().all(|verdict| verdict.difference().is_some()), "no difference is seen where there is one");
    Ok(())
}

/// Objects of the cluster, those of a manifest and the Secrets beside them.
struct Objects(Vec<Value>);

impl Objects {
    async fn of(cluster: &Cluster, text: &str) -> Result<Self> {
        let output = ["--output", "json", "--show-managed-fields"];
        let applied = cluster.kubectl_with(&[&["get", "--filename", "-"], &output[..]].concat(), text).await?.accepted()?;
        let secrets = ["get", "secrets", "--namespace", chart::NAMESPACE, "--field-selector", "type!=helm.sh/release.v1"];
        let secrets = cluster.kubectl(&[&secrets[..], &output].concat()).await?.accepted()?;
        let mut objects = Vec::new();
        for list in [applied, secrets] {
            let list: Value = serde_json::from_str(&list).context("reading a list of objects")?;
            objects.extend(list.get("items").and_then(Value::as_array).into_iter().flatten().cloned());
        }
        Ok(Self(objects))
    }

    fn names(&self) -> Vec<String> {
        self.0.iter().map(named).collect()
    }

    /// But for what a controller tells in the status, and the version of an object that has one.
    fn are_the_same_as(&self, others: &Self) -> Result<()> {
        ensure!(self.names() == others.names(), "there were {:?}, now there are {:?}", self.names(), others.names());
        for (before, after) in self.0.iter().zip(&others.0) {
            let (before, after) = (without_status(before), without_status(after));
            ensure!(before == after, "{} has changed:\n{before}\n{after}", named(&before));
        }
        Ok(())
    }
}

fn without_status(object: &Value) -> Value {
    let mut object = object.clone();
    let has_status = object.as_object_mut().and_then(|object| object.remove("status")).is_some();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut).filter(|_| has_status) {
        metadata.remove("resourceVersion");
        if let Some(owners) = metadata.get_mut("managedFields").and_then(Value::as_array_mut) {
            owners.retain(|owner| owner.get("subresource").is_none());
        }
    }
    object
}
