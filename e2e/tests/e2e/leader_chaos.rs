//! Three replicas, of which the leader is killed, stopped and cut off, time and again, while rotations go on.
//!
//! By the API server's audit log at most one of them writes at any time, each rotation ends as it should, and no replica that is
//! not itself killed or stopped leaves an admission review without its answer. `LEADERS=18` asks for so many blows, with the
//! chart's own times of the Lease instead of short ones; `SEED` repeats their order.

mod blow;
mod replicas;

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use e2e::audit::Audit;
use e2e::cluster::Cluster;
use e2e::door::Journal;
use e2e::fleet::Fleet;
use e2e::leadership::{self, HandOver, Verdict};
use e2e::storm;
use e2e::terminal::progress;
use fastrand::Rng;
use jiff::{SignedDuration, Timestamp};
use libtest_mimic::Trial;

use self::blow::{Blow, dealt};
use self::replicas::Replicas;
use crate::bed::{self, BRISK, Bed};
use crate::scene::{at_rest, one_after_the_other};

/// NodePools that are rotated side by side.
const POOLS: usize = 3;
/// By the times of the chart's Lease a new leader comes sooner than this: the figure that is promised.
const PROMISED: SignedDuration = SignedDuration::from_secs(20);

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    vec![bed.trial("leader_chaos::one_writes_at_a_time_and_all_answer", one_writes_at_a_time_and_all_answer)]
}

async fn one_writes_at_a_time_and_all_answer(cluster: &Cluster) -> Result<()> {
    let (seed, number) = (bed::asked_for("SEED", fastrand::u64(..))?, bed::asked_for("LEADERS", 0)?);
    let asked_for = Some(number).filter(|number| *number > 0);
    let blows = dealt(&mut Rng::with_seed(seed), asked_for);
    strike(cluster, &blows, asked_for.is_none()).await.with_context(|| format!("SEED={seed}"))
}

async fn strike(cluster: &Cluster, blows: &[Blow], brisk: bool) -> Result<()> {
    let (audit, journal) = (Audit::from_now(cluster)?, Journal::default());
    let flags = if brisk { &BRISK[..] } else { &[] };
    let mut replicas = Replicas::start(cluster, flags, &journal).await?;
    let fleets: Vec<Fleet> =
        (1..=POOLS).map(|number| Fleet { size: 1, ready_timeout: "1m".to_owned(), ..Fleet::new(&format!("chaos-{number}")) }).collect();
    for fleet in &fleets {
        fleet.raise(cluster).await?;
    }
    for fleet in &fleets {
        cluster.apply(&one_after_the_other(fleet, "1s")?.to_string()).await?.accepted()?;
    }
    let mut struck = Vec::new();
    for (number, blow) in blows.iter().enumerate() {
        struck.push((*blow, Timestamp::now()));
        replicas.strike(*blow).await.with_context(|| format!("blow {}: {blow}", number + 1))?;
    }
    let end = Timestamp::now();
    // What is under way is finished, and nothing else begins.
    for fleet in &fleets {
        cluster.apply(&one_after_the_other(fleet, "24h")?.to_string()).await?.accepted()?;
    }
    for fleet in &fleets {
        at_rest(cluster, fleet).await?;
    }
    for fleet in &fleets {
        bed::forget(cluster, fleet).await?;
    }
    let asked = replicas.end().await?;
    let tally = storm::judge(&journal.entries())?;
    let verdict = leadership::judge(&audit.of_the_operator(cluster).await?)?;
    let (longest, told) = hand_overs(&verdict, &struck, end)?;
    progress(&format!(
        "{} blows to the leader: {tally:?}; {} writes, each of the leader, and {} late ones, all refused; {asked} reviews and \
         policies judged, none failed; hand-overs took at most {:.1} s: {told}",
        blows.len(),
        verdict.written,
        verdict.late,
        longest.as_secs_f64()
    ));
    ensure!(tally.begun == tally.succeeded + tally.given_up, "some rotations were lost: {tally:?}");
    // Of a short run the times of the Lease are its own.
    ensure!(brisk || longest < PROMISED, "a hand-over took {:.1} s", longest.as_secs_f64());
    Ok(())
}

/// The longest hand-over after a blow, and all of them in words.
fn hand_overs(verdict: &Verdict, struck: &[(Blow, Timestamp)], end: Timestamp) -> Result<(SignedDuration, String)> {
    let ends = struck.iter().map(|(_, at)| *at).skip(1).chain([end]);
    let (mut longest, mut words) = (SignedDuration::ZERO, BTreeMap::<String, Vec<String>>::new());
    for ((blow, begin), end) in struck.iter().zip(ends) {
        let after = verdict.hand_overs.iter().rfind(|hand_over| *begin <= hand_over.at && hand_over.at < end);
        let HandOver { took, apart, .. } = after.with_context(|| format!("after {blow} at {begin} nobody else led"))?;
        longest = longest.max(*took);
        let apart = apart.map(|apart| format!(", {:.1} s after its last write of a rotation", apart.as_secs_f64()));
        words.entry(blow.to_string()).or_default().push(format!("{:.1} s{}", took.as_secs_f64(), apart.unwrap_or_default()));
    }
    let words: Vec<String> = words.into_iter().map(|(blow, times)| format!("{blow}: {}", times.join("; "))).collect();
    Ok((longest, words.join(" | ")))
}
