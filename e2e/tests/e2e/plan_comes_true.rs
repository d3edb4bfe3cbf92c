//! What `plan` says of a live cluster is what the operator then does.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use e2e::cluster::Cluster;
use e2e::fleet::Fleet;
use e2e::sight::Sight;
use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::bed::{Bed, SOON, finish, operator, see};
use crate::scene::over;

/// Time between two looks: short, or a rotation would be missed.
const PERIOD: Duration = Duration::from_millis(100);

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    vec![bed.trial("plan_comes_true::node_by_node_in_the_order_that_was_told", in_the_order_that_was_told)]
}

async fn in_the_order_that_was_told(cluster: &Cluster) -> Result<()> {
    let (operator, fleet) = (operator(cluster).await?, Fleet { size: 3, ..Fleet::new("foreseen") });
    let before = fleet.raise(cluster).await?;
    let claims: BTreeSet<&str> = before.claims.iter().map(|claim| claim.name.as_str()).collect();
    let policy = fleet.policy_with(&[("/spec/surge/cooldownAfter", json!("5s"))])?;
    let file = cluster.logs().join("plan-policy.json");
    std::fs::write(&file, policy.to_string()).with_context(|| format!("writing {}", file.display()))?;

    // Nobody governs the pool yet: the plan says what the policy would bring about.
    let alone = plan(cluster, &fleet, &[]).await?;
    ensure!(told(&alone).is_empty(), "without a policy there is a plan: {alone}");
    let file = file.display().to_string();
    let planned = told(&plan(cluster, &fleet, &["--policy", &file]).await?);
    ensure!(planned.len() == claims.len(), "{} nodes are planned: {planned:?}", planned.len());
    let marks = Sight::of(cluster, &fleet.name).await?.marks(&[]);
    ensure!(marks.is_empty(), "planning has changed something: {marks:?}");

    cluster.apply(&policy.to_string()).await?.accepted()?;
    let (mut rotated, mut begun): (Vec<String>, Instant) = (Vec::new(), Instant::now());
    while rotated.len() < planned.len() {
        let sight = Sight::of(cluster, &fleet.name).await?;
        let anchor = sight.anchor().filter(|anchor| claims.contains(anchor) && rotated.last().map(String::as_str) != Some(anchor));
        if let Some(anchor) = anchor {
            rotated.push(anchor.to_owned());
            begun = Instant::now();
        }
        ensure!(begun.elapsed() < SOON, "after {rotated:?} no other rotation begins; last seen: {sight:?}");
        tokio::time::sleep(PERIOD).await;
    }
    ensure!(rotated == planned, "planned were {planned:?}, rotated {rotated:?}");
    // What is under way ends, and nothing else begins: a rotation that is broken off would be an orphan in other tests.
    cluster.apply(&fleet.policy().to_string()).await?.accepted()?;
    see(cluster, &fleet, "the end of the last rotation", over).await?;
    finish(cluster, &fleet, operator).await
}

/// The plan for the pool of a fleet, from the cluster.
async fn plan(cluster: &Cluster, fleet: &Fleet, more: &[&str]) -> Result<Value> {
    let answer = cluster.command(&[&["plan", "--pool", &fleet.name, "--output", "json"], more].concat()).await?.accepted()?;
    serde_json::from_str(&answer).with_context(|| format!("reading the plan: {answer}"))
}

/// The NodeClaims of now, in the order in which the plan has them rotated.
fn told(plan: &Value) -> Vec<String> {
    let lines = plan.pointer("/pools/0/calendar").and_then(Value::as_array).into_iter().flatten();
    let of_now = lines.filter(|line| line["successor"] == json!(false) && line["how"] == json!("surge"));
    of_now.filter_map(|line| line["claim"].as_str().map(str::to_owned)).collect()
}
