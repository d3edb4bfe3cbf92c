//! Rotations go on while requests go wrong, and each ends as it should. `ROTATIONS` says how many are waited for, `SEED` repeats
//! a weather; `make chaos` has more of both.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use e2e::cluster::Cluster;
use e2e::fleet::Fleet;
use e2e::storm::{Storm, judge};
use e2e::terminal::progress;
use e2e::wait::{Look, until};
use libtest_mimic::Trial;
use serde_json::Value;

use crate::bed::{self, Bed};
use crate::scene::{at_rest, count, one_after_the_other};

/// NodePools that are rotated side by side.
const POOLS: usize = 6;
/// Rotations that must have succeeded, where nobody asks for more.
const ROTATIONS: usize = 18;
/// The time of the last success, in a write to a NodePool.
const LAST: &str = "/metadata/annotations/noderotation.io~1last-rotation-at";
/// So long is the weather bad, and so long good: each gust ends the watches, and in between some come through.
const GUST: Duration = Duration::from_secs(5);
/// A rotation takes seconds, and in bad weather a few of them fail.
const EACH: Duration = Duration::from_secs(30);

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    vec![bed.trial("fault_storm::rotations_end_well_in_bad_weather", rotations_end_well)]
}

async fn rotations_end_well(cluster: &Cluster) -> Result<()> {
    let (seed, wanted) = (bed::asked_for("SEED", fastrand::u64(..))?, bed::asked_for("ROTATIONS", ROTATIONS)?);
    let storm = Storm::gather(cluster, seed).await?;
    let operator = bed::operator_with(cluster, &[&storm.argument()]).await?;
    let fleets: Vec<Fleet> =
        (1..=POOLS).map(|number| Fleet { size: 1, ready_timeout: "30s".to_owned(), ..Fleet::new(&format!("storm-{number}")) }).collect();
    for fleet in &fleets {
        fleet.raise(cluster).await?;
    }
    for fleet in &fleets {
        cluster.apply(&one_after_the_other(fleet, "1s")?.to_string()).await?.accepted()?;
    }
    let succeeded =
        || storm.journal().iter().filter(|entry| entry.landed() && entry.body.pointer(LAST).is_some_and(Value::is_string)).count();
    let patience = EACH * u32::try_from(wanted / POOLS + 4).context("ROTATIONS is too large")?;
    let begun = Instant::now();
    until(&format!("{wanted} rotations and every fault once, SEED={seed}"), patience, async || {
        storm.rage((begun.elapsed().as_secs() / GUST.as_secs()).is_multiple_of(2));
        let (seen, happened) = (succeeded(), storm.happened());
        let enough = seen >= wanted && happened.values().all(|times| *times > 0);
        Ok(if enough { Look::Done(()) } else { Look::NotYet(format!("{seen}, {happened:?}")) })
    })
    .await?;
    // What is under way is finished, and nothing else begins.
    for fleet in &fleets {
        cluster.apply(&one_after_the_other(fleet, "24h")?.to_string()).await?.accepted()?;
    }
    storm.rage(false);
    for fleet in &fleets {
        at_rest(cluster, fleet).await.with_context(|| format!("SEED={seed}"))?;
    }
    let (tally, happened) = (judge(&storm.journal()).with_context(|| format!("SEED={seed}"))?, storm.happened());
    progress(&format!("in bad weather, SEED={seed}: {tally:?}; {happened:?}"));
    ensure!(tally.begun == tally.succeeded + tally.given_up, "some were lost, SEED={seed}: {tally:?}");
    // A success whose answer was lost is not told: somebody else may have written it.
    let mut told = 0.0;
    for fleet in &fleets {
        told += count(&operator, fleet, "success").await?;
    }
    ensure!(format!("{told}") == tally.told.to_string(), "{told} successes were counted, SEED={seed}: {tally:?}");
    for fleet in &fleets {
        bed::forget(cluster, fleet).await?;
    }
    let status = operator.sigterm().await?;
    ensure!(status.success(), "the operator ended with {status} after SIGTERM");
    Ok(())
}
