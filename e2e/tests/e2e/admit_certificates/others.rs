//! cert-manager keeps the certificate, and the chart or the operator the entries.
//!
//! cert-manager cannot run here. The test has the API server know its kinds, so that the chart can be installed, and
//! does what it does: writes the Secret, renews it, and fills in caBundle.

use anyhow::{Context as _, Result, ensure};
use e2e::chart;
use e2e::cluster::Cluster;
use e2e::stranger;
use e2e::wait::{Look, until};
use libtest_mimic::Trial;
use serde_json::Value;

use super::{DWELL, KINDS, ended, event, object, operator, traffic};
use crate::authority::{self, Authority, Pair};
use crate::bed::{Bed, SOON, registered, series};

const SECRET: &str = "node-rotation-controller-webhook-cert-manager";
const BY_CERT_MANAGER: &str = "certificates.mode=certManager";
const NOT_AFTER: &str = "noderotation_certificate_not_after_timestamp";

pub(super) fn trials(bed: &Bed) -> Vec<Trial> {
    vec![
        bed.trial("admit_certificates::what_cannot_work_is_refused_by_the_chart", what_cannot_work_is_refused_by_the_chart),
        bed.trial("admit_certificates::the_chart_renders_what_the_operator_would_apply", the_chart_renders_what_the_operator_would_apply),
        bed.trial("admit_certificates::cert_managers_secret_is_followed", cert_managers_secret_is_followed),
        bed.trial("admit_certificates::registration_can_be_handed_over_and_back", registration_can_be_handed_over_and_back),
    ]
}

async fn template(cluster: &Cluster, values: &[&str]) -> Result<e2e::tool::Answer> {
    let folder = chart::folder();
    let folder = folder.to_string_lossy();
    let mut arguments = vec!["template", chart::RELEASE, &folder, "--namespace", chart::NAMESPACE];
    values.iter().for_each(|value| arguments.extend(["--set", value]));
    cluster.helm(&arguments).await
}

async fn what_cannot_work_is_refused_by_the_chart(cluster: &Cluster) -> Result<()> {
    const LEFT: &str = "webhook.register=false";
    const OWN: &str = "certificates.mode=secret";
    const NAMED: &str = "certificates.secretName=own";
    const ROOT: &str = "webhook.caBundle=-----BEGIN CERTIFICATE-----";
    const POLICY: &str =
        "rotationPolicies[0].spec.nodePoolSelector.matchLabels.a=b,rotationPolicies[0].spec.maintenanceWindows[0].start=01:00";
    let rows: [(&[&str], &str); 6] = [
        (&[LEFT], "certificates.mode must be certManager or secret"),
        (&[LEFT, BY_CERT_MANAGER, POLICY], "rotationPolicies must be empty"),
        (&[OWN], "certificates.secretName: with certificates.mode=secret, name the Secret"),
        (&[LEFT, OWN, NAMED], "webhook.caBundle: with webhook.register=false and certificates.mode=secret"),
        (&[OWN, NAMED, ROOT], "webhook.caBundle: leave it empty"),
        (&["certificates.mode=other"], "certificates/mode"),
    ];
    for (values, expected) in rows {
        let refusal = template(cluster, values).await?.refused()?;
        ensure!(refusal.contains(expected), "{values:?}: {refusal}");
    }
    let good: [&[&str]; 5] = [&[], &[BY_CERT_MANAGER, POLICY], &[LEFT, BY_CERT_MANAGER], &[OWN, NAMED, POLICY], &[LEFT, OWN, NAMED, ROOT]];
    for values in good {
        template(cluster, values).await?.accepted()?;
    }
    Ok(())
}

/// The documents of a rendered chart.
async fn rendered(cluster: &Cluster, values: &[&str]) -> Result<Vec<Value>> {
    chart::documents(&template(cluster, values).await?.accepted()?)
}

fn field<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

async fn the_chart_renders_what_the_operator_would_apply(cluster: &Cluster) -> Result<()> {
    let operator = operator(cluster).await?;
    let objects = rendered(cluster, &[BY_CERT_MANAGER, "webhook.register=false"]).await?;
    for kind in KINDS {
        let complete = objects.iter().find(|object| field(object, "/kind").eq_ignore_ascii_case(kind)).context("it is not rendered")?;
        ensure!(field(complete, "/metadata/annotations/cert-manager.io~1inject-ca-from").ends_with(chart::WEBHOOK_SERVICE), "{complete}");
        let mut live = object(cluster, kind, chart::RELEASE).await?;
        let client = live.pointer_mut("/webhooks/0/clientConfig").and_then(Value::as_object_mut).context("no entry")?;
        client.remove("caBundle").context("no bundle")?;
        ensure!(live.get("webhooks") == complete.get("webhooks"), "{kind}: {complete} is rendered, {live} is applied");
    }
    let [own, of_others] = [&[][..], &[BY_CERT_MANAGER, "webhook.register=false"]].map(|values| rendered(cluster, values));
    for (objects, expected) in [(own.await?, true), (of_others.await?, false)] {
        let roles = objects.iter().filter(|object| field(object, "/kind").ends_with("Role")).map(ToString::to_string);
        let text: String = roles.collect();
        let writes = text.contains(r#"["secrets"],"verbs":["create"]"#) && text.contains("webhookconfigurations\"],\"verbs\":[\"patch\"]");
        ensure!(writes == expected, "{text}");
    }
    ended(operator).await
}

async fn cert_managers_secret_is_followed(cluster: &Cluster) -> Result<()> {
    stranger::cert_manager(cluster).await?;
    chart::upgrade(cluster, &[BY_CERT_MANAGER]).await?;
    let (old, new) = (Authority::new("old")?, Authority::new("new")?);
    let pairs = [old.pair(2040)?, old.pair(2041)?, new.pair(2042)?];
    let mut operator = e2e::operator::Operator::start(cluster, &[DWELL]).await?;
    until("the operator to say what it waits for", SOON, async || {
        let readiness = operator.readiness().await?;
        let said = readiness.status == 503 && readiness.body.contains("does not exist: cert-manager makes it from its Certificate");
        Ok(if said { Look::Done(()) } else { Look::NotYet(readiness.body) })
    })
    .await?;
    pairs[0].issue(cluster, SECRET).await?;
    operator.wait_ready().await?;
    series(&operator, NOT_AFTER, &[], pairs[0].not_after).await?;
    registered(&operator).await?;
    // A renewal by the same root, then by another one, while policies are judged.
    for pair in &pairs[1..] {
        let renewed = async {
            pair.issue(cluster, SECRET).await?;
            series(&operator, NOT_AFTER, &[], pair.not_after).await
        };
        let ((), tally) = traffic::good(cluster, renewed).await?;
        tally.all_accepted()?;
    }
    // One API server hears of the new root at once, so only this shows that it was waited for.
    event(cluster, chart::NAMESPACE, "CertificateWaits", SECRET).await?;
    let torn = Pair { key: pairs[0].key.clone(), ..pairs[2].clone() };
    let refused = async {
        torn.issue(cluster, SECRET).await?;
        event(cluster, chart::NAMESPACE, "CertificateRefused", SECRET).await
    };
    let (note, tally) = traffic::good(cluster, refused).await?;
    tally.all_accepted()?;
    ensure!(note.contains("cmctl renew"), "{note}");
    // Nobody but cert-manager has written it.
    let secret = object(cluster, "secret", SECRET).await?;
    let managers = secret.pointer("/metadata/managedFields").map(ToString::to_string).unwrap_or_default();
    ensure!(!managers.contains("node-rotation-controller\""), "{managers}");
    ended(operator).await?;
    back_to_self_signed(cluster).await
}

async fn back_to_self_signed(cluster: &Cluster) -> Result<()> {
    chart::upgrade(cluster, &[]).await?;
    cluster.kubectl(&["delete", "secret", SECRET, "--namespace", chart::NAMESPACE, "--ignore-not-found"]).await?.accepted()?;
    Ok(())
}

/// Names of our configurations of both kinds.
async fn configurations(cluster: &Cluster) -> Result<String> {
    let both = KINDS.join(",");
    let arguments = ["get", &both, "--selector", "app.kubernetes.io/name=node-rotation-controller", "--output", "name"];
    Ok(cluster.kubectl(&arguments).await?.accepted()?.split_whitespace().collect::<Vec<_>>().join(" "))
}

async fn registration_can_be_handed_over_and_back(cluster: &Cluster) -> Result<()> {
    stranger::cert_manager(cluster).await?;
    chart::upgrade(cluster, &[BY_CERT_MANAGER]).await?;
    let pair = Authority::new("only")?.pair(2040)?;
    pair.issue(cluster, SECRET).await?;
    let before = operator(cluster).await?;
    registered(&before).await?;
    let shells = configurations(cluster).await?;
    let handed_over = async {
        let upgrade = chart::upgrade(cluster, &[BY_CERT_MANAGER, "webhook.register=false"]);
        tokio::try_join!(upgrade, pair.inject(cluster))?;
        ended(before).await?;
        let after = operator(cluster).await?;
        registered(&after).await?;
        Ok(after)
    };
    let (operator_of_static, tally) = traffic::bad(cluster, handed_over).await?;
    ensure!(tally.accepted == 0 && tally.refused > 0, "policies went by unjudged: {tally:?}");
    let statics = configurations(cluster).await?;
    ensure!(!statics.is_empty() && statics.split(' ').all(|name| name.ends_with(authority::STATIC)), "{statics}");
    let ((), tally) = traffic::bad(cluster, series(&operator_of_static, NOT_AFTER, &[], pair.not_after)).await?;
    ensure!(tally.accepted == 0, "{tally:?}");

    chart::upgrade(cluster, &[BY_CERT_MANAGER]).await?;
    ensure!(configurations(cluster).await? == shells, "an orphan is left: {}", configurations(cluster).await?);
    ended(operator_of_static).await?;
    let after = operator(cluster).await?;
    registered(&after).await?;
    let ((), tally) = traffic::bad(cluster, registered(&after)).await?;
    ensure!(tally.accepted == 0, "{tally:?}");
    ended(after).await?;
    back_to_self_signed(cluster).await
}
