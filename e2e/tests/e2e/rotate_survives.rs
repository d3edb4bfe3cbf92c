//! A rotation whose operator is lost after each of its writes in turn, and ends well under the next one every time.

use anyhow::{Context as _, Result, ensure};
use e2e::cluster::Cluster;
use e2e::fleet::Fleet;
use e2e::gate::Gate;
use e2e::operator::Operator;
use e2e::sight::Sight;
use e2e::wait::{Look, until};
use libtest_mimic::Trial;
use serde_json::json;

use crate::bed::{Bed, SOON, finish, operator_with, see};
use crate::scene::{Old, annotate, begun_and_completed, count, over, replaced_alone};

/// More writes than a rotation has.
const MANY: usize = 24;
/// Fewer writes than a rotation needs: anchor, claim, mark, placeholder, host, mirror, state, delete, and three to clean up.
const FEW: usize = 11;

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    vec![bed.trial("rotate_survives::a_kill_after_each_write", a_kill_after_each_write)]
}

async fn a_kill_after_each_write(cluster: &Cluster) -> Result<()> {
    let fleet = Fleet::new("kills");
    let gate = Gate::open(cluster).await?;
    let through = gate.argument();
    let mut operator = operator_with(cluster, &[&through]).await?;
    fleet.raise(cluster).await?;
    // In its cooldown from the begin, so that it is this test that says when a rotation starts.
    annotate(cluster, "nodepool", &fleet.name, &json!({LAST: jiff::Timestamp::now().to_string()})).await?;
    fleet.govern(cluster).await?;
    for kill in 1..MANY {
        gate.reopen(Some(kill));
        let rotation = rotate(cluster, &fleet, &gate).await.with_context(|| format!("rotation {kill}"))?;
        if !gate.is_shut() {
            let writes = gate.writes();
            ensure!(kill > FEW, "the rotation has {} writes only: {writes:?}", writes.len());
            return finish(cluster, &fleet, operator).await;
        }
        let after = gate.writes().pop().context("nothing was written")?;
        operator.sigkill().await?;
        let released = over(&Sight::of(cluster, &fleet.name).await?);
        gate.reopen(None);
        operator = operator_with(cluster, &[&through]).await?;
        ended_once(cluster, &fleet, &operator, &rotation, released).await.with_context(|| format!("after write {kill}, {after:?}"))?;
    }
    anyhow::bail!("a rotation has more than {MANY} writes")
}

/// Annotation that begins the cooldown.
const LAST: &str = "noderotation.io/last-rotation-at";

/// What was there before a rotation.
struct Before {
    old: Old,
    sight: Sight,
    started: usize,
    completed: usize,
}

/// Begins a rotation and waits until it is over, or the gate has shut.
async fn rotate(cluster: &Cluster, fleet: &Fleet, gate: &Gate) -> Result<Before> {
    let sight = Sight::of(cluster, &fleet.name).await?;
    let old = Old::of(&sight)?;
    let (started, completed) = begun_and_completed(cluster, fleet).await?;
    annotate(cluster, "nodepool", &fleet.name, &json!({LAST: null})).await?;
    see(cluster, fleet, "the end of the rotation, or of the operator", |sight| gate.is_shut() || over(sight)).await?;
    Ok(Before { old, sight, started, completed })
}

/// The oldest claim is gone and no other, nothing is left, and the rotation was counted once; not at all if its last write
/// landed and nobody was left to tell.
async fn ended_once(cluster: &Cluster, fleet: &Fleet, operator: &Operator, before: &Before, released: bool) -> Result<()> {
    let after = replaced_alone(cluster, fleet, &before.old, &before.sight).await?;
    ensure!(after.placeholders.is_empty(), "left: {:?}", after.placeholders);
    let expected = if released { 0.0 } else { 1.0 };
    // Events come after the write that they tell of.
    until("the rotation to be told once", SOON, async || {
        let (started, completed) = begun_and_completed(cluster, fleet).await?;
        let (started, completed) = (started - before.started, completed - before.completed);
        let success = count(operator, fleet, "success").await?;
        let others = count(operator, fleet, "failure").await? + count(operator, fleet, "expired").await?;
        let seen = format!("{started} starts and {completed} completions told, {success} successes and {others} others counted");
        ensure!(started <= 1 && completed <= 1 && success <= expected && others == 0.0, "{seen}");
        Ok(if success == expected && completed == usize::from(!released) { Look::Done(()) } else { Look::NotYet(seen) })
    })
    .await
}
