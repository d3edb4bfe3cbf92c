//! What the hooks do with the definition that they find, with Helm 3 and with Helm 4.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use e2e::audit::{Audit, Request};
use e2e::chart;
use e2e::cluster::{Cluster, Helm};
use e2e::fleet::Fleet;
use libtest_mimic::Trial;
use serde_json::json;

use crate::bed::{self, Bed};
use crate::definition::{self, Definition};

/// Name and namespace of a second release, which is never run.
const SECOND: &str = "hooks";

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    vec![
        bed.trial("install_hooks::over_the_definition_of_the_go_controller_by_helm_3", async |cluster: &Cluster| {
            over_the_definition_of_the_go_controller(cluster, Helm::Three).await
        }),
        bed.trial("install_hooks::over_the_definition_of_the_go_controller_by_helm_4", async |cluster: &Cluster| {
            over_the_definition_of_the_go_controller(cluster, Helm::Four).await
        }),
        bed.trial("install_hooks::a_newer_definition_stays", a_newer_definition_stays),
        bed.trial("install_hooks::a_definition_that_cannot_be_replaced_ends_the_upgrade_with_a_sentence", refused_with_a_sentence),
    ]
}

/// Runs Helm on the second release and leaves nothing of it, nor of what `test` has made of the definition.
async fn apart(cluster: &Cluster, test: impl Future<Output = Result<()>>) -> Result<()> {
    let outcome = test.await;
    cluster.helm(&["uninstall", SECOND, "--namespace", SECOND, "--ignore-not-found", "--wait"]).await?.accepted()?;
    definition::delete(cluster).await?;
    definition::restore(cluster).await?;
    outcome
}

async fn over_the_definition_of_the_go_controller(cluster: &Cluster, helm: Helm) -> Result<()> {
    let current = Definition::of(cluster).await?;
    definition::delete(cluster).await?;
    let test = async {
        theirs(cluster, helm).await?;
        // Somebody has to answer for the first release's webhooks.
        let operator = bed::operator(cluster).await?;
        let applied = cluster.apply(&Fleet::new("from-go").policy().to_string()).await;
        operator.sigterm().await?;
        applied?.accepted()?;
        let found = Definition::of(cluster).await?;
        ensure!(found.spec != current.spec, "the two definitions do not differ");

        let audit = Audit::from_now(cluster)?;
        run(cluster, helm, "install", &[]).await?;
        let installed = Definition::of(cluster).await?;
        ensure!(installed.uid == found.uid && installed.version.is_some(), "it was not brought up to date: {installed:?}");
        // Field by field: nothing of the other schema is left in this one.
        ensure!(installed.spec == current.spec, "the schema is {}\nand not {}", installed.spec, current.spec);
        // Whoever applies the next version meets no owner.
        ensure!(installed.owners_of_spec.is_empty(), "it is owned by {:?}", installed.owners_of_spec);
        let kept = cluster.kubectl(&["get", "rotationpolicy", "from-go", "--output", "jsonpath={.spec.ageThreshold}"]).await?.accepted()?;
        ensure!(kept == "1s", "the policy is now {kept:?}");

        run(cluster, helm, "upgrade", &[]).await?;
        ensure!(Definition::of(cluster).await? == installed, "a second time is not the same");
        run(cluster, helm, "rollback", &[]).await?;
        ensure!(Definition::of(cluster).await? == installed, "the rollback has changed it");
        run(cluster, helm, "uninstall", &[]).await?;
        ensure!(Definition::of(cluster).await? == installed, "the removal has changed it");
        used_what_they_were_granted(cluster, &audit)?;
        let left = ["get", "jobs,serviceaccounts", "--namespace", SECOND, "--output", "name"];
        let left = cluster.kubectl(&left).await?.accepted()?;
        ensure!(left.trim() == "serviceaccount/default", "left of the release: {left}");
        let roles = cluster.kubectl(&["get", "clusterroles,clusterrolebindings", "--output", "name"]).await?.accepted()?;
        ensure!(!roles.contains("/hooks-node-rotation-controller"), "left of the release: {roles}");

        // The chart of another version after it: Helm 4 applies its definition, Helm 3 does not look at it.
        run_from(cluster, helm, &other_version(cluster)?, "install", &[]).await?;
        ensure!(Definition::of(cluster).await?.spec == current.spec, "the hook has not brought it up to date");
        Ok(())
    };
    apart(cluster, test).await
}

/// The account of the one hook has no right that was not used, and that of the other lacked none.
fn used_what_they_were_granted(cluster: &Cluster, audit: &Audit) -> Result<()> {
    let account = |name: &str| format!("system:serviceaccount:{SECOND}:{SECOND}-node-rotation-controller{name}");
    let (definition, cleanup) = (account("-crds"), account(""));
    let requests = audit.requests(cluster)?;
    // A patch that loses to the API server's own is sent anew.
    let of = |user: &str| {
        let own = requests.iter().filter(|request| request.user == user && request.code != 409);
        own.map(Request::summary).collect::<BTreeSet<String>>()
    };
    let granted = ["get", "patch"].map(|verb| format!("{verb} customresourcedefinitions {}: 200", definition::NAME));
    ensure!(of(&definition) == granted.into(), "the hook for the definition has asked {:?}", of(&definition));
    let asked = of(&cleanup);
    ensure!(asked.iter().any(|line| line.starts_with("list nodes")), "the removal has not looked: {asked:?}");
    ensure!(!asked.iter().any(|line| line.ends_with(": 403")), "the removal lacks a right: {asked:?}");
    Ok(())
}

async fn a_newer_definition_stays(cluster: &Cluster) -> Result<()> {
    let test = async {
        run(cluster, Helm::Four, "install", &[]).await?;
        let newer = json!([
            {"op": "add", "path": "/metadata/annotations/noderotation.io~1version", "value": "99.0.0"},
            {"op": "add", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/newer", "value": {"type": "string"}},
        ]);
        cluster.kubectl(&["patch", "crd", definition::NAME, "--type=json", "--patch", &newer.to_string()]).await?.accepted()?;
        let before = Definition::of(cluster).await?;
        run(cluster, Helm::Four, "upgrade", &[]).await?;
        ensure!(Definition::of(cluster).await? == before, "an older program has changed it");
        run(cluster, Helm::Four, "rollback", &[]).await?;
        ensure!(Definition::of(cluster).await? == before, "going back has changed it");
        let told = cluster.command(&["crd", "--apply"]).await?.accepted()?;
        ensure!(told.contains("is of version 99.0.0, which is newer than"), "{told}");
        // Its twin: switched off, nothing looks at all.
        let older = json!([{"op": "remove", "path": "/metadata/annotations"}]);
        cluster.kubectl(&["patch", "crd", definition::NAME, "--type=json", "--patch", &older.to_string()]).await?.accepted()?;
        let before = Definition::of(cluster).await?;
        run(cluster, Helm::Four, "upgrade", &["crds.upgrade=false"]).await?;
        ensure!(Definition::of(cluster).await? == before, "it was changed although crds.upgrade is false");
        run(cluster, Helm::Four, "upgrade", &[]).await?;
        ensure!(Definition::of(cluster).await?.version.is_some(), "it was not brought up to date");
        Ok(())
    };
    apart(cluster, test).await
}

async fn refused_with_a_sentence(cluster: &Cluster) -> Result<()> {
    let test = async {
        let stored = json!({"status": {"storedVersions": ["v1alpha1", "v1beta1"]}});
        let version = json!([{"op": "add", "path": "/spec/versions/-", "value": {
            "name": "v1beta1", "served": true, "storage": false,
            "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
        }}]);
        cluster.kubectl(&["patch", "crd", definition::NAME, "--type=json", "--patch", &version.to_string()]).await?.accepted()?;
        let patch = ["patch", "crd", definition::NAME, "--subresource=status", "--type=merge", "--patch", &stored.to_string()];
        cluster.kubectl(&patch).await?.accepted()?;
        let told = cluster.command(&["crd", "--apply"]).await?.refused()?;
        ensure!(told.contains("has policies stored as v1beta1, which this version does not know"), "{told}");
        Ok(())
    };
    apart(cluster, test).await
}

/// A copy of the chart with a definition that differs, of an older version.
fn other_version(cluster: &Cluster) -> Result<PathBuf> {
    let folder = cluster.logs().join("other-version");
    copy(&chart::folder(), &folder)?;
    let file = folder.join("crds").join(format!("{}.yaml", definition::NAME));
    let text = std::fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
    let (head, rest) = text.split_once("noderotation.io/version: ").context("the definition says no version")?;
    let (_, tail) = rest.split_once('\n').context("the definition ends there")?;
    let other = format!("{head}noderotation.io/version: 0.0.1\n{tail}").replace("shortNames:\n", "shortNames:\n    - rotpols\n");
    std::fs::write(&file, other).with_context(|| format!("writing {}", file.display()))?;
    Ok(folder)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to).with_context(|| format!("creating {}", to.display()))?;
    for entry in std::fs::read_dir(from).with_context(|| format!("reading {}", from.display()))? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            copy(&source, &target)?;
        } else {
            std::fs::copy(&source, &target).with_context(|| format!("copying {}", source.display()))?;
        }
    }
    Ok(())
}

async fn run(cluster: &Cluster, helm: Helm, verb: &str, values: &[&str]) -> Result<()> {
    run_from(cluster, helm, &chart::folder(), verb, values).await
}

async fn run_from(cluster: &Cluster, helm: Helm, chart: &Path, verb: &str, values: &[&str]) -> Result<()> {
    let chart = chart.to_string_lossy();
    let mut arguments = vec![verb, SECOND];
    match verb {
        "rollback" => arguments.push("1"),
        "uninstall" => arguments.push("--wait"),
        // The placeholder's class is that of the first release.
        _ => arguments.extend([&*chart, "--set", "placeholder.priorityClass.create=false"]),
    }
    arguments.extend(["--namespace", SECOND]);
    if verb == "install" {
        arguments.push("--create-namespace");
    }
    for value in values {
        arguments.extend(["--set", value]);
    }
    cluster.helm_of(helm, &arguments).await?.accepted()?;
    Ok(())
}

/// The definition in the form that the Go controller's chart ships: the same names and fields, other rules, other columns, and
/// a field that ours does not have. Put there as that Helm does: in an install of the one and by an apply of the other.
async fn theirs(cluster: &Cluster, helm: Helm) -> Result<()> {
    let duration = |default: &str| json!({"type": "string", "default": default, "description": "A Go duration."});
    let names = json!({"type": "array", "items": {"type": "string"}});
    let switch = json!({"type": "object", "properties": {"enabled": {"type": "boolean", "default": false}}});
    let window = json!({"type": "object", "required": ["timezone", "days", "start", "end"], "properties": {
        "timezone": {"type": "string", "minLength": 1},
        "days": {"type": "array", "minItems": 1, "items": {"type": "string", "enum": ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]}},
        "start": {"type": "string", "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$"},
        // Ours also takes 24:00, which the test's policy says.
        "end": {"type": "string", "pattern": "^([01][0-9]|2[0-4]):[0-5][0-9]$"},
    }});
    let selector = json!({"type": "object", "x-kubernetes-map-type": "atomic", "properties": {
        "matchLabels": {"type": "object", "additionalProperties": {"type": "string"}},
        "matchExpressions": {"type": "array", "x-kubernetes-list-type": "atomic", "items": {
            "type": "object", "required": ["key", "operator"],
            "properties": {"key": {"type": "string"}, "operator": {"type": "string"}, "values": names},
        }},
    }});
    let surge = json!({"type": "object", "properties": {
        "maxUnavailable": {"type": "integer", "format": "int32", "default": 1, "minimum": 1, "maximum": 1},
        "readyTimeout": duration("15m"), "cooldownAfter": duration("10m"), "retryBackoff": duration("30m"),
        "failurePause": {"type": "string"}, "drainEstimate": {"type": "string"}, "provisioningEstimate": {"type": "string"},
        "matchNodeRequirements": {"type": "object", "properties": {"required": names, "preferred": names}},
        "forcefulFallback": switch, "wholeNodeReservation": switch, "onlyTheOtherHas": {"type": "string"},
    }});
    let spec = json!({"type": "object", "required": ["nodePoolSelector", "maintenanceWindows"], "properties": {
        "nodePoolSelector": selector, "ageThreshold": {"type": "string", "default": "auto"},
        "minRotationChances": {"type": "integer", "format": "int32", "default": 2, "minimum": 1},
        "maintenanceWindows": {"type": "array", "minItems": 1, "items": window},
        "surge": surge, "prePull": switch,
    }});
    let schema = json!({"type": "object", "required": ["spec"], "properties": {
        "apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}, "spec": spec,
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    }});
    let columns = json!([{"jsonPath": ".spec.ageThreshold", "name": "Threshold", "type": "string"}]);
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": definition::NAME, "annotations": {"controller-gen.kubebuilder.io/version": "v0.19.0"}},
        "spec": {
            "group": "noderotation.io",
            "scope": "Cluster",
            "names": {"kind": "RotationPolicy", "listKind": "RotationPolicyList", "plural": "rotationpolicies", "singular": "rotationpolicy", "shortNames": ["rotpol"], "categories": ["karpenter"]},
            "versions": [{
                "name": "v1alpha1", "served": true, "storage": true, "subresources": {"status": {}},
                "additionalPrinterColumns": columns, "schema": {"openAPIV3Schema": schema},
            }],
        },
    });
    let text = definition.to_string();
    let arguments: &[&str] = match helm {
        Helm::Three => &["create", "--field-manager=helm", "--filename", "-"],
        Helm::Four => &["apply", "--server-side", "--field-manager=helm", "--filename", "-"],
    };
    cluster.kubectl_with(arguments, &text).await?.accepted()?;
    cluster.kubectl(&["wait", "--for=condition=Established", "crd", definition::NAME, "--timeout=60s"]).await?.accepted()?;
    Ok(())
}
