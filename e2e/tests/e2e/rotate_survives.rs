//! A rotation whose operator is lost after each of its writes in turn, and ends well under the next one every time.

use anyhow::{Context as _, Result, ensure};
use e2e::cluster::Cluster;
use e2e::fleet::Fleet;
use e2e::gate::Gate;
use e2e::operator::Operator;
use e2e::sight::Sight;
use e2e::story;
use e2e::wait::{Look, until};
use libtest_mimic::Trial;

use crate::bed::{BRISK, Bed, SOON, finish, see};

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
    let mut operator = through(cluster, &gate).await?;
    fleet.raise(cluster).await?;
    // In its cooldown from the begin, so that it is this test that says when a rotation starts.
    cluster.kubectl(&["annotate", "nodepool", &fleet.name, &format!("{LAST}={}", jiff::Timestamp::now())]).await?.accepted()?;
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
        operator = through(cluster, &gate).await?;
        ended_once(cluster, &fleet, &operator, &rotation, released).await.with_context(|| format!("after write {kill}, {after:?}"))?;
    }
    anyhow::bail!("a rotation has more than {MANY} writes")
}

/// Annotation that begins the cooldown.
const LAST: &str = "noderotation.io/last-rotation-at";

/// What was there before a rotation.
struct Before {
    /// The claim that goes.
    oldest: String,
    sight: Sight,
    started: usize,
    completed: usize,
}

async fn through(cluster: &Cluster, gate: &Gate) -> Result<Operator> {
    let argument = gate.argument();
    let overrides: Vec<&str> = BRISK.into_iter().chain([argument.as_str()]).collect();
    let mut operator = Operator::start(cluster, &overrides).await?;
    operator.wait_ready().await?;
    Ok(operator)
}

/// Begins a rotation and waits until it is over, or the gate has shut.
async fn rotate(cluster: &Cluster, fleet: &Fleet, gate: &Gate) -> Result<Before> {
    let sight = Sight::of(cluster, &fleet.name).await?;
    let oldest = sight.claims.first().context("there is no claim")?.name.clone();
    let (started, completed) = told(cluster, fleet).await?;
    cluster.kubectl(&["annotate", "nodepool", &fleet.name, &format!("{LAST}-")]).await?.accepted()?;
    see(cluster, fleet, "the end of the rotation, or of the operator", |sight| gate.is_shut() || over(sight)).await?;
    Ok(Before { oldest, sight, started, completed })
}

fn over(sight: &Sight) -> bool {
    sight.last_rotation_at().is_some() && sight.marks(&["last-rotation-at"]).is_empty()
}

/// The oldest claim is gone and no other, nothing is left, and the rotation was counted once; not at all if its last write
/// landed and nobody was left to tell.
async fn ended_once(cluster: &Cluster, fleet: &Fleet, operator: &Operator, before: &Before, released: bool) -> Result<()> {
    let after = see(cluster, fleet, "the end", over).await?;
    ensure!(after.claim(&before.oldest).is_none(), "{} is still there", before.oldest);
    for claim in before.sight.claims.iter().filter(|claim| claim.name != before.oldest) {
        ensure!(after.claim(&claim.name).is_some_and(|claim| !claim.deleting), "{} was touched", claim.name);
    }
    ensure!(after.placeholders.is_empty(), "left: {:?}", after.placeholders);
    let expected = if released { 0.0 } else { 1.0 };
    // Events come after the write that they tell of.
    until("the rotation to be told once", SOON, async || {
        let (started, completed) = told(cluster, fleet).await?;
        let (started, completed) = (started - before.started, completed - before.completed);
        let metrics = operator.metrics().await?;
        let counted =
            |outcome| metrics.value("noderotation_completed_total", &[("nodepool", &fleet.name), ("outcome", outcome)]).unwrap_or(0.0);
        let (success, others) = (counted("success"), counted("failure") + counted("expired"));
        let seen = format!("{started} starts and {completed} completions told, {success} successes and {others} others counted");
        ensure!(started <= 1 && completed <= 1 && success <= expected && others == 0.0, "{seen}");
        Ok(if success == expected && completed == usize::from(!released) { Look::Done(()) } else { Look::NotYet(seen) })
    })
    .await
}

/// How many rotations of the fleet were told to begin and to be completed.
async fn told(cluster: &Cluster, fleet: &Fleet) -> Result<(usize, usize)> {
    let told = story::events(cluster, &[&fleet.name]).await?;
    let count = |reason: &str| told.iter().filter(|event| event.reason == reason).count();
    Ok((count("RotationStarted"), count("RotationCompleted")))
}
