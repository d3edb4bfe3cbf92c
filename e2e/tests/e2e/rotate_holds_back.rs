//! What keeps a rotation from beginning, and that it begins once that is gone.

use anyhow::{Context as _, Result, ensure};
use e2e::cluster::Cluster;
use e2e::fleet::Fleet;
use e2e::operator::Operator;
use e2e::sight::Sight;
use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::bed::{Bed, counted, finish, operator, see};
use crate::scene::{Old, annotate, change, counted_by_karpenter, grant_nodes, replaced, told};
use crate::tell_status::is;

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    vec![
        bed.trial("rotate_holds_back::a_node_that_a_person_protects_is_passed_over", a_node_that_a_person_protects_is_passed_over),
        bed.trial("rotate_holds_back::a_limit_on_cpu_leaves_no_room", a_limit_on_cpu_leaves_no_room),
        bed.trial("rotate_holds_back::a_limit_on_nodes_leaves_no_room", a_limit_on_nodes_leaves_no_room),
        bed.trial("rotate_holds_back::a_static_pool_is_never_rotated", a_static_pool_is_never_rotated),
    ]
}

async fn a_node_that_a_person_protects_is_passed_over(cluster: &Cluster) -> Result<()> {
    let (operator, fleet) = (operator(cluster).await?, Fleet::new("protected"));
    let before = fleet.raise(cluster).await?;
    let protected = Old::of(&before)?;
    let mut others = before.claims.iter().filter(|claim| claim.name != protected.claim).map(Old::named);
    let next = others.next().context("there is one claim")??;
    annotate(cluster, "node", &protected.node, &json!({"karpenter.sh/do-not-disrupt": "true"})).await?;
    fleet.govern(cluster).await?;
    let expected = [format!("Node {}: karpenter.sh/do-not-disrupt=true", protected.node)];
    let over = |sight: &Sight| sight.last_rotation_at().is_some() && sight.marks(&["last-rotation-at"]) == expected;
    let after = see(cluster, &fleet, "the end, with the person's protection", over).await?;
    ensure!(after.claim(&next.claim).is_none(), "{} is still there", next.claim);
    ensure!(after.claim(&protected.claim).is_some_and(|claim| !claim.deleting), "{} was rotated", protected.claim);
    counted(&operator, &fleet, "success", 1.0).await?;
    finish(cluster, &fleet, operator).await
}

async fn a_limit_on_cpu_leaves_no_room(cluster: &Cluster) -> Result<()> {
    let (operator, fleet) = (operator(cluster).await?, Fleet { size: 1, ..Fleet::new("cpu-limit") });
    let old = Old::of(&fleet.raise(cluster).await?)?;
    counted_by_karpenter(cluster, &fleet, "cpu", "600m").await?;
    begins_without_limits(cluster, &fleet, &operator, &old, &json!({"cpu": "1199m"}), "cpu: 600m requested, 600m of 1199m in use").await?;
    finish(cluster, &fleet, operator).await
}

async fn a_limit_on_nodes_leaves_no_room(cluster: &Cluster) -> Result<()> {
    let (operator, fleet) = (operator(cluster).await?, Fleet { size: 1, ..Fleet::new("node-limit") });
    let old = Old::of(&fleet.raise(cluster).await?)?;
    counted_by_karpenter(cluster, &fleet, "nodes", "1").await?;
    begins_without_limits(cluster, &fleet, &operator, &old, &json!({"nodes": "1"}), "nodes: 1 requested, 1 of 1 in use").await?;
    finish(cluster, &fleet, operator).await
}

/// Nothing begins under the limits, which is told in these words, and once they are gone the rotation runs to its end.
async fn begins_without_limits(
    cluster: &Cluster,
    fleet: &Fleet,
    operator: &Operator,
    old: &Old,
    limits: &Value,
    words: &str,
) -> Result<()> {
    change(cluster, "nodepool", &fleet.name, &json!({"spec": {"limits": limits}})).await?;
    fleet.govern(cluster).await?;
    let told = told(cluster, &fleet.name, "InsufficientHeadroom").await?;
    ensure!(told.kind == "Warning" && told.note.contains(&old.claim) && told.note.contains(words), "{told}");
    is(cluster, fleet, "Progressing", "InsufficientHeadroom").await?;
    let marks = Sight::of(cluster, &fleet.name).await?.marks(&[]);
    ensure!(marks.is_empty(), "something has begun: {marks:?}");
    grant_nodes(cluster, fleet).await?;
    replaced(cluster, fleet, old, &[]).await?;
    counted(operator, fleet, "success", 1.0).await
}

async fn a_static_pool_is_never_rotated(cluster: &Cluster) -> Result<()> {
    let (operator, fleet) = (operator(cluster).await?, Fleet { size: 1, ..Fleet::new("static") });
    let mut pool = fleet.node_pool_with(&[("/spec/replicas", json!(1))])?;
    // Without a Pod to choose one for, the provider wants to be told which machine.
    let machine = json!({"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["c-1x-amd64-linux"]});
    pool.pointer_mut("/spec/template/spec/requirements").and_then(Value::as_array_mut).context("there are no requirements")?.push(machine);
    cluster.apply(&pool.to_string()).await?.accepted()?;
    let settled = |sight: &Sight| sight.claims.len() == 1 && sight.claims.iter().all(|claim| claim.initialized);
    let before = see(cluster, &fleet, "the node", settled).await?;
    fleet.govern(cluster).await?;
    told(cluster, &fleet.name, "StaticNodePool").await?;
    let after = Sight::of(cluster, &fleet.name).await?;
    ensure!(after.marks(&[]).is_empty(), "something has begun: {:?}", after.marks(&[]));
    let old = Old::of(&before)?;
    ensure!(after.claim(&old.claim).is_some_and(|claim| !claim.deleting), "{} was rotated", old.claim);
    finish(cluster, &fleet, operator).await
}
