//! Each reason of the conditions of a policy that a NodePool can give, on a real cluster.
//!
//! Most of it is judged before nodes are, and so of NodePools that have none.

use anyhow::{Context as _, Result, bail};
use e2e::cluster::Cluster;
use e2e::fleet::Fleet;
use jiff::Timestamp;
use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::bed::{Bed, counted, finish, forget, operator};
use crate::scene::{Old, annotate, change, delete, hold, release};
use crate::tell_status::is;

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    vec![
        bed.trial("tell_conditions::what_a_node_pool_without_nodes_is_said_to_wait_for", what_a_node_pool_is_said_to_wait_for),
        bed.trial("tell_conditions::two_drains_of_which_the_pool_knows_neither", two_drains_of_which_the_pool_knows_neither),
    ]
}

/// What is different about a NodePool or its policy, and what is then said.
struct Row {
    fleet: Fleet,
    /// At places of the NodePool and of the policy.
    pool: Vec<(&'static str, Value)>,
    policy: Vec<(&'static str, Value)>,
    said: Vec<(&'static str, &'static str)>,
}

impl Row {
    fn new(reason: &'static str) -> Self {
        let name = format!("said-{}", reason.to_lowercase());
        Self { fleet: Fleet::new(&name), pool: Vec::new(), policy: Vec::new(), said: vec![("Progressing", reason)] }
    }

    fn pool(mut self, place: &'static str, value: Value) -> Self {
        self.pool.push((place, value));
        self
    }

    fn policy(mut self, place: &'static str, value: Value) -> Self {
        self.policy.push((place, value));
        self
    }

    fn feasible(mut self, reason: &'static str) -> Self {
        self.said.push(("Feasible", reason));
        self
    }
}

fn rows() -> Vec<Row> {
    let annotation = |key: &str, value: &str| json!({ key: value });
    let mut rows = vec![
        Row::new("Frozen").pool("/metadata/annotations", annotation("noderotation.io/freeze", "2100-01-01T00:00:00Z")),
        Row::new("CooldownAfterSuccess")
            .pool("/metadata/annotations", annotation("noderotation.io/last-rotation-at", &Timestamp::now().to_string())),
        Row::new("StaticNodePool").pool("/spec/replicas", json!(0)),
        Row::new("NodePoolNotReady").pool("/spec/template/spec/nodeClassRef/name", json!("absent")),
        // Karpenter's own keeps it only while it has nodes.
        Row::new("NodePoolDeleting").pool("/metadata/finalizers", json!(["e2e.noderotation.io/hold"])),
        Row::new("InfeasibleSchedule").policy("/spec/ageThreshold", json!("400h")).feasible("OverrideGBelowOne"),
        Row::new("NoNodePool").policy("/spec/nodePoolSelector/matchLabels", json!({"e2e": "nowhere"})).feasible("NoNodePool"),
    ];
    let doubtful = Row::new("NoEligibleClaim").policy("/spec/minRotationChances", json!(1)).feasible("Doubtful");
    rows.push(Row { fleet: Fleet::new("said-doubtful"), ..doubtful });
    let usual = Fleet { age_threshold: "168h".to_owned(), ..Fleet::new("said-usual") };
    rows.push(Row { fleet: usual, ..Row::new("NoEligibleClaim").feasible("Feasible") });
    let short = Fleet { age_threshold: "auto".to_owned(), expire_after: "10m".to_owned(), ..Fleet::new("said-short") };
    rows.push(Row { fleet: short, ..Row::new("InfeasibleSchedule").feasible("ANonPositive") });
    rows
}

async fn what_a_node_pool_is_said_to_wait_for(cluster: &Cluster) -> Result<()> {
    let (operator, rows) = (operator(cluster).await?, rows());
    for row in &rows {
        cluster.apply(&row.fleet.node_pool_with(&row.pool)?.to_string()).await?.accepted()?;
        if row.said.contains(&("Progressing", "NodePoolDeleting")) {
            cluster.kubectl(&["delete", "nodepool", &row.fleet.name, "--wait=false"]).await?.accepted()?;
        }
        cluster.apply(&row.fleet.policy_with(&row.policy)?.to_string()).await?.accepted()?;
    }
    for row in &rows {
        for (condition, reason) in &row.said {
            is(cluster, &row.fleet, condition, reason).await.with_context(|| row.fleet.name.clone())?;
        }
    }
    let (first, others) = rows.split_first().context("there is no row")?;
    for row in others {
        if row.pool.iter().any(|(place, _)| *place == "/metadata/finalizers") {
            change(cluster, "nodepool", &row.fleet.name, &json!({"metadata": {"finalizers": null}})).await?;
        }
        forget(cluster, &row.fleet).await?;
    }
    finish(cluster, &first.fleet, operator).await
}

/// Two drains are found and none of them in the marks of the NodePool: which one was its rotation nobody can say.
async fn two_drains_of_which_the_pool_knows_neither(cluster: &Cluster) -> Result<()> {
    let fleet = Fleet::new("said-orphandraining");
    let before = fleet.raise(cluster).await?;
    let drained = before.claims.iter().map(Old::named).collect::<Result<Vec<_>>>()?;
    let pods = drained.iter().map(|old| old.pod(&before)).collect::<Result<Vec<_>>>()?;
    for (old, pod) in drained.iter().zip(&pods) {
        hold(cluster, pod).await?;
        annotate(cluster, "nodeclaim", &old.claim, &json!({"noderotation.io/state": "draining"})).await?;
        delete(cluster, "nodeclaim", &old.claim, "").await?;
    }
    let operator = operator(cluster).await?;
    fleet.govern(cluster).await?;
    is(cluster, &fleet, "Progressing", "OrphanDraining").await?;

    // Of the one that is left it is clear.
    let [first, second] = &pods[..] else { bail!("there are not two Pods: {pods:?}") };
    release(cluster, first).await?;
    is(cluster, &fleet, "Progressing", "Rotating").await?;
    release(cluster, second).await?;
    counted(&operator, &fleet, "success", 1.0).await?;
    finish(cluster, &fleet, operator).await
}
