//! What `kubectl` shows of a policy: that a node is rotated, or why none is; and of a NodeClaim whose rotation has failed.

use anyhow::{Context as _, Result, ensure};
use e2e::cluster::Cluster;
use e2e::fleet::Fleet;
use e2e::terminal::progress;
use libtest_mimic::Trial;
use serde_json::json;

use crate::bed::{Bed, counted, finish, operator_with};
use crate::scene::{far_off, far_off_day, withhold_nodes};

/// Characters of a usual terminal.
const COLUMNS: usize = 120;

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    vec![bed.trial("tell_status::why_nothing_rotates_and_that_something_does", why_nothing_rotates_and_that_something_does)]
}

async fn why_nothing_rotates_and_that_something_does(cluster: &Cluster) -> Result<()> {
    let operator = operator_with(cluster, &["--debug-state", "--ui"]).await?;
    let fleet = Fleet { size: 1, ready_timeout: "15s".to_owned(), ..Fleet::new("told") };
    let before = fleet.raise(cluster).await?;
    let claim = before.claims.first().context("there is no claim")?.name.clone();
    withhold_nodes(cluster, &fleet).await?;

    let (day, window) = (far_off_day()?, far_off("02:00", "06:00")?);
    let closed = fleet.policy_with(&[("/spec/maintenanceWindows", json!([window]))])?;
    cluster.apply(&closed.to_string()).await?.accepted()?;
    waited(cluster, &fleet, "condition=Ready").await?;
    waited(cluster, &fleet, "condition=Feasible").await?;
    is(cluster, &fleet, "Progressing", "OutOfWindow").await?;
    waited(cluster, &fleet, &format!("jsonpath={{.status.nextWindow.start}}={day}T02:00:00Z")).await?;
    waited(cluster, &fleet, "jsonpath={.status.eligibleNodeClaims}=1").await?;
    let state = operator.debug_state().await?;
    let seen = |path: &str| state.pointer(&format!("/{}/{path}", fleet.name));
    ensure!(seen("state") == Some(&json!("OutOfWindow")) && seen("claims/census/Eligible") == Some(&json!(1)), "the state is {state}");
    // The page, with the rights of the chart and no more.
    let plan = operator.page_plan().await?;
    let pools = plan.get("pools").and_then(serde_json::Value::as_array).context("the page has no NodePools")?;
    let pool = pools.iter().find(|pool| pool.get("name") == Some(&json!(fleet.name)));
    let pool = pool.with_context(|| format!("the page does not draw {}: {plan}", fleet.name))?;
    let expected =
        [("/state", json!("OutOfWindow")), ("/claims/0/name", json!(claim)), ("/windows/0/open", json!(format!("{day}T02:00:00Z")))];
    for (path, value) in expected {
        ensure!(pool.pointer(path) == Some(&value), "the page draws {path} of {pool}");
    }
    let table = cluster.kubectl(&["get", "rotpol", &fleet.name]).await?.accepted()?;
    progress(table.trim_end());
    ensure!(table.lines().all(|line| line.trim_end().len() <= COLUMNS), "wider than {COLUMNS}: {table}");
    progress(cluster.kubectl(&["get", "rotpol", &fleet.name, "--output=wide"]).await?.accepted()?.trim_end());

    fleet.govern(cluster).await?;
    waited(cluster, &fleet, "condition=Progressing").await?;
    waited(cluster, &fleet, "jsonpath={.status.rotatingNodePools}=1").await?;
    counted(&operator, &fleet, "failure", 1.0).await?;
    is(cluster, &fleet, "Progressing", "FailurePause").await?;
    waited(cluster, &fleet, "jsonpath={.status.failedNodeClaims}=1").await?;
    let told = cluster.kubectl(&["describe", "rotpol", &fleet.name]).await?.accepted()?;
    let sentence = format!("NodePool {}: pausing after a failed attempt until ", fleet.name);
    ensure!(told.contains(&sentence), "{sentence:?} is not in {told}");
    let told = cluster.kubectl(&["describe", "nodeclaim", &claim]).await?.accepted()?;
    ensure!(told.contains("RotationFailed"), "the event is not shown with its NodeClaim: {told}");
    finish(cluster, &fleet, operator).await
}

/// `kubectl wait` comes to an end with success.
pub(crate) async fn waited(cluster: &Cluster, fleet: &Fleet, what: &str) -> Result<()> {
    let policy = format!("rotationpolicy/{}", fleet.name);
    let done = cluster.kubectl(&["wait", &format!("--for={what}"), &policy, "--timeout=90s"]).await?.accepted();
    done.map(drop).with_context(|| format!("waiting for {what}"))
}

/// A condition has this reason, soon.
pub(crate) async fn is(cluster: &Cluster, fleet: &Fleet, condition: &str, reason: &str) -> Result<()> {
    waited(cluster, fleet, &format!("jsonpath={{.status.conditions[?(@.type==\"{condition}\")].reason}}={reason}")).await
}
